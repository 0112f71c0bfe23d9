#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ptc_fuzz::check::restore(data));
