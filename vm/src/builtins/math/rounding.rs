//! `abs`, and numbers to integers. Integers stay as they are; so do the special floats.

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number::{admit, integral, negate};
use crate::value::Value;
use num_bigint::Sign;
use std::mem::take;

/// `(abs x)`
pub(super) fn abs(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Int(n) if *n >= 0 => Ok(Value::Int(*n)),
        Value::BigInt(n) if n.get().sign() != Sign::Minus => Ok(take(&mut args[0])),
        Value::Int(_) | Value::BigInt(_) => negate(&args[0]),
        Value::Float(x) => Ok(Value::float(x.get().abs())),
        _ => Err(Error::argument_types("abs", args)),
    }
}

fn rounded(name: &str, args: &mut [Value], round: fn(f64) -> f64) -> Result<Value> {
    match &args[0] {
        Value::Float(x) if x.is_finite() => {
            // Of at most 1024 bits, unlike other big integers.
            admit(1_024)?;
            Ok(integral(round(x.get())))
        }
        number if number.is_number() => Ok(take(&mut args[0])),
        _ => Err(Error::argument_types(name, args)),
    }
}

/// `(floor x)`
pub(super) fn floor(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded("floor", args, f64::floor)
}

/// `(ceil x)`
pub(super) fn ceil(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded("ceil", args, f64::ceil)
}

/// `(round x)`: halves away from zero
pub(super) fn round(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded("round", args, f64::round)
}

/// `(trunc x)`
pub(super) fn trunc(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded("trunc", args, f64::trunc)
}
