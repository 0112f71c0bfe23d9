//! Request ids: kept and echoed by servers, assigned and recognised by clients.

use std::borrow::Cow;
use std::fmt;

use compact_str::CompactString;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Member, MemberName};
use crate::id_finder::IdFinder;
use crate::json::{JsonError, Kind, Raw, Scanner, write_string};

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

/// The `id` member of a message that a server reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IdMember {
    /// Not there: the message is a notification.
    #[default]
    Absent,
    /// A string or an integer.
    Valid(RequestId),
    /// There, but nothing MCP allows (null, fraction, boolean, array, object).
    Invalid,
}

impl<'a> Member<'a> for IdMember {
    fn read(scanner: &mut Scanner<'a>) -> Result<Self, JsonError> {
        Ok(RequestId::from_raw(scanner.value()?).map_or(IdMember::Invalid, IdMember::Valid))
    }
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
#[expect(clippy::disallowed_methods, reason = "entry point: id_of_head()")]
pub fn id_of_head(head: &[u8]) -> Option<u64> {
    struct HeadVisitor<'a>(&'a mut Option<u64>);

    impl<'de> Visitor<'de> for HeadVisitor<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON-RPC message object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(member) = map.next_key::<MemberName>()? {
                if member == MemberName::Id {
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

/// The id of a message whose bytes need not be JSON all over: that of its outermost object, wherever it stands.
#[must_use]
pub fn id_within(bytes: &[u8]) -> Option<u64> {
    let mut finder = IdFinder::default();
    finder.feed(bytes);
    let id = finder.found()?;
    std::str::from_utf8(&id).ok().and_then(number_of_id)
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
