//! `abs`, and numbers to integers. Integers stay as they are; so do the special floats.

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number::{admit, float, integral, negate};
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

/// `(round x)`, `(round x digits)`: halves away from zero
pub(super) fn round(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [_, Value::Int(digits)] => {
            let digits = *digits;
            to_digits(digits, args)
        }
        [_] => rounded("round", args, f64::round),
        _ => Err(Error::argument_types("round", args)),
    }
}

/// A float of so many decimals, or a number of so many zeros if `digits` is negative. A half is one in the decimal digits that
/// the number is shown with, so that `(round 1.005 2)` matches a reader's expectation.
fn to_digits(digits: i64, args: &mut [Value]) -> Result<Value> {
    /// More digits than a float or the significant part of an integer has.
    const MOST: i64 = 400;
    match &args[0] {
        Value::Float(x) if x.is_finite() && digits < MOST => {
            let text = x.get().to_string();
            let Some(rounded) = round_text(&text, digits.max(-MOST)) else { return Ok(take(&mut args[0])) };
            Ok(rounded.parse().map_or_else(|_| take(&mut args[0]), Value::float))
        }
        Value::Int(n) if digits < 0 => {
            if digits < -19 {
                return Ok(Value::Int(0));
            }
            let unit = 10_i128.pow(digits.unsigned_abs() as u32);
            let (n, half) = (i128::from(*n), unit / 2);
            let rounded = if n < 0 { (n - half) / unit } else { (n + half) / unit } * unit;
            Ok(Value::integer(rounded.into()))
        }
        number if number.is_number() => Ok(take(&mut args[0])),
        _ => Err(Error::argument_types("round", args)),
    }
}

/// Rounds the decimal notation of a number; `None` if it has no more digits than wanted.
fn round_text(text: &str, digits: i64) -> Option<String> {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let point = whole.len() as i64;
    // Digits that stay.
    let kept = point + digits;
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
    if kept >= all.len() as i64 {
        return None;
    }
    let up = kept >= 0 && all[kept as usize] >= 5;
    let kept = kept.max(0) as usize;
    let mut rounded = vec![0; all.len() + 1];
    rounded[1..=kept].copy_from_slice(&all[..kept]);
    if up {
        let mut at = kept;
        while rounded[at] == 9 {
            rounded[at] = 0;
            at -= 1;
        }
        rounded[at] += 1;
    }
    let digit = |digit: &u8| char::from(b'0' + digit);
    let (whole, fraction) = rounded.split_at(point as usize + 1);
    let whole: String = whole.iter().map(digit).collect();
    let fraction: String = fraction.iter().map(digit).collect();
    Some(format!("{sign}{whole}.{fraction}0"))
}

/// A rounding of Java's: always a float.
fn rounded_to_float(name: &str, args: &[Value], round: fn(f64) -> f64) -> Result<Value> {
    match float(&args[0]) {
        Some(x) => Ok(Value::float(round(x))),
        None => Err(Error::argument_types(name, args)),
    }
}

/// `(Math/floor x)`
pub(super) fn java_floor(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded_to_float("Math/floor", args, f64::floor)
}

/// `(Math/ceil x)`
pub(super) fn java_ceil(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded_to_float("Math/ceil", args, f64::ceil)
}

/// `(Math/round x)`: an integer of 64 bits, halves up; the nearest one where none fits, 0 for NaN. With digits as `round`,
/// which Java does not have.
pub(super) fn java_round(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args.len() > 1 {
        return round(ctx, args);
    }
    let Value::Float(x) = &args[0] else { return rounded("Math/round", args, f64::round) };
    let (x, floor) = (x.get(), x.get().floor());
    // Exact, unlike the sum of `x` and a half. The cast keeps what it is given within 64 bits.
    Ok(Value::Int(if x - floor >= 0.5 { floor + 1.0 } else { floor } as i64))
}

/// `(trunc x)`
pub(super) fn trunc(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rounded("trunc", args, f64::trunc)
}
