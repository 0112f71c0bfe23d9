//! What a program asks of its host, and what the host answers.

use crate::error::{Error, Result};
use crate::json::{self, ToolArguments};
use crate::meter::Account;
use crate::value::{Map, Value};
use bytes::Bytes;

/// Number of a host call, unique within a machine.
pub type CallId = u64;

/// A call that waits for the host's [`Reply`].
#[derive(Debug)]
pub struct PendingCall {
    /// To be given back to [`Machine::complete`](super::Machine::complete).
    pub id: CallId,
    /// What is asked.
    pub request: HostRequest,
}

/// What is asked of the host. Arguments are serialised already.
#[derive(Debug)]
pub enum HostRequest {
    /// `(tool/NAME {…})`
    Tool {
        /// The tool's name as written.
        name: String,
        /// Arguments, keys spelled as language.md 5.5 says.
        arguments: Vec<u8>,
    },
    /// `(tool/call {…})`, checked as far as the machine can (upstreams.md 8.3, rows 0 and 1).
    Upstream(UpstreamCall),
    /// A discovery form over upstreams, or over names that are not known locally.
    Discovery {
        /// `apropos`, `dir`, `doc`, `meta` or `tool/servers`.
        form: &'static str,
        /// The evaluated arguments as a JSON array; symbols and keywords as their text.
        arguments: Vec<u8>,
        /// The evaluated arguments as program text, for messages.
        shown: Vec<String>,
    },
}

/// The parts of a `tool/call`. The host checks them in the order of upstreams.md 8.3.
#[derive(Debug)]
pub struct UpstreamCall {
    /// `:server`, or the shortened literal of what stands there instead of a non-empty string.
    pub server: Result<String, String>,
    /// `:tool`, likewise.
    pub tool: Result<String, String>,
    /// `:args`.
    pub arguments: Result<ToolArguments, BadArguments>,
}

/// Why `:args` cannot be sent.
#[derive(Debug)]
pub enum BadArguments {
    /// Not a map; the shortened literal.
    NotAMap(String),
    /// Holds a value without JSON form; the reason.
    NotEncodable(String),
}

/// The host's answer.
#[derive(Debug)]
pub enum Reply {
    /// The value itself: tools of the host, discovery.
    Value(Payload),
    /// `{:ok true :value … :value_kind …}`, with `:raw` when given.
    Success {
        /// The value and its kind.
        payload: Payload,
        /// The untouched envelope as JSON.
        raw: Option<Bytes>,
    },
    /// `{:ok false :reason … :message …}`: the world's fault, which the program sees as data.
    Fault {
        /// A reason word of upstreams.md 9.6.
        reason: String,
        /// What happened.
        message: String,
        /// The untouched envelope as JSON.
        raw: Option<Bytes>,
    },
    /// The program's fault: it ends with this error.
    Raise(Error),
}

/// A value on its way into a program.
#[derive(Debug)]
pub enum Payload {
    /// One JSON document (upstreams.md 9.2: kind `json`).
    Json(Bytes),
    /// Text that is not JSON (kind `text`).
    Text(String),
    /// Nothing (kind `none`).
    None,
}

thread_local! {
    /// The keywords of replies. They are built once a thread and belong to no machine, so that none is charged for them.
    static NAMES: Names = Names::new();
}

struct Names {
    ok: Value,
    value: Value,
    value_kind: Value,
    json: Value,
    text: Value,
    none: Value,
    reason: Value,
    message: Value,
    raw: Value,
}

impl Names {
    fn new() -> Names {
        let mut account = Account::new(u64::MAX);
        let _of_nobody = account.install();
        Names {
            ok: Value::keyword("ok"),
            value: Value::keyword("value"),
            value_kind: Value::keyword("value_kind"),
            json: Value::keyword("json"),
            text: Value::keyword("text"),
            none: Value::keyword("none"),
            reason: Value::keyword("reason"),
            message: Value::keyword("message"),
            raw: Value::keyword("raw"),
        }
    }
}

/// One of the keywords of replies.
fn name(of: impl FnOnce(&Names) -> &Value) -> Value {
    NAMES.with(|names| of(names).clone())
}

impl Payload {
    /// The value and its kind.
    fn into_value(self) -> Result<(Value, Value)> {
        Ok(match self {
            Payload::Json(bytes) => match json::parse(&bytes)? {
                Some(value) => (value, name(|n| &n.json)),
                None => {
                    crate::meter::reserve(bytes.len())?;
                    (Value::str(String::from_utf8_lossy(&bytes)), name(|n| &n.text))
                }
            },
            Payload::Text(text) => {
                crate::meter::reserve(text.len())?;
                (Value::Str(text.into()), name(|n| &n.text))
            }
            Payload::None => (Value::Nil, name(|n| &n.none)),
        })
    }
}

impl Reply {
    /// The value that the program sees. Parsed on the machine's thread and charged to it.
    pub(super) fn into_value(self) -> Result<Value> {
        let (ok, entries, raw) = match self {
            Reply::Raise(error) => return Err(error),
            Reply::Value(payload) => return Ok(payload.into_value()?.0),
            Reply::Success { payload, raw } => {
                let (value, kind) = payload.into_value()?;
                (true, [(name(|n| &n.value), value), (name(|n| &n.value_kind), kind)], raw)
            }
            Reply::Fault { reason, message, raw } => {
                let reason = (name(|n| &n.reason), Value::keyword(reason));
                (false, [reason, (name(|n| &n.message), Value::str(message))], raw)
            }
        };
        let mut all = Vec::with_capacity(4);
        all.push((name(|n| &n.ok), Value::bool(ok)));
        all.extend(entries);
        if let Some(raw) = raw {
            all.push((name(|n| &n.raw), json::parse(&raw)?.unwrap_or_default()));
        }
        Ok(Value::Map(Map::from_entries(all)))
    }
}
