//! Bitwise functions

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
