//! Regular expressions: the engine behind `#"…"` and the `re-…` functions.

/// A compiled pattern.
#[derive(Debug)]
pub struct Engine(pub ::regex::Regex);
