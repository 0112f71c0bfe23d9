//! The writer: values straight to bytes, on an explicit stack.

use super::strings;
use crate::error::{Error, Reason, Result};
use crate::meter;
use crate::print::{self, MAX_DEPTH, PathText, PrintLevel, grow_string};
use crate::value::{Map, Temporal, Value};
use std::fmt::Write as _;
use std::ops::Range;

/// Writes a value as JSON for results, `validated` and tool arguments (ruling 10), charged to the running
/// program. Members of objects come in key order.
///
/// The error's message is exactly `non-JSON-encodable value at rows[0].ts`, or `… at <root>`.
pub fn write(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    let mut text = String::new();
    JsonWriter::new(&mut text).document(value).map_err(WriteError::into_error)?;
    if out.is_empty() {
        *out = text.into_bytes();
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}

/// JSON text of a value for `json/generate-string`: `None` where [`write()`] would refuse the value. Fails only
/// at the program's limits.
pub fn generate(value: &Value) -> Result<Option<String>> {
    let mut out = String::new();
    match JsonWriter::new(&mut out).document(value) {
        Ok(()) => Ok(Some(out)),
        Err(WriteError::Limit(error)) => Err(error),
        Err(WriteError::Refused(_) | WriteError::TooDeep | WriteError::TooLong(_)) => Ok(None),
    }
}

/// Arguments as JSON, with the places needed to respell keys by a schema (ruling 37).
#[derive(Debug, Default, Clone)]
pub struct ToolArguments {
    /// One JSON object.
    pub json: Vec<u8>,
    /// Byte ranges in `json` of names, without quotes, that were keyword keys and contain `-`.
    pub hyphenated: Vec<std::ops::Range<usize>>,
}

/// Why a value is not sent to a host.
#[derive(Debug)]
pub(crate) enum ArgumentSendError {
    /// It has no JSON form; the reason, which begins with `value at`.
    NotEncodable(String),
    /// Its JSON has more bytes than it may have: at least this many. Nothing was written beyond the limit.
    TooLong(usize),
    /// The program's limits are reached.
    Limit(Error),
}

/// A map as JSON of at most `most` bytes, with the places of the keyword keys that a schema may respell (ruling 37).
/// Writing stops at the limit, so that the work is that of `most` bytes however large the value is.
pub(crate) fn write_tool_arguments(
    arguments: &Map,
    most: usize,
) -> std::result::Result<ToolArguments, ArgumentSendError> {
    write_within(&Value::Map(arguments.clone()), most)
}

/// As [`write_tool_arguments`], of any value.
pub(crate) fn write_within(
    value: &Value,
    most: usize,
) -> std::result::Result<ToolArguments, ArgumentSendError> {
    let mut json = String::new();
    let mut writer = JsonWriter { most, ..JsonWriter::new(&mut json) };
    match writer.document(value) {
        Ok(()) => {
            let hyphenated = writer.hyphenated;
            Ok(ToolArguments { json: json.into_bytes(), hyphenated })
        }
        Err(WriteError::Refused(message)) => {
            let why = message.strip_prefix("non-JSON-encodable ").unwrap_or(&message);
            Err(ArgumentSendError::NotEncodable(why.to_owned()))
        }
        Err(WriteError::TooLong(bytes)) => Err(ArgumentSendError::TooLong(bytes)),
        Err(WriteError::TooDeep) => Err(ArgumentSendError::Limit(print::too_deep())),
        Err(WriteError::Limit(error)) => Err(ArgumentSendError::Limit(error)),
    }
}

/// Why a value is not written.
enum WriteError {
    /// It has no JSON form; the message.
    Refused(String),
    /// It is nested too deep.
    TooDeep,
    /// It is longer than it may be: at least this many bytes.
    TooLong(usize),
    /// The program's limits are reached.
    Limit(Error),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> WriteError {
        WriteError::Limit(error)
    }
}

impl WriteError {
    fn into_error(self) -> Error {
        match self {
            WriteError::Refused(message) => Error::verbatim(Reason::RuntimeError, message),
            WriteError::TooDeep | WriteError::TooLong(_) => print::too_deep(),
            WriteError::Limit(error) => error,
        }
    }
}

type WriteResult<T = ()> = std::result::Result<T, WriteError>;

/// An array or object that is being written.
struct OpenContainer {
    level: PrintLevel,
    /// An object whose keys are of different kinds, so that two of them may have the same text.
    mixed: Option<Map>,
}

impl OpenContainer {
    fn of(value: &Value) -> Option<OpenContainer> {
        let mixed = match value {
            Value::Map(map) => {
                let kind =
                    |entry: Option<(&Value, &Value)>| entry.map(|(key, _)| std::mem::discriminant(key));
                // Keys of one kind are neighbours in key order.
                (kind(map.iter().next()) != kind(map.iter().next_back())).then(|| map.clone())
            }
            _ => None,
        };
        PrintLevel::of(value).map(|level| OpenContainer { level, mixed })
    }

    fn closing(&self) -> u8 {
        if self.level.is_map() { b'}' } else { b']' }
    }
}

struct JsonWriter<'a> {
    out: &'a mut String,
    levels: Vec<OpenContainer>,
    /// Places in `out` of names that were keyword keys and contain `-`.
    hyphenated: Vec<Range<usize>>,
    /// Digits of a key or a number.
    scratch: String,
    /// Bytes that may be written in all.
    most: usize,
}

impl<'a> JsonWriter<'a> {
    fn new(out: &'a mut String) -> JsonWriter<'a> {
        JsonWriter {
            out,
            levels: Vec::new(),
            hyphenated: Vec::new(),
            scratch: String::new(),
            most: usize::MAX,
        }
    }

    fn document(&mut self, value: &Value) -> WriteResult {
        self.value(value)?;
        while let Some(open) = self.levels.last_mut() {
            let separate = open.level.started();
            let Some(item) = open.level.next() else {
                let closing = open.closing();
                self.push(closing)?;
                self.levels.pop();
                continue;
            };
            if open.level.at_key() {
                if separate {
                    self.push(b',')?;
                }
                self.key(&item)?;
                self.push(b':')?;
            } else {
                if separate && !open.level.is_map() {
                    self.push(b',')?;
                }
                self.value(&item)?;
            }
        }
        Ok(())
    }

    /// Refuses `bytes` more than there are if that is more than there may be.
    #[inline]
    fn check(&self, bytes: usize) -> WriteResult {
        match self.out.len().saturating_add(bytes) {
            all if all > self.most => Err(WriteError::TooLong(all)),
            _ => Ok(()),
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) -> WriteResult {
        self.check(1)?;
        grow_string(self.out, 1)?;
        self.out.push(char::from(byte));
        Ok(())
    }

    fn text(&mut self, text: &str) -> WriteResult {
        self.check(text.len() + 2)?;
        meter::charge_steps(text.len() as u64 / 16)?;
        strings::push(text, self.out)?;
        // What is escaped is longer.
        self.check(0)
    }

    #[inline]
    fn raw(&mut self, text: &str) -> WriteResult {
        self.check(text.len())?;
        grow_string(self.out, text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    /// Writes a scalar, or opens a collection.
    fn value(&mut self, value: &Value) -> WriteResult {
        meter::charge_steps(1)?;
        match value {
            Value::Nil => self.raw("null"),
            Value::True => self.raw("true"),
            Value::False => self.raw("false"),
            Value::Int(n) => self.raw(itoa::Buffer::new().format(*n)),
            Value::BigInt(n) => {
                self.scratch.clear();
                print::write_integer(n, &mut self.scratch)?;
                grow_string(self.out, self.scratch.len())?;
                self.out.push_str(&self.scratch);
                Ok(())
            }
            Value::Float(x) if x.is_finite() => self.float(x.get()),
            Value::Str(s) => self.text(s.as_str()),
            Value::Keyword(k) => self.text(k.name()),
            Value::Temporal(t) if !matches!(**t, Temporal::Duration(_)) => self.text(&t.iso()),
            Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Set(_) | Value::Map(_) => {
                if self.levels.len() >= MAX_DEPTH {
                    return Err(WriteError::TooDeep);
                }
                let Some(open) = OpenContainer::of(value) else { return Ok(()) };
                self.push(if open.level.is_map() { b'{' } else { b'[' })?;
                self.levels.push(open);
                Ok(())
            }
            _ => Err(self.refused("")),
        }
    }

    /// The shortest digits that read back to the same float.
    fn float(&mut self, x: f64) -> WriteResult {
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format_finite(x);
        match text.split_once('e') {
            // `1e16`: a reader that tells floats from integers by the point shall find one.
            Some((mantissa, exponent)) if !mantissa.contains('.') => {
                grow_string(self.out, 32)?;
                let _ = write!(self.out, "{mantissa}.0e{exponent}");
                Ok(())
            }
            _ => self.raw(text),
        }
    }

    fn key(&mut self, key: &Value) -> WriteResult {
        meter::charge_steps(1)?;
        self.check_twins(key)?;
        match key {
            Value::Str(s) => self.text(s.as_str()),
            Value::Keyword(k) => {
                self.text(k.name())?;
                if k.name().contains('-') {
                    let end = self.out.len() - 1;
                    self.hyphenated.push(end - k.name().len()..end);
                }
                Ok(())
            }
            Value::Int(n) => self.text(itoa::Buffer::new().format(*n)),
            Value::BigInt(n) => {
                let mut digits = String::new();
                print::write_integer(n, &mut digits)?;
                self.text(&digits)
            }
            other => {
                let why = format!(": the key {} is neither text nor an integer", print::literal(other));
                Err(self.refused(&why))
            }
        }
    }

    /// Refuses a key whose text another key of the same object has too.
    fn check_twins(&self, key: &Value) -> WriteResult {
        let Some(map) = self.levels.last().and_then(|open| open.mixed.as_ref()) else { return Ok(()) };
        let digits;
        let (name, twin) = match key {
            // Strings come last, so that their twins have been looked for already.
            Value::Keyword(k) => (k.name(), map.entry_named(k.name(), false)),
            Value::Int(n) => {
                digits = n.to_string();
                (&*digits, map.entry_named(&digits, false).or_else(|| map.entry_named(&digits, true)))
            }
            Value::BigInt(n) => {
                let mut text = String::new();
                print::write_integer(n, &mut text)?;
                digits = text;
                (&*digits, map.entry_named(&digits, false).or_else(|| map.entry_named(&digits, true)))
            }
            _ => return Ok(()),
        };
        match twin {
            None => Ok(()),
            Some((twin, _)) => {
                let (key, twin) = (print::literal(key), print::literal(twin));
                let name = print::literal(&Value::str(name));
                Err(self.refused(&format!(": the keys {key} and {twin} would both be written {name}")))
            }
        }
    }

    /// The fault at the current place; `why` may add to its text.
    #[cold]
    fn refused(&self, why: &str) -> WriteError {
        let path = PathText::of(self.levels.iter().map(|open| &open.level)).into_text();
        let path = if path.is_empty() { "<root>" } else { &path };
        WriteError::Refused(format!("non-JSON-encodable value at {path}{why}"))
    }
}
