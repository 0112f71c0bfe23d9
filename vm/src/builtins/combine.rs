//! Combining collections: `conj`, `concat`, `into`, `zipmap` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
