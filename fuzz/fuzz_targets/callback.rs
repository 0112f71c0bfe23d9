#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("callback"), |data: &[u8]| ptc_fuzz_oracles::check::callback(data));
