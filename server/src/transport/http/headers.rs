//! Headers that mirror the body of a modern request.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};

use crate::protocol::error::RpcError;
use crate::protocol::json::Raw;
use crate::protocol::message::Message;
use crate::protocol::version::{Revision, is_modern_header};

/// The header that names the revision.
pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The value of a header that may appear once; `Err` if it appears twice or is no visible ASCII.
pub(super) fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, ()> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(());
    }
    value.to_str().map(|text| Some(text.trim_matches([' ', '\t']))).map_err(|_| ())
}

/// Whether the headers alone put a request into the modern era.
pub(super) fn say_modern(headers: &HeaderMap) -> bool {
    matches!(single(headers, PROTOCOL_VERSION), Ok(Some(value)) if is_modern_header(value))
}

/// Holds the headers of a modern request against its body.
///
/// A body without revision is left to the protocol, which says what is missing; so is one in a revision that is not
/// spoken here, as far as the header agrees with it.
pub(super) fn check(headers: &HeaderMap, message: &Message<'_>) -> Result<(), RpcError> {
    let Some(version) = message.params.object().and_then(|params| params.meta.version).and_then(Raw::as_str)
    else {
        return Ok(());
    };
    compare(headers, "MCP-Protocol-Version", PROTOCOL_VERSION, Some(&version), false)?;
    if !Revision::MODERN.iter().any(|revision| revision.name() == version) {
        return Ok(());
    }
    let Some(Some(method)) = &message.method else { return Ok(()) };
    compare(headers, "Mcp-Method", METHOD, Some(method), false)?;
    let params = message.params.object();
    let mirrored = match &**method {
        "tools/call" | "prompts/get" => params.and_then(|params| params.name),
        "resources/read" => params.and_then(|params| params.uri),
        _ => return Ok(()),
    };
    compare(headers, "Mcp-Name", NAME, mirrored.and_then(Raw::as_str).as_deref(), true)
}

/// Requires a header to equal the body's value; where the body has none, the header must be absent as well.
fn compare(
    headers: &HeaderMap,
    shown: &str,
    name: HeaderName,
    expected: Option<&str>,
    encodable: bool,
) -> Result<(), RpcError> {
    let mismatch = |detail: String| {
        Err(RpcError::new(RpcError::HEADER_MISMATCH, format!("Header mismatch: {shown} header {detail}")))
    };
    let Ok(given) = single(headers, name) else {
        return mismatch("appears twice or holds invalid characters".into());
    };
    match (given, expected) {
        (None, None) => Ok(()),
        (None, Some(_)) => mismatch("is missing".into()),
        (Some(given), expected) => {
            let decoded = if encodable { decode(given) } else { Some(Cow::Borrowed(given)) };
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

/// Decodes `=?base64?…?=`; other values stand for themselves.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => {
            STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned)
        }
    }
}

fn short(text: &str) -> String {
    text.chars().take(128).collect()
}
