//! What a session may keep, and what a commit tells about it.

use super::super::outcome::CallRecord;
use ptc_vm::Value;

/// Limits of one session. Sizes are those of [`measure`](super::measure).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Number of definitions.
    pub bindings: usize,
    /// Bytes of all definitions.
    pub memory_bytes: u64,
    /// Bytes of one definition.
    pub binding_bytes: u64,
    /// Bytes of one result in the history.
    pub history_entry_bytes: u64,
}

/// Who decides what a session keeps, and is told when it has changed.
pub trait SessionRules: Send + Sync {
    /// The limits.
    fn limits(&self) -> SessionLimits;

    /// Called on the driver when everything else about a program speaks for committing it. `false` refuses, because
    /// the session has been closed meanwhile; it is then left as it was.
    fn commit(&self, report: &SessionReport, prints: &[String], calls: &[CallRecord]) -> bool;

    /// Whether the value of a program that ended with `(return v)` goes into the history like any other.
    fn remembers_returned(&self) -> bool {
        true
    }

    /// Whether the definitions of a program that ended itself with `(fail v)` are stored. A program that was stopped by
    /// an error never leaves any.
    fn keeps_after_fail(&self) -> bool {
        false
    }

    /// What the history keeps for a result that is larger than `max_bytes`; `None` for a preview that says so.
    fn shortened(&self, _value: &Value, _max_bytes: u64) -> Option<Value> {
        None
    }

    /// Whether the session keeps a journal for `task` (language.md 5.7) and what `step-done` noted.
    fn keeps_journal(&self) -> bool {
        false
    }
}

/// The limit that a program's definitions would break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// What is too large: `bindings`, `memory_bytes` or `binding_bytes`.
    pub field: &'static str,
    /// The limit's name, for instance `max_bindings`.
    pub limit: &'static str,
    /// What the session would hold; at least that much where measuring stopped early.
    pub actual: u64,
    /// What it may hold.
    pub max: u64,
    /// The binding, where one is to blame.
    pub name: Option<String>,
}

/// A result that was too large for the history and is stored as a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryNotice {
    /// Its size.
    pub bytes: u64,
    /// The limit.
    pub max_bytes: u64,
}

/// A definition that a program made or changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its name.
    pub name: String,
    /// A glance at its value: 10 items of a collection, 120 characters of a string.
    pub preview: String,
    /// Whether the glance leaves something out.
    pub cut: bool,
}

/// What a session holds after a program, or would hold.
#[derive(Clone, Debug, Default)]
pub struct SessionReport {
    /// Names that are new or have another value, with a preview of it, sorted.
    pub changed: Vec<Changed>,
    /// All names, sorted.
    pub stored: Vec<String>,
    /// Bytes of all definitions.
    pub memory_bytes: u64,
    /// A result that was replaced by a preview.
    pub notice: Option<HistoryNotice>,
    /// Why nothing was stored.
    pub exceeded: Option<Exceeded>,
    /// Whether the session was closed while the program ran, so that nothing was stored.
    pub closed: bool,
}
