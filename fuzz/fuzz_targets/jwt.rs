#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("jwt"), |data: &[u8]| ptc_fuzz_oracles::check::jwt(data));
