//! The reply of a successful call, still as the upstream's bytes.

use bytes::Bytes;
use ptc_vm::machine::{ContentBlock, Payload};
use serde::de::IgnoredAny;

/// A successful call.
#[derive(Debug, Clone)]
pub struct CallReply {
    /// The payload selected for the program.
    pub payload: Payload,
    /// All blocks of the answer in their order; empty where the payload says it all.
    pub content: Vec<ContentBlock>,
    /// The whole untouched result (MCP: the `result` object; OpenAPI: the body), for `:raw`. Shares
    /// its memory with the payload.
    pub envelope: Bytes,
    /// Size of the result as compact JSON, as a client would have received it directly.
    pub result_bytes: u64,
    /// The defect of an answer that could be read all the same: the rest of a sentence whose subject is the answer.
    pub note: Option<&'static str>,
}

impl CallReply {
    /// Its payload, of which [`Payload::JsonOrText`] is decided by reading the text once: for consumers that do not read
    /// the value themselves.
    #[must_use]
    pub fn decided(self) -> Payload {
        decided(self.payload)
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: decided()")]
fn decided(payload: Payload) -> Payload {
    match payload {
        Payload::JsonOrText(text) => match serde_json::from_slice::<IgnoredAny>(&text) {
            Ok(_) => Payload::Json(text),
            Err(_) => Payload::Text(text),
        },
        decided => decided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(s: &'static str) -> Payload {
        decided(Payload::of_text(Bytes::from_static(s.as_bytes())))
    }

    #[test]
    fn text_is_json_only_when_all_of_it_is() {
        for json in ["42", " null ", "true", "\"x\"", "{\"a\":1}", "[1]", "-0.5e3"] {
            assert!(matches!(text(json), Payload::Json(_)), "{json}");
        }
        for plain in ["", "  ", "hello", "42 apples", "{a}", "nul", "[1] trailing", "+1", "NaN"] {
            assert!(matches!(text(plain), Payload::Text(_)), "{plain}");
        }
    }
}
