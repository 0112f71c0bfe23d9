#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("fetch_address"), |data: &[u8]| ptc_fuzz_oracles::check::fetch_address(data));
