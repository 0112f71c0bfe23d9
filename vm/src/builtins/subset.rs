//! Taking, dropping, splitting, partitioning

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
