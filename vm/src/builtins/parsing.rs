//! Text to scalars: `parse-long` …

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
