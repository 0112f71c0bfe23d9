#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("pin_lock"), |data: &[u8]| ptc_fuzz_oracles::check::pin_lock(data));
