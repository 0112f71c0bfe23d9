//! `reduce`, sums, minima, `group-by`, `frequencies`

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
