//! Java-named string methods and constants

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
