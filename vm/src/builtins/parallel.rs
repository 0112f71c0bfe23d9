//! `pmap` and `pcalls`

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
