//! The result of a tool call, before it is written for one protocol revision.

use std::borrow::Cow;
use std::sync::Arc;

use ptc_host::engine::{Attachments, EvalId};
use ptc_host::visible::visible;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Raw, string_len, write_string};

use super::blocks;
use crate::concurrency_limiter::CapacityError;
use crate::report::CallReport;

/// Characters of an unknown name that are echoed. (Names of tools have at most 128.)
const MAX_NAME_CHARS: usize = 256;

const IS_ERROR: &[u8] = b"\"isError\":true";
const IS_NO_ERROR: &[u8] = b"\"isError\":false";
const CONTENT: &[u8] = b",\"content\":[{\"type\":\"text\",\"text\":";
const TEXT_END: &[u8] = b"}";
const CONTENT_END: &[u8] = b"]";
const STRUCTURED: &[u8] = b",\"structuredContent\":";

/// The text block of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyText {
    /// The given text.
    Plain(String),
    /// The structured content, as compact JSON.
    Mirrored,
}

/// The reply of a tool.
#[derive(Debug, Clone)]
pub struct ToolReply {
    /// True if the call failed.
    pub is_error: bool,
    /// The text block.
    pub text: ReplyText,
    /// The structured content: a JSON object.
    pub structured: Option<String>,
    /// Binary content, one block each after the text.
    pub attachments: Attachments,
    /// Our own id of the evaluation, if one ran.
    pub eval_id: Option<EvalId>,
    /// The report for observers, only if there are any.
    pub report: Option<Arc<CallReport>>,
    /// The answer in place of a result, if there is none yet.
    pub instead: Option<Box<Instead>>,
    /// What its program goes on doing, if it has not ended.
    pub unfinished: Option<Unfinished>,
}

/// What the program of a call does that was answered before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfinished {
    /// It waits for people.
    Waiting,
    /// It runs on.
    Running,
}

/// An answer in place of a result.
#[derive(Debug, Clone)]
pub enum Instead {
    /// The requests that the client must answer before it calls again (modern era).
    Input {
        /// JSON object of its requests, by their keys.
        requests: String,
        /// The state that it returns.
        state: String,
    },
    /// The members of a result, as they were first written.
    Written(Vec<u8>),
    /// The refusal of what the client returned.
    Refused(RpcError),
    /// The task that the call has become (modern era).
    Task(Task),
}

impl ToolReply {
    /// A result that is text only.
    pub fn text(is_error: bool, text: impl Into<String>) -> Self {
        ToolReply { text: ReplyText::Plain(text.into()), ..Self::mirrored_as(is_error, None) }
    }

    /// A result whose text is the JSON of its structured content.
    pub fn mirrored(is_error: bool, structured: String) -> Self {
        Self::mirrored_as(is_error, Some(structured))
    }

    fn mirrored_as(is_error: bool, structured: Option<String>) -> Self {
        // The JSON of the same value, with invisible characters made visible.
        let structured = structured.map(|json| match visible(&json) {
            Cow::Borrowed(_) => json,
            Cow::Owned(shown) => shown,
        });
        ToolReply {
            is_error,
            text: ReplyText::Mirrored,
            structured,
            attachments: Attachments::default(),
            eval_id: None,
            report: None,
            instead: None,
            unfinished: None,
        }
    }

    /// The same reply, about a program that has not ended.
    #[must_use]
    pub fn still(self, unfinished: Unfinished) -> Self {
        ToolReply { unfinished: Some(unfinished), ..self }
    }

    /// Asks the client for input, with which it calls again.
    pub fn input_required(requests: String, state: String) -> Self {
        let instead = Some(Box::new(Instead::Input { requests, state }));
        ToolReply { instead, ..Self::text(false, "input required").still(Unfinished::Waiting) }
    }

    /// A result given by the text of its members: a repeated result, or one that does not come from a tool.
    pub fn written(is_error: bool, members: Vec<u8>) -> Self {
        ToolReply { instead: Some(Box::new(Instead::Written(members))), ..Self::mirrored_as(is_error, None) }
    }

    /// Refuses the call with a JSON-RPC error, because of what the client returned.
    pub fn refused(error: RpcError) -> Self {
        let text = error.message.clone();
        ToolReply { instead: Some(Box::new(Instead::Refused(error))), ..Self::text(true, text) }
    }

    /// Answers with the task that the call has become.
    pub fn task(task: Task) -> Self {
        let instead = Some(Box::new(Instead::Task(task)));
        ToolReply { instead, ..Self::text(false, "task").still(Unfinished::Running) }
    }

    /// A result with this text and this structured content.
    pub fn structured(is_error: bool, text: impl Into<String>, structured: String) -> Self {
        ToolReply { text: ReplyText::Plain(text.into()), ..Self::mirrored(is_error, structured) }
    }

    /// Adds the report for observers.
    #[must_use]
    pub fn reporting(self, report: Option<CallReport>) -> Self {
        ToolReply { report: report.map(Arc::new), ..self }
    }

    /// Adds binary content.
    #[must_use]
    pub fn attaching(self, attachments: Attachments) -> Self {
        ToolReply { attachments, ..self }
    }

    /// The reason of the failure, if the reply states it.
    pub fn reason(&self) -> Option<String> {
        if let Some(report) = &self.report {
            return report.reason().map(str::to_owned);
        }
        let structured = self.structured.as_deref().filter(|_| self.is_error)?;
        let mut members = Raw::parse(structured).ok()?.members()?;
        members.find(|(key, _)| key == "reason").and_then(|(_, value)| value.as_str()).map(String::from)
    }

    /// A failure that looks the same under every response profile.
    pub fn failure(reason: &str, message: &str, feedback: &str) -> Self {
        let mut out = Vec::with_capacity(64 + message.len() + feedback.len());
        out.extend_from_slice(b"{\"status\":\"error\",\"reason\":");
        write_string(&mut out, reason);
        out.extend_from_slice(b",\"message\":");
        write_string(&mut out, message);
        out.extend_from_slice(b",\"feedback\":");
        write_string(&mut out, feedback);
        out.push(b'}');
        Self::mirrored(true, String::from_utf8(out).unwrap_or_default())
    }

    /// The refusal of an unknown tool.
    pub(crate) fn unknown_tool(name: &str) -> Self {
        let name = short_name(name);
        Self::failure(
            "unknown_tool",
            &format!("unknown tool: {name}"),
            &format!("No tool named {name} is registered here; call tools/list for the available names."),
        )
    }

    /// The refusal by a server that shuts down.
    pub fn shutting_down() -> Self {
        Self::failure(
            "shutting_down",
            "server is draining after shutdown; new tool calls are rejected",
            "This server process was asked to shut down. Start a new one and retry.",
        )
    }

    /// The refusal of calls that could not be recorded.
    pub fn unrecordable(why: &str) -> Self {
        Self::failure(
            "audit_unavailable",
            why,
            "The call is not at fault. Tell the user that the server's operator must repair the audit log; then retry the same call.",
        )
    }

    /// The answer of a cancelled call (HTTP; on stdio a cancelled call is not answered).
    pub fn cancelled() -> Self {
        Self::failure("cancelled", "cancelled", "The request was cancelled before the tool call completed.")
    }

    /// The refusal when all `limit` slots are taken.
    pub fn busy(full: CapacityError) -> Self {
        Self::failure("busy", &busy_message(full), &busy_feedback(full))
    }

    /// Bytes of the result object of a success that mirrors `structured`, `_meta` aside.
    pub fn mirrored_len(structured: &str) -> usize {
        let structured = visible(structured);
        ToolReply::mirrored(false, String::new()).json_len() + structured.len() + string_len(&structured) - 2
    }

    /// Bytes of the result object, without `_meta` and binary content, which has a limit of its own.
    pub fn json_len(&self) -> usize {
        let structured = self.structured.as_deref();
        let text = match &self.text {
            ReplyText::Plain(text) => text,
            ReplyText::Mirrored => structured.unwrap_or_default(),
        };
        let frame = if self.is_error { IS_ERROR.len() } else { IS_NO_ERROR.len() }
            + CONTENT.len()
            + TEXT_END.len()
            + CONTENT_END.len();
        let wrapping = structured.map_or(0, |json| json.len() + STRUCTURED.len());
        2 + frame + string_len(text) + wrapping
    }

    /// The approximate size of the whole reply, in bytes.
    pub(crate) fn len_hint(&self) -> usize {
        let structured = self.structured.as_ref().map_or(0, String::len);
        let text = match &self.text {
            ReplyText::Plain(text) => text.len() + structured,
            ReplyText::Mirrored => 2 * structured,
        };
        text + self.attachments.contents().iter().map(blocks::len_hint).sum::<usize>()
    }

    /// Writes the members of the result object, without its braces.
    pub fn write_members(&self, out: &mut Vec<u8>) {
        if let Some(Instead::Written(members)) = self.instead.as_deref() {
            return out.extend_from_slice(members);
        }
        out.extend_from_slice(if self.is_error { IS_ERROR } else { IS_NO_ERROR });
        out.extend_from_slice(CONTENT);
        match (&self.text, &self.structured) {
            (ReplyText::Plain(text), _) | (ReplyText::Mirrored, Some(text)) => write_string(out, text),
            (ReplyText::Mirrored, None) => write_string(out, ""),
        }
        out.extend_from_slice(TEXT_END);
        for content in self.attachments.contents() {
            blocks::write(content, out);
        }
        out.extend_from_slice(CONTENT_END);
        if let Some(structured) = &self.structured {
            out.extend_from_slice(STRUCTURED);
            out.extend_from_slice(structured.as_bytes());
        }
    }
}

/// A name sent by a client, as echoed in answers: in full, unless it is too long for a name.
pub(crate) fn short_name(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        None => Cow::Borrowed(name),
        Some((at, _)) => Cow::Owned(format!("{}…", &name[..at])),
    }
}

/// `message` of a `busy` result.
pub fn busy_message(full: CapacityError) -> String {
    match full {
        CapacityError::Calls(limit) | CapacityError::SessionCalls(limit) => {
            format!("server busy: {limit} concurrent calls in flight")
        }
        CapacityError::OwnerCalls(limit) => {
            format!("server busy: {limit} concurrent calls of this caller in flight")
        }
        CapacityError::Memory => "server busy: the memory budget is exhausted".to_owned(),
        CapacityError::OwnerMemory(_) | CapacityError::OwnerMemoryQuota(_) => {
            "server busy: the memory budget of this caller is exhausted".to_owned()
        }
        CapacityError::Quota(quota) => format!("server busy: {quota}"),
    }
}

/// `feedback` of a `busy` result.
pub fn busy_feedback(full: CapacityError) -> String {
    match full {
        CapacityError::Calls(limit) => slots(limit, "", "--max-concurrent-calls"),
        CapacityError::OwnerCalls(limit) => {
            slots(limit, " that one caller may have", "--max-concurrent-calls-per-owner")
        }
        CapacityError::SessionCalls(limit) => {
            slots(limit, " of this session", "--http-max-in-flight-per-session")
        }
        CapacityError::Memory => "What runs already holds all the memory that the server may use \
                         (--max-total-memory-bytes). Wait a moment and retry the same tools/call."
            .to_owned(),
        CapacityError::OwnerMemory(limit) => format!(
            "Your programs and sessions hold all {limit} bytes that one caller may have (--max-total-memory-bytes-per-owner). \
             Close sessions that you no longer need, or wait until your programs end, and retry the same tools/call."
        ),
        CapacityError::OwnerMemoryQuota(limit) => format!(
            "Your programs and sessions hold all {limit} bytes that the policy of this server gives you (memory_bytes). \
             Close sessions that you no longer need, or wait until your programs end, and retry the same tools/call."
        ),
        CapacityError::Quota(quota) => {
            let wait = quota.seconds().map_or_else(
                || "until one of your programs has ended".to_owned(),
                |seconds| format!("{seconds} s"),
            );
            format!(
                "The policy of this server sets the limit ({}). Wait {wait} and retry the same tools/call.",
                quota.limit()
            )
        }
    }
}

fn slots(limit: usize, of: &str, flag: &str) -> String {
    format!("All {limit} call slots{of} are taken ({flag}). Wait a moment and retry the same tools/call.")
}

/// A task as its client sees it.
#[derive(Debug, Clone)]
pub struct Task {
    /// The id of its run.
    pub id: Arc<str>,
    /// The message about its state.
    pub message: Option<String>,
    /// When its call arrived, in milliseconds since 1970.
    pub created_ms: i64,
    /// When its state changed last, in milliseconds since 1970.
    pub updated_ms: i64,
    /// How long after `created_ms` it is kept at least, in milliseconds.
    pub ttl_ms: u64,
    /// Its state.
    pub state: TaskState,
}

/// The state of a task.
#[derive(Debug, Clone)]
pub enum TaskState {
    /// Its program runs.
    Working,
    /// Its program waits for people: `inputRequests`, a JSON object of the open questions.
    Input(String),
    /// Its call has this result.
    Completed(Box<ToolReply>),
    /// Its call is answered with this error.
    Failed(RpcError),
    /// It was cancelled.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_what_is_written() {
        let mut plain = ToolReply::text(true, "a\"b\n\u{1}é");
        for reply in [plain.clone(), ToolReply::busy(CapacityError::Calls(3)), {
            plain.structured = Some("{\"a\":1}".into());
            plain
        }] {
            let mut out = Vec::new();
            reply.write_members(&mut out);
            assert_eq!(reply.json_len(), out.len() + 2);
        }
        for answer in [r#"{"a":"b\\"}"#, "{\"a\":\"\u{202e}\"}"] {
            let mirrored = ToolReply::mirrored(false, answer.into());
            assert_eq!(ToolReply::mirrored_len(answer), mirrored.json_len());
        }
    }

    #[test]
    fn structured_content_hides_nothing_and_is_the_same_value() {
        let hidden = "{\"a\":\"\u{9b}31m\u{202e}\u{200b}\"}";
        let reply = ToolReply::mirrored(false, hidden.into());
        let shown = reply.structured.unwrap();
        assert_eq!(shown, r#"{"a":"\u009b31m\u202e\u200b"}"#);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&shown), value(hidden));
    }
}
