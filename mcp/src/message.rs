//! Reading one incoming message: classified by its members, payloads left as raw JSON.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Scanner;

/// One JSON-RPC message with its payloads as raw JSON, borrowed from the bytes it was read from.
///
/// Lenient on purpose: `jsonrpc` is not looked at, unknown members are skipped, of a repeated member
/// the last counts, member order is free.
#[derive(Debug, Default)]
pub struct Message<'a> {
    /// `id` as written: a number, a string or `null`.
    pub id: Option<&'a str>,
    /// `method`, if it is a string: then the message is a request (with id) or a notification.
    pub method: Option<Cow<'a, str>>,
    /// `params` as written.
    pub params: Option<&'a str>,
    /// `result` as written.
    pub result: Option<&'a str>,
    /// `error` as written; an explicit `null` counts as absent.
    pub error: Option<&'a str>,
}

/// Parses one message, or a batch of at most `max_batch` (an array of messages).
///
/// # Errors
/// The text is not JSON, not an object or array of objects, or the batch is too long.
pub fn parse(bytes: &[u8], max_batch: usize) -> Result<Messages<'_>, serde_json::Error> {
    if let Some(message) = scan(bytes) {
        return Ok(Messages::One(message));
    }
    if bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[') {
        let batch: Vec<Message<'_>> = serde_json::from_slice(bytes)?;
        if batch.len() > max_batch {
            return Err(serde::de::Error::custom("batch too long"));
        }
        return Ok(Messages::Many(batch));
    }
    serde_json::from_slice(bytes).map(Messages::One)
}

/// One message as nearly all are written, read in one fast walk. `None` for whatever else there is: batches, what nests
/// very deep, what is not JSON.
fn scan(bytes: &[u8]) -> Option<Message<'_>> {
    let mut scanner = Scanner::new(std::str::from_utf8(bytes).ok()?);
    scanner.enter_object().ok()?;
    let (mut message, mut first) = (Message::default(), true);
    while scanner.next_member(&mut first).ok()? {
        let member = Member::of(&scanner.key().ok()?);
        let value = scanner.value().ok()?;
        message.take(member, value.text());
    }
    scanner.end().ok()?;
    Some(message)
}

/// One message or a batch; the one message costs no allocation.
#[derive(Debug)]
pub enum Messages<'a> {
    /// A single message.
    One(Message<'a>),
    /// A batch.
    Many(Vec<Message<'a>>),
}

impl<'a> Messages<'a> {
    /// The messages in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Message<'a>> {
        match self {
            Self::One(one) => std::slice::from_ref(one).iter(),
            Self::Many(many) => many.iter(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Message<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MessageVisitor;

        impl<'de> Visitor<'de> for MessageVisitor {
            type Value = Message<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut message = Message::default();
                while let Some(member) = map.next_key::<Member>()? {
                    if let Member::Other = member {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        message.take(member, map.next_value::<&RawValue>()?.get());
                    }
                }
                Ok(message)
            }
        }

        deserializer.deserialize_map(MessageVisitor)
    }
}

impl<'a> Message<'a> {
    /// Takes over a member.
    fn take(&mut self, member: Member, value: &'a str) {
        match member {
            Member::Id => self.id = Some(value),
            Member::Method => self.method = string_of(value),
            Member::Params => self.params = Some(value),
            Member::Result => self.result = Some(value),
            Member::Error => self.error = (value != "null").then_some(value),
            Member::Other => {}
        }
    }
}

enum Member {
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl Member {
    fn of(name: &str) -> Member {
        match name {
            "id" => Member::Id,
            "method" => Member::Method,
            "params" => Member::Params,
            "result" => Member::Result,
            "error" => Member::Error,
            _ => Member::Other,
        }
    }
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl Visitor<'_> for MemberVisitor {
            type Value = Member;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(Member::of(name))
            }
        }

        deserializer.deserialize_identifier(MemberVisitor)
    }
}

/// The string that the JSON `text` is, borrowed when it has no escapes; `None` for any other value.
#[must_use]
fn string_of(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// The integer that an id stands for. Besides `7` it reads `"7"` and `7.0`: there are servers that
/// echo an id in another type, and no id of ours is ambiguous between them.
#[must_use]
pub fn number_of_id(text: &str) -> Option<u64> {
    let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
    let text = text.strip_suffix(".0").unwrap_or(text);
    if text.is_empty() || text.len() > 20 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The id of a message of which only the beginning is at hand, if `id` comes early enough in it.
#[must_use]
pub fn id_of_head(head: &[u8]) -> Option<u64> {
    struct HeadVisitor<'a>(&'a mut Option<u64>);

    impl<'de> Visitor<'de> for HeadVisitor<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON-RPC message object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(member) = map.next_key::<Member>()? {
                if matches!(member, Member::Id) {
                    let raw: &RawValue = map.next_value()?;
                    *self.0 = number_of_id(raw.get());
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let mut found = None;
    let mut reader = serde_json::Deserializer::from_slice(head);
    // The head is cut off, so this ends in an error; what was found before it counts.
    let _ = reader.deserialize_map(HeadVisitor(&mut found));
    found
}

/// The id of a message of which only the end is at hand: servers that write `result` first write
/// `…,"id":7}` last. The closing brace is the message's own, so the member before it is a top-level
/// one; a text inside a string would end in a quote.
#[must_use]
pub fn id_of_tail(tail: &[u8]) -> Option<u64> {
    let tail = std::str::from_utf8(skip_partial_char(tail)).ok()?;
    let body = tail.trim_end().strip_suffix('}')?.trim_end();
    let digits = body.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (before, number) = body.split_at(body.len() - digits);
    let before = before.trim_end().strip_suffix(':')?.trim_end();
    let before = before.strip_suffix("\"id\"")?.trim_end();
    before.ends_with([',', '{']).then(|| number_of_id(number)).flatten()
}

/// `bytes` without the rest of a character that was cut off in front.
fn skip_partial_char(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|b| (0x80..0xC0).contains(*b)).count();
    &bytes[cut..]
}

/// A JSON-RPC error object, read leniently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// `code`, or 0 if there is none.
    pub code: i64,
    /// `message` if it is a string, else a short rendering of the whole error.
    pub message: String,
    /// `data` as written.
    pub data: Option<Box<str>>,
}

impl RpcError {
    /// As [`RpcError::read`], of an `error` member cut out of a message.
    #[must_use]
    pub fn of_bytes(json: &[u8]) -> Self {
        match serde_json::from_slice::<&RawValue>(json) {
            Ok(raw) => Self::read(raw.get()),
            Err(_) => Self { code: 0, message: clip(&String::from_utf8_lossy(json), 200), data: None },
        }
    }

    /// Reads an `error` member. Whatever is in it, something sayable comes out.
    #[must_use]
    pub fn read(json: &str) -> Self {
        #[derive(serde::Deserialize)]
        struct Members<'a> {
            #[serde(borrow, default)]
            code: Option<&'a RawValue>,
            #[serde(borrow, default)]
            message: Option<&'a RawValue>,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
        }
        let members = serde_json::from_str::<Members<'_>>(json).ok();
        let (code, message, data) = members.map_or((None, None, None), |m| {
            (
                m.code.and_then(|c| c.get().parse().ok()),
                m.message.map(RawValue::get).and_then(string_of),
                m.data,
            )
        });
        Self {
            code: code.unwrap_or(0),
            message: message.map_or_else(|| clip(json, 200), Cow::into_owned),
            data: data.map(|d| d.get().into()),
        }
    }
}

/// At most `max` characters of `text`, with `…` where something was cut.
#[must_use]
pub fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The length of valid JSON text without the white space between its tokens.
#[must_use]
pub fn compact_len(json: &[u8]) -> u64 {
    let mut length = 0;
    let mut rest = json;
    loop {
        let quote = memchr(b'"', rest);
        let outside = &rest[..quote.unwrap_or(rest.len())];
        length += outside.iter().filter(|b| !matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
        let Some(quote) = quote else { return length as u64 };
        let string = &rest[quote..];
        let mut end = 1;
        while let Some(at) = memchr2(b'"', b'\\', &string[end.min(string.len())..]) {
            let escape = string[end + at] == b'\\';
            end += at + 1 + usize::from(escape);
            if !escape {
                break;
            }
        }
        let end = end.min(string.len());
        length += end;
        rest = &string[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(text: &str) -> Message<'_> {
        match parse(text.as_bytes(), 64).unwrap() {
            Messages::One(m) => m,
            Messages::Many(_) => panic!("a batch"),
        }
    }

    #[test]
    fn members_come_in_any_order_and_the_last_of_a_name_counts() {
        let m = one(r#" {"result":{"a":1},"x":[{}],"id":1,"jsonrpc":"2.0","id":7} "#);
        assert_eq!(m.id.and_then(number_of_id), Some(7));
        assert_eq!(m.result.unwrap(), r#"{"a":1}"#);
        assert!(m.method.is_none());
    }

    #[test]
    fn a_null_error_is_no_error_and_a_number_is_no_method() {
        let m = one(r#"{"id":1,"result":null,"error":null,"method":3}"#);
        assert!(m.error.is_none() && m.method.is_none());
        assert_eq!(m.result.unwrap(), "null");
        assert_eq!(one(r#"{"method":"a\u0062"}"#).method.unwrap(), "ab");
    }

    #[test]
    fn integers_of_any_size_pass_untouched() {
        let text = r#"{"id":1,"result":{"n":123456789012345678901234567890,"f":1.10}}"#;
        assert_eq!(one(text).result.unwrap(), r#"{"n":123456789012345678901234567890,"f":1.10}"#);
    }

    #[test]
    fn ids_are_read_in_the_types_servers_echo() {
        let id = number_of_id;
        assert_eq!(id("7"), Some(7));
        assert_eq!(id("\"7\""), Some(7));
        assert_eq!(id("7.0"), Some(7));
        assert_eq!(id("7.5"), None);
        assert_eq!(id("-7"), None);
        assert_eq!(id("null"), None);
        assert_eq!(id("99999999999999999999999"), None);
    }

    #[test]
    fn a_batch_is_read_up_to_its_bound() {
        assert_eq!(parse(br#"[{"id":1},{"id":2}]"#, 2).unwrap().iter().count(), 2);
        assert!(parse(br#"[{"id":1},{"id":2}]"#, 1).is_err());
        assert!(parse(b"[1]", 4).is_err());
        assert!(parse(b"7", 4).is_err());
    }

    #[test]
    fn the_id_of_an_oversized_line_is_found_at_either_end() {
        assert_eq!(id_of_head(br#"{"jsonrpc":"2.0","id":5,"result":{"text":"aaaa"#), Some(5));
        assert_eq!(id_of_head(br#"{"result":{"id":9,"text":"aaaa"#), None);
        assert_eq!(id_of_tail(br#"aaa"}]},"jsonrpc":"2.0","id":12}"#), Some(12));
        assert_eq!(id_of_tail(br#"aaa"}]},"id": 12 } "#), Some(12));
        assert_eq!(id_of_tail(br#"{"x":1,"id":12}}"#), None);
        assert_eq!(id_of_tail(br#""a\",\"id\":12}"}"#), None);
        assert_eq!(id_of_tail(br#"x\"id":12}"#), None);
    }

    #[test]
    fn an_error_without_a_message_is_rendered() {
        let e = RpcError::read(r#"{"code":-32601,"message":"no \"x\"","data":[1]}"#);
        assert_eq!((e.code, e.message.as_str(), e.data.as_deref()), (-32601, "no \"x\"", Some("[1]")));
        assert_eq!(RpcError::read(r#"{"code":1}"#).message, r#"{"code":1}"#);
        assert_eq!(RpcError::read("\"oops\"").message, "\"oops\"");
    }

    #[test]
    fn the_fast_walk_reads_what_the_general_reader_does() {
        let texts = [
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            r#" { "method" : "a\u0062" , "\u0069d" : "x" , "error" : null , "params":[1,{"a":"\n"}] } "#,
            r#"{"error":{"code":1},"id":null}"#,
        ];
        for text in texts {
            let fast = format!("{:?}", scan(text.as_bytes()).expect("nothing unusual"));
            assert_eq!(fast, format!("{:?}", serde_json::from_str::<Message<'_>>(text).unwrap()));
        }
        for text in ["[]", "7", "{", "{} {}", r#"{"a":"\ud800"}"#, "{\"a\":\"\u{1}\"}"] {
            assert!(scan(text.as_bytes()).is_none(), "{text:?}");
        }
        assert!(scan(b"{\"a\":\"\xff\"}").is_none());
        let deep = format!("{{\"result\":{}{}}}", "[".repeat(500), "]".repeat(500));
        assert!(scan(deep.as_bytes()).is_none());
        assert_eq!(one(&deep).result.unwrap().len(), 1000);
    }

    proptest! {
        #[test]
        fn compact_len_is_the_length_of_the_compact_text(v in json()) {
            let pretty = serde_json::to_vec_pretty(&v).unwrap();
            prop_assert_eq!(compact_len(&pretty), serde_json::to_vec(&v).unwrap().len() as u64);
        }

        #[test]
        fn no_bytes_make_the_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, 4);
            let _ = id_of_head(&bytes);
            let _ = id_of_tail(&bytes);
            let _ = compact_len(&bytes);
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i64>().prop_map(Into::into),
            "[ \\\\\"a-z\n{}]{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                proptest::collection::vec(("[ \"\\\\a]{0,4}", inner), 0..4)
                    .prop_map(|m| { serde_json::Value::Object(m.into_iter().collect()) }),
            ]
        })
    }
}
