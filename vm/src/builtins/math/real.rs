//! Real functions. They return the results of IEEE 754, infinities and NaN included, and no error for them.

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number::{self, float, scaled, unscaled};
use crate::value::Value;

pub(super) fn unary(name: &str, args: &[Value], f: fn(f64) -> f64) -> Result<Value> {
    match float(&args[0]) {
        Some(x) => Ok(Value::float(f(x))),
        None => Err(Error::argument_types(name, args)),
    }
}

pub(super) fn binary(name: &str, args: &[Value], f: fn(f64, f64) -> f64) -> Result<Value> {
    match (float(&args[0]), float(&args[1])) {
        (Some(x), Some(y)) => Ok(Value::float(f(x, y))),
        _ => Err(Error::argument_types(name, args)),
    }
}

macro_rules! functions {
    ($($name:ident, $shown:literal, $arity:ident, $f:expr;)*) => {
        $(pub(super) fn $name(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
            $arity($shown, args, $f)
        })*
    };
}

functions! {
    pow, "pow", binary, power;
    log10, "Math/log10", unary, f64::log10;
    exp, "Math/exp", unary, f64::exp;
    sin, "Math/sin", unary, f64::sin;
    cos, "Math/cos", unary, f64::cos;
    tan, "Math/tan", unary, f64::tan;
    asin, "Math/asin", unary, f64::asin;
    acos, "Math/acos", unary, f64::acos;
    atan, "Math/atan", unary, f64::atan;
    sinh, "Math/sinh", unary, f64::sinh;
    cosh, "Math/cosh", unary, f64::cosh;
    tanh, "Math/tanh", unary, f64::tanh;
    cbrt, "Math/cbrt", unary, f64::cbrt;
    signum, "Math/signum", unary, |x| if x == 0.0 { x } else { x.signum() };
    to_degrees, "Math/toDegrees", unary, f64::to_degrees;
    to_radians, "Math/toRadians", unary, f64::to_radians;
    atan2, "Math/atan2", binary, f64::atan2;
    hypot, "Math/hypot", binary, f64::hypot;
    rint, "Math/rint", unary, f64::round_ties_even;
    log1p, "Math/log1p", unary, f64::ln_1p;
    expm1, "Math/expm1", unary, f64::exp_m1;
    copy_sign, "Math/copySign", binary, f64::copysign;
}

/// `pow` of C, but with NaN for a base of ±1 and an exponent without a limit, as in Java.
fn power(x: f64, y: f64) -> f64 {
    if y.is_nan() || (x.abs() == 1.0 && y.is_infinite()) { f64::NAN } else { x.powf(y) }
}

/// `(sqrt x)`
pub(super) fn sqrt(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::BigInt(n) = &args[0] {
        // The root of an integer beyond the range of floats may lie within it.
        let (m, e) = scaled(n.get());
        let (m, e) = if e % 2 == 0 { (m, e) } else { (m * 2.0, e - 1) };
        return Ok(Value::float(unscaled(m.sqrt(), e / 2)));
    }
    unary("sqrt", args, f64::sqrt)
}

/// `(Math/log x)`
pub(super) fn log(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::BigInt(n) = &args[0] {
        let (m, e) = scaled(n.get());
        return Ok(Value::float(m.ln() + e as f64 * std::f64::consts::LN_2));
    }
    unary("Math/log", args, f64::ln)
}

/// `(Math/floorDiv a b)`
pub(super) fn floor_div(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    number::floor_quotient(&args[0], &args[1])
}

/// `(Math/floorMod a b)`
pub(super) fn floor_mod(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    number::modulo(&args[0], &args[1])
}
