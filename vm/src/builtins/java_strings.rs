//! `.substring`, `.indexOf` … and the constants of Java's number classes.

use super::Builtin;
use crate::value::{Temporal, Value};

/// The word for a value's kind in messages of Java methods (functions.md 27).
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Vector(_) => "list",
        Value::Map(_) => "map",
        Value::Int(_) | Value::BigInt(_) => "integer",
        Value::Float(_) => "float",
        Value::Str(_) => "string",
        Value::Temporal(temporal) => match **temporal {
            Temporal::Date(_) => "LocalDate",
            Temporal::Instant { .. } => "DateTime",
            Temporal::Duration(_) => "Duration",
        },
        _ => "non-string",
    }
}

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[];
