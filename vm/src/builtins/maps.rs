//! Maps: `get`, `assoc`, `update`, `merge` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
