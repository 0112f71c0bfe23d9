#![no_main]

libfuzzer_sys::fuzz_target!(init: ptc_fuzz_oracles::begin("token_machine"), |data: &[u8]| ptc_fuzz_oracles::check::token_machine(data));
