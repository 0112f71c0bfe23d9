#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("openapi"), |data: &[u8]| ptc_fuzz_oracles::check::openapi(data));
