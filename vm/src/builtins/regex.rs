//! Regular expressions: the engine behind `#"…"` and the `re-…` functions.

/// A compiled pattern.
#[derive(Debug)]
pub struct Engine(pub ::regex::Regex);

/// The family's functions.
pub static BUILTINS: &[super::Builtin] = &[];
