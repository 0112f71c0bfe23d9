//! `clojure.walk` and `tree-seq`

use super::Builtin;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
