//! Reading the result of `tools/call` (upstreams.md 9.2). The payload is selected by its position and keeps the bytes
//! that the upstream wrote.

use super::content::{JsonString, text_of};
use std::fmt;

use bytes::Bytes;
use ptc_mcp::json::Raw;
use ptc_mcp::json::compact_len;
use ptc_mcp::message::lenient::Message;
use ptc_mcp::message::outline::Outline;
use ptc_mcp::text::clip;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::content;
use super::protocol::render;
use super::{unfinished, wrapper};
use crate::upstream::{CallFault, CallReply, ContentBlock, FailureAnswer, FaultReason, Payload};
use ptc_base::pace::apart;

/// Longest text of a tool's own error report, in characters.
const TOOL_ERROR_CHARS: usize = 500;
/// The most texts of a tool's own error report that are shown.
const TOOL_ERROR_TEXTS: usize = 8;

/// The `result` member of a reply as raw JSON, with the facts found when the reply was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawResult {
    pub(super) bytes: Bytes,
    outline: Option<Outline>,
    /// The defect of the reply.
    note: Option<&'static str>,
}

impl RawResult {
    /// The `result` of a message in `reply`.
    pub(super) fn of(reply: &Bytes, result: &str, message: &Message<'_>) -> RawResult {
        RawResult { bytes: reply.slice_ref(result.as_bytes()), outline: message.outline.clone(), note: None }
    }

    /// The same of a reply with which something was wrong.
    pub(super) fn noted(self, note: Option<&'static str>) -> RawResult {
        RawResult { note, ..self }
    }
}

/// As [`read`]; a long one is read apart.
///
/// # Errors
/// As [`read`].
pub(super) async fn read_apart(result: RawResult, may_wrap: bool) -> Result<CallReply, CallFault> {
    apart(result.bytes.len(), move || read(result, may_wrap)).await
}

/// Converts the `result` member of a reply to the program's value. `may_wrap` says that nothing contradicts a payload under
/// `result` (ruling 50).
///
/// # Errors
/// [`FaultReason::ToolError`] if the tool says so, [`FaultReason::UpstreamError`] if the result is none that can be
/// used: not an object, or one that asks us for something that we do not have.
pub(super) fn read(result: RawResult, may_wrap: bool) -> Result<CallReply, CallFault> {
    let RawResult { bytes: result, outline, note } = result;
    let Some(members) = ResultMembers::read(&result, outline.as_ref()) else {
        let message = format!("tools/call returned unexpected payload {}", render(&result));
        return Err(CallFault::upstream_error(message).with_bytes(compact_len(&result)));
    };
    let result_bytes = members.compact_len.unwrap_or_else(|| compact_len(&result));
    if members.is_error {
        return Err(tool_error(&result, &members).with_bytes(result_bytes));
    }
    if let Some(message) = members.unusable() {
        let fault = CallFault::upstream_error(message).with_bytes(result_bytes);
        return Err(unfinished::read(&result, members.result_type, fault));
    }
    let blocks = if members.has_more { content::blocks(&result) } else { Vec::new() };
    let texts = || -> Vec<Bytes> {
        match members.has_more {
            true => blocks.iter().filter_map(ContentBlock::text).cloned().collect(),
            false => members.text.map(|text| text_of(&result, text)).into_iter().collect(),
        }
    };
    let Some(structured) = members.structured else {
        let payload = members.text.map_or(Payload::None, |text| Payload::of_text(text_of(&result, text)));
        return Ok(CallReply { payload, content: blocks, result_bytes, envelope: result, note });
    };
    let texts = texts();
    let inner = wrapper::inner(members.only, may_wrap, &texts);
    let repeats = wrapper::repeats(structured, inner, &texts);
    let payload = match inner {
        // The text block has the same characters, decoded already.
        Some(inner) if inner.is_text => Payload::of_text(text_of(&result, JsonString::AsWritten(inner.json))),
        Some(inner) => Payload::Json(result.slice_ref(inner.json.as_bytes())),
        None => Payload::Json(result.slice_ref(structured.as_bytes())),
    };
    // A payload that comes twice, as data and as text, counts once.
    let twice = if repeats {
        texts.iter().map(|text| ptc_mcp::json::string_len(&String::from_utf8_lossy(text)) as u64).sum()
    } else {
        0
    };
    let content =
        if repeats && blocks.iter().all(|block| block.text().is_some()) { Vec::new() } else { blocks };
    Ok(CallReply {
        payload,
        content,
        result_bytes: result_bytes.saturating_sub(twice),
        envelope: result,
        note,
    })
}

/// Reads the result that a task has ended with.
///
/// # Errors
/// As those of `tools/call`. One that asks for more is none.
pub fn read_task_result(result: Bytes, may_wrap: bool) -> Result<CallReply, CallFault> {
    read(RawResult { bytes: result, outline: None, note: None }, may_wrap)
        .map_err(|fault| CallFault { unfinished: None, ..fault })
}

/// Whether the `result` of a method besides `tools/call` is one that can be used.
///
/// # Errors
/// [`FaultReason::UpstreamError`] if it is not an object, or asks us for something that we do not have.
#[expect(clippy::disallowed_methods, reason = "entry point: check_complete()")]
pub(super) fn check_complete(result: &[u8], method: &str) -> Result<(), CallFault> {
    let bad = |message: String| CallFault::upstream_error(message).with_bytes(result.len() as u64);
    let Ok(members) = serde_json::from_slice::<ResultMembers<'_>>(result) else {
        return Err(bad(format!("{method} returned unexpected payload {}", render(result))));
    };
    match members.result_type {
        None | Some("\"complete\"") => Ok(()),
        Some("\"input_required\"") => {
            Err(bad(format!("{method} asks for input (input_required), which a program cannot give")))
        }
        Some(other) => Err(bad(format!("unexpected resultType {}", clip(other, 40)))),
    }
}

/// The failure that a tool reports.
fn tool_error(result: &Bytes, members: &ResultMembers<'_>) -> CallFault {
    let texts: Vec<Bytes> = match members.has_more {
        true => content::blocks(result).iter().filter_map(ContentBlock::text).cloned().collect(),
        false => members.text.map(|text| text_of(result, text)).into_iter().collect(),
    };
    let shown = |text: &Bytes| clip(&String::from_utf8_lossy(text), TOOL_ERROR_CHARS);
    let mut message = texts.iter().take(TOOL_ERROR_TEXTS).map(shown).collect::<Vec<_>>().join("\n");
    if texts.len() > TOOL_ERROR_TEXTS {
        message.push_str(&format!("\n… {} more texts", texts.len() - TOOL_ERROR_TEXTS));
    }
    if texts.is_empty() {
        message = format!("upstream isError envelope: {}", render(result));
    }
    let mut fault = CallFault::new(FaultReason::ToolError, message);
    let data = members.structured.map(|data| result.slice_ref(data.as_bytes()));
    fault.answer = Some(Box::new(FailureAnswer { data, envelope: result.clone() }));
    fault
}

/// The members that decide, borrowed from the reply.
#[derive(Default)]
struct ResultMembers<'a> {
    is_error: bool,
    /// `structuredContent` unless absent or null.
    structured: Option<&'a str>,
    /// The value of its only member, and whether that is named `result`.
    only: Option<(Raw<'a>, bool)>,
    /// `text` of the first text block, as a JSON string.
    text: Option<JsonString<'a>>,
    /// Whether `content` has anything besides that block.
    has_more: bool,
    /// `resultType` as written.
    result_type: Option<&'a str>,
    /// Bytes of the whole as compact JSON, if they have been counted.
    compact_len: Option<u64>,
}

impl<'a> ResultMembers<'a> {
    /// Why the result is none that a program can use, if it is none.
    fn unusable(&self) -> Option<String> {
        Some(match self.result_type? {
            "\"complete\"" => return None,
            "\"input_required\"" => "the tool asks for input (input_required), which a program cannot give\n\
                 Call it with arguments that leave nothing to ask, or use another tool."
                .to_owned(),
            "\"task\"" => "the tool answered with a task to wait for, which is not supported\n\
                 Use a tool that answers directly."
                .to_owned(),
            other => format!("unexpected resultType {}", clip(other, 40)),
        })
    }

    /// The members of a result; `None` if it is no object.
    #[expect(clippy::disallowed_methods, reason = "entry point: ResultMembers.read")]
    fn read(result: &'a Bytes, outline: Option<&'a Outline>) -> Option<Self> {
        if let (Some(outline), Ok(text)) = (outline, simdutf8::basic::from_utf8(result)) {
            return Some(ResultMembers::outlined(text, outline));
        }
        let mut members: ResultMembers<'a> = serde_json::from_slice(result).ok()?;
        members.only = members.structured.and_then(wrapper::only_member);
        Some(members)
    }

    /// The members of a result in its usual form.
    fn outlined(result: &'a str, outline: &'a Outline) -> Self {
        ResultMembers {
            is_error: outline.is_error,
            structured: outline.structured(result).map(Raw::text),
            only: outline.only(result),
            text: outline.text(result).map(|raw| JsonString::Checked(raw, outline.decoded_text())),
            has_more: outline.has_more,
            result_type: outline.result_type(result).map(Raw::text),
            compact_len: Some(outline.compact_len as u64),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ResultMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = ResultMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a tools/call result object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = ResultMembers::default();
                while let Some(key) = map.next_key::<ResultKey>()? {
                    match key {
                        ResultKey::IsError => members.is_error = raw(&mut map)?.get() == "true",
                        ResultKey::Structured => {
                            members.structured = Some(raw(&mut map)?.get()).filter(|text| *text != "null");
                        }
                        ResultKey::ResultType => members.result_type = Some(raw(&mut map)?.get()),
                        ResultKey::Content => {
                            let content = raw(&mut map)?.get();
                            // Some servers answer with a text where a list of blocks belongs.
                            if content.starts_with('"') {
                                (members.text, members.has_more) =
                                    (Some(JsonString::AsWritten(content)), false);
                                continue;
                            }
                            let content = content::raw_blocks(content);
                            members.text = content
                                .iter()
                                .find_map(|block| content::text_of_block(block))
                                .map(JsonString::AsWritten);
                            members.has_more = content.len() > usize::from(members.text.is_some());
                        }
                        ResultKey::Other => {
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

enum ResultKey {
    IsError,
    Structured,
    Content,
    ResultType,
    Other,
}

impl ResultKey {
    fn of(name: &str) -> ResultKey {
        match name {
            "isError" => ResultKey::IsError,
            "structuredContent" => ResultKey::Structured,
            "content" => ResultKey::Content,
            "resultType" => ResultKey::ResultType,
            _ => ResultKey::Other,
        }
    }
}

impl<'de> Deserialize<'de> for ResultKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = ResultKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E>(self, name: &str) -> Result<ResultKey, E> {
                Ok(ResultKey::of(name))
            }
        }

        deserializer.deserialize_identifier(KeyVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::BlockMember;
    use proptest::prelude::*;

    /// As a reply of which it is the result.
    fn read_whole(result: Bytes, may_wrap: bool) -> Result<CallReply, CallFault> {
        let outline = std::str::from_utf8(&result).ok().and_then(Outline::of);
        read(RawResult { bytes: result, outline, note: None }, may_wrap)
    }

    fn payload(json: &'static str) -> Payload {
        read_whole(Bytes::from_static(json.as_bytes()), true).unwrap().decided()
    }

    fn fault(json: &'static str) -> (FaultReason, String) {
        let fault = read_whole(Bytes::from_static(json.as_bytes()), true).unwrap_err();
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
            let reply = read_whole(Bytes::from(result), true).unwrap();
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
            read_whole(Bytes::from(result), true).unwrap().decided()
        };
        assert_eq!(one("null"), json("null"));
        assert_eq!(one(" 42\n"), json(" 42\n"));
        assert_eq!(one("{\"a\":\"\\u00e9\"}"), json("{\"a\":\"\\u00e9\"}"));
        assert_eq!(one("line\nline"), text("line\nline"));
        assert_eq!(one("[1] x"), text("[1] x"));
    }

    #[test]
    fn content_that_is_a_text_counts_as_one_block_of_it() {
        assert_eq!(payload(r#"{"content":"two\nlines"}"#), text("two\nlines"));
        assert_eq!(payload(r#"{"content":"{\"a\":1}"}"#), json(r#"{"a":1}"#));
        assert_eq!(
            fault(r#"{"content":"no such item","isError":true}"#),
            (FaultReason::ToolError, "no such item".to_owned())
        );
    }

    #[test]
    fn nothing_selected_is_none() {
        for empty in ["{}", r#"{"content":[]}"#, r#"{"content":7}"#, r#"{"content":[{"type":"image"}]}"#] {
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
        let message = read_whole(Bytes::from(long), true).unwrap_err().message;
        assert_eq!(message, format!("{}…", "é".repeat(500)));
    }

    #[test]
    fn an_error_has_all_its_texts_and_its_data() {
        let result = r#"{"isError":true,"structuredContent":{"code":7},
            "content":[{"type":"text","text":"one"},{"type":"image","data":""},{"type":"text","text":"two"}]}"#;
        let fault = read_whole(Bytes::from_static(result.as_bytes()), true).unwrap_err();
        assert_eq!(fault.message, "one\ntwo");
        assert_eq!(fault.received_bytes, compact_len(result.as_bytes()));
        let answer = fault.answer.unwrap();
        assert_eq!(answer.data.as_deref(), Some(br#"{"code":7}"#.as_slice()));
        assert_eq!(answer.envelope, result.as_bytes());
        let many =
            format!(r#"{{"isError":true,"content":[{}]}}"#, [r#"{"type":"text","text":"x"}"#; 10].join(","));
        let message = read_whole(Bytes::from(many), true).unwrap_err().message;
        assert_eq!(message, format!("{}… 2 more texts", "x\n".repeat(8)));
    }

    #[test]
    fn wrapped_payloads_are_unwrapped() {
        let result = |structured: &str, text: &str| {
            Bytes::from(format!(
                r#"{{"content":[{{"type":"text","text":"{text}"}}],"structuredContent":{structured}}}"#
            ))
        };
        let of = |structured: &str, text: &str, may_wrap| {
            read_whole(result(structured, text), may_wrap).unwrap().decided()
        };
        assert_eq!(of(r#"{"content":"a\nb"}"#, "a\\nb", false), text("a\nb"));
        assert_eq!(of(r#"{"content":"[1]"}"#, "[1]", false), json("[1]"));
        assert_eq!(of(r#"{"content":"other"}"#, "a", true), json(r#"{"content":"other"}"#));
        assert_eq!(of(r#"{"result":[1]}"#, "1", true), json("[1]"));
        assert_eq!(of(r#"{"result":[1]}"#, "1", false), json(r#"{"result":[1]}"#));
        assert_eq!(of(r#"{"result":"5"}"#, "5", true), json("5"), "the text block's text, decoded as such");
        assert_eq!(of(r#"{"result":"5"}"#, "x", true), json("\"5\""));
    }

    #[test]
    fn a_payload_that_comes_as_data_and_as_text_counts_once() {
        let bytes = |content: &str, structured: &str| {
            let result = format!(r#"{{"content":[{content}],"structuredContent":{structured}}}"#);
            (read_whole(Bytes::from(result.clone()), true).unwrap().result_bytes, result.len() as u64)
        };
        let (counted, all) = bytes(r#"{"type":"text","text":"{\n\"a\": 1}"}"#, r#"{"a":1}"#);
        assert_eq!(counted, all - r#""{\n\"a\": 1}""#.len() as u64);
        let (counted, all) = bytes(r#"{"type":"text","text":"one row"}"#, r#"{"a":1}"#);
        assert_eq!(counted, all);
    }

    #[test]
    fn blocks_are_listed_where_there_are_several() {
        let of = |result: &str| read_whole(Bytes::from(result.to_owned()), true).unwrap();
        let reply = of(
            r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"},
            {"type":"resource","resource":{"uri":"file:///x","mimeType":"text/plain","text":"body\n"}},
            {"type":"resource","resource":{"uri":"file:///y","blob":"AAA="}},
            {"type":"resource_link","uri":"file:///z","name":"z","size":12},7]}"#,
        );
        assert_eq!(reply.payload, text("a"));
        let other = |kind: &str, members: Vec<(&'static str, BlockMember)>| ContentBlock::Other {
            kind: kind.into(),
            members,
        };
        let word = |text: &'static str| BlockMember::Text(Bytes::from_static(text.as_bytes()));
        let binary = |text: &'static str| BlockMember::Binary(Bytes::from_static(text.as_bytes()));
        assert_eq!(
            reply.content,
            [
                ContentBlock::Text(Bytes::from_static(b"a")),
                other(
                    "image",
                    vec![
                        ("mime_type", word("image/png")),
                        ("bytes", BlockMember::Count(3)),
                        ("ref", binary("AAAA"))
                    ]
                ),
                other(
                    "resource",
                    vec![
                        ("uri", word("file:///x")),
                        ("mime_type", word("text/plain")),
                        ("text", word("body\n"))
                    ]
                ),
                other(
                    "resource",
                    vec![
                        ("uri", word("file:///y")),
                        ("bytes", BlockMember::Count(2)),
                        ("ref", binary("AAA="))
                    ]
                ),
                other(
                    "resource_link",
                    vec![("uri", word("file:///z")), ("name", word("z")), ("bytes", BlockMember::Count(12))]
                ),
                other("unknown", vec![]),
            ]
        );
        assert!(of(r#"{"content":[{"type":"text","text":"a"}]}"#).content.is_empty());
        assert_eq!(of(r#"{"content":[{"type":"audio","data":"AAAA"}]}"#).content.len(), 1);
        let list = r#"{"content":[{"type":"text","text":"1"},{"type":"text","text":"{\"a\": 2}"}],
            "structuredContent":{"result":[1,{"a":2}]}}"#;
        assert!(of(list).content.is_empty(), "the blocks are the elements");
        assert_eq!(of(&list.replace("[1,", "[2,")).content.len(), 2, "they are not");
    }

    #[test]
    fn results_that_ask_for_more_are_faults() {
        for (kind, word) in [("input_required", "input_required"), ("task", "task"), ("odd", "\"odd\"")] {
            let result = format!(r#"{{"resultType":"{kind}","inputRequests":{{}}}}"#);
            let fault = read_whole(Bytes::from(result), true).unwrap_err();
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
        let reply = read_whole(Bytes::from_static(b"{ \"content\": [ ], \"x y\": \"a b\" }"), true).unwrap();
        assert_eq!(reply.result_bytes, b"{\"content\":[],\"x y\":\"a b\"}".len() as u64);
    }

    /// Whether the fast reader, where it gives a result, agrees with the general reader.
    fn agree(text: &str) -> bool {
        let text = text.trim();
        let bytes = Bytes::from(text.to_owned());
        let Some(outline) = Outline::of(text) else { return false };
        let fast = ResultMembers::read(&bytes, Some(&outline)).expect("it has an outline");
        let slow: ResultMembers<'_> =
            ResultMembers::read(&bytes, None).expect("the fast reader takes nothing that is no JSON");
        let text = |text: Option<JsonString<'_>>| text.map(|text| text_of(&bytes, text));
        assert_eq!(fast.has_more, slow.has_more);
        assert_eq!(fast.is_error, slow.is_error);
        assert_eq!(fast.structured, slow.structured);
        assert_eq!(fast.only, slow.only);
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
            let _ = read_whole(Bytes::from(text), true);
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
