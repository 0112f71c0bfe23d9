//! JSON documents of strangers, within bounds.

use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::message::{MAX_BODY_BYTES, MAX_TOKEN_BYTES};

/// Most levels of arrays and objects in each other (`auth.md` 2.7).
pub(crate) const MAX_NESTING: usize = 64;

/// An object of at most [`MAX_BODY_BYTES`] and [`MAX_NESTING`] levels; `None` for anything else.
#[expect(clippy::disallowed_methods, reason = "entry point: object()")]
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    // A byte order mark is a habit of some servers, and RFC 8259 8.1 lets readers ignore it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_BODY_BYTES || nesting(text) > MAX_NESTING {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// As [`object`], but `None` also if an object in it has a name twice: what one reader takes from the first, another takes from the
/// last.
#[expect(clippy::disallowed_methods, reason = "entry point: strict_object()")]
pub(crate) fn strict_object(text: &str) -> Option<Map<String, Value>> {
    if text.len() > MAX_BODY_BYTES || nesting(text) > MAX_NESTING {
        return None;
    }
    match serde_json::from_str::<StrictValue>(text).ok()?.0 {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// A value whose objects have distinct names.
struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrictVisitor).map(StrictValue)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(StrictValue(value)) = from.next_element()? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, StrictValue(value))) = from.next_entry::<String, StrictValue>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name comes twice"));
            }
        }
        Ok(object.into())
    }
}

/// The fields of a form of at most [`MAX_BODY_BYTES`], as texts; `None` if one comes twice.
pub(crate) fn form(text: &str) -> Option<Map<String, Value>> {
    if text.len() > MAX_BODY_BYTES {
        return None;
    }
    let mut fields = Map::new();
    for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
        if fields.insert(name.into_owned(), value.into_owned().into()).is_some() {
            return None;
        }
    }
    Some(fields)
}

/// Levels of brackets outside strings, whether they fit each other or not.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A member that is a string and not empty.
pub(crate) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// A member that is a token or the like; `None` if it is absent, an error if it is over [`MAX_TOKEN_BYTES`].
pub(crate) fn token<'a>(object: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, TooLong> {
    let token = text(object, name);
    if token.is_some_and(|token| token.len() > MAX_TOKEN_BYTES) { Err(TooLong) } else { Ok(token) }
}

/// A token that is longer than any that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The strings of a member that is a list; others in it are left out. `None` if it is no list.
pub(crate) fn texts(object: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let list = object.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Whether a member is `true`.
pub(crate) fn flag(object: &Map<String, Value>, name: &str) -> bool {
    object.get(name) == Some(&Value::Bool(true))
}

/// Most characters of `error_description` that are kept.
pub const MAX_DESCRIPTION: usize = 200;

/// The server's words for people, cut.
pub(crate) fn description(object: &Map<String, Value>) -> Option<String> {
    text(object, "error_description").map(|text| text.chars().take(MAX_DESCRIPTION).collect())
}

/// A number that is not negative, or the text of one: some servers quote it.
pub(crate) fn seconds(object: &Map<String, Value>, name: &str) -> Option<u64> {
    let seconds = match object.get(name)? {
        Value::Number(number) => number.as_u64().map(|n| n as f64).or_else(|| number.as_f64())?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (seconds.is_finite() && (0.0..=9e15).contains(&seconds)).then_some(seconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_within_the_bounds_are_read() {
        assert!(object(r#"{"a":1}"#).is_some());
        assert!(object("\u{feff}{}").is_some());
        for not in ["", "[]", "1", "null", "{", r#"{"a":1} x"#, "<html>"] {
            assert!(object(not).is_none(), "{not}");
        }
        let nested = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert!(object(&nested(MAX_NESTING - 1)).is_some());
        assert!(object(&nested(MAX_NESTING)).is_none());
        let long = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
        assert!(object(&long(MAX_BODY_BYTES)).is_some());
        assert!(object(&long(MAX_BODY_BYTES + 1)).is_none());
    }

    #[test]
    fn names_that_come_twice_are_refused_at_every_level() {
        let text = r#"{"a":[{"b":1.5,"c":null},-1,true,"x"],"b":{}}"#;
        assert_eq!(strict_object(text), object(text));
        for not in [r#"{"a":1,"a":1}"#, r#"{"a":[{"b":1,"\u0062":2}]}"#, "[]", "\u{feff}{}", "{} x", ""] {
            assert_eq!(strict_object(not), None, "{not}");
        }
    }

    #[test]
    fn brackets_in_strings_are_no_levels() {
        assert!(object(&format!(r#"{{"a":"\"{}"}}"#, "[".repeat(500))).is_some());
    }

    #[test]
    fn seconds_are_numbers_or_their_text() {
        let read = |value: &str| seconds(&object(&format!(r#"{{"s":{value}}}"#)).unwrap(), "s");
        for (value, expected) in
            [("3600", 3600), ("3600.9", 3600), (r#""3600""#, 3600), ("0", 0), ("1e3", 1000)]
        {
            assert_eq!(read(value), Some(expected), "{value}");
        }
        for value in ["-1", r#""-1""#, r#""soon""#, "null", "[1]", "1e300", r#""NaN""#, r#""inf""#, r#""""#] {
            assert_eq!(read(value), None, "{value}");
        }
    }
}
