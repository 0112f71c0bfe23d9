//! What a session adds to the result of an evaluation.

use ptc_host::credentials::Redactor;
use ptc_host::engine::{Changed, SessionReport};

use super::feedback::{block, envelope};
use crate::protocol::json::{Object, object_text, write_array};
use crate::settings::Profile;

/// Printed text of a session shown in `feedback`, in characters.
pub(super) const PRINT_CHARS: usize = 2048;

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
}

impl SessionPart {
    /// What was stored.
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
        SessionPart { session, changed, stored, notice, detail: None }
    }

    /// Nothing was stored.
    pub fn rolled_back(session: String, detail: String) -> Self {
        SessionPart { session, detail: Some(detail), ..SessionPart::default() }
    }

    /// The end of the text, in brackets on a line of its own.
    pub(super) fn suffix(&self, is_error: bool, profile: Profile, calls: usize) -> Option<String> {
        let mut parts = Vec::new();
        if is_error {
            parts.push("rolled back".to_owned());
        } else if !self.changed.is_empty() {
            let names: Vec<_> = self.changed.iter().map(|entry| entry.name.as_str()).collect();
            parts.push(format!("stored: {}", names.join(", ")));
        }
        if profile == Profile::Slim && calls > 0 {
            parts.push(format!("turn upstream calls: {calls}"));
        }
        (!parts.is_empty()).then(|| format!("[{}]", parts.join("; ")))
    }

    /// Whether previews of definitions leave something out.
    fn memory_cut(&self) -> bool {
        self.changed.iter().any(|entry| entry.cut)
    }

    /// Whether something is left out of what the profile shows.
    pub(super) fn cut(&self, profile: Profile) -> bool {
        self.notice.is_some() || profile == Profile::Debug && self.memory_cut()
    }

    /// `feedback` of a success, whose printed blocks are `printed` and whose result is `result`.
    pub(super) fn feedback(&self, printed: Option<String>, result: Option<&str>) -> String {
        let mut memory: Vec<String> =
            self.changed.iter().map(|entry| format!(";; {} = {}", entry.name, entry.preview)).collect();
        if memory.is_empty() && !self.stored.is_empty() {
            memory.push(format!("Stored: {}", self.stored.join(", ")));
        }
        let memory = memory.join("\n");
        let first = printed.or_else(|| result.map(|result| envelope("result", result)));
        let mut text = match (first, memory.is_empty()) {
            (Some(first), true) => first,
            (Some(first), false) => format!("{first}\n\n{}", block("memory", &memory)),
            (None, false) => envelope("memory", &memory),
            (None, true) => String::new(),
        };
        if let Some((_, message)) = &self.notice {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!(";; {message}"));
        }
        text
    }

    /// Members of the compact form.
    pub(super) fn write_structured(&self, object: &mut Object<'_>, is_error: bool) {
        object.raw("session", &self.session);
        if is_error {
            return;
        }
        if !self.changed.is_empty() || !self.stored.is_empty() {
            let mut memory = Object::new(object.key("memory"));
            if !self.changed.is_empty() {
                memory.strings("changed_keys", self.changed.iter().map(|entry| entry.name.as_str()));
            }
            if !self.stored.is_empty() {
                memory.strings("stored_keys", self.stored.iter().map(String::as_str));
            }
            if self.memory_cut() {
                memory.boolean("truncated", true);
            }
            memory.end();
        }
        if self.notice.is_some() {
            self.write_notices(object);
        }
    }

    /// Members of the full form.
    pub(super) fn write_debug(&self, object: &mut Object<'_>, is_error: bool) {
        object.raw("session", &self.session);
        if let Some(detail) = &self.detail {
            object.raw("detail", detail);
        }
        if is_error {
            return;
        }
        let mut memory = Object::new(object.key("memory"));
        let mut changed = Object::new(memory.key("changed"));
        self.changed.iter().for_each(|entry| changed.string(&entry.name, &entry.preview));
        changed.end();
        memory.strings("changed_keys", self.changed.iter().map(|entry| entry.name.as_str()));
        memory.strings("stored_keys", self.stored.iter().map(String::as_str));
        memory.boolean("truncated", self.memory_cut());
        memory.end();
        self.write_notices(object);
    }

    fn write_notices(&self, object: &mut Object<'_>) {
        write_array(object.key("history_notices"), &self.notice, |out, (json, _)| {
            out.extend_from_slice(json.as_bytes());
        });
    }
}
