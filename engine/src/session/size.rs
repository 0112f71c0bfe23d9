//! Sizes of values by a fixed table (server.md 7.2), the same on every machine and for every representation.

use ptc_vm::Value;
use ptc_vm::machine::Binding;
use ptc_vm::meter;
use std::rc::Rc;

/// The byte that leads every measured whole.
const WHOLE: u64 = 1;
/// A non-empty list or set, before its elements.
const LIST: u64 = 6;
/// A map, before its entries.
const MAP: u64 = 5;
/// A function, before its captured values.
const FUNCTION: u64 = 37;

/// Bytes of a value that stands alone. Counting stops soon after `cap`: the result is then above it and a lower bound.
pub fn measure(value: &Value, cap: u64) -> u64 {
    WHOLE + traverse(std::slice::from_ref(value), cap)
}

/// Bytes of a binding: its value, and the text of its definition where that is kept.
pub(crate) fn measure_binding(binding: &Binding, cap: u64) -> u64 {
    let source = binding.info.as_ref().map_or(0, |info| info.source.len() as u64);
    measure(&binding.value, cap).saturating_add(source)
}

/// Bytes of the results that a session remembers: those that are not `nil`.
pub fn measure_history(history: &[Value; 3], cap: u64) -> u64 {
    let kept: Vec<Value> = history.iter().filter(|value| !value.is_nil()).cloned().collect();
    WHOLE + if kept.is_empty() { 1 } else { LIST + traverse(&kept, cap) }
}

/// Bytes of a list of strings.
pub fn measure_strings<'s>(texts: impl IntoIterator<Item = &'s str>) -> u64 {
    match texts.into_iter().map(|text| 5 + text.len() as u64).sum() {
        0 => WHOLE + 1,
        bytes => WHOLE + LIST + bytes,
    }
}

/// Bytes of bindings with these names and sizes.
pub(super) fn total(sizes: &[(Rc<str>, u64)]) -> u64 {
    let entries = sizes.iter().map(|(name, bytes)| 5 + name.len() as u64 + bytes - WHOLE);
    entries.fold(WHOLE + MAP, u64::saturating_add)
}

/// Bytes of all `values`. Every value counts at least one byte, so that the work is bounded by `cap`, also where a
/// small graph stands for an enormous tree.
fn traverse(values: &[Value], cap: u64) -> u64 {
    let mut bytes: u64 = 0;
    let mut open: Vec<Value> = values.to_vec();
    while let Some(value) = open.pop() {
        meter::uncharged(1);
        bytes = bytes.saturating_add(match &value {
            Value::Nil => 5,
            Value::True => 6,
            Value::False => 7,
            Value::Int(0..=255) => 2,
            Value::Int(n) if i32::try_from(*n).is_ok() => 5,
            Value::Int(n) => 3 + u64::from((64 - n.unsigned_abs().leading_zeros()).div_ceil(8)),
            Value::BigInt(big) => 3 + big.get().bits().div_ceil(8),
            Value::Float(_) => 9,
            Value::Keyword(keyword) => 2 + keyword.name().len() as u64,
            Value::Str(text) | Value::Symbol(text) | Value::Tool(text) | Value::Var(text) => {
                5 + text.len_bytes()
            }
            Value::Vector(items) | Value::List(items) | Value::Queue(items) if items.is_empty() => 1,
            Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
                let room = cap.saturating_sub(bytes);
                if items.len() as u64 > room {
                    return bytes.saturating_add(items.len() as u64);
                }
                open.extend(items.iter());
                LIST
            }
            Value::Set(items) if items.is_empty() => 1,
            Value::Set(items) => {
                open.extend(items.iter().cloned());
                LIST
            }
            Value::Map(map) => {
                open.extend(map.iter().flat_map(|(key, value)| [key.clone(), value.clone()]));
                MAP
            }
            Value::Builtin(builtin) => 2 + builtin.name.len() as u64,
            Value::Closure(closure) => {
                open.extend(closure.captures.values().iter().cloned());
                FUNCTION
            }
            Value::Combinator(combinator) => {
                open.extend(combinator.parts.iter().cloned());
                FUNCTION
            }
            Value::Regex(regex) => 5 + regex.source.as_str().len() as u64,
            Value::Blob(blob) => 5 + blob.content().base64.len() as u64 + blob.content().uri.len() as u64,
            Value::Temporal(_) => 9,
            Value::Cursor(_) => 1,
        });
        if bytes > cap {
            return bytes;
        }
    }
    bytes
}

trait Utf8Length {
    /// Bytes of UTF-8.
    fn len_bytes(&self) -> u64;
}

impl Utf8Length for ptc_vm::value::Str {
    fn len_bytes(&self) -> u64 {
        self.as_str().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: u64 = 1 << 20;

    #[test]
    fn sizes_are_those_of_the_table() {
        let cases = [
            (Value::Nil, 5),
            (Value::Int(255), 2),
            (Value::Int(256), 5),
            (Value::Int(-1), 5),
            (Value::Int(1 << 40), 9),
            (Value::Int(i64::MIN), 11),
            (Value::float(1.5), 9),
            (Value::str("é"), 7),
            (Value::keyword("ab"), 4),
            (Value::vector(vec![]), 1),
            (Value::vector(vec![Value::Int(1), Value::Int(2)]), 10),
            (Value::list(vec![Value::Int(1), Value::Int(2)]), 10),
        ];
        for (value, bytes) in cases {
            assert_eq!(measure(&value, CAP), 1 + bytes, "{value:?}");
        }
        let map = ptc_vm::value::Map::from_entries(vec![(Value::keyword("a"), Value::Int(1))]);
        assert_eq!(measure(&Value::Map(map), CAP), 1 + 5 + 3 + 2);
    }

    #[test]
    fn wholes_are_led_by_one_byte() {
        let sizes = [("x", 41), ("y", 2)].map(|(name, n)| (Rc::from(name), measure(&Value::Int(n), CAP)));
        assert_eq!(total(&sizes), 22);
        assert_eq!(total(&[]), 6);
        assert_eq!(measure_history(&Default::default(), CAP), 2);
        assert_eq!(measure_strings(["hello {\"a\" [1 2 3]}", "again"]), 41);
        assert_eq!(measure_strings([]), 2);
    }

    #[test]
    fn an_enormous_tree_is_measured_up_to_the_cap_only() {
        let mut value = Value::Int(1);
        for _ in 0..60 {
            value = Value::vector(vec![value.clone(), value]);
        }
        let bytes = measure(&value, 10_000);
        assert!((10_001..11_000).contains(&bytes), "{bytes}");
    }
}
