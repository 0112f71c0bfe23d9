//! `reduced`: how a reducing function says that it has seen enough.

use crate::value::{Combinator, CombinatorKind, Value};

/// Wraps a value; a wrapped value is wrapped once more.
pub(crate) fn reduced(value: Value) -> Value {
    Value::Combinator(Combinator::new(CombinatorKind::Reduced, vec![value]))
}

/// Whether this is a wrapped value.
#[inline]
pub(crate) fn is_reduced(value: &Value) -> bool {
    matches!(value, Value::Combinator(c) if c.kind == CombinatorKind::Reduced)
}

/// The value inside the wrapper, or the value itself.
pub(crate) fn unreduced(value: Value) -> Value {
    match &value {
        Value::Combinator(c) if c.kind == CombinatorKind::Reduced => c.parts[0].clone(),
        _ => value,
    }
}
