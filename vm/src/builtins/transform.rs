//! Transforming and filtering: `map`, `filter`, `keep`, `distinct` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
