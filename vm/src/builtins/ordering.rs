//! `sort`, `sort-by`, `reverse`

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
