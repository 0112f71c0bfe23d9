#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("policy"), |data: &[u8]| ptc_fuzz_oracles::check::policy(data));
