//! Transducer arities and the functions that run them

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
