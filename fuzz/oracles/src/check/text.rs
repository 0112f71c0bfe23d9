//! Program text as it comes: anything that is UTF-8.

use crate::run::{self, LIMITS, PLAIN_HOST};

/// Compiling any text gives a program that the verifier accepts, or an error that names a place in the text.
pub fn compile(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = run::compiled(text);
    }
}

/// Any program ends by value, error or named limit within its limits, and the same way whatever the slices.
pub fn vm(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(program) = run::compiled(text) else { return };
    let whole = run::run(&program, LIMITS, u64::MAX, PLAIN_HOST);
    assert_eq!(whole, run::run(&program, LIMITS, 7, PLAIN_HOST), "slices of 7 steps");
}
