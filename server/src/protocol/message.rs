//! Reads JSON-RPC messages: what is a request, a notification, a client's response, or none of these.
//!
//! One pass over the text. Members that the protocol does not know are skipped; a known member that appears twice
//! makes the message ambiguous, and an ambiguous message is refused rather than read one way here and another way by
//! a proxy in front.

use std::borrow::Cow;
use std::fmt;

use compact_str::CompactString;

use ptc_mcp::json::{Kind, Malformed, Raw, Scanner, write_string};

/// Most messages in one batch.
pub const MAX_BATCH: usize = 64;

/// The `_meta` key that makes a request modern.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key every modern request must carry besides [`META_VERSION`].
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Longest id that is shown in full, in bytes.
const MAX_SHOWN_ID: usize = 256;

/// A request id: a string or an integer, kept as the JSON text to echo. Strings are normalised, so that two spellings
/// of one string are one id; `1` and `"1"` are different ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(CompactString);

impl RequestId {
    /// The id `raw` stands for; `None` unless it is a string or an integer.
    pub fn from_raw(raw: Raw<'_>) -> Option<RequestId> {
        match raw.kind() {
            Kind::Integer => Some(RequestId(raw.text().into())),
            Kind::String if memchr::memchr(b'\\', raw.text().as_bytes()).is_none() => {
                Some(RequestId(raw.text().into()))
            }
            Kind::String => {
                let mut text = Vec::new();
                write_string(&mut text, &raw.as_str()?);
                String::from_utf8(text).ok().map(|text| RequestId(text.into()))
            }
            _ => None,
        }
    }

    /// The id as JSON.
    pub fn json(&self) -> &str {
        &self.0
    }
}

/// Prints the id as plain text, as logs and records show it: a string without its quotes, a very long one shortened.
impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = self.0.starts_with('"');
        let text = if quoted { Raw::parse(&self.0).ok().and_then(Raw::as_str) } else { None };
        let text = text.unwrap_or(Cow::Borrowed(&self.0));
        if text.len() <= MAX_SHOWN_ID {
            return out.write_str(&text);
        }
        let end = text.char_indices().nth(64).map_or(text.len(), |(at, _)| at);
        write!(out, "{}…({}B id, truncated)", &text[..end], text.len())
    }
}

/// The `id` member of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdMember {
    /// Not there: the message is a notification.
    Absent,
    /// A string or an integer.
    Valid(RequestId),
    /// There, but nothing MCP allows (null, fraction, boolean, array, object).
    Invalid,
}

/// The `_meta` key with which a modern request asks for log messages.
pub const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The members of `_meta` that the protocol reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meta<'a> {
    /// The revision of a modern request.
    pub version: Option<Raw<'a>>,
    /// The client's capabilities of a modern request.
    pub capabilities: Option<Raw<'a>>,
    /// The token under which the client wants progress.
    pub progress_token: Option<Raw<'a>>,
    /// The least severity of log messages that the client wants.
    pub log_level: Option<Raw<'a>>,
}

/// The members of `params` that the protocol reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Params<'a> {
    /// `name` of `tools/call`.
    pub name: Option<Raw<'a>>,
    /// `arguments` of `tools/call`.
    pub arguments: Option<Raw<'a>>,
    /// `protocolVersion` of `initialize`.
    pub protocol_version: Option<Raw<'a>>,
    /// `requestId` of `notifications/cancelled`.
    pub request_id: Option<Raw<'a>>,
    /// `cursor` of a list.
    pub cursor: Option<Raw<'a>>,
    /// `uri` of `resources/read`, mirrored in `Mcp-Name`.
    pub uri: Option<Raw<'a>>,
    /// What a `subscriptions/listen` wants to hear of.
    pub notifications: Option<Raw<'a>>,
    /// Whether `_meta` is there and an object.
    pub has_meta: bool,
    /// `_meta`
    pub meta: Meta<'a>,
}

/// What `params` is.
#[derive(Debug, Clone, Copy)]
pub enum ParamsMember<'a> {
    /// Not there.
    Absent,
    /// An object.
    Object(Params<'a>),
    /// Anything else, or an object that names a member twice.
    Invalid,
}

impl<'a> ParamsMember<'a> {
    /// The members, if `params` is an object.
    pub fn object(&self) -> Option<&Params<'a>> {
        match self {
            ParamsMember::Object(params) => Some(params),
            _ => None,
        }
    }
}

/// One message as received.
#[derive(Debug)]
pub struct Message<'a> {
    /// `id`
    pub id: IdMember,
    /// Whether `jsonrpc` is `"2.0"` and no member of the envelope appears twice.
    pub well_formed: bool,
    /// `method`; an inner `None` if it is no string.
    pub method: Option<Option<Cow<'a, str>>>,
    /// `params`
    pub params: ParamsMember<'a>,
    /// Whether it carries `result` or `error`: a client's response.
    pub is_response: bool,
}

impl<'a> Message<'a> {
    /// Whether the message carries the revision of a modern request.
    pub fn is_modern(&self) -> bool {
        self.params.object().is_some_and(|params| params.meta.version.is_some())
    }

    /// The id to answer with, where the message has a usable one.
    pub fn answer_id(&self) -> Option<&RequestId> {
        match &self.id {
            IdMember::Valid(id) => Some(id),
            _ => None,
        }
    }
}

/// What one frame or body holds.
#[expect(
    clippy::large_enum_variant,
    reason = "a message lives on the stack while it is handled; a box would be an allocation for each"
)]
#[derive(Debug)]
pub enum Incoming<'a> {
    /// One message.
    Single(Message<'a>),
    /// An array of messages; `None` for an element that is no object. Holds at most [`MAX_BATCH`].
    Batch(Vec<Option<Message<'a>>>),
    /// An array of more than [`MAX_BATCH`] elements, or an empty one.
    BatchRefused,
    /// A JSON value that is neither.
    NotAMessage,
}

/// Reads a frame or body. Fails only if the bytes are no acceptable JSON.
pub fn read(bytes: &[u8]) -> Result<Incoming<'_>, Malformed> {
    let text = std::str::from_utf8(bytes).map_err(|error| Malformed::Syntax(error.valid_up_to()))?;
    let mut scanner = Scanner::new(text);
    let incoming = match scanner.peek() {
        Some(b'{') => Incoming::Single(read_message(&mut scanner)?),
        Some(b'[') => read_batch(&mut scanner)?,
        _ => {
            scanner.value()?;
            Incoming::NotAMessage
        }
    };
    scanner.end()?;
    Ok(incoming)
}

fn read_batch<'a>(scanner: &mut Scanner<'a>) -> Result<Incoming<'a>, Malformed> {
    scanner.enter_array()?;
    let mut messages = Vec::new();
    let mut first = true;
    let mut count = 0usize;
    while scanner.next_element(&mut first)? {
        count += 1;
        if count > MAX_BATCH {
            scanner.value()?;
        } else if scanner.peek() == Some(b'{') {
            messages.push(Some(read_message(scanner)?));
        } else {
            scanner.value()?;
            messages.push(None);
        }
    }
    Ok(if count == 0 || count > MAX_BATCH { Incoming::BatchRefused } else { Incoming::Batch(messages) })
}

fn read_message<'a>(scanner: &mut Scanner<'a>) -> Result<Message<'a>, Malformed> {
    let (mut jsonrpc, mut id, mut method) = (None, None, None);
    let mut params = None;
    let (mut ambiguous, mut is_response) = (false, false);
    scanner.enter_object()?;
    let mut first = true;
    while scanner.next_member(&mut first)? {
        let key = scanner.key()?;
        match &*key {
            "jsonrpc" => set(&mut jsonrpc, scanner.value()?, &mut ambiguous),
            "id" => set(&mut id, scanner.value()?, &mut ambiguous),
            "method" => set(&mut method, scanner.value()?, &mut ambiguous),
            "params" => {
                let read = read_params(scanner)?;
                set(&mut params, read, &mut ambiguous);
            }
            "result" | "error" => {
                scanner.value()?;
                is_response = true;
            }
            _ => {
                scanner.value()?;
            }
        }
    }
    Ok(Message {
        id: match id {
            None => IdMember::Absent,
            Some(raw) => RequestId::from_raw(raw).map_or(IdMember::Invalid, IdMember::Valid),
        },
        well_formed: !ambiguous && jsonrpc.and_then(Raw::as_str).as_deref() == Some("2.0"),
        method: method.map(Raw::as_str),
        params: params.unwrap_or(ParamsMember::Absent),
        is_response,
    })
}

fn read_params<'a>(scanner: &mut Scanner<'a>) -> Result<ParamsMember<'a>, Malformed> {
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Ok(ParamsMember::Invalid);
    }
    let mut params = Params::default();
    let mut meta = None;
    let mut ambiguous = false;
    scanner.enter_object()?;
    let mut first = true;
    while scanner.next_member(&mut first)? {
        let key = scanner.key()?;
        let slot = match &*key {
            "name" => &mut params.name,
            "arguments" => &mut params.arguments,
            "protocolVersion" => &mut params.protocol_version,
            "requestId" => &mut params.request_id,
            "cursor" => &mut params.cursor,
            "uri" => &mut params.uri,
            "notifications" => &mut params.notifications,
            "_meta" => {
                let read = read_meta(scanner, &mut ambiguous)?;
                set(&mut meta, read, &mut ambiguous);
                continue;
            }
            _ => {
                scanner.value()?;
                continue;
            }
        };
        set(slot, scanner.value()?, &mut ambiguous);
    }
    if let Some(Some(meta)) = meta {
        params.has_meta = true;
        params.meta = meta;
    }
    Ok(if ambiguous { ParamsMember::Invalid } else { ParamsMember::Object(params) })
}

fn read_meta<'a>(scanner: &mut Scanner<'a>, ambiguous: &mut bool) -> Result<Option<Meta<'a>>, Malformed> {
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Ok(None);
    }
    let mut meta = Meta::default();
    scanner.enter_object()?;
    let mut first = true;
    while scanner.next_member(&mut first)? {
        let key = scanner.key()?;
        let value = scanner.value()?;
        match &*key {
            META_VERSION => set(&mut meta.version, value, ambiguous),
            META_CAPABILITIES => set(&mut meta.capabilities, value, ambiguous),
            META_LOG_LEVEL => set(&mut meta.log_level, value, ambiguous),
            "progressToken" => set(&mut meta.progress_token, value, ambiguous),
            _ => {}
        }
    }
    Ok(Some(meta))
}

fn set<T>(slot: &mut Option<T>, value: T, ambiguous: &mut bool) {
    *ambiguous |= slot.is_some();
    *slot = Some(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(text: &str) -> Message<'_> {
        match read(text.as_bytes()) {
            Ok(Incoming::Single(message)) => message,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn reads_a_call() {
        let text = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a":[1]},
            "_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","x":1}},"extra":{}}"#;
        let message = single(text);
        assert!(message.well_formed && message.is_modern() && !message.is_response);
        assert_eq!(message.answer_id().unwrap().json(), "7");
        assert_eq!(message.method.as_ref().unwrap().as_deref(), Some("tools/call"));
        let params = message.params.object().unwrap();
        assert_eq!(params.arguments.unwrap().text(), r#"{"a":[1]}"#);
        assert_eq!(params.meta.progress_token.unwrap().text(), "\"p\"");
    }

    #[test]
    fn ids_are_strings_or_integers() {
        let id = |text: &str| single(&format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"m"}}"#)).id;
        assert!(matches!(id("1"), IdMember::Valid(id) if id.json() == "1"));
        assert!(matches!(id("-9007199254740993"), IdMember::Valid(id) if id.json() == "-9007199254740993"));
        assert_eq!(id(r#""\u0061""#), id(r#""a""#));
        assert_ne!(id("\"1\""), id("1"));
        for text in ["null", "1.5", "true", "[1]", "{\"a\":1}", "1e3"] {
            assert_eq!(id(text), IdMember::Invalid, "{text}");
        }
        assert_eq!(single(r#"{"jsonrpc":"2.0","method":"m"}"#).id, IdMember::Absent);
    }

    #[test]
    fn a_member_given_twice_is_ambiguous() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}"#,
        ] {
            assert!(!single(text).well_formed, "{text}");
        }
        for params in
            [r#"{"name":"a","name":"b"}"#, r#"{"_meta":{"progressToken":1,"progressToken":2}}"#, "[1]"]
        {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            assert!(matches!(single(&text).params, ParamsMember::Invalid), "{params}");
        }
    }

    #[test]
    fn batches_are_bounded() {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let batch = |n: usize| format!("[{}]", vec![one; n].join(","));
        assert!(matches!(read(batch(64).as_bytes()), Ok(Incoming::Batch(messages)) if messages.len() == 64));
        assert!(matches!(read(batch(65).as_bytes()), Ok(Incoming::BatchRefused)));
        assert!(matches!(read(b"[]"), Ok(Incoming::BatchRefused)));
        assert!(matches!(read(b"[1]"), Ok(Incoming::Batch(messages)) if messages[0].is_none()));
        assert!(matches!(read(b"42"), Ok(Incoming::NotAMessage)));
        assert!(read(b"{\"a\":1} x").is_err() && read(b"\xff{}").is_err() && read(b"").is_err());
    }
}
