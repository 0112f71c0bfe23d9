//! Element access and sequence views: `first`, `nth`, `seq`, `count` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
