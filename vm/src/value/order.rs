//! Equality, identity and the total order of values (language.md 2.10, 2.11; ruling 2).
//!
//! None of these can fail. They charge the [meter](crate::meter) for each node and, once the program's steps
//! are used up, answer anything: see the text of that module.

use super::Value;
use std::cmp::Ordering;

/// The order that programs see in `compare` and `sort`: an integer ties with an equal float.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    order(a, b, false)
}

/// The order of map keys and set elements: as [`compare`], an integer before an equal float. `Equal` means
/// [`identical`].
pub fn key_compare(a: &Value, b: &Value) -> Ordering {
    order(a, b, true)
}

/// Compares a key with the keyword (or the string) of this name without building one.
pub(super) fn compare_to_name(key: &Value, name: &str, keyword: bool) -> Ordering {
    match key {
        Value::Keyword(k) if keyword => k.name().cmp(name),
        Value::Str(s) if !keyword => s.as_str().cmp(name),
        other => rank(other).cmp(if keyword { &3 } else { &9 }),
    }
}

/// `=`
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x == y,
        _ => compare(a, b) == Ordering::Equal,
    }
}

/// Whether two values are the same key.
pub fn identical(a: &Value, b: &Value) -> bool {
    key_compare(a, b) == Ordering::Equal
}

/// A hash that agrees with [`identical`].
pub fn hash(_value: &Value) -> u64 {
    0
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => 1,
        Value::Nil | Value::Bool(_) => 2,
        Value::Keyword(_) => 3,
        Value::Temporal(_) => 5,
        Value::Set(_) => 6,
        Value::Map(_) => 7,
        Value::Vector(_) => 8,
        Value::Str(_) => 9,
        _ => 4,
    }
}

fn order(a: &Value, b: &Value, strict: bool) -> Ordering {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y).unwrap_or(Ordering::Equal),
        (Value::Int(x), Value::Float(y)) => (*x as f64)
            .partial_cmp(y)
            .unwrap_or(Ordering::Less)
            .then(if strict { Ordering::Less } else { Ordering::Equal }),
        (Value::Float(x), Value::Int(y)) => x
            .partial_cmp(&(*y as f64))
            .unwrap_or(Ordering::Less)
            .then(if strict { Ordering::Greater } else { Ordering::Equal }),
        (Value::Keyword(x), Value::Keyword(y)) => x.name().cmp(y.name()),
        (Value::Str(x), Value::Str(y)) => x.as_str().cmp(y.as_str()),
        (Value::Vector(x), Value::Vector(y)) => {
            for (x, y) in x.iter().zip(y.iter()) {
                match order(&x, &y, strict) {
                    Ordering::Equal => {}
                    other => return other,
                }
            }
            x.len().cmp(&y.len())
        }
        _ => rank(a).cmp(&rank(b)),
    }
}
