//! A program's requests to its host, and the host's answers.

use super::called_program::CalledProgram;
use crate::error::{Error, Reason, Result};
use crate::json::{self, DocumentReading, ToolArguments};
use crate::meter::Account;
use crate::value::{Blob, Map, ReplyWatch, Value, Vector};
use bytes::Bytes;
use std::rc::Rc;

/// Number of a host call, unique within a machine.
pub type CallId = u64;

/// A call that waits for the host's [`Reply`].
#[derive(Debug)]
pub struct PendingCall {
    /// To be given back to [`Machine::complete`](super::Machine::complete).
    pub id: CallId,
    /// The request.
    pub request: HostRequest,
    /// The kept programs within which it was made, the innermost first; not the program itself.
    pub within: Vec<CalledProgram>,
}

/// A request to the host. Arguments are serialised already.
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
    /// `(resource/read {…})` and the like: something of an upstream besides its tools (upstreams.md 19).
    Feature(FeatureRequest),
    /// `(ask {…})`: a question to a person (waiting.md 3.4).
    Ask {
        /// The question: 1 to 2,000 characters.
        message: String,
        /// The JSON Schema of the form, one JSON object; `None`: yes or no.
        schema: Option<Vec<u8>>,
    },
    /// `(sleep-ms n)`: a wait. The reply is nothing.
    Sleep {
        /// At most [`MOST_SLEEP_MS`].
        millis: u32,
    },
}

/// Milliseconds that a program may wait at a time.
pub const MOST_SLEEP_MS: u32 = 10_000;

impl HostRequest {
    /// Bytes that it holds, nearly.
    pub(super) fn bytes(&self) -> usize {
        match self {
            HostRequest::Tool { name, arguments } => name.len() + arguments.len(),
            HostRequest::Upstream(call) => call.bytes(),
            HostRequest::Discovery { arguments, .. } => arguments.len(),
            HostRequest::Feature(request) => request.bytes(),
            HostRequest::Ask { message, schema } => message.len() + schema.as_ref().map_or(0, Vec::len),
            HostRequest::Sleep { .. } => 0,
        }
    }
}

/// A request for something that an upstream has besides tools; its form has been checked.
#[derive(Clone, Debug)]
pub struct FeatureRequest {
    /// The feature requested.
    pub feature: Feature,
    /// `:server`, not empty.
    pub server: String,
    /// `:uri` or `:name`, not empty; empty for lists.
    pub subject: String,
    /// `:args` of a prompt or `:context` of a completion, as one JSON object.
    pub arguments: Vec<u8>,
    /// `:argument` and `:value` of a completion.
    pub argument: Option<(String, String)>,
}

impl FeatureRequest {
    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        let argument = self.argument.as_ref().map_or(0, |(name, value)| name.len() + value.len());
        self.server.len() + self.subject.len() + self.arguments.len() + argument
    }
}

/// Features of an upstream besides tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// All resources.
    ResourceList,
    /// All templates of resources.
    ResourceTemplates,
    /// The contents of a resource.
    ResourceRead,
    /// Proposals for an argument of a template.
    ResourceComplete,
    /// All prompts.
    PromptList,
    /// The messages of a prompt.
    PromptGet,
    /// Proposals for an argument of a prompt.
    PromptComplete,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 7] = [
        Feature::ResourceList,
        Feature::ResourceTemplates,
        Feature::ResourceRead,
        Feature::ResourceComplete,
        Feature::PromptList,
        Feature::PromptGet,
        Feature::PromptComplete,
    ];

    /// How programs write it.
    pub fn form(self) -> &'static str {
        match self {
            Feature::ResourceList => "resource/list",
            Feature::ResourceTemplates => "resource/templates",
            Feature::ResourceRead => "resource/read",
            Feature::ResourceComplete => "resource/complete",
            Feature::PromptList => "prompt/list",
            Feature::PromptGet => "prompt/get",
            Feature::PromptComplete => "prompt/complete",
        }
    }
}

/// The parts of a `tool/call`. The host checks them in the order of upstreams.md 8.3.
#[derive(Clone, Debug)]
pub struct UpstreamCall {
    /// `:server`, or the shortened literal of any value that is no non-empty string.
    pub server: Result<String, String>,
    /// `:tool`, likewise.
    pub tool: Result<String, String>,
    /// `:args`.
    pub arguments: Result<ToolArguments, ArgumentsError>,
    /// Whether it is a call for a page of `tool/pages`, which gets the tool's parameters too.
    pub by_pages: bool,
}

impl UpstreamCall {
    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let (Ok(server) | Err(server)) = &self.server;
        let (Ok(tool) | Err(tool)) = &self.tool;
        let arguments = self.arguments.as_ref().map_or(0, |arguments| {
            arguments.json.len() + arguments.hyphenated.len() * size_of::<std::ops::Range<usize>>()
        });
        server.len() + tool.len() + arguments
    }
}

/// Why `:args` cannot be sent.
#[derive(Clone, Debug)]
pub enum ArgumentsError {
    /// The call would send more than it may.
    TooLong {
        /// Bytes that it would send, at least.
        bytes: usize,
        /// Bytes that it may send.
        most: usize,
    },
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
    /// `{:ok true :value … :value_kind …}`.
    Success {
        /// The value and its kind.
        payload: Payload,
        /// All blocks of the answer, for `:content`; empty where `:value` says it all.
        content: Vec<ContentBlock>,
        /// The untouched envelope as JSON, for `:raw`.
        raw: Option<Bytes>,
        /// Observes the use of the result.
        watch: Option<Rc<ReplyWatch>>,
    },
    /// `{:ok false :reason … :message … :sent …}`: the world's fault, which the program sees as data.
    Fault {
        /// A reason word of upstreams.md 9.6.
        reason: String,
        /// The error message.
        message: String,
        /// Whether the call may have reached an upstream, for `:sent`; `None` if it is no call of an upstream.
        sent: Option<bool>,
        /// The tool's data about its failure, as JSON, for `:data`.
        data: Option<Bytes>,
        /// The untouched envelope as JSON, for `:raw`.
        raw: Option<Bytes>,
        /// Observes the use of the result.
        watch: Option<Rc<ReplyWatch>>,
    },
    /// The program's fault: it ends with this error.
    Raise(Error),
}

impl Reply {
    /// A success of nothing but a value.
    pub fn success(payload: Payload) -> Reply {
        Reply::Success { payload, content: Vec::new(), raw: None, watch: None }
    }

    /// A world fault of nothing but a reason and a message.
    pub fn fault(reason: impl Into<String>, message: impl Into<String>) -> Reply {
        let (reason, message) = (reason.into(), message.into());
        Reply::Fault { reason, message, sent: None, data: None, raw: None, watch: None }
    }
}

/// A value on its way into a program, still as the bytes that came. Bytes of text that are not UTF-8 are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// One JSON document (upstreams.md 9.2: kind `json`). Numbers that no program can hold are a world fault.
    Json(Bytes),
    /// Text that is taken as JSON where it is (kind `json`), and as it stands otherwise (kind `text`): left undecided
    /// so that the reader of values decides in its one pass.
    JsonOrText(Bytes),
    /// Text that is not JSON (kind `text`).
    Text(Bytes),
    /// Binary or composed content (kind `content`).
    Content(Box<ContentBlock>),
    /// Nothing (kind `none`).
    None,
    /// An empty success of a transport whose values are JSON (kind `json`).
    JsonNull,
}

impl Payload {
    /// The payload of a text block, by its first byte: only text that begins like a JSON value is worth a reader's
    /// attempt.
    #[must_use]
    pub fn of_text(text: Bytes) -> Payload {
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => Payload::JsonOrText(text),
            _ => Payload::Text(text),
        }
    }

    /// Its text, JSON or not.
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            Payload::Json(text) | Payload::JsonOrText(text) | Payload::Text(text) => Some(text),
            Payload::Content(_) | Payload::None | Payload::JsonNull => None,
        }
    }

    /// The `:value_kind` of a decided payload: `json`, `text`, `content` or `none`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Payload::Json(_) | Payload::JsonOrText(_) | Payload::JsonNull => "json",
            Payload::Text(_) => "text",
            Payload::Content(_) => "content",
            Payload::None => "none",
        }
    }
}

/// One block of an answer, as `:content` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentBlock {
    /// A text block, decoded as `:value` is.
    Text(Bytes),
    /// A block of another kind, described: `{:type …}` and its members.
    Other {
        /// Its kind as it was written: `image`, `audio`, `resource`, `resource_link` …; empty where it has no `:type`.
        kind: String,
        /// Its members in any order, by the names of their keywords.
        members: Vec<(&'static str, BlockMember)>,
    },
}

impl ContentBlock {
    /// The text of a text block.
    #[must_use]
    pub fn text(&self) -> Option<&Bytes> {
        match self {
            ContentBlock::Text(text) => Some(text),
            ContentBlock::Other { .. } => None,
        }
    }

    /// Members without a kind.
    #[must_use]
    pub fn unnamed(members: Vec<(&'static str, BlockMember)>) -> ContentBlock {
        ContentBlock::Other { kind: String::new(), members }
    }

    /// The text of a member.
    #[must_use]
    pub fn member(&self, wanted: &str) -> Option<&Bytes> {
        let ContentBlock::Other { members, .. } = self else { return None };
        members.iter().find_map(|(name, member)| match member {
            BlockMember::Text(text) if *name == wanted => Some(text),
            _ => None,
        })
    }
}

/// A member of a [`ContentBlock`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockMember {
    /// Text as it stands.
    Text(Bytes),
    /// A count, for instance of bytes.
    Count(u64),
    /// Content in base64, which the program gets as a reference. Its type and origin are the members `mime_type` and
    /// `uri` of the same block, which stand before it.
    Binary(Bytes),
    /// A block.
    Block(Box<ContentBlock>),
    /// A vector of blocks.
    Blocks(Vec<ContentBlock>),
}

thread_local! {
    /// The keywords of replies. They are built once a thread and belong to no machine, so that none is charged for them.
    static NAMES: ReplyKeys = ReplyKeys::new();
}

struct ReplyKeys {
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

impl ReplyKeys {
    fn new() -> ReplyKeys {
        let mut account = Account::new(u64::MAX);
        let _of_nobody = account.install();
        ReplyKeys {
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
fn name(of: impl FnOnce(&ReplyKeys) -> &Value) -> Value {
    NAMES.with(|names| of(names).clone())
}

/// The keyword of replies that has this name.
pub(super) fn reply_keyword(called: &str) -> Option<Value> {
    NAMES.with(|names| {
        let all = [
            &names.ok,
            &names.value,
            &names.value_kind,
            &names.json,
            &names.text,
            &names.none,
            &names.reason,
            &names.message,
            &names.raw,
        ];
        let known = |name: &Value| matches!(name, Value::Keyword(keyword) if keyword.name() == called);
        all.into_iter().find(|name| known(name)).cloned()
    })
}

/// The key under which `tool/pages` gets the tool's parameters, beside the page. No program sees it.
pub(crate) const PAGING: &str = "paging";

/// The reason of a success whose value no program can hold (ruling 78).
const UNREADABLE: &str = "upstream_error";

/// Why a payload has no value.
enum PayloadError {
    /// No program can hold it; the sentence says why.
    Unreadable(String),
    /// This program cannot: its limits are reached.
    Limit(Error),
}

impl From<Error> for PayloadError {
    fn from(error: Error) -> PayloadError {
        PayloadError::Limit(error)
    }
}

impl Payload {
    /// The value and its kind.
    fn into_value(self, watch: Option<&ReplyWatch>) -> std::result::Result<(Value, Value), PayloadError> {
        let (bytes, may_be_text) = match self {
            Payload::Json(bytes) => (bytes, false),
            Payload::JsonOrText(bytes) => (bytes, true),
            Payload::Text(text) => return Ok((text_value(&text)?, name(|n| &n.text))),
            Payload::Content(block) => return Ok((block.into_value(watch)?, Value::keyword("content"))),
            Payload::None => return Ok((Value::Nil, name(|n| &n.none))),
            Payload::JsonNull => return Ok((Value::Nil, name(|n| &n.json))),
        };
        match json::parse_reply(&bytes)? {
            DocumentReading::Value(value) => Ok((value, name(|n| &n.json))),
            DocumentReading::Mended(value, count) => {
                if let Some(watch) = watch {
                    watch.note_mended(count);
                }
                Ok((value, name(|n| &n.json)))
            }
            DocumentReading::Malformed(_) if may_be_text => {
                if let Some(value) = json::parse_python(&bytes)? {
                    if let Some(watch) = watch {
                        watch.note_python();
                    }
                    return Ok((value, name(|n| &n.json)));
                }
                Ok((text_value(&bytes)?, name(|n| &n.text)))
            }
            DocumentReading::Malformed(why) | DocumentReading::TooLarge(why) => {
                Err(PayloadError::Unreadable(why))
            }
        }
    }
}

/// Text as a value.
fn text_value(text: &[u8]) -> Result<Value> {
    crate::meter::reserve(text.len())?;
    Ok(Value::str(String::from_utf8_lossy(text)))
}

impl ContentBlock {
    /// `{:type … …}`.
    fn into_value(self, watch: Option<&ReplyWatch>) -> std::result::Result<Value, PayloadError> {
        let (kind, members) = match self {
            ContentBlock::Other { kind, members } => (kind, members),
            ContentBlock::Text(text) => {
                let text = Payload::of_text(text).into_value(watch)?.0;
                let entries = [(Value::keyword("type"), Value::str("text")), (Value::keyword("text"), text)];
                return Ok(Value::Map(Map::from_entries(entries.into())));
            }
        };
        let mut entries: Vec<(Value, Value)> = Vec::with_capacity(1 + members.len());
        if !kind.is_empty() {
            entries.push((Value::keyword("type"), Value::str(&kind)));
        }
        for (name, member) in members {
            let value = match member {
                BlockMember::Text(text) => text_value(&text)?,
                BlockMember::Count(count) => Value::Int(i64::try_from(count).unwrap_or(i64::MAX)),
                BlockMember::Binary(base64) => match reference(&kind, &entries, &base64)? {
                    Some(blob) => Value::Blob(blob),
                    None => continue,
                },
                BlockMember::Block(block) => block.into_value(watch)?,
                BlockMember::Blocks(blocks) => blocks_value(blocks, watch)?,
            };
            entries.push((Value::keyword(name), value));
        }
        Ok(Value::Map(Map::from_entries(entries)))
    }
}

/// The content of a block with these members before it; `None` where it is no base64.
fn reference(kind: &str, members: &[(Value, Value)], base64: &[u8]) -> Result<Option<Rc<Blob>>> {
    let text = |name: &str| {
        let named = |key: &Value| matches!(key, Value::Keyword(key) if key.name() == name);
        members.iter().find_map(|(key, value)| match value {
            Value::Str(text) if named(key) => Some(text.as_str()),
            _ => None,
        })
    };
    Blob::new(kind, text("mime_type").unwrap_or_default(), text("uri").unwrap_or_default(), base64)
}

/// Blocks as a vector.
fn blocks_value(
    blocks: Vec<ContentBlock>,
    watch: Option<&ReplyWatch>,
) -> std::result::Result<Value, PayloadError> {
    let mut values = Vector::new();
    for block in blocks {
        crate::meter::check_memory()?;
        values.push(block.into_value(watch)?);
    }
    Ok(Value::Vector(values))
}

impl Reply {
    /// The value that the program sees. Parsed on the machine's thread and charged to it.
    pub(super) fn into_value(self) -> Result<Value> {
        let unreadable = match self {
            Reply::Raise(error) => return Err(error),
            Reply::Value(payload) => {
                let payload = match payload {
                    Payload::Json(bytes) => Payload::JsonOrText(bytes),
                    other => other,
                };
                return match payload.into_value(None) {
                    Ok((value, _)) => Ok(value),
                    Err(PayloadError::Limit(error)) => Err(error),
                    Err(PayloadError::Unreadable(why)) => {
                        Err(Error::verbatim(Reason::RuntimeError, format!("runtime_error: {why}")))
                    }
                };
            }
            Reply::Success { payload, content, raw, watch } => {
                match success(payload, content, raw, watch.as_deref()) {
                    Ok(value) => return Ok(value),
                    Err(PayloadError::Limit(error)) => return Err(error),
                    Err(PayloadError::Unreadable(why)) => {
                        let message = format!("the answer cannot be read: {why}");
                        if let Some(watch) = &watch {
                            watch.note_unreadable(&message);
                        }
                        let reason = UNREADABLE.to_owned();
                        Reply::Fault { reason, message, sent: Some(true), data: None, raw: None, watch }
                    }
                }
            }
            fault @ Reply::Fault { .. } => fault,
        };
        match unreadable {
            Reply::Fault { reason, message, sent, data, raw, watch } => {
                fault(reason, message, sent, data, raw, watch)
            }
            _ => unreachable!("all else has been answered"),
        }
    }
}

/// `{:ok true :value … :value_kind …}`, with `:content` and `:raw` where there are any.
fn success(
    payload: Payload,
    content: Vec<ContentBlock>,
    raw: Option<Bytes>,
    watch: Option<&ReplyWatch>,
) -> std::result::Result<Value, PayloadError> {
    let (value, kind) = payload.into_value(watch)?;
    let paging = watch.and_then(|watch| watch.note_value(&value));
    let further = [!content.is_empty(), raw.is_some(), paging.is_some()].map(usize::from);
    let mut all = Vec::with_capacity(3 + further.iter().sum::<usize>());
    all.push((name(|n| &n.ok), Value::True));
    all.push((name(|n| &n.value), value));
    all.push((name(|n| &n.value_kind), kind));
    if !content.is_empty() {
        all.push((Value::keyword("content"), blocks_value(content, watch)?));
    }
    if let Some(raw) = raw {
        all.push((name(|n| &n.raw), lenient(&raw)?));
    }
    if let Some(paging) = paging {
        all.push((Value::keyword(PAGING), paging));
    }
    let map = Map::from_entries(all);
    if let Some(shape) = map.shape() {
        shape.mark_reply();
    }
    Ok(Value::Map(map))
}

/// `{:ok false :reason … :message …}`, with `:sent`, `:data` and `:raw` where there are any.
fn fault(
    reason: String,
    message: String,
    sent: Option<bool>,
    data: Option<Bytes>,
    raw: Option<Bytes>,
    watch: Option<Rc<ReplyWatch>>,
) -> Result<Value> {
    let further = [sent.is_some(), data.is_some(), raw.is_some()].map(usize::from);
    let mut all = Vec::with_capacity(3 + further.iter().sum::<usize>());
    all.push((name(|n| &n.ok), Value::False));
    all.push((name(|n| &n.reason), Value::keyword(reason)));
    all.push((name(|n| &n.message), Value::str(message)));
    if let Some(sent) = sent {
        all.push((Value::keyword("sent"), if sent { Value::True } else { Value::False }));
    }
    if let Some(data) = data {
        all.push((Value::keyword("data"), lenient(&data)?));
    }
    if let Some(raw) = raw {
        all.push((name(|n| &n.raw), lenient(&raw)?));
    }
    let map = Map::from_entries(all);
    Ok(Value::Map(match watch {
        Some(watch) => map.watched(watch),
        None => map,
    }))
}

/// A document that comes besides the answer proper: `nil` where no program can hold it.
fn lenient(json: &Bytes) -> Result<Value> {
    Ok(match json::parse_reply(json)? {
        DocumentReading::Value(value) | DocumentReading::Mended(value, _) => value,
        DocumentReading::Malformed(_) | DocumentReading::TooLarge(_) => Value::Nil,
    })
}
