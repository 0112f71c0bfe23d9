//! A JSON tree that keeps its input: members in their order, numbers digit for digit.
//!
//! `serde_json` can do both, but by features that change its types for every crate of a build: in dependents of this
//! crate, `#[serde(tag)]`, `untagged` and `flatten` would break for floats. So the tree is our own. It reads and prints
//! as `serde_json`'s does, and works wherever that library reads from text
//! ([`RawValue`](serde_json::value::RawValue) provides the digits) or writes.

mod convert;
mod index;
mod macros;
mod map;
mod number;
mod parse;
mod serde;

pub use index::Index;
pub use map::Map;
pub use number::Number;
pub use parse::{MAX_NESTING, parse_within};
pub use serde::{from_slice, from_str, to_value};

use std::fmt;

use super::write_string;

/// Any JSON value.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number
    Number(Number),
    /// A string
    String(String),
    /// An array
    Array(Vec<Value>),
    /// An object
    Object(Map),
}

impl Value {
    /// The value at a JSON Pointer (RFC 6901), if there is one.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match value {
                Value::Object(members) => members.get(&token),
                Value::Array(items) if token == "0" || !token.starts_with(['0', '+']) => {
                    items.get(token.parse::<usize>().ok()?)
                }
                _ => None,
            }
        })
    }

    /// The value, with null left in its place.
    pub fn take(&mut self) -> Value {
        std::mem::take(self)
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether it is true or false.
    pub fn is_boolean(&self) -> bool {
        matches!(self, Value::Bool(_))
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Number(_))
    }

    /// Whether it is a number that an `i64` holds.
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Whether it is a number that a `u64` holds.
    pub fn is_u64(&self) -> bool {
        self.as_u64().is_some()
    }

    /// Whether it is a string.
    pub fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        matches!(self, Value::Array(_))
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        matches!(self, Value::Object(_))
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(flag) = self { Some(*flag) } else { None }
    }

    /// The integer, if an `i64` holds it.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The integer that it is, if a `u64` holds it.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The finite `f64` nearest to the number.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    /// The array, if it is one.
    pub fn as_array(&self) -> Option<&Vec<Value>> {
        if let Value::Array(items) = self { Some(items) } else { None }
    }

    /// The array, mutably, if it is one.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Value::Array(items) = self { Some(items) } else { None }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Map> {
        if let Value::Object(members) = self { Some(members) } else { None }
    }

    /// The object, mutably, if it is one.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Value::Object(members) = self { Some(members) } else { None }
    }

    /// Appends the value as compact JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
            Value::String(text) => write_string(out, text),
            Value::Array(items) => super::write_array(out, items, |out, item| item.write(out)),
            Value::Object(members) => members.write(out),
        }
    }
}

/// As compact JSON; with `{:#}` indented by two spaces.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if out.alternate() {
            return out.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?);
        }
        let mut text = Vec::with_capacity(128);
        self.write(&mut text);
        out.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => out.write_str("Null"),
            Value::Bool(flag) => write!(out, "Bool({flag})"),
            Value::Number(number) => write!(out, "Number({number})"),
            Value::String(text) => write!(out, "String({text:?})"),
            Value::Array(items) => {
                out.write_str("Array ")?;
                out.debug_list().entries(items).finish()
            }
            Value::Object(members) => {
                out.write_str("Object ")?;
                out.debug_map().entries(members).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests;
