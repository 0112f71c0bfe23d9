#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("roundtrip"), |data: &[u8]| ptc_fuzz_oracles::check::roundtrip(data));
