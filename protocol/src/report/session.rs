//! A session's part of the report of an evaluation.

use ptc_host::credentials::Redactor;
use ptc_host::engine::{Changed, SessionReport};

use ptc_mcp::json::object_text;

/// A session after an evaluation.
#[derive(Debug, Clone, Default)]
pub struct SessionPart {
    /// The `session` object.
    pub session: String,
    /// Definitions that are new or changed; empty after a failure.
    pub changed: Vec<Changed>,
    /// Names of all definitions.
    pub stored: Vec<String>,
    /// The JSON of a notice that the result was too large for the history, and its text.
    pub notice: Option<(String, String)>,
    /// `detail` of a failure, as JSON.
    pub detail: Option<String>,
    /// True if the program returned a value that its session did not store.
    pub not_stored: bool,
}

impl SessionPart {
    /// The session's changes were stored.
    pub fn stored(session: String, report: SessionReport, redactor: &Redactor) -> Self {
        let mut changed = report.changed;
        for entry in &mut changed {
            entry.name = redactor.scrub_string(std::mem::take(&mut entry.name));
            entry.preview = redactor.scrub_string(std::mem::take(&mut entry.preview));
        }
        let notice = report.notice.map(|notice| {
            let message = "*1 stored as preview; original value exceeded max_session_history_entry_bytes";
            let json = object_text(|object| {
                object.string("field", "*1");
                object.string("reason", "max_history_entry_bytes");
                object.integer("bytes", notice.bytes);
                object.integer("max_bytes", notice.max_bytes);
                object.string("message", message);
            });
            (json, message.to_owned())
        });
        let stored = report.stored.into_iter().map(|name| redactor.scrub_string(name)).collect();
        SessionPart { session, changed, stored, notice, detail: None, not_stored: false }
    }

    /// No changes were stored.
    pub fn rolled_back(session: String, detail: String) -> Self {
        SessionPart { session, detail: Some(detail), ..SessionPart::default() }
    }

    /// The program returned a value, and no changes were stored.
    pub fn not_stored(session: String, detail: String) -> Self {
        SessionPart { not_stored: true, ..SessionPart::rolled_back(session, detail) }
    }

    /// True if previews of definitions omit something.
    pub fn memory_cut(&self) -> bool {
        self.changed.iter().any(|entry| entry.cut)
    }
}
