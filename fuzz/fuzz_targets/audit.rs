#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("audit"), |data: &[u8]| ptc_fuzz_oracles::check::audit(data));
