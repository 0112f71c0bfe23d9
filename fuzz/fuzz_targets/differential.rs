#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("differential"), |data: &[u8]| ptc_fuzz_oracles::check::differential(data));
