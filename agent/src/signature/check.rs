//! Checks JSON against types.

use super::{Field, Type};
use ptc_base::json::Value as Json;
use ptc_schema::parsed::has_no_fraction;
use std::fmt;

/// Mismatches that are spelled out.
pub(super) const MAX_DISPLAYED: usize = 20;

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
        found.into_result()
    }
}

/// Checks an object's fields, as [`Type::Record`] does.
///
/// # Errors
/// As [`Type::check`].
pub(crate) fn check_fields(fields: &[Field], object: &ptc_base::json::Map) -> Result<(), Mismatches> {
    let mut found = Mismatches::default();
    each_field(fields, object, &mut Vec::new(), &mut found);
    found.into_result()
}

fn each_field<'a>(
    fields: &'a [Field],
    object: &ptc_base::json::Map,
    path: &mut Vec<std::borrow::Cow<'a, str>>,
    out: &mut Mismatches,
) {
    for Field { name, ty } in fields {
        path.push(name.as_str().into());
        match (field(object, name), ty) {
            (None, Type::Optional(_)) => {}
            (None, _) => out.add(path, "expected field, got nil"),
            (Some(value), ty) => check(ty, value, path, out),
        }
        path.pop();
    }
}

/// The field that `name` means in an object: as it is written, or with `-` and `_` exchanged.
pub(super) fn field<'a>(object: &'a ptc_base::json::Map, name: &str) -> Option<&'a Json> {
    object
        .get(name)
        .or_else(|| object.get(&name.replace('-', "_")))
        .or_else(|| object.get(&name.replace('_', "-")))
}

fn check<'a>(ty: &'a Type, value: &Json, path: &mut Vec<std::borrow::Cow<'a, str>>, out: &mut Mismatches) {
    let expected = match (ty, value) {
        (Type::Optional(_), Json::Null) | (Type::Any, _) => return,
        (Type::Optional(inner), value) => return check(inner, value, path, out),
        (Type::String | Type::Keyword, Json::String(_)) | (Type::Bool, Json::Bool(_)) => return,
        (Type::Int, Json::Number(number)) if has_no_fraction(number) => return,
        (Type::Float, Json::Number(number)) => {
            if !number.as_f64().is_some_and(f64::is_finite) {
                out.add(path, &out_of_range(number));
            }
            return;
        }
        (Type::Map, Json::Object(_)) => return,
        (Type::Schema(schema), value) => {
            if let Err(found) = schema.check(value) {
                out.append(path, found);
            }
            return;
        }
        (Type::DateTime, Json::String(text)) if text.parse::<jiff::Timestamp>().is_ok() => return,
        (Type::List(item), Json::Array(items)) => {
            for (at, value) in items.iter().enumerate() {
                path.push(at.to_string().into());
                check(item, value, path, out);
                path.pop();
            }
            return;
        }
        (Type::Record(fields), Json::Object(object)) => {
            each_field(fields, object, path, out);
            return;
        }
        (Type::String, _) => "string",
        (Type::Int, _) => "int",
        (Type::Float, _) => "float",
        (Type::Bool, _) => "bool",
        (Type::Keyword, _) => "keyword",
        (Type::DateTime, _) => "datetime",
        (Type::List(_), _) => "list",
        (Type::Map | Type::Record(_), _) => "map",
    };
    out.add(path, &format!("expected {expected}, got {}", label(value)));
}

impl Mismatches {
    pub(super) fn new(errors: Vec<String>, more: usize) -> Mismatches {
        Mismatches { errors, more }
    }

    fn into_result(self) -> Result<(), Mismatches> {
        if self.errors.is_empty() { Ok(()) } else { Err(self) }
    }

    fn add(&mut self, path: &[std::borrow::Cow<'_, str>], message: &str) {
        let path = if path.is_empty() { "root".to_owned() } else { path.join(".") };
        self.push(format!("{path}: {message}"));
    }

    fn push(&mut self, error: String) {
        if self.errors.len() == MAX_DISPLAYED {
            self.more += 1;
        } else {
            self.errors.push(error);
        }
    }

    /// Takes over the mismatches of a value at `path`.
    fn append(&mut self, path: &[std::borrow::Cow<'_, str>], other: Mismatches) {
        self.more += other.more;
        let path = path.join(".");
        for error in other.errors {
            let error = match error.strip_prefix("root: ") {
                _ if path.is_empty() => error,
                Some(whole) => format!("{path}: {whole}"),
                None => format!("{path}.{error}"),
            };
            self.push(error);
        }
    }
}

/// Why a number is no float.
pub(super) fn out_of_range(number: &ptc_base::json::Number) -> String {
    let shown = ptc_base::text::with_dots(number.as_str(), 40);
    format!("expected float, got {shown}, which is beyond the largest float")
}

/// The first number of a value that is written with a fraction or an exponent and that no float holds, such as `1e999`.
/// Programs and Rust's floats would take it for infinity.
pub(crate) fn beyond_floats(value: &Json) -> Option<&ptc_base::json::Number> {
    match value {
        Json::Number(number) => {
            (!has_no_fraction(number) && !number.as_f64().is_some_and(f64::is_finite)).then_some(number)
        }
        Json::Array(items) => items.iter().find_map(beyond_floats),
        Json::Object(map) => map.values().find_map(beyond_floats),
        _ => None,
    }
}

/// The name of a value's type in messages.
pub(super) fn label(value: &Json) -> &'static str {
    match value {
        Json::Null => "nil",
        Json::Bool(_) => "bool",
        Json::Number(number) if has_no_fraction(number) => "int",
        Json::Number(_) => "float",
        Json::String(_) => "string",
        Json::Array(_) => "list",
        Json::Object(_) => "map",
    }
}
