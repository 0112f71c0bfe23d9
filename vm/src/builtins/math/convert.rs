//! Conversion between integers, floats and characters.

use crate::error::{Error, Reason, Result};
use crate::machine::Ctx;
use crate::number::{admit, integral, read_decimal, to_float};
use crate::value::Value;
use std::mem::take;

fn to_double(name: &str, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Int(n) => Ok(Value::float(*n as f64)),
        Value::Float(x) => Ok(Value::float(x.get())),
        Value::BigInt(n) => match to_float(n.get()) {
            x if x.is_finite() => Ok(Value::float(x)),
            _ => Err(Error::float_too_large()),
        },
        _ => Err(Error::argument_types(name, args)),
    }
}

/// `(double x)`
pub(super) fn double(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    to_double("double", args)
}

/// `(float x)`
pub(super) fn float(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    to_double("float", args)
}

/// The integer that a number or, where `characters` count, a string of one code point stands for; `None` for anything else.
fn integer_of(value: &Value, characters: bool) -> Result<Option<Value>> {
    Ok(Some(match value {
        Value::Int(_) | Value::BigInt(_) => value.clone(),
        Value::Float(x) if x.is_nan() => Value::Int(0),
        Value::Float(x) if x.is_infinite() => {
            let sign = if x.get() < 0.0 { "-" } else { "" };
            let text = format!("cannot convert {sign}Infinity to integer");
            return Err(Error::new(Reason::ArithmeticError, text));
        }
        Value::Float(x) => integral(x.get().trunc()),
        Value::Str(s) if characters => {
            let mut chars = s.as_str().chars();
            match (chars.next(), chars.next()) {
                (Some(only), None) => Value::Int(i64::from(u32::from(only))),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    }))
}

fn to_integer(name: &str, args: &[Value], characters: bool) -> Result<Value> {
    integer_of(&args[0], characters)?.ok_or_else(|| Error::argument_types(name, args))
}

/// As `int` casts it: an integer of 32 bits; `None` for anything but a number or a string of one code point.
pub(in crate::builtins) fn to_int(value: &Value) -> Result<Option<i32>> {
    match integer_of(value, true)? {
        None => Ok(None),
        Some(Value::Int(n)) => i32::try_from(n).map(Some).map_err(|_| Error::integer_overflow()),
        Some(_) => Err(Error::integer_overflow()),
    }
}

/// `(int x)`: must fit 32 bits
pub(super) fn int(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match to_int(&args[0])? {
        Some(n) => Ok(Value::Int(n.into())),
        None => Err(Error::argument_types("int", args)),
    }
}

/// `(long x)`
pub(super) fn long(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    to_integer("long", args, true)
}

/// `(bigint x)`
pub(super) fn bigint(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::Str(text) = &args[0] {
        // Four digits take at least 13 bits.
        admit(text.as_str().len() as u64 / 4 * 13)?;
        let number = read_decimal(text.as_str().strip_prefix('+').unwrap_or(text.as_str()))?;
        return number.map(Value::integer).ok_or_else(|| Error::type_error("bigint: the text is no integer"));
    }
    to_integer("bigint", args, false)
}

/// `(short x)`
pub(super) fn short(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    to_integer("short", args, true)
}

/// `(byte x)`
pub(super) fn byte(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    to_integer("byte", args, true)
}

/// `(num x)`
pub(super) fn num(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args[0].is_number() { Ok(take(&mut args[0])) } else { Err(Error::argument_types("num", args)) }
}
