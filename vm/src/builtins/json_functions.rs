//! `json/parse-string`, `json/generate-string` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
