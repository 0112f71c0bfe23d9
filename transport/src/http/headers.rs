//! The request headers that this server reads, including those that mirror the body of a modern request.

use std::borrow::Cow;

use http::{HeaderMap, HeaderValue};
use ptc_mcp::json::Raw;
use ptc_mcp::message::strict::StrictMessage;
use ptc_mcp::revision::{Revision, is_modern_header};
use ptc_mcp::trace_context::TraceContext;
use ptc_mcp::{RpcError, headers, meta};

/// A header, and whether it occurs more than once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Header<'h> {
    first: Option<&'h HeaderValue>,
    again: bool,
}

impl<'h> Header<'h> {
    fn add(&mut self, value: &'h HeaderValue) {
        self.again = self.first.is_some();
        self.first = self.first.or(Some(value));
    }

    /// The first value.
    pub(super) fn first(self) -> Option<&'h HeaderValue> {
        self.first
    }

    /// The value of a header that may occur once; `Err` if it occurs again.
    pub(super) fn only(self) -> Result<Option<&'h HeaderValue>, ()> {
        if self.again { Err(()) } else { Ok(self.first) }
    }

    /// The text of a header that may occur once; `Err` if it occurs again or is not visible ASCII.
    pub(super) fn single(self) -> Result<Option<&'h str>, ()> {
        let Some(value) = self.only()? else { return Ok(None) };
        value.to_str().map(|text| Some(trimmed(text))).map_err(|_| ())
    }
}

/// The headers that this server reads, found in one pass: separate lookups cost more than all the other checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Headers<'h> {
    /// All of them.
    pub(super) all: &'h HeaderMap,
    pub(super) accept: Header<'h>,
    pub(super) authorization: Header<'h>,
    pub(super) content_type: Header<'h>,
    pub(super) host: Header<'h>,
    pub(super) origin: Header<'h>,
    pub(super) request_id: Header<'h>,
    pub(super) session_id: Header<'h>,
    /// The revision.
    pub(super) protocol_version: Header<'h>,
    /// The parent span of the request.
    trace_parent: Header<'h>,
    method: Header<'h>,
    name: Header<'h>,
}

impl<'h> Headers<'h> {
    /// Collects them from `all`.
    pub(super) fn of(all: &'h HeaderMap) -> Self {
        let none = Header::default();
        let mut headers = Headers {
            all,
            accept: none,
            authorization: none,
            content_type: none,
            host: none,
            origin: none,
            request_id: none,
            session_id: none,
            protocol_version: none,
            trace_parent: none,
            method: none,
            name: none,
        };
        for (name, value) in all {
            let header = match name.as_str() {
                "accept" => &mut headers.accept,
                "authorization" => &mut headers.authorization,
                "content-type" => &mut headers.content_type,
                "host" => &mut headers.host,
                headers::METHOD => &mut headers.method,
                headers::NAME => &mut headers.name,
                headers::PROTOCOL_VERSION => &mut headers.protocol_version,
                headers::SESSION_ID => &mut headers.session_id,
                "origin" => &mut headers.origin,
                meta::TRACE_PARENT => &mut headers.trace_parent,
                "x-request-id" => &mut headers.request_id,
                _ => continue,
            };
            header.add(value);
        }
        headers
    }

    /// The trace that they name, if they name a valid one.
    pub(super) fn trace(&self) -> Option<TraceContext> {
        let parent = self.trace_parent.single().ok()??;
        let states = self.all.get_all(meta::TRACE_STATE).iter().map(HeaderValue::to_str);
        let state = states.collect::<Result<Vec<_>, _>>().ok().map(|states| states.join(","));
        TraceContext::parse(parent, state.as_deref())
    }

    /// True if the headers alone put a request into the modern era.
    pub(super) fn say_modern(&self) -> bool {
        matches!(self.protocol_version.single(), Ok(Some(value)) if is_modern_header(value))
    }

    /// True if they name a revision of the handshake era, which a client can know only from its `initialize`.
    pub(super) fn say_handshake(&self) -> bool {
        let Ok(Some(value)) = self.protocol_version.single() else { return false };
        Revision::from_name(value).is_some_and(|revision| !revision.is_modern())
    }
}

/// A header's value without surrounding white space, which HTTP/1.1 has removed already.
fn trimmed(text: &str) -> &str {
    let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_space(text.as_bytes().first()) || is_space(text.as_bytes().last()) {
        return text.trim_matches([' ', '\t']);
    }
    text
}

/// Compares the headers of a modern request with its body.
///
/// A body without a revision is left to the protocol, which reports the missing member. So is a body in an
/// unsupported revision, if the header agrees with it.
pub(super) fn check(headers: &Headers<'_>, message: &StrictMessage<'_>) -> Result<(), RpcError> {
    let Some(version) = message.params.object().and_then(|params| params.meta.version).and_then(Raw::as_str)
    else {
        return Ok(());
    };
    compare("MCP-Protocol-Version", headers.protocol_version, Some(&version), false)?;
    if !Revision::MODERN.iter().any(|revision| revision.name() == version) {
        return Ok(());
    }
    let Some(Some(method)) = &message.method else { return Ok(()) };
    compare("Mcp-Method", headers.method, Some(method), false)?;
    let params = message.params.object();
    let mirrored = match &**method {
        "tools/call" | "prompts/get" => params.and_then(|params| params.name),
        "resources/read" => params.and_then(|params| params.uri),
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.and_then(|params| params.task_id),
        _ => return Ok(()),
    };
    compare("Mcp-Name", headers.name, mirrored.and_then(Raw::as_str).as_deref(), true)
}

/// Requires a header to equal the body's value; if the body has none, the header must be absent as well.
fn compare(shown: &str, header: Header<'_>, expected: Option<&str>, encodable: bool) -> Result<(), RpcError> {
    let mismatch = |detail: String| {
        Err(RpcError::new(RpcError::HEADER_MISMATCH, format!("Header mismatch: {shown} header {detail}")))
    };
    let Ok(given) = header.single() else {
        return mismatch("appears twice or holds invalid characters".into());
    };
    match (given, expected) {
        (None, None) => Ok(()),
        (None, Some(_)) => mismatch("is missing".into()),
        (Some(given), expected) => {
            let decoded = if encodable { headers::decoded(given) } else { Some(Cow::Borrowed(given)) };
            match (decoded, expected) {
                (Some(decoded), Some(expected)) if decoded == expected => Ok(()),
                (None, _) => mismatch("is not valid base64".into()),
                (Some(decoded), _) => mismatch(format!(
                    "value '{}' does not match body value '{}'",
                    short(&decoded),
                    short(expected.unwrap_or(""))
                )),
            }
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(128).collect()
}
