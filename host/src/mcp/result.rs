//! Unwrapping the result of `tools/call` (upstreams.md 9.2). The payload is selected by its position and keeps the
//! bytes that the upstream wrote.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use memchr::memchr;
use ptc_mcp::json::compact_len;
use ptc_mcp::json::{Kind, Raw, Scanner};
use ptc_mcp::text::clip;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::protocol::render;
use crate::upstream::{CallFault, CallReply, FaultReason, ReplyPayload};

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
    let Some(members) = Members::read(&result) else {
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
        (Some(structured), _) => ReplyPayload::Json(result.slice_ref(structured.as_bytes())),
        (None, Some(text)) => ReplyPayload::of_text(text_of(&result, text)),
        (None, None) => ReplyPayload::None,
    };
    let result_bytes = members.compact_len.unwrap_or_else(|| compact_len(&result));
    Ok(CallReply { payload, result_bytes, envelope: result })
}

/// The characters of a JSON string: a slice of the reply when it has no escapes.
fn text_of(reply: &Bytes, text: Text<'_>) -> Bytes {
    let quoted = match text {
        Text::Checked(raw) => match raw.as_str() {
            Some(Cow::Owned(text)) => return Bytes::from(text),
            Some(Cow::Borrowed(text)) => return reply.slice_ref(text.as_bytes()),
            None => raw.text(),
        },
        Text::AsWritten(quoted) => quoted,
    };
    let inner = quoted.as_bytes().get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if memchr(b'\\', inner).is_none() {
        return reply.slice_ref(inner);
    }
    // A lone surrogate is the only thing that can be wrong with a string that parsed as JSON.
    match serde_json::from_str::<String>(quoted) {
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
    structured: Option<&'a str>,
    /// `text` of the first text block, as a JSON string.
    text: Option<Text<'a>>,
    /// `resultType` as written.
    result_type: Option<&'a str>,
    /// Bytes of the whole as compact JSON, if they have been counted.
    compact_len: Option<u64>,
}

/// A JSON string of a reply.
#[derive(Clone, Copy)]
enum Text<'a> {
    /// It denotes text.
    Checked(Raw<'a>),
    /// Half a surrogate pair may be in it.
    AsWritten(&'a str),
}

impl<'a> Members<'a> {
    /// The members of a result; `None` if it is no object.
    fn read(result: &'a Bytes) -> Option<Self> {
        Self::scan(result).or_else(|| serde_json::from_slice(result).ok())
    }

    /// The members of a result in its usual form, read in one fast pass. `None` for any other form.
    fn scan(result: &'a [u8]) -> Option<Self> {
        let mut scanner = Scanner::new(std::str::from_utf8(result).ok()?);
        scanner.enter_object().ok()?;
        let (mut members, mut first) = (Members::default(), true);
        while scanner.next_member(&mut first).ok()? {
            match Key::of(&scanner.key().ok()?) {
                Key::IsError => members.is_error = scanner.value().ok()?.text() == "true",
                Key::Structured => {
                    members.structured = Some(scanner.value().ok()?.text()).filter(|text| *text != "null");
                }
                Key::ResultType => members.result_type = Some(scanner.value().ok()?.text()),
                Key::Content => members.text = scan_content(&mut scanner)?,
                Key::Other => {
                    scanner.value().ok()?;
                }
            }
        }
        scanner.end().ok()?;
        members.compact_len = Some((result.len() - scanner.space()) as u64);
        Some(members)
    }
}

/// The first text block of the `content` at the cursor. The outer `None`: it is not written as usual.
fn scan_content<'a>(scanner: &mut Scanner<'a>) -> Option<Option<Text<'a>>> {
    let (mut found, mut first) = (None, true);
    scanner.enter_array().ok()?;
    while scanner.next_element(&mut first).ok()? {
        if found.is_some() {
            scanner.value().ok()?;
            continue;
        }
        let (mut kind, mut text, mut first) = (None, None, true);
        scanner.enter_object().ok()?;
        while scanner.next_member(&mut first).ok()? {
            let key = scanner.key().ok()?;
            let value = scanner.value().ok()?;
            let twice = match &*key {
                "type" => kind.replace(value),
                "text" => text.replace(value),
                _ => None,
            };
            if twice.is_some() {
                return None;
            }
        }
        let is_text = kind.is_some_and(|kind| kind.text() == "\"text\"");
        found = text.filter(|text| is_text && text.kind() == Kind::String).map(Text::Checked);
    }
    Some(found)
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
                            members.structured = Some(raw(&mut map)?.get()).filter(|text| *text != "null");
                        }
                        Key::ResultType => members.result_type = Some(raw(&mut map)?.get()),
                        Key::Content => {
                            let content = raw(&mut map)?;
                            // Content of another shape has no text block.
                            let first = serde_json::from_str::<FirstText<'_>>(content.get()).ok();
                            members.text = first.and_then(|text| Some(Text::AsWritten(text.0?.get())));
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

impl Key {
    fn of(name: &str) -> Key {
        match name {
            "isError" => Key::IsError,
            "structuredContent" => Key::Structured,
            "content" => Key::Content,
            "resultType" => Key::ResultType,
            _ => Key::Other,
        }
    }
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
                Ok(Key::of(name))
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

    fn payload(json: &'static str) -> ReplyPayload {
        read(Bytes::from_static(json.as_bytes())).unwrap().payload.resolve()
    }

    fn fault(json: &'static str) -> (FaultReason, String) {
        let fault = read(Bytes::from_static(json.as_bytes())).unwrap_err();
        (fault.reason, fault.message)
    }

    fn json(text: &'static str) -> ReplyPayload {
        ReplyPayload::Json(Bytes::from_static(text.as_bytes()))
    }

    fn text(text: &'static str) -> ReplyPayload {
        ReplyPayload::Text(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn structured_content_comes_first_and_falsy_values_count() {
        for value in ["false", "0", "\"\"", "[]", "{\"n\":12345678901234567890123}"] {
            let result =
                format!(r#"{{"content":[{{"type":"text","text":"no"}}],"structuredContent":{value}}}"#);
            let reply = read(Bytes::from(result)).unwrap();
            assert_eq!(reply.payload, ReplyPayload::Json(Bytes::from(value.to_owned())));
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
            assert_eq!(payload(empty), ReplyPayload::None, "{empty}");
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

    /// Whether the fast reader, where it gives a result, agrees with the general reader.
    fn agree(text: &str) -> bool {
        let bytes = Bytes::from(text.to_owned());
        let Some(fast) = Members::scan(&bytes) else { return false };
        let slow: Members<'_> =
            serde_json::from_slice(&bytes).expect("the fast reader takes nothing that is no JSON");
        let text = |text: Option<Text<'_>>| text.map(|text| text_of(&bytes, text));
        assert_eq!(fast.is_error, slow.is_error);
        assert_eq!(fast.structured, slow.structured);
        assert_eq!(fast.result_type, slow.result_type);
        assert_eq!(text(fast.text), text(slow.text));
        assert_eq!(fast.compact_len, Some(compact_len(&bytes)));
        true
    }

    #[test]
    fn the_fast_reader_agrees_with_the_general_one() {
        let read_fast = [
            r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"isError":false}"#,
            r#" { "content" : [ { "type":"image","data":"x" } , {"text":"a b","type":"text"} ] , "x" : [ ] } "#,
            r#"{"content":[{"type":"text","text":1},{"type":"text"},{"type":"text","text":"2"},{"type":"text","text":"3"}]}"#,
            r#"{"structuredContent":{"n":1.0},"content":[],"resultType":"complete"}"#,
            r#"{"structuredContent":null,"isError":true,"content":[{"type":"text","text":"\u00e9\ud83d\ude00"}]}"#,
            r#"{"isError":true,"isError":false,"content":[{"type":"text","text":"1"}],"content":[]}"#,
        ];
        for text in read_fast {
            assert!(agree(text), "{text}");
        }
        let left_to_the_general_one = [
            r#"{"content":{"type":"text"}}"#,
            r#"{"content":[{"type":"text","text":"1","text":"2"}]}"#,
            r#"{"content":[["text","x"]]}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            "[1]",
            "{",
        ];
        for text in left_to_the_general_one {
            assert!(!agree(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_result_makes_the_reader_panic(text in r#"[\{\}\[\]",:a-z0-9 \\]{0,60}"#) {
            let _ = read(Bytes::from(text));
        }

        #[test]
        fn both_readers_agree(members in proptest::collection::vec(
            r#""(isError|content|structuredContent|resultType|x)" ?: ?(true|null|1|"text"|\{"a":\[\]\}|\[(\{"type":"text","text":"a\\n?b"\})?,? ?(\{"(type|text)":"(text|t)"(,"text":"\\u0041")?\})?\])"#,
            0..4,
        )) {
            agree(&format!("{{{}}}", members.join(",")));
        }
    }
}
