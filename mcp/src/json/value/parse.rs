//! The tree parser.

use super::{Map, Number, Value};
use crate::json::{JsonError, Scanner};

/// Deepest nesting of a text that is read, in levels of `{` and `[`, as `serde_json` has it.
pub const MAX_NESTING: usize = 127;

/// Reads a text that nests at most `levels` deep. The last of a repeated member counts.
///
/// # Errors
/// The text is not JSON, or nests deeper.
pub fn parse_within(text: &str, levels: usize) -> Result<Value, JsonError> {
    read(text, levels, Number::read)
}

/// Reads text that our side has written. Numbers keep their exact text.
pub(super) fn parse_written(text: &str) -> Result<Value, JsonError> {
    read(text, usize::MAX, Number::written)
}

fn read(text: &str, levels: usize, number: fn(&str) -> Number) -> Result<Value, JsonError> {
    let mut reader = ValueParser { scanner: Scanner::new(text), number };
    let value = reader.value(levels)?;
    reader.scanner.end()?;
    Ok(value)
}

struct ValueParser<'a> {
    scanner: Scanner<'a>,
    number: fn(&str) -> Number,
}

impl ValueParser<'_> {
    fn value(&mut self, levels: usize) -> Result<Value, JsonError> {
        let scanner = &mut self.scanner;
        match scanner.peek() {
            Some(b'{') => {
                let inner = levels.checked_sub(1).ok_or(JsonError::TooDeep)?;
                scanner.open();
                let (mut members, mut first) = (Map::new(), true);
                while self.scanner.next_member(&mut first)? {
                    let name = self.scanner.key()?.into_owned();
                    let value = self.value(inner)?;
                    members.insert(name, value);
                }
                Ok(Value::Object(members))
            }
            Some(b'[') => {
                let inner = levels.checked_sub(1).ok_or(JsonError::TooDeep)?;
                scanner.open();
                let (mut items, mut first) = (Vec::new(), true);
                while self.scanner.next_element(&mut first)? {
                    items.push(self.value(inner)?);
                }
                Ok(Value::Array(items))
            }
            _ => {
                let raw = scanner.value()?;
                Ok(match raw.text() {
                    "null" => Value::Null,
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    text => match raw.as_str() {
                        Some(text) => Value::String(text.into_owned()),
                        None => Value::Number((self.number)(text)),
                    },
                })
            }
        }
    }
}
