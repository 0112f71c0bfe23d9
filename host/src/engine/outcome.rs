//! What an eval comes to.

use super::session::SessionReport;
use ptc_vm::error::Position;
use ptc_vm::{Error, Reason};
use serde::Serialize;
use std::time::Duration;

/// How an eval ended. Plain data that may leave the driver's thread.
#[derive(Clone, Debug)]
pub struct EvalOutcome {
    /// The value, or why there is none.
    pub result: Result<Answer, Failure>,
    /// The print log, kept whatever the result.
    pub prints: Vec<String>,
    /// Steps used.
    pub steps: u64,
    /// Most bytes held at a time.
    pub memory_peak_bytes: u64,
    /// Calls of upstream tools, in order of completion.
    pub upstream_calls: Vec<CallRecord>,
    /// Names that the program defined or changed in its session, sorted; empty without one.
    pub changed: Vec<String>,
    /// Whether `(return …)` ended the program, rather than its last form or a failure.
    pub returned: bool,
    /// What its session holds now, or why nothing was stored; only for sessions under rules.
    pub session: Option<Box<SessionReport>>,
    /// From the program's first step to its end.
    pub duration: Duration,
}

/// The value of a program that succeeded.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The readable form, as far as it was asked for.
    pub text: String,
    /// What `text` leaves out, if anything.
    pub cut: Option<ptc_vm::print::Cut>,
    /// Whether the value is `nil`.
    pub is_nil: bool,
    /// The value as JSON, if it was asked for; the error names the path that has no JSON form.
    pub json: Option<Result<String, String>>,
    /// The value as JSON by the request's signature, if there was one.
    pub validated: Option<String>,
}

/// Why a program has no value.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The reason word.
    pub reason: Reason,
    /// The full sentence.
    pub message: String,
    /// How to repair the program: text that goes on right behind the message.
    pub hint: Option<String>,
    /// Where in the program, if that is known.
    pub position: Option<Position>,
    /// The readable form of the value given to `fail`.
    pub payload: Option<String>,
}

impl Failure {
    /// A failure without a place.
    pub fn new(reason: Reason, message: impl Into<String>) -> Failure {
        Failure { reason, message: message.into(), hint: None, position: None, payload: None }
    }
}

impl Failure {
    /// The message with its hint: what people and models read.
    pub fn full_message(&self) -> String {
        format!("{}{}", self.message, self.hint.as_deref().unwrap_or_default())
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        Failure {
            reason: error.reason(),
            message: error.message().to_owned(),
            hint: error.hint().map(str::to_owned),
            position: error.position(),
            payload: error.payload().map(|_| error.message().to_owned()),
        }
    }
}

/// Whether an upstream call worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    /// The tool answered.
    Ok,
    /// A world fault.
    Error,
}

/// One call of an upstream tool (upstreams.md 11.1).
#[derive(Clone, Debug, Serialize)]
pub struct CallRecord {
    /// The upstream's configured name.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments as they were sent: a JSON object, scrubbed, for session journals and diagnostics; not part of
    /// `upstream_calls`. `None` where they are longer than [`CallRecord::MAX_ARGS_BYTES`].
    #[serde(skip)]
    pub args: Option<Box<str>>,
    /// Whether it worked.
    pub status: CallStatus,
    /// When the program made the call, in whole milliseconds since its first step; not part of `upstream_calls`.
    #[serde(skip)]
    pub offset_ms: u64,
    /// From the first byte written to the last one read, in whole milliseconds.
    pub duration_ms: u64,
    /// Why it failed, from the closed set of upstreams.md 9.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the upstream or the transport said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Bytes of the upstream's result as compact JSON (for an answer that was refused for its size: of that answer);
    /// `None` where there was no result.
    pub result_bytes: Option<u64>,
    /// Whether the answer passed the byte cap.
    pub oversize: bool,
    /// How the request was authenticated, for HTTP upstreams with credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<CallAuth>,
    /// The HTTP status that a fault came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// What the value looked like, for models and diagnostics; not part of `upstream_calls`.
    #[serde(skip)]
    pub overview: Option<ResultOverview>,
}

impl CallRecord {
    /// Longest arguments that a record keeps, in bytes of JSON: records of a whole program stay small.
    pub const MAX_ARGS_BYTES: usize = 4096;
}

/// Names of the credential used for a call, never its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallAuth {
    /// The emitter's scheme.
    pub scheme: String,
    /// The credential's name.
    pub binding: String,
}

/// A glance at the value of a successful call, taken from the scrubbed value (upstreams.md 11.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultOverview {
    /// `text` for strings, else `json`.
    pub value_kind: &'static str,
    /// For instance `map keys=["a", "b"] count=2`.
    pub shape: String,
    /// The beginning, at most 240 bytes and `...`.
    pub preview: String,
}
