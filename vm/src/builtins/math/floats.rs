//! The parts of floats, and integers that Java bounds: the rest of `clojure.math` (functions.md 37.2).

use super::real::{binary, unary};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number::{self, unscaled};
use crate::value::Value;

/// Distance to the next float away from zero; for the largest one, to the one before.
fn spacing(x: f64) -> f64 {
    let x = x.abs();
    if x == f64::MAX {
        x - x.next_down()
    } else if x.is_finite() {
        x.next_up() - x
    } else {
        x
    }
}

/// `(Math/ulp x)`
pub(super) fn ulp(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    unary("Math/ulp", args, spacing)
}

/// `(Math/nextUp x)`
pub(super) fn next_up(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    unary("Math/nextUp", args, f64::next_up)
}

/// `(Math/nextDown x)`
pub(super) fn next_down(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    unary("Math/nextDown", args, f64::next_down)
}

/// `(Math/nextAfter x y)`
pub(super) fn next_after(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    binary("Math/nextAfter", args, |x, y| match x.partial_cmp(&y) {
        None => f64::NAN,
        Some(std::cmp::Ordering::Equal) => y,
        Some(std::cmp::Ordering::Less) => x.next_up(),
        Some(std::cmp::Ordering::Greater) => x.next_down(),
    })
}

/// `(Math/getExponent x)`: as it is stored, so that zero and subnormal floats have that below the smallest, and infinities and
/// NaN that above the largest.
pub(super) fn exponent(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Some(x) = number::float(&args[0]) else {
        return Err(Error::argument_types("Math/getExponent", args));
    };
    let stored = (x.to_bits() >> 52) & 0x7FF;
    Ok(Value::Int(stored as i64 - 1023))
}

/// `(Math/scalb x n)`: `x × 2^n`
pub(super) fn scale(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match (number::float(&args[0]), &args[1]) {
        (Some(x), Value::Int(exponent)) => Ok(Value::float(unscaled(x, *exponent))),
        _ => Err(Error::argument_types("Math/scalb", args)),
    }
}

/// `(Math/IEEEremainder x y)`: `x - y × n`, where `n` is the integer nearest to `x / y`, the even one of two.
pub(super) fn ieee_remainder(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    binary("Math/IEEEremainder", args, remainder)
}

fn remainder(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    let y = y.abs();
    // By twice the divisor, to know whether the quotient is odd; where that is infinite, the dividend is smaller anyway.
    let mut rest = (x % (y + y)).abs();
    // These comparisons are with half of the divisor. The differences are exact wherever they decide.
    if rest > y - rest {
        rest -= y;
        if rest >= y - rest {
            rest -= y;
        }
    }
    if x.is_sign_negative() { -rest } else { rest }
}

/// An operation that Java refuses when the result does not fit 64 bits; integers are unbounded here.
fn exact(name: &str, args: &[Value], f: impl FnOnce(&[Value]) -> Result<Value>) -> Result<Value> {
    if args.iter().all(|arg| matches!(arg, Value::Int(_) | Value::BigInt(_))) {
        f(args)
    } else {
        Err(Error::argument_types(name, args))
    }
}

macro_rules! exact {
    ($($name:ident, $shown:literal, $f:expr;)*) => {
        $(pub(super) fn $name(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
            exact($shown, args, $f)
        })*
    };
}

exact! {
    add_exact, "Math/addExact", |args| number::add(&args[0], &args[1]);
    subtract_exact, "Math/subtractExact", |args| number::subtract(&args[0], &args[1]);
    multiply_exact, "Math/multiplyExact", |args| number::multiply(&args[0], &args[1]);
    negate_exact, "Math/negateExact", |args| number::subtract(&Value::Int(0), &args[0]);
    increment_exact, "Math/incrementExact", |args| number::add(&args[0], &Value::Int(1));
    decrement_exact, "Math/decrementExact", |args| number::subtract(&args[0], &Value::Int(1));
}
