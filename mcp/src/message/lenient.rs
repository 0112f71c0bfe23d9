//! A client's reading of server messages. Usual messages take one fast pass; a tolerant reader handles the rest and accepts all
//! messages that can be interpreted.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::outline::{Outline, OutlinedResult};
use super::{Envelope, MemberName, read_envelope};
use crate::json::{Scanner, string_of};
#[cfg(feature = "simdutf8")]
use simdutf8::basic::from_utf8;
#[cfg(not(feature = "simdutf8"))]
use std::str::from_utf8;

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
    /// The outline of `result`, if it has the form of a tool's result and the message is written as usual.
    pub outline: Option<Outline>,
    /// `error` as written; an explicit `null` counts as absent.
    pub error: Option<&'a str>,
}

/// Parses one message, or a batch of at most `max_batch` (an array of messages).
///
/// # Errors
/// The text is not JSON, not an object or array of objects, or the batch is too long.
#[expect(clippy::disallowed_methods, reason = "entry point: parse()")]
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

/// One message in its usual form, read in one fast pass. `None` for anything else: batches, very deep nesting, text
/// that is not JSON.
fn scan(bytes: &[u8]) -> Option<Message<'_>> {
    let mut scanner = Scanner::new(from_utf8(bytes).ok()?);
    let envelope: UsualMessage<'_> = read_envelope(&mut scanner).ok()?;
    scanner.end().ok()?;
    Some(Message::from(envelope))
}

/// One message or a batch; the one message costs no allocation.
#[expect(clippy::large_enum_variant, reason = "nearly every message comes alone, and moves once")]
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
                while let Some(name) = map.next_key::<MemberName>()? {
                    if matches!(name, MemberName::Jsonrpc | MemberName::Other) {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        message.take(name, map.next_value::<&RawValue>()?.get());
                    }
                }
                Ok(message)
            }
        }

        deserializer.deserialize_map(MessageVisitor)
    }
}

/// A message as its usual form is read.
type UsualMessage<'a> = Envelope<'a, Option<&'a str>, Option<&'a str>, Option<OutlinedResult<'a>>>;

impl<'a> From<UsualMessage<'a>> for Message<'a> {
    fn from(envelope: UsualMessage<'a>) -> Self {
        let (result, outline) = envelope.result.map(|result| (result.text, result.outline)).unzip();
        Message {
            id: envelope.id,
            method: envelope.method.flatten(),
            params: envelope.params,
            result,
            outline: outline.flatten(),
            error: envelope.error.filter(|error| *error != "null"),
        }
    }
}

impl<'a> Message<'a> {
    /// Takes over a member.
    fn take(&mut self, name: MemberName, value: &'a str) {
        match name {
            MemberName::Id => self.id = Some(value),
            MemberName::Method => self.method = string_of(value),
            MemberName::Params => self.params = Some(value),
            MemberName::Result => self.result = Some(value),
            MemberName::Error => self.error = (value != "null").then_some(value),
            MemberName::Jsonrpc | MemberName::Other => {}
        }
    }
}

impl<'de> Deserialize<'de> for MemberName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl Visitor<'_> for NameVisitor {
            type Value = MemberName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E>(self, name: &str) -> Result<MemberName, E> {
                Ok(MemberName::of(name))
            }
        }

        deserializer.deserialize_identifier(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::id::{id_of_head, id_of_tail, number_of_id};
    use super::*;
    use crate::RpcError;
    use crate::json::compact_len;

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
            let mut fast = scan(text.as_bytes()).expect("nothing unusual");
            assert_eq!(fast.outline.take(), fast.result.and_then(Outline::of));
            let fast = format!("{fast:?}");
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
