//! A session's part of an evaluation result, as each profile shows it.

use ptc_host::visible::visible_line;
use ptc_mcp::json::{Object, write_array};

use super::feedback::{block, envelope};
use ptc_protocol::report::SessionPart;
use ptc_protocol::settings::Profile;

/// Printed text of a session shown in `feedback`, in characters.
pub(super) const PRINT_CHARS: usize = 2048;

/// A session's part of a result, to be projected.
#[derive(Clone, Copy)]
pub(super) struct SessionView<'p>(pub(super) &'p SessionPart);

impl SessionView<'_> {
    /// The end of the text, in brackets on a line of its own.
    pub(super) fn suffix(&self, is_error: bool, profile: Profile, calls: usize) -> Option<String> {
        let mut parts = Vec::new();
        if is_error {
            parts.push(if self.0.not_stored { "not stored" } else { "rolled back" }.to_owned());
        } else if !self.0.changed.is_empty() {
            let names: Vec<_> = self.0.changed.iter().map(|entry| entry.name.as_str()).collect();
            parts.push(format!("stored: {}", names.join(", ")));
        }
        if profile == Profile::Slim && calls > 0 {
            parts.push(format!("turn upstream calls: {calls}"));
        }
        (!parts.is_empty()).then(|| format!("[{}]", parts.join("; ")))
    }

    /// True if something is omitted that the profile would show.
    pub(super) fn cut(&self, profile: Profile) -> bool {
        self.0.notice.is_some() || profile == Profile::Debug && self.0.memory_cut()
    }

    /// `feedback` of a success, whose printed blocks are `printed` and whose result is `result`.
    pub(super) fn feedback(&self, printed: Option<String>, result: Option<&str>) -> String {
        let mut memory: Vec<String> = self
            .0
            .changed
            .iter()
            .map(|entry| visible_line(&format!(";; {} = {}", entry.name, entry.preview)).into_owned())
            .collect();
        if memory.is_empty() && !self.0.stored.is_empty() {
            memory.push(format!("Stored: {}", self.0.stored.join(", ")));
        }
        let memory = memory.join("\n");
        let first = printed.or_else(|| result.map(|result| envelope("result", result)));
        let mut text = match (first, memory.is_empty()) {
            (Some(first), true) => first,
            (Some(first), false) => format!("{first}\n\n{}", block("memory", &memory)),
            (None, false) => envelope("memory", &memory),
            (None, true) => String::new(),
        };
        if let Some((_, message)) = &self.0.notice {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!(";; {message}"));
        }
        text
    }

    /// Members of the compact form.
    pub(super) fn write_structured(&self, object: &mut Object<'_>, is_error: bool) {
        object.raw("session", &self.0.session);
        if is_error {
            return;
        }
        if !self.0.changed.is_empty() || !self.0.stored.is_empty() {
            let mut memory = Object::new(object.key("memory"));
            if !self.0.changed.is_empty() {
                memory.strings("changed_keys", self.0.changed.iter().map(|entry| entry.name.as_str()));
            }
            if !self.0.stored.is_empty() {
                memory.strings("stored_keys", self.0.stored.iter().map(String::as_str));
            }
            if self.0.memory_cut() {
                memory.boolean("truncated", true);
            }
            memory.end();
        }
        if self.0.notice.is_some() {
            self.write_notices(object);
        }
    }

    /// Members of the full form.
    pub(super) fn write_debug(&self, object: &mut Object<'_>, is_error: bool) {
        object.raw("session", &self.0.session);
        if let Some(detail) = &self.0.detail {
            object.raw("detail", detail);
        }
        if is_error {
            return;
        }
        let mut memory = Object::new(object.key("memory"));
        let mut changed = Object::new(memory.key("changed"));
        self.0.changed.iter().for_each(|entry| changed.string(&entry.name, &entry.preview));
        changed.end();
        memory.strings("changed_keys", self.0.changed.iter().map(|entry| entry.name.as_str()));
        memory.strings("stored_keys", self.0.stored.iter().map(String::as_str));
        memory.boolean("truncated", self.0.memory_cut());
        memory.end();
        self.write_notices(object);
    }

    fn write_notices(&self, object: &mut Object<'_>) {
        write_array(object.key("history_notices"), &self.0.notice, |out, (json, _)| {
            out.extend_from_slice(json.as_bytes());
        });
    }
}
