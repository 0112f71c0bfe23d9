//! What single instructions do beyond their fast paths.

use super::env::Env;
use super::interpreter::Fuel;
use crate::builtins::{Builtin, Native, arithmetic};
use crate::code::Function;
use crate::error::{Error, Reason, Result};
use crate::print;
use crate::value::{Map, Value, compare};
use std::cell::Cell;
use std::cmp::Ordering;

/// The value that a builtin's name stands for.
pub(super) fn builtin_value(builtin: &'static Builtin) -> Value {
    match builtin.native {
        Native::Constant(value) => value(),
        _ => Value::Builtin(builtin),
    }
}

/// `(inc a)`, `(dec a)`
pub(super) fn increment(a: &Value, by: i64) -> Result<Value> {
    match a {
        Value::Int(n) if n.checked_add(by).is_some() => Ok(Value::Int(n + by)),
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => arithmetic::add(a, &Value::Int(by)),
        _ => Err(Error::bad_arithmetic()),
    }
}

/// NaN compares false with everything.
fn unordered(a: &Value, b: &Value) -> bool {
    matches!(a, Value::Float(x) if x.is_nan()) || matches!(b, Value::Float(x) if x.is_nan())
}

pub(super) fn less(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) == Ordering::Less))
}

pub(super) fn less_or_equal(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) != Ordering::Greater))
}

pub(super) fn greater(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) == Ordering::Greater))
}

pub(super) fn greater_or_equal(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(!unordered(a, b) && compare(a, b) != Ordering::Less))
}

pub(super) fn equal(a: &Value, b: &Value) -> Result<Value> {
    Ok(Value::bool(crate::value::equal(a, b)))
}

/// A read of a constant key, with a guess of where it is.
#[inline]
pub(super) fn lookup(fuel: &mut Fuel, map: &Value, key: &Value, guess: &Cell<u32>) -> Option<Value> {
    if let Value::Map(map) = map
        && let Some(found) = map.get_at_guess(key, guess.get())
    {
        return Some(found.clone());
    }
    search(fuel, map, key, guess)
}

/// [`lookup`] where the guess was wrong, or could not be told to be right at a glance.
fn search(fuel: &mut Fuel, map: &Value, key: &Value, guess: &Cell<u32>) -> Option<Value> {
    fuel.open();
    let found = match map {
        Value::Map(map) => map.get_guessed(key, guess).cloned(),
        Value::Set(set) => set.get(key).cloned(),
        _ => None,
    };
    fuel.close();
    found
}

/// `data/NAME`
pub(super) fn data(env: &Env, key: &Value) -> Result<Value> {
    let found = match &env.context {
        Value::Map(context) => context.get_flexible(key),
        _ => None,
    };
    match (found, key) {
        (Some(value), _) => Ok(value.clone()),
        (None, Value::Keyword(name)) if env.strict_data => {
            let name = name.name();
            let text = format!(
                "runtime_error: data/{name} is not bound: the `context` object did not provide a `{name}` key"
            );
            Err(Error::verbatim(Reason::RuntimeError, text))
        }
        _ => Ok(Value::Nil),
    }
}

#[cold]
fn destructure(text: String) -> Error {
    Error::new(Reason::DestructureError, text)
}

/// Makes the value in a slot a vector or `nil`, for a vector pattern.
pub(super) fn check_sequential(value: &mut Value) -> Result<()> {
    match value {
        Value::Vector(_) | Value::Nil => Ok(()),
        other => Err(destructure(format!("expected list or nil, got {}", print::readable_lossy(other)))),
    }
}

/// Refuses what a map pattern cannot take apart.
pub(super) fn check_map(value: &Value) -> Result<()> {
    match value {
        Value::Map(_) | Value::Nil => Ok(()),
        other => Err(destructure(format!("expected map or nil, got {}", print::readable_lossy(other)))),
    }
}

/// Makes a map of `k v k v …`; a single map stands for itself.
pub(super) fn keyword_arguments(value: &mut Value) -> Result<()> {
    let Value::Vector(args) = &*value else { return Ok(()) };
    let map = match args.len() {
        1 if matches!(args.get(0), Some(Value::Map(_))) => args.get(0).unwrap_or_default(),
        n if n % 2 == 0 => {
            let mut map = Map::new();
            let mut items = args.iter();
            while let (Some(key), Some(value)) = (items.next(), items.next()) {
                map.insert(key, value);
            }
            Value::Map(map)
        }
        n => return Err(destructure(format!("keyword args must be even, got odd count: {n}"))),
    };
    *value = map;
    Ok(())
}

/// What a map pattern finds under a key.
pub(super) fn entry(map: &Value, key: &Value) -> Option<Value> {
    match map {
        Value::Map(map) => map.get_flexible(key).cloned(),
        _ => None,
    }
}

/// The id of a task as text, by `str`.
pub(super) fn task_id(id: &Value) -> Result<Value> {
    match id {
        Value::Str(_) => Ok(id.clone()),
        other => Ok(Value::str(print::plain(other)?)),
    }
}

/// The error of a closure called with a number of arguments that no body takes (language.md 4.4).
#[cold]
pub(super) fn wrong_arity(function: &Function, argc: usize) -> Error {
    let expected = match &function.arities[..] {
        [one] if one.parameters.rest => format!("at least {}", one.parameters.required),
        [one] => one.parameters.required.to_string(),
        several => {
            let mut counts: Vec<String> = Vec::new();
            for arity in several {
                let least = arity.parameters.required;
                counts.push(if arity.parameters.rest {
                    format!("at least {least}")
                } else {
                    least.to_string()
                });
            }
            counts.join(" or ")
        }
    };
    Error::new(Reason::ArityMismatch, format!("expected {expected} argument(s), got {argc}"))
}
