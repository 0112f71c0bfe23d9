//! HTTP headers of MCP: their names, and encoding of values that a header cannot carry.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The revision of a request.
pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
/// The session that a server of the handshake era has opened.
pub const SESSION_ID: &str = "mcp-session-id";
/// The method of a modern request, as its body has it.
pub const METHOD: &str = "mcp-method";
/// The tool, prompt or resource that a modern request names, as its body has it.
pub const NAME: &str = "mcp-name";
/// The last event received before a stream is resumed.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// The prefix of headers into which arguments are mirrored.
pub const PARAM_PREFIX: &str = "mcp-param-";

/// The `Accept` value of a Streamable HTTP client.
pub const JSON_OR_EVENTS: &str = "application/json, text/event-stream";

const ENCODED: (&str, &str) = ("=?base64?", "?=");

/// A value as a header may carry it: as it is, or in base64 between markers where it would not survive.
#[must_use]
pub fn encoded(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\t'))
        && text.trim_matches([' ', '\t']).len() == text.len()
        && !(text.starts_with(ENCODED.0) && text.ends_with(ENCODED.1));
    if plain {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{}{}{}", ENCODED.0, BASE64.encode(text), ENCODED.1))
    }
}

/// The value that a header carries; `None` if the part between the markers is no base64 of text.
#[must_use]
pub fn decoded(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix(ENCODED.0).and_then(|rest| rest.strip_suffix(ENCODED.1)) {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => {
            BASE64.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).map(Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for text in ["us-west1", "Hello, 世界", " padded ", "line1\nline2", "=?base64?literal?=", ""] {
            assert_eq!(decoded(&encoded(text)).as_deref(), Some(text));
        }
        assert_eq!(decoded("=?base64?*?="), None);
        assert_eq!(decoded("=?base64?/w==?="), None);
    }
}
