//! Values of the language as what is checked.

use std::borrow::Cow;
use std::cmp::Ordering;

use ptc_mcp::json::{Kind, Number, Value as Json};
use ptc_vm::Value;
use ptc_vm::value::{Set, Temporal};

use crate::parsed::SchemaSubject;

/// Schemas within each other that are applied. Recursion is as deep.
pub(super) const MAX_DEPTH: usize = 64;

/// Elements up to which it is looked whether one occurs twice.
const MAX_UNIQUE: usize = 10_000;
/// Bytes of a value up to which it is compared with listed objects and arrays.
const MAX_COMPARED: usize = 64 << 10;

impl SchemaSubject for Value {
    fn of_text(text: &str) -> Value {
        Value::str(text)
    }

    fn is_of(&self, kind: Kind) -> bool {
        match kind {
            Kind::Null => self.is_nil(),
            Kind::Boolean => matches!(self, Value::True | Value::False),
            // In the sense of JSON Schema, 7.0 is one.
            Kind::Integer => match self {
                Value::Int(_) | Value::BigInt(_) => true,
                Value::Float(number) => number.get().is_finite() && number.get().fract() == 0.0,
                _ => false,
            },
            Kind::Number => self.is_number(),
            Kind::String => match self {
                Value::Str(_) | Value::Keyword(_) => true,
                Value::Temporal(temporal) => !is_duration(temporal),
                _ => false,
            },
            Kind::Array => self.count(kind).is_some(),
            Kind::Object => matches!(self, Value::Map(_)),
        }
    }

    fn is_one_of(&self, listed: &[Json], work: &mut dyn FnMut(usize) -> bool) -> bool {
        let is_tree = (self.is_of(Kind::Array) || self.is_of(Kind::Object))
            && listed.iter().any(|listed| matches!(listed, Json::Array(_) | Json::Object(_)));
        let mut room = MAX_COMPARED;
        let is_small = is_tree && is_small(self, &mut room, MAX_DEPTH);
        if !work((MAX_COMPARED - room) / 8) {
            return false;
        }
        let tree = if is_small { tree_of(self) } else { None };
        listed.iter().any(|listed| match listed {
            Json::Null => self.is_nil(),
            Json::Bool(listed) => matches!((self, listed), (Value::True, true) | (Value::False, false)),
            Json::Number(listed) => match (self, listed.as_i64()) {
                (Value::Int(number), Some(listed)) => *number == listed,
                _ => float_of(self).is_some_and(|number| Some(number) == listed.as_f64()),
            },
            Json::String(listed) => self.text().is_some_and(|text| text == *listed),
            Json::Array(_) | Json::Object(_) => tree.as_ref() == Some(listed),
        })
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Value::Str(text) => Some(text.as_str().into()),
            Value::Keyword(keyword) => Some(keyword.name().into()),
            Value::Temporal(temporal) if !is_duration(temporal) => {
                json_of(self).map(|text| text.trim_matches('"').to_owned().into())
            }
            _ => None,
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Value::Int(_) | Value::BigInt(_) | Value::Float(_))
    }

    fn order(&self, limit: &Number) -> Option<Ordering> {
        float_of(self)?.partial_cmp(&limit.as_f64()?)
    }

    fn is_multiple_of(&self, step: &Number) -> bool {
        let times = float_of(self).unwrap_or(f64::NAN) / step.as_f64().unwrap_or(1.0);
        (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0)
    }

    fn count(&self, kind: Kind) -> Option<usize> {
        match self {
            Value::Vector(elements) | Value::List(elements) | Value::Queue(elements)
                if kind == Kind::Array =>
            {
                Some(elements.len())
            }
            Value::Set(elements) if kind == Kind::Array => Some(elements.len()),
            Value::Map(map) if kind == Kind::Object => Some(map.len()),
            _ => None,
        }
    }

    fn each_element(&self, visit: &mut dyn FnMut(usize, &Value)) {
        match self {
            Value::Vector(elements) | Value::List(elements) | Value::Queue(elements) => {
                elements.iter().enumerate().for_each(|(at, element)| visit(at, &element));
            }
            Value::Set(elements) => {
                elements.iter().enumerate().for_each(|(at, element)| visit(at, element));
            }
            _ => {}
        }
    }

    fn each_member<'v>(&'v self, visit: &mut dyn FnMut(&'v str, &'v Value)) {
        let Value::Map(map) = self else { return };
        for (key, value) in map.iter() {
            match key {
                Value::Str(text) => visit(text.as_str(), value),
                Value::Keyword(keyword) => visit(keyword.name(), value),
                // Other keys are nobody's property; whether they have a JSON form is for the writer to say.
                _ => {}
            }
        }
    }

    fn member(&self, name: &str) -> Option<&Value> {
        let mut found = None;
        self.each_member(&mut |key, value| found = found.or((key == name).then_some(value)));
        found
    }

    fn repeated(&self) -> Option<usize> {
        let (Value::Vector(elements) | Value::List(elements) | Value::Queue(elements)) = self else {
            return None;
        };
        if elements.len() > MAX_UNIQUE {
            return None;
        }
        let mut set = Set::new();
        elements
            .iter()
            .enumerate()
            .map(|(at, element)| (at, set.insert(element), set.len()))
            .find_map(|(at, (), different)| (different <= at).then_some(at))
    }
}

/// A number as the nearest float.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::BigInt(_) => json_of(value)?.parse().ok(),
        Value::Float(number) => Some(number.get()),
        _ => None,
    }
}

/// The JSON of a small value.
pub(super) fn json_of(value: &Value) -> Option<String> {
    let mut bytes = Vec::new();
    ptc_vm::json::write(value, &mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

/// A small collection as JSON; nothing if it has none.
#[expect(clippy::disallowed_methods, reason = "entry point: tree_of()")]
fn tree_of(value: &Value) -> Option<Json> {
    serde_json::from_str(&json_of(value)?).ok()
}

/// Whether a value takes no more than `room` bytes as JSON, roughly, and nests no deeper than `depth`. Its size is subtracted.
fn is_small(value: &Value, room: &mut usize, depth: usize) -> bool {
    let bytes = match value {
        Value::Str(text) => text.as_str().len(),
        _ => 0,
    };
    let fits = *room > bytes && depth > 0;
    *room = room.saturating_sub(bytes + 1);
    fits && match value {
        Value::Vector(elements) | Value::List(elements) | Value::Queue(elements) => {
            elements.iter().all(|element| is_small(&element, room, depth - 1))
        }
        Value::Set(elements) => elements.iter().all(|element| is_small(element, room, depth - 1)),
        Value::Map(map) => {
            map.iter().all(|(key, value)| is_small(key, room, depth - 1) && is_small(value, room, depth - 1))
        }
        _ => true,
    }
}

fn is_duration(temporal: &Temporal) -> bool {
    matches!(temporal, Temporal::Duration(_))
}
