//! Checks JSON against types.

use super::{Field, Type};
use ptc_host::json::Value as Json;
use std::fmt;

/// Mismatches that are spelled out.
const MAX_DISPLAYED: usize = 20;

/// Where a value is not of its type: `path: message; path: message`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mismatches {
    errors: Vec<String>,
    more: usize,
}

impl fmt::Display for Mismatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.errors.join("; "))?;
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        Ok(())
    }
}

impl std::error::Error for Mismatches {}

impl Type {
    /// Checks a value strictly.
    ///
    /// # Errors
    /// All mismatches in declared order, as `l.0.n: expected int, got string`; the whole value is `root`.
    pub fn check(&self, value: &Json) -> Result<(), Mismatches> {
        let mut found = Mismatches::default();
        check(self, value, &mut Vec::new(), &mut found);
        if found.errors.is_empty() { Ok(()) } else { Err(found) }
    }
}

/// The field that `name` means in an object: as it is written, or with `-` and `_` exchanged.
pub(super) fn field<'a>(object: &'a ptc_host::json::Map, name: &str) -> Option<&'a Json> {
    object
        .get(name)
        .or_else(|| object.get(&name.replace('-', "_")))
        .or_else(|| object.get(&name.replace('_', "-")))
}

/// Whether `key` is how a field of this name may be written.
fn means(name: &str, key: &str) -> bool {
    name.len() == key.len()
        && name
            .bytes()
            .zip(key.bytes())
            .all(|(a, b)| a == b || (matches!(a, b'-' | b'_') && matches!(b, b'-' | b'_')))
}

fn check<'a>(ty: &'a Type, value: &Json, path: &mut Vec<std::borrow::Cow<'a, str>>, out: &mut Mismatches) {
    let expected = match (ty, value) {
        (Type::Optional(_), Json::Null) | (Type::Any, _) => return,
        (Type::Optional(inner), value) => return check(inner, value, path, out),
        (Type::String | Type::Keyword, Json::String(_)) | (Type::Bool, Json::Bool(_)) => return,
        (Type::Int, Json::Number(number)) if is_integer(number) => return,
        (Type::Float, Json::Number(_)) | (Type::Map, Json::Object(_)) => return,
        (Type::DateTime, Json::String(text)) if text.parse::<jiff::Timestamp>().is_ok() => return,
        (Type::List(item), Json::Array(items)) => {
            for (at, value) in items.iter().enumerate() {
                path.push(at.to_string().into());
                check(item, value, path, out);
                path.pop();
            }
            return;
        }
        (Type::Record(fields) | Type::Closed(fields), Json::Object(object)) => {
            for Field { name, ty } in fields {
                path.push(name.as_str().into());
                match (field(object, name), ty) {
                    (None, Type::Optional(_)) => {}
                    (None, _) => out.add(path, "expected field, got nil"),
                    (Some(value), ty) => check(ty, value, path, out),
                }
                path.pop();
            }
            if matches!(ty, Type::Closed(_)) {
                for key in object.keys().filter(|key| !fields.iter().any(|field| means(&field.name, key))) {
                    path.push(key.clone().into());
                    out.add(path, "unexpected field — schema disallows additional properties");
                    path.pop();
                }
            }
            return;
        }
        (Type::Enum(words), Json::String(text)) if words.contains(text) => return,
        (Type::Enum(words), other) => {
            let found = other.as_str().map_or_else(|| label(other).to_owned(), |text| format!("{text:?}"));
            return out.add(path, &format!("expected one of {words:?}, got {found}"));
        }
        (Type::String, _) => "string",
        (Type::Int, _) => "int",
        (Type::Float, _) => "float",
        (Type::Bool, _) => "bool",
        (Type::Keyword, _) => "keyword",
        (Type::DateTime, _) => "datetime",
        (Type::List(_), _) => "list",
        (Type::Map | Type::Record(_) | Type::Closed(_), _) => "map",
    };
    out.add(path, &format!("expected {expected}, got {}", label(value)));
}

impl Mismatches {
    fn add(&mut self, path: &[std::borrow::Cow<'_, str>], message: &str) {
        if self.errors.len() == MAX_DISPLAYED {
            self.more += 1;
            return;
        }
        let path = if path.is_empty() { "root".to_owned() } else { path.join(".") };
        self.errors.push(format!("{path}: {message}"));
    }
}

/// Whether a number is written without fraction and exponent.
pub(crate) fn is_integer(number: &ptc_host::json::Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

/// The name of a value's type in messages.
fn label(value: &Json) -> &'static str {
    match value {
        Json::Null => "nil",
        Json::Bool(_) => "bool",
        Json::Number(number) if is_integer(number) => "int",
        Json::Number(_) => "float",
        Json::String(_) => "string",
        Json::Array(_) => "list",
        Json::Object(_) => "map",
    }
}
