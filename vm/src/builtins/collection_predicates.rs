//! `some`, `every?`, `contains?` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
