//! The rules of a session.

use crate::outcome::{CallRecord, SessionReport};
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

/// Decides the content that a session keeps, and is notified of its changes.
pub trait SessionRules: Send + Sync {
    /// The limits.
    fn limits(&self) -> SessionLimits;

    /// Called on the worker when all other checks of a program allow its commit. `false` refuses, because
    /// the session has been closed meanwhile; it is then left as it was.
    fn commit(&self, report: &SessionReport, prints: &[String], calls: &[CallRecord]) -> bool;

    /// Whether the session is to be saved after each commit, and the most bytes of text that its functions may need then.
    fn saves(&self) -> Option<u64> {
        None
    }

    /// Data saved with the session besides its values. Requested after [`commit`](SessionRules::commit).
    fn about(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Whether the value of a program that ended with `(return v)` goes into the history like any other.
    fn remembers_returned(&self) -> bool {
        true
    }

    /// Whether the definitions of a program that ended itself with `(fail v)` are stored. A program that was stopped by
    /// an error never leaves any.
    fn keeps_after_fail(&self) -> bool {
        false
    }

    /// The replacement in the history for a result that is larger than `max_bytes`; `None` for a preview that says so.
    fn shortened(&self, _value: &Value, _max_bytes: u64) -> Option<Value> {
        None
    }

    /// Whether the session keeps a journal for `task` (language.md 3.11) and the notes of `step-done`.
    fn keeps_journal(&self) -> bool {
        false
    }
}
