//! Whether an answer fits its form.

use std::cmp::Ordering;
use std::fmt::Write as _;

use ptc_mcp::json::{Number, Value};
use ptc_schema::parsed::order;

use super::parse::{is_whole, quoted, shown};
use super::{Choice, Field, Form, Length, Range, Wanted};

/// Choices that a fault names.
const MAX_NAMED: usize = 20;

impl Form {
    /// Checks the content of an answer. Content that is absent is an empty object.
    ///
    /// # Errors
    /// The first field that does not fit: its name, the value found, the value wanted.
    pub fn check(&self, content: &Value) -> Result<(), String> {
        let Value::Object(content) = content else {
            return Err(format!("the content must be an object, got {}", shown(content)));
        };
        if let Some(name) = content.keys().find(|name| !self.fields.iter().any(|field| field.name == **name))
        {
            return Err(match self.fields.as_slice() {
                [] => format!("got a field {}, but the form has none", quoted(name)),
                _ => format!("got a field {}, which the form does not have", quoted(name)),
            });
        }
        self.fields.iter().try_for_each(|field| field.check(content.get(&field.name)))
    }
}

impl Field {
    /// Checks an answer's value for this field.
    ///
    /// # Errors
    /// The field's name, the value found, the value wanted.
    pub fn check(&self, value: Option<&Value>) -> Result<(), String> {
        let Some(value) = value else {
            return match self.required {
                true => {
                    Err(format!("field {}: got nothing, wanted {}", quoted(&self.name), self.wanted.words()))
                }
                false => Ok(()),
            };
        };
        match self.wanted.is_met_by(value) {
            true => Ok(()),
            false => Err(format!(
                "field {}: got {}, wanted {}",
                quoted(&self.name),
                shown(value),
                self.wanted.words()
            )),
        }
    }
}

impl Wanted {
    fn is_met_by(&self, value: &Value) -> bool {
        match (self, value) {
            (Wanted::String { format, length, .. }, Value::String(text)) => {
                length.contains(text.chars().count()) && format.is_none_or(|format| format.matches(text))
            }
            (Wanted::Number { range, .. }, Value::Number(number)) => range.contains(number),
            (Wanted::Integer { range, .. }, Value::Number(number)) => {
                is_whole(number) && range.contains(number)
            }
            (Wanted::Boolean { .. }, Value::Bool(_)) => true,
            (Wanted::One { choices, .. }, Value::String(text)) => has(choices, text),
            (Wanted::Some { choices, count, .. }, Value::Array(picked)) => {
                let are_choices =
                    picked.iter().all(|item| item.as_str().is_some_and(|text| has(choices, text)));
                let twice = picked.iter().enumerate().any(|(at, item)| picked[..at].contains(item));
                // The count first: it bounds the search for what was picked twice.
                picked.len() <= choices.len() && are_choices && !twice && count.contains(picked.len())
            }
            _ => false,
        }
    }

    /// The wanted kind, as it follows "wanted".
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Wanted::String { format, length, .. } => {
                let mut words = format.map_or("a string", |format| format.wanted()).to_owned();
                length.describe("characters", &mut words);
                words
            }
            Wanted::Number { range, .. } => range.words("a number"),
            Wanted::Integer { range, .. } => range.words("an integer"),
            Wanted::Boolean { .. } => "true or false".to_owned(),
            Wanted::One { choices, .. } => format!("one of {}", named(choices)),
            Wanted::Some { choices, count, .. } => {
                let mut words = format!("an array of different ones of {}", named(choices));
                count.describe("of them", &mut words);
                words
            }
        }
    }
}

fn has(choices: &[Choice], text: &str) -> bool {
    choices.iter().any(|choice| choice.value == text)
}

fn named(choices: &[Choice]) -> String {
    let mut words = String::new();
    for choice in choices.iter().take(MAX_NAMED) {
        let separator = if words.is_empty() { "" } else { ", " };
        let _ = write!(words, "{separator}{}", quoted(&choice.value));
    }
    if let Some(more @ 1..) = choices.len().checked_sub(MAX_NAMED) {
        let _ = write!(words, " and {more} more");
    }
    words
}

impl Length {
    fn contains(self, len: usize) -> bool {
        let len = len as u64;
        self.min.is_none_or(|min| min <= len) && self.max.is_none_or(|max| len <= max)
    }

    fn describe(self, unit: &str, words: &mut String) {
        let _ = match (self.min, self.max) {
            (None, None) => Ok(()),
            (Some(min), None) => write!(words, ", at least {min} {unit}"),
            (None, Some(max)) => write!(words, ", at most {max} {unit}"),
            (Some(min), Some(max)) if min == max => write!(words, ", exactly {min} {unit}"),
            (Some(min), Some(max)) => write!(words, ", {min} to {max} {unit}"),
        };
    }
}

impl Range {
    fn contains(&self, number: &Number) -> bool {
        number.as_f64().is_some()
            && self.min.as_ref().is_none_or(|min| order(min, number).is_some_and(Ordering::is_le))
            && self.max.as_ref().is_none_or(|max| order(number, max).is_some_and(Ordering::is_le))
    }

    fn words(&self, kind: &str) -> String {
        match (&self.min, &self.max) {
            (None, None) => kind.to_owned(),
            (Some(min), None) => format!("{kind} of at least {min}"),
            (None, Some(max)) => format!("{kind} of at most {max}"),
            (Some(min), Some(max)) => format!("{kind} from {min} to {max}"),
        }
    }
}
