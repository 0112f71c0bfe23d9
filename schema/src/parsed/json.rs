//! JSON as what is checked.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashSet;

use ptc_mcp::json::{Kind, Number, Value as Json};

use super::SchemaSubject;

/// Beyond it the digits of a float are not those of one integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a number is written without fraction and exponent.
#[must_use]
pub fn has_no_fraction(number: &Number) -> bool {
    !number.as_str().contains(['.', 'e', 'E'])
}

/// The integer that a float equals, if it is one that floats hold exactly.
#[must_use]
pub fn integer_of(number: &Number) -> Option<i64> {
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= MAX_EXACT).then_some(float as i64)
}

impl SchemaSubject for Json {
    fn of_text(text: &str) -> Json {
        text.into()
    }

    fn is_of(&self, kind: Kind) -> bool {
        match self {
            Json::Null => kind == Kind::Null,
            Json::Bool(_) => kind == Kind::Boolean,
            Json::Number(number) => kind == Kind::Number || kind == Kind::Integer && has_no_fraction(number),
            Json::String(_) => kind == Kind::String,
            Json::Array(_) => kind == Kind::Array,
            Json::Object(_) => kind == Kind::Object,
        }
    }

    fn is_one_of(&self, listed: &[Json], _: &mut dyn FnMut(usize) -> bool) -> bool {
        listed.iter().any(|listed| is_equal(listed, self))
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn is_number(&self) -> bool {
        matches!(self, Json::Number(_))
    }

    fn is_beyond_floats(&self) -> bool {
        matches!(self, Json::Number(number) if !number.as_f64().is_some_and(f64::is_finite))
    }

    fn order(&self, limit: &Number) -> Option<Ordering> {
        order(self.as_number()?, limit)
    }

    fn is_multiple_of(&self, step: &Number) -> bool {
        let Json::Number(number) = self else { return false };
        match (number.as_str().parse::<i128>(), step.as_str().parse::<i128>()) {
            (Ok(number), Ok(step)) if step != 0 => number % step == 0,
            _ => {
                // 0.3 is a multiple of 0.1, although no two floats say so.
                let times = number.as_f64().unwrap_or(f64::NAN) / step.as_f64().unwrap_or(1.0);
                (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
            }
        }
    }

    fn count(&self, kind: Kind) -> Option<usize> {
        match (self, kind) {
            (Json::Array(elements), Kind::Array) => Some(elements.len()),
            (Json::Object(members), Kind::Object) => Some(members.len()),
            _ => None,
        }
    }

    fn each_element(&self, visit: &mut dyn FnMut(usize, &Json)) {
        let elements = self.as_array().into_iter().flatten();
        elements.enumerate().for_each(|(at, element)| visit(at, element));
    }

    fn each_member<'v>(&'v self, visit: &mut dyn FnMut(&'v str, &'v Json)) {
        let members = self.as_object().into_iter().flatten();
        members.for_each(|(name, member)| visit(name, member));
    }

    fn member(&self, name: &str) -> Option<&Json> {
        self.get(name)
    }

    fn repeated(&self) -> Option<usize> {
        let mut seen = HashSet::new();
        self.as_array()?.iter().position(|element| !seen.insert(canonical(element)))
    }
}

/// The order of two numbers: of integers exactly, of others as floats.
#[must_use]
pub fn order(a: &Number, b: &Number) -> Option<Ordering> {
    match (a.as_str().parse::<i128>(), b.as_str().parse::<i128>()) {
        (Ok(a), Ok(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Whether two values are equal; numbers are compared by value, not by spelling.
fn is_equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || order(a, b).is_some_and(Ordering::is_eq),
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// A text that equal values share.
fn canonical(value: &Json) -> String {
    match value {
        Json::Number(number) => integer_of(number).map_or_else(|| number.to_string(), |int| int.to_string()),
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Object(map) => {
            let mut entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", Json::from(key.as_str()), canonical(value)))
                .collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(","))
        }
        other => other.to_string(),
    }
}
