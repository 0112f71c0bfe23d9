#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("session_blob"), |data: &[u8]| ptc_fuzz_oracles::check::session_blob(data));
