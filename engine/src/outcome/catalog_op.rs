//! Record of one discovery operation of a program.

use ptc_mcp::json::Value;
use std::time::Duration;

/// A program's request to the catalog of the upstreams, and its outcome (upstreams.md 13.6).
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogOp {
    /// `servers`, `apropos`, `dir`, `doc` or `meta`.
    pub operation: &'static str,
    /// Its arguments, an object: `{}`, `{query, opts}`, `{server}` or `{ref}`.
    pub args: Value,
    /// Why its answer was `nil`: the word of the world fault; `None` if it was answered.
    pub reason: Option<&'static str>,
    /// A note on missing parts of its answer.
    pub note: Option<String>,
    /// From the program's question to the answer.
    pub duration: Duration,
}

impl CatalogOp {
    /// Longest query, name or URI in `args`, in bytes; of a longer one there is the beginning.
    pub const MAX_NAME_BYTES: usize = 1024;

    /// The word for how it ended: `ok` or `nil_world_fault`.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        if self.reason.is_none() { "ok" } else { "nil_world_fault" }
    }
}
