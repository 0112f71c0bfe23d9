//! Unwrapping the result of `tools/call` (spec 9.2): the payload is selected by where it stands, and stays the bytes
//! that the upstream wrote.

use std::fmt;

use bytes::Bytes;
use memchr::memchr;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::protocol::render;
use crate::jsonrpc::{clip, compact_len};
use crate::upstream::{CallFault, CallReply, FaultReason, Payload};

/// Longest text of a tool's own error report, in characters.
const TOOL_ERROR_CHARS: usize = 500;

/// Turns the `result` member of a reply into what the program gets.
///
/// # Errors
/// [`FaultReason::ToolError`] if the tool says so, [`FaultReason::UpstreamError`] if the result is none that can be
/// used: not an object, or one that asks us for something that we do not have.
pub(crate) fn read(result: Bytes) -> Result<CallReply, CallFault> {
    let bytes = result.len() as u64;
    let fail = |message: String| Err(CallFault::upstream_error(message).with_bytes(bytes));
    let Ok(members) = serde_json::from_slice::<Members<'_>>(&result) else {
        return fail(format!("tools/call returned unexpected payload {}", render(&result)));
    };
    if members.is_error {
        let message = match members.text {
            Some(text) => clip(&String::from_utf8_lossy(&text_of(&result, text)), TOOL_ERROR_CHARS),
            None => format!("upstream isError envelope: {}", render(&result)),
        };
        return Err(CallFault::new(FaultReason::ToolError, message).with_bytes(bytes));
    }
    match members.result_type {
        None | Some("\"complete\"") => {}
        Some("\"input_required\"") => {
            return fail(
                "the tool asks for input (input_required), which a program cannot give\n\
                 Call it with arguments that leave nothing to ask, or use another tool."
                    .to_owned(),
            );
        }
        Some("\"task\"") => {
            return fail(
                "the tool answered with a task to wait for, which is not supported\n\
                 Use a tool that answers directly."
                    .to_owned(),
            );
        }
        Some(other) => return fail(format!("unexpected resultType {}", clip(other, 40))),
    }
    let payload = match (members.structured, members.text) {
        (Some(structured), _) => Payload::Json(result.slice_ref(structured.get().as_bytes())),
        (None, Some(text)) => Payload::of_text(text_of(&result, text)),
        (None, None) => Payload::None,
    };
    Ok(CallReply { payload, result_bytes: compact_len(&result), envelope: result })
}

/// The characters of a JSON string: a slice of the reply when it has no escapes.
fn text_of(reply: &Bytes, raw: &RawValue) -> Bytes {
    let quoted = raw.get().as_bytes();
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if memchr(b'\\', inner).is_none() {
        return reply.slice_ref(inner);
    }
    // A lone surrogate is the only thing that can be wrong with a string that parsed as JSON.
    match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => Bytes::from(text),
        Err(_) => Bytes::from(lossy_unescape(inner)),
    }
}

/// Decodes escapes with `U+FFFD` for surrogates that stand alone.
fn lossy_unescape(inner: &[u8]) -> Vec<u8> {
    let mut units: Vec<u16> = Vec::with_capacity(inner.len());
    let text = String::from_utf8_lossy(inner);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            continue;
        }
        units.push(match chars.next() {
            Some('b') => 8,
            Some('t') => 9,
            Some('n') => 10,
            Some('f') => 12,
            Some('r') => 13,
            Some('u') => {
                let hex: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&hex, 16).unwrap_or(0xFFFD)
            }
            Some(other) => other as u16,
            None => break,
        });
    }
    String::from_utf16_lossy(&units).into_bytes()
}

/// The members that decide, borrowed from the reply.
#[derive(Default)]
struct Members<'a> {
    is_error: bool,
    /// `structuredContent` unless absent or null.
    structured: Option<&'a RawValue>,
    /// `text` of the first text block, as a JSON string.
    text: Option<&'a RawValue>,
    /// `resultType` as written.
    result_type: Option<&'a str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tools/call result object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(key) = map.next_key::<Key>()? {
                    match key {
                        Key::IsError => members.is_error = raw(&mut map)?.get() == "true",
                        Key::Structured => {
                            members.structured = Some(raw(&mut map)?).filter(|v| v.get() != "null");
                        }
                        Key::ResultType => members.result_type = Some(raw(&mut map)?.get()),
                        Key::Content => {
                            let content = raw(&mut map)?;
                            // Content of another shape has no text block.
                            members.text =
                                serde_json::from_str::<FirstText<'_>>(content.get()).ok().and_then(|t| t.0);
                        }
                        Key::Other => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

fn raw<'de, A: MapAccess<'de>>(map: &mut A) -> Result<&'de RawValue, A::Error> {
    map.next_value()
}

enum Key {
    IsError,
    Structured,
    Content,
    ResultType,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "isError" => Key::IsError,
                    "structuredContent" => Key::Structured,
                    "content" => Key::Content,
                    "resultType" => Key::ResultType,
                    _ => Key::Other,
                })
            }
        }

        deserializer.deserialize_identifier(KeyVisitor)
    }
}

/// The text of the first block of type `text` in a `content` list.
struct FirstText<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for FirstText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BlocksVisitor;

        impl<'de> Visitor<'de> for BlocksVisitor {
            type Value = FirstText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of content blocks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Self::Value, A::Error> {
                let mut first = None;
                while first.is_none() {
                    let Some(block) = blocks.next_element::<&'de RawValue>()? else { break };
                    first = text_block(block);
                }
                while blocks.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstText(first))
            }
        }

        deserializer.deserialize_seq(BlocksVisitor)
    }
}

fn text_block(block: &RawValue) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct Block<'a> {
        #[serde(borrow, rename = "type")]
        kind: &'a RawValue,
        #[serde(borrow)]
        text: &'a RawValue,
    }
    let block: Block<'_> = serde_json::from_str(block.get()).ok()?;
    (block.kind.get() == "\"text\"" && block.text.get().starts_with('"')).then_some(block.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn payload(json: &'static str) -> Payload {
        read(Bytes::from_static(json.as_bytes())).unwrap().payload.resolve()
    }

    fn fault(json: &'static str) -> (FaultReason, String) {
        let fault = read(Bytes::from_static(json.as_bytes())).unwrap_err();
        (fault.reason, fault.message)
    }

    fn json(text: &'static str) -> Payload {
        Payload::Json(Bytes::from_static(text.as_bytes()))
    }

    fn text(text: &'static str) -> Payload {
        Payload::Text(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn structured_content_comes_first_and_falsy_values_count() {
        for value in ["false", "0", "\"\"", "[]", "{\"n\":12345678901234567890123}"] {
            let result =
                format!(r#"{{"content":[{{"type":"text","text":"no"}}],"structuredContent":{value}}}"#);
            let reply = read(Bytes::from(result)).unwrap();
            assert_eq!(reply.payload, Payload::Json(Bytes::from(value.to_owned())));
        }
        assert_eq!(
            payload(r#"{"structuredContent":null,"content":[{"type":"text","text":"x"}]}"#),
            text("x")
        );
    }

    #[test]
    fn the_first_text_block_is_json_if_it_is() {
        let one = |t: &str| {
            let t = serde_json::to_string(t).unwrap();
            let image =
                r#"{"type":"image","data":"","mimeType":"x"},{"type":"text"},{"type":"text","text":1}"#;
            let result = format!(
                r#"{{"content":[{image},{{"text":{t},"type":"text"}},{{"type":"text","text":"2"}}]}}"#
            );
            read(Bytes::from(result)).unwrap().payload.resolve()
        };
        assert_eq!(one("null"), json("null"));
        assert_eq!(one(" 42\n"), json(" 42\n"));
        assert_eq!(one("{\"a\":\"\\u00e9\"}"), json("{\"a\":\"\\u00e9\"}"));
        assert_eq!(one("line\nline"), text("line\nline"));
        assert_eq!(one("[1] x"), text("[1] x"));
    }

    #[test]
    fn nothing_selected_is_none() {
        for empty in ["{}", r#"{"content":[]}"#, r#"{"content":"text"}"#, r#"{"content":[{"type":"image"}]}"#]
        {
            assert_eq!(payload(empty), Payload::None, "{empty}");
        }
    }

    #[test]
    fn is_error_is_looked_at_first_and_only_true_counts() {
        assert_eq!(
            fault(
                r#"{"structuredContent":{"a":1},"content":[{"type":"text","text":"no such \"PR\""}],"isError":true}"#
            ),
            (FaultReason::ToolError, "no such \"PR\"".to_owned())
        );
        assert_eq!(
            fault(r#"{"isError":true,"content":[]}"#).1,
            r#"upstream isError envelope: {"isError":true,"content":[]}"#
        );
        assert_eq!(payload(r#"{"isError":"true","structuredContent":1}"#), json("1"));
        let long =
            format!(r#"{{"isError":true,"content":[{{"type":"text","text":"{}"}}]}}"#, "é".repeat(501));
        let message = read(Bytes::from(long)).unwrap_err().message;
        assert_eq!(message, format!("{}…", "é".repeat(500)));
    }

    #[test]
    fn results_that_ask_for_more_are_faults() {
        for (kind, word) in [("input_required", "input_required"), ("task", "task"), ("odd", "\"odd\"")] {
            let result = format!(r#"{{"resultType":"{kind}","inputRequests":{{}}}}"#);
            let fault = read(Bytes::from(result)).unwrap_err();
            assert_eq!(fault.reason, FaultReason::UpstreamError);
            assert!(fault.message.contains(word), "{}", fault.message);
        }
        assert_eq!(payload(r#"{"resultType":"complete","structuredContent":1}"#), json("1"));
        assert_eq!(fault("[1]").1, "tools/call returned unexpected payload [1]");
    }

    #[test]
    fn lone_surrogates_do_not_lose_the_text() {
        assert_eq!(
            payload(r#"{"content":[{"type":"text","text":"a\ud800\n\u00e9\ud83d\ude00"}]}"#),
            text("a\u{fffd}\né😀")
        );
    }

    #[test]
    fn the_size_is_that_of_the_compact_envelope() {
        let reply = read(Bytes::from_static(b"{ \"content\": [ ], \"x y\": \"a b\" }")).unwrap();
        assert_eq!(reply.result_bytes, b"{\"content\":[],\"x y\":\"a b\"}".len() as u64);
    }

    proptest! {
        #[test]
        fn no_result_makes_the_reader_panic(text in r#"[\{\}\[\]",:a-z0-9 \\]{0,60}"#) {
            let _ = read(Bytes::from(text));
        }
    }
}
