//! The meaning of callees other than functions (language.md 4.1).

use crate::error::{Error, Reason, Result};
use crate::print;
use crate::value::{Map, Set, Value, Vector};

/// `(:k m)`, `(:k m default)`, and the same with a symbol.
pub(super) fn call_key(key: &Value, args: &[Value]) -> Result<Value> {
    let (map, default) = match args {
        [map] => (map, None),
        [map, default] => (map, Some(default)),
        args => {
            let text = format!("({}) takes 1 or 2 arguments, got {}", print::literal(key), args.len());
            return Err(Error::new(Reason::InvalidKeywordCall, text));
        }
    };
    let found = match map {
        Value::Map(map) => map.get_flexible(key).cloned(),
        Value::Set(set) => set.get(key).cloned(),
        _ => None,
    };
    Ok(found.unwrap_or_else(|| default.cloned().unwrap_or_default()))
}

/// `(m k)`, `(m k default)`
pub(super) fn call_map(map: &Map, args: &[Value]) -> Result<Value> {
    let (key, default) = match args {
        [key] => (key, None),
        [key, default] => (key, Some(default)),
        args => {
            let text = format!("a map takes 1 or 2 arguments, got {}", args.len());
            return Err(Error::new(Reason::InvalidMapCall, text));
        }
    };
    let found = map.get_flexible(key).cloned();
    Ok(found.unwrap_or_else(|| default.cloned().unwrap_or_default()))
}

/// `(v index)`: raises out of range, as in Clojure.
pub(super) fn call_vector(vector: &Vector, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Int(index)] => {
            let found = usize::try_from(*index).ok().and_then(|index| vector.get(index));
            found.ok_or_else(|| {
                Error::runtime(format!("index {index} out of bounds for list of length {}", vector.len()))
            })
        }
        [other] => {
            let advice = match other {
                Value::Map(_) | Value::Nil => "; (get-in m path) reads a path",
                _ => "",
            };
            Err(Error::type_error(format!(
                "a vector is called with an index, got {}{advice}",
                other.kind_label()
            )))
        }
        args => Err(Error::new(Reason::ArityError, format!("vector expects 1 argument, got {}", args.len()))),
    }
}

/// `(s x)`
pub(super) fn call_set(set: &Set, args: &[Value]) -> Result<Value> {
    match args {
        [value] => Ok(set.get(value).cloned().unwrap_or_default()),
        args => Err(Error::new(Reason::ArityError, format!("set expects 1 argument, got {}", args.len()))),
    }
}

/// The value that a read of `key` finds in `map`: flexible lookup.
pub(super) fn lookup(map: &Value, key: &Value) -> Option<Value> {
    match map {
        Value::Map(map) => map.get_flexible(key).cloned(),
        _ => None,
    }
}

/// `not callable: V`
#[cold]
pub(super) fn not_callable(callee: &Value) -> Error {
    let error = Error::new(Reason::NotCallable, format!("not callable: {}", print::readable_lossy(callee)));
    if callee.is_nil() { error.with_nil_callee() } else { error }
}
