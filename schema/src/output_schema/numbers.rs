//! Numbers of the language beside those of a schema.

use ptc_mcp::json::Value as Json;
use ptc_vm::Value;

/// A number as the nearest float.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::BigInt(_) => json_of(value)?.parse().ok(),
        Value::Float(number) => Some(number.get()),
        _ => None,
    }
}

/// Whether a number is an integer in the sense of JSON Schema: 7.0 is one.
pub(super) fn is_integer(value: &Value) -> bool {
    match value {
        Value::Int(_) | Value::BigInt(_) => true,
        Value::Float(_) => float_of(value).is_some_and(|number| number.is_finite() && number.fract() == 0.0),
        _ => false,
    }
}

/// Whether a number of the language is the one of a schema.
pub(super) fn is_same(value: &Value, listed: &Json) -> bool {
    match (value, listed.as_i64()) {
        (Value::Int(number), Some(listed)) => *number == listed,
        _ => float_of(value).is_some_and(|number| Some(number) == listed.as_f64()),
    }
}

/// Whether a number is a multiple of `step`.
pub(super) fn is_multiple(number: f64, step: f64) -> bool {
    let times = number / step;
    (times - times.round()).abs() <= f64::EPSILON * times.abs().max(1.0)
}

/// The JSON of a small value.
pub(super) fn json_of(value: &Value) -> Option<String> {
    let mut bytes = Vec::new();
    ptc_vm::json::write(value, &mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}
