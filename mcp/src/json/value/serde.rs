//! `serde` support of trees, for `serde_json`.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use super::parse::{MAX_NESTING, parse_within, parse_written};
use super::{Map, Number, Value};
use crate::json::JsonError;

/// Serializes `value` into a tree.
///
/// # Errors
/// `value` cannot be written as JSON: a map has keys that are no strings, or its `Serialize` fails.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    parse_written(&text).map_err(serde_json::Error::custom)
}

/// Deserializes a tree, or a type that holds trees, with precise error messages.
///
/// # Errors
/// The message is that of `serde_json`'s own tree: its reader of raw text, which keeps the digits, reports less.
#[expect(clippy::disallowed_methods, reason = "entry point: from_str()")]
pub fn from_str<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    from_slice(text.as_bytes())
}

/// As [`from_str`], of bytes.
///
/// # Errors
/// As for [`from_str`].
#[expect(clippy::disallowed_methods, reason = "entry point: from_slice()")]
pub fn from_slice<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text)
        .map_err(|error| serde_json::from_slice::<serde_json::Value>(text).err().unwrap_or(error))
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Object(members) => members.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.as_i64(), self.as_u64()) {
            // `-0` is an integer that no integer type prints.
            (Some(number), _) if self.as_str() != "-0" => serializer.serialize_i64(number),
            (None, Some(number)) => serializer.serialize_u64(number),
            _ => RawValue::from_string(self.to_string()).map_err(S::Error::custom)?.serialize(serializer),
        }
    }
}

/// Parses a [`RawValue`], which is valid JSON except for its depth and lone surrogates.
#[expect(clippy::disallowed_methods, reason = "entry point: tree()")]
fn tree<E: de::Error>(raw: &RawValue) -> Result<Value, E> {
    parse_within(raw.get(), MAX_NESTING).map_err(|malformed| match malformed {
        JsonError::TooDeep => E::custom("recursion limit exceeded"),
        JsonError::LoneSurrogate(_) => E::custom("lone leading surrogate in hex escape"),
        JsonError::Syntax(_) => E::custom(malformed),
    })
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tree(<&RawValue>::deserialize(deserializer)?)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match tree(<&RawValue>::deserialize(deserializer)?)? {
            Value::Number(number) => Ok(number),
            _ => Err(de::Error::invalid_type(Unexpected::Other("another value"), &"a JSON number")),
        }
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor;

        impl<'de> Visitor<'de> for MapVisitor {
            type Value = Map;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Map, A::Error> {
                let mut members = Map::new();
                while let Some((name, value)) = map.next_entry()? {
                    members.insert(name, value);
                }
                Ok(members)
            }

            fn visit_unit<E>(self) -> Result<Map, E> {
                Ok(Map::new())
            }
        }

        deserializer.deserialize_map(MapVisitor)
    }
}
