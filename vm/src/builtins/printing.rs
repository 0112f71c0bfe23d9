//! `println`, `pr-str`

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
