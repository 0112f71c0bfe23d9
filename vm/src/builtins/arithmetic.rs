//! `+ - * /` and their kin.

use crate::error::{Error, Result};
use crate::value::Value;

/// `(+ a b)`
pub fn add(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => Ok(x.checked_add(*y).map_or(Value::Nil, Value::Int)),
        _ => Err(Error::argument_types("add", &[a.clone(), b.clone()])),
    }
}

/// `(- a b)`
pub fn subtract(a: &Value, b: &Value) -> Result<Value> {
    add(a, b)
}

/// `(* a b)`
pub fn multiply(a: &Value, b: &Value) -> Result<Value> {
    add(a, b)
}

/// The family's functions.
pub static BUILTINS: &[super::Builtin] = &[];

/// Most bits of an integer (ruling 5: above 1 Mbit it is `memory_exceeded`).
pub const MAX_INTEGER_BITS: u64 = 1 << 20;

/// An integer of more than [`MAX_INTEGER_BITS`] bits.
#[cold]
pub fn integer_too_large() -> Error {
    Error::verbatim(
        crate::error::Reason::MemoryExceeded,
        format!("integer of more than {MAX_INTEGER_BITS} bits; keep numbers smaller, for example with mod"),
    )
}
