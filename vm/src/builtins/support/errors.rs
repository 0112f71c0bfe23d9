//! Message templates of functions.md 0.5 that several families use.

use crate::error::Error;
use crate::print;
use crate::value::{Temporal, Value};

/// COLL, with the hint about swapped arguments when a function is found.
#[cold]
pub(crate) fn not_a_collection(value: &Value) -> Error {
    if value.is_function() {
        return swapped();
    }
    Error::type_error(format!(
        "expected a collection, got {} {}",
        value.kind_label(),
        print::readable_lossy(value)
    ))
}

/// SWAP: a function lies where the collection belongs.
#[cold]
pub(crate) fn swapped() -> Error {
    Error::type_error(
        "expected a collection, got a function — collection operations like filter/map/reduce take the collection \
         last; arguments may be swapped",
    )
}

/// A list lies where elements are found by their index.
#[cold]
pub(crate) fn no_index(name: &str) -> Error {
    Error::type_error(format!("{name}: a list has no indexes; make a vector of it with vec"))
}

/// `NAME does not support sets (sets are unordered)`
#[cold]
pub(crate) fn no_sets(name: &str) -> Error {
    Error::type_error(format!("{name} does not support sets (sets are unordered)"))
}

/// `NAME does not support maps (maps are unordered). …`
#[cold]
pub(crate) fn no_maps(name: &str) -> Error {
    Error::type_error(format!(
        "{name} does not support maps (maps are unordered). Use (keys m), (vals m), or (entries m) to get a sorted list"
    ))
}

/// The word for a value's kind in messages of Java methods (functions.md 27).
pub(crate) fn java_type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Vector(_) | Value::List(_) | Value::Queue(_) => "list",
        Value::Map(_) => "map",
        Value::Int(_) | Value::BigInt(_) => "integer",
        Value::Float(_) => "float",
        Value::Str(_) => "string",
        Value::Temporal(temporal) => match **temporal {
            Temporal::Date(_) => "LocalDate",
            Temporal::Instant { .. } => "DateTime",
            Temporal::Duration(_) => "Duration",
            Temporal::Local { .. } => "LocalDateTime",
            Temporal::Zoned { .. } => "ZonedDateTime",
        },
        _ => "non-string",
    }
}
