//! Projects a payload onto a response profile, within size limits.
//!
//! Nothing is ever cut inside JSON. Lists keep a prefix, texts end between characters, a value that is too large is
//! replaced by a preview under another name, and every omission is flagged.

use std::borrow::Cow;

use ptc_host::engine::CallStatus;
use ptc_host::text::clip;
use ptc_mcp::json::{Object, object_text, string_len, write_array};

use super::calls::{call_result, failed_call};
use super::feedback;
use super::limits::{Caps, Shaper, caps};
use super::preview::preview;
use super::sections::{Sections, TRUNCATED, clip_json, count, left_out};
use super::session::{self, SessionView};
use ptc_protocol::report::{Ending, Payload};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::ToolReply;

/// The replacement for a result that cannot be made to fit.
pub(super) const NO_ROOM: &str = "MCP output exceeded response limit.\n\n[truncated]";

/// The reply to a client for `payload`.
pub fn shape(shaper: &Shaper, payload: &Payload) -> ToolReply {
    let caps = caps(shaper, payload.beside_prints());
    let parts = BoundedPayload::of(payload, &caps, shaper.profile);
    let reply = match shaper.profile {
        Profile::Slim => ToolReply::text(payload.is_error(), parts.text()),
        Profile::Structured => {
            let structured = object_text(|object| parts.write_structured(object));
            ToolReply::structured(payload.is_error(), parts.text(), structured)
        }
        Profile::Debug => {
            ToolReply::mirrored(payload.is_error(), object_text(|object| parts.write_debug(object)))
        }
    };
    let reply =
        if reply.json_len() <= caps.result_object { reply } else { parts.reduced(shaper.profile, &caps) };
    reply.attaching(payload.attachments.clone())
}

/// A payload after its parts were bounded.
struct BoundedPayload<'p> {
    payload: &'p Payload,
    profile: Profile,
    prints: Cow<'p, [String]>,
    prints_cut: bool,
    feedback: String,
    feedback_cut: bool,
    /// True if the printed text within `feedback` is shortened.
    print_text_cut: bool,
    validated: ValidatedValue<'p>,
}

enum ValidatedValue<'p> {
    Absent,
    Exact(&'p str),
    Preview { bytes: usize, text: String, lossy: bool },
}

impl<'p> BoundedPayload<'p> {
    fn of(payload: &'p Payload, caps: &Caps, profile: Profile) -> Self {
        let prints = fitting(&payload.prints, caps);
        let (feedback, print_text_cut) = full_feedback(payload);
        let clipped = clip(&feedback, caps.feedback_bytes).len();
        let feedback_cut = clipped < feedback.len();
        let mut feedback = feedback;
        feedback.truncate(clipped);
        let validated = match &payload.ending {
            // Slim sends text only, so there is nothing to preview and nothing to flag.
            Ending::Ok { validated: Some(json), .. } if profile != Profile::Slim => {
                if json.len() <= caps.validated_bytes {
                    ValidatedValue::Exact(json)
                } else {
                    let (text, lossy) = preview(json, caps.preview_string, caps.validated_bytes / 4);
                    ValidatedValue::Preview { bytes: json.len(), text, lossy }
                }
            }
            _ => ValidatedValue::Absent,
        };
        let prints_cut = !matches!(prints, Cow::Borrowed(all) if all.len() == payload.prints.len());
        BoundedPayload {
            payload,
            profile,
            prints,
            prints_cut,
            feedback,
            feedback_cut,
            print_text_cut,
            validated,
        }
    }

    fn session(&self) -> Option<SessionView<'p>> {
        self.payload.session.as_deref().map(SessionView)
    }

    /// True if a limit of this module omitted something that the profile would show.
    fn output_cut(&self) -> bool {
        let feedback = self.feedback_cut
            && (self.profile == Profile::Debug
                || self.profile == Profile::Structured && self.payload.is_error());
        self.prints_cut || feedback || matches!(self.validated, ValidatedValue::Preview { .. })
    }

    fn cut(&self) -> bool {
        self.output_cut()
            || self.print_text_cut && self.profile == Profile::Debug
            || matches!(self.payload.ending, Ending::Ok { cut: Some(_), .. })
            || self.session().is_some_and(|session| session.cut(self.profile))
    }

    /// The text block of slim and structured.
    fn text(&self) -> String {
        self.text_within(&self.prints, usize::MAX, self.cut())
    }

    /// The result, then the prints; without a result, the prints, then the error. Of the prints, `prints` are shown.
    /// The value or the message takes at most `most` bytes of JSON.
    fn text_within(&self, prints: &[String], most: usize, cut: bool) -> String {
        let payload = self.payload;
        let mut text = Sections::default();
        match &payload.ending {
            Ending::Ok { result, lines, cut, .. } => {
                text.value(result.as_deref(), lines.as_deref(), most);
                if let Some(cut) = cut {
                    text.line(cut);
                }
                text.prints(prints, &payload.prints);
            }
            Ending::Error { reason, message, hint, result } => {
                if payload.session.as_ref().is_some_and(|session| session.not_stored) {
                    text.value(result.as_deref(), None, most);
                }
                text.prints(prints, &payload.prints);
                text.error(reason.name(), message, most);
                if let Some(hint) = hint {
                    text.line(hint);
                }
                if let Some(summary) = feedback::upstream_summary(&payload.upstream_calls) {
                    text.ours(&summary);
                }
                if let Some(call) =
                    payload.upstream_calls.iter().find(|call| call.status == CallStatus::Error)
                {
                    let reason = call.reason.as_deref().unwrap_or("upstream_error");
                    text.line(&format!("upstream {}.{} failed: {reason}", call.server, call.tool));
                }
            }
        }
        self.notes(prints).for_each(|note| text.line(&format!("note: {note}")));
        if cut {
            text.truncated();
        }
        let suffix = self.session().and_then(|session| {
            session.suffix(payload.is_error(), self.profile, payload.upstream_calls.len())
        });
        if let Some(suffix) = suffix {
            text.line(&suffix);
        }
        text.into_text()
    }

    fn write_status(&self, object: &mut Object<'_>) {
        match &self.payload.ending {
            Ending::Ok { .. } => object.string("status", "ok"),
            Ending::Error { reason, message, .. } => {
                object.string("status", "error");
                object.string("reason", reason.name());
                object.string("message", message);
                object.string("feedback", &self.feedback);
            }
        }
        if let Some(result) = self.payload.result() {
            object.string("result", &result);
        }
    }

    fn write_prints(&self, object: &mut Object<'_>) {
        object.strings("prints", self.prints.iter().map(String::as_str));
        if self.prints_cut {
            object.string("prints_shown", &count(&self.prints, &self.payload.prints));
        }
    }

    fn write_notes(&self, object: &mut Object<'_>) {
        let notes: Vec<_> = self.notes(&self.prints).collect();
        if !notes.is_empty() {
            object.strings("notes", notes.iter().map(AsRef::as_ref));
        }
    }

    /// The notes, with advice about prints if only `prints` of them are shown.
    fn notes(&self, prints: &[String]) -> impl Iterator<Item = Cow<'p, str>> {
        let left_out = left_out(prints, &self.payload.prints);
        let cut = (left_out > 0).then(|| {
            let (are, them) = if left_out == 1 { (" is", "it") } else { ("s are", "them") };
            Cow::Owned(format!(
                "{left_out} printed line{are} left out: return {them} as the value, or print less"
            ))
        });
        self.payload.notes.iter().map(|note| Cow::Borrowed(note.as_str())).chain(cut)
    }

    fn write_validated(&self, object: &mut Object<'_>) {
        match &self.validated {
            ValidatedValue::Absent => {}
            ValidatedValue::Exact(json) => object.raw("validated", json),
            ValidatedValue::Preview { bytes, text, lossy } => {
                object.integer("validated_bytes", *bytes as u64);
                object.string("validated_preview", text);
                object.boolean("validated_preview_truncated", *lossy);
            }
        }
    }

    fn write_structured(&self, object: &mut Object<'_>) {
        self.write_status(object);
        if !self.payload.prints.is_empty() {
            self.write_prints(object);
        }
        self.write_notes(object);
        self.write_validated(object);
        if let Some(session) = self.session() {
            session.write_structured(object, self.payload.is_error());
        }
        for (name, cut) in [
            ("truncated", self.cut()),
            ("output_truncated", self.output_cut()),
            ("prints_truncated", self.prints_cut),
        ] {
            if cut {
                object.boolean(name, true);
            }
        }
        if self.payload.is_error() {
            if self.feedback_cut {
                object.boolean("feedback_truncated", true);
            }
            let failed: Vec<_> =
                self.payload.upstream_calls.iter().filter(|call| call.status == CallStatus::Error).collect();
            if !failed.is_empty() {
                let name = if self.payload.session.is_some() { "upstream_errors" } else { "upstream_calls" };
                write_array(object.key(name), failed, |out, call| {
                    out.extend_from_slice(failed_call(call).as_bytes());
                });
            }
        }
    }

    fn write_debug(&self, object: &mut Object<'_>) {
        let payload = self.payload;
        self.write_status(object);
        // A success always has these members; a failure only if they are not empty.
        let is_error = payload.is_error();
        if !is_error || !payload.prints.is_empty() {
            self.write_prints(object);
        }
        self.write_notes(object);
        if !is_error {
            object.string("feedback", &self.feedback);
        }
        if !is_error || self.cut() {
            object.boolean("truncated", self.cut());
        }
        self.write_validated(object);
        if let Some(session) = self.session() {
            session.write_debug(object, is_error);
        }
        for (name, cut) in [
            ("output_truncated", self.output_cut()),
            ("prints_truncated", self.prints_cut),
            ("feedback_truncated", self.feedback_cut),
        ] {
            if cut {
                object.boolean(name, true);
            }
        }
        if !payload.upstream_calls.is_empty() {
            write_array(object.key("upstream_calls"), &payload.upstream_calls, |out, call| {
                // Plain data always serialises.
                let _ = serde_json::to_writer(out, call);
            });
            if payload.session.is_none() {
                let results: Vec<_> = payload.upstream_calls.iter().filter_map(call_result).collect();
                write_array(object.key("upstream_results"), results, |out, result| {
                    out.extend_from_slice(result.as_bytes());
                });
            }
            object.raw("ptc_metrics", &payload.ptc_metrics().json());
        }
    }

    /// The result without all dispensable parts.
    fn reduced(&self, profile: Profile, caps: &Caps) -> ToolReply {
        let is_error = self.payload.is_error();
        if profile == Profile::Slim {
            return ToolReply::text(is_error, self.text_within(&[], caps.result_object / 4, true));
        }
        let whole = object_text(|object| {
            self.write_reduced(object, usize::MAX);
            if let (Ending::Ok { .. }, Some(result)) = (&self.payload.ending, self.payload.result()) {
                object.string("result", &result);
            }
        });
        let first = ToolReply::structured(is_error, self.text_within(&[], usize::MAX, true), whole);
        if first.json_len() <= caps.result_object {
            return first;
        }
        let cut = 4096.min((caps.result_object / 8).max(256));
        let structured = object_text(|object| self.write_reduced(object, cut));
        ToolReply::structured(is_error, self.text_within(&[], cut, true), structured)
    }

    fn write_reduced(&self, object: &mut Object<'_>, max_text: usize) {
        match &self.payload.ending {
            Ending::Ok { validated, .. } => {
                object.string("status", "ok");
                if self.profile == Profile::Debug {
                    object.strings("prints", []);
                    object.string("feedback", "");
                }
                if let Some(json) = validated {
                    object.integer("validated_bytes", json.len() as u64);
                }
            }
            Ending::Error { reason, message, .. } => {
                let shown = clip_json(message, max_text);
                let mark = if shown.len() < message.len() { TRUNCATED } else { "" };
                let message = format!("{shown}{mark}");
                object.string("status", "error");
                object.string("reason", reason.name());
                object.string("message", &message);
                if self.profile == Profile::Debug {
                    object.string("feedback", "");
                }
            }
        }
        if let Some(session) = &self.payload.session {
            object.raw("session", &session.session);
        }
        object.boolean("truncated", true);
        object.boolean("output_truncated", true);
    }
}

/// `feedback` before it is bounded, and whether printed text in it is cut.
fn full_feedback(payload: &Payload) -> (String, bool) {
    if let (Some(session), Ending::Ok { .. }) = (&payload.session, &payload.ending) {
        let printed =
            (!payload.prints.is_empty()).then(|| feedback::prints(&payload.prints, session::PRINT_CHARS));
        let cut = printed.as_ref().is_some_and(|(_, cut)| *cut);
        return (
            SessionView(session).feedback(printed.map(|(text, _)| text), payload.result().as_deref()),
            cut,
        );
    }
    match &payload.ending {
        Ending::Ok { .. } if payload.prints.is_empty() => (String::new(), false),
        Ending::Ok { .. } => feedback::prints(&payload.prints, feedback::PRINT_CHARS),
        Ending::Error { message, hint, .. } => {
            let mut text = message.clone();
            if let Some(hint) = hint {
                text = format!("{text}\n{hint}");
            }
            if let Some(summary) = feedback::upstream_summary(&payload.upstream_calls) {
                text = format!("{text}\n\n{summary}");
            }
            (text, false)
        }
    }
}

/// The prints that fit: the longest prefix within both limits, cut between lines. A first line that is too long is
/// cut.
fn fitting<'p>(prints: &'p [String], caps: &Caps) -> Cow<'p, [String]> {
    let (mut bytes, mut printed) = (2, 0);
    for (at, print) in prints.iter().enumerate() {
        let separator = usize::from(at > 0);
        let (own, lines) = (string_len(print) + separator, print.matches('\n').count() + 1);
        if bytes + own <= caps.print_bytes && printed + lines <= caps.print_lines {
            (bytes, printed) = (bytes + own, printed + lines);
            continue;
        }
        let room = caps.print_bytes.saturating_sub(bytes + separator);
        let begun = beginning(print, room, caps.print_lines - printed, at == 0);
        return match begun {
            None => Cow::Borrowed(&prints[..at]),
            Some(begun) => Cow::Owned(prints[..at].iter().cloned().chain([begun]).collect()),
        };
    }
    Cow::Borrowed(prints)
}

/// The first lines of an entry, within `lines` and `bytes` of JSON. `None` if not even the first line fits, unless
/// something `must` be shown.
fn beginning(print: &str, bytes: usize, lines: usize, must: bool) -> Option<String> {
    let whole = clip_json(print, bytes);
    let end = whole.match_indices('\n').map(|(at, _)| at).take(lines).last();
    match end {
        Some(end) => Some(print[..end].to_owned()),
        None => must.then(|| format!("{}...", clip_json(print, bytes.saturating_sub(3)))),
    }
}
