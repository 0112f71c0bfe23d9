//! Dates, instants, durations and their Java-named methods

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
