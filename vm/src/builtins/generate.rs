//! `range` and other generators

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
