//! `+ - * /` and their like on two numbers: integers of any size, floats, and both together (functions.md 14).

use super::big::{admit, integral, scaled, to_float, unscaled};
use super::pieces::{floor_quotient_and_remainder, product, quotient_and_remainder};
use crate::error::{Error, Result};
use crate::meter::pieces;
use crate::value::{Value, compare};
use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Two numbers on common ground.
enum Pair<'a> {
    Ints(i64, i64),
    Bigs(Cow<'a, BigInt>, Cow<'a, BigInt>),
    Floats(f64, f64),
    /// A float and an integer beyond the range of floats, or something that is no number.
    Neither(OperandError),
}

enum OperandError {
    OutOfRange,
    NotNumbers,
}

fn big(value: &Value) -> Option<Cow<'_, BigInt>> {
    match value {
        Value::Int(n) => Some(Cow::Owned(BigInt::from(*n))),
        Value::BigInt(n) => Some(Cow::Borrowed(n.get())),
        _ => None,
    }
}

/// The float of a number; infinite for an integer beyond the range.
pub(crate) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::Float(x) => Some(x.get()),
        Value::BigInt(n) => Some(to_float(n.get())),
        _ => None,
    }
}

fn pair<'a>(a: &'a Value, b: &'a Value) -> Pair<'a> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => Pair::Ints(*x, *y),
        (Value::Int(_) | Value::BigInt(_), Value::Int(_) | Value::BigInt(_)) => match (big(a), big(b)) {
            (Some(x), Some(y)) => Pair::Bigs(x, y),
            _ => Pair::Neither(OperandError::NotNumbers),
        },
        (Value::Float(x), Value::Float(y)) => Pair::Floats(x.get(), y.get()),
        _ => match (float(a), float(b)) {
            (Some(x), Some(y)) => {
                let special = |v: &Value| matches!(v, Value::Float(x) if !x.is_finite());
                let huge = |v: &Value, x: f64| matches!(v, Value::BigInt(_)) && x.is_infinite();
                if special(a) || special(b) {
                    Pair::Floats(beside_special(x, a), beside_special(y, b))
                } else if huge(a, x) || huge(b, y) {
                    Pair::Neither(OperandError::OutOfRange)
                } else {
                    Pair::Floats(x, y)
                }
            }
            _ => Pair::Neither(OperandError::NotNumbers),
        },
    }
}

/// The float of a number beside an infinity or a NaN, where only the sign of a huge integer matters.
fn beside_special(x: f64, of: &Value) -> f64 {
    if matches!(of, Value::BigInt(_)) { x.clamp(f64::MIN, f64::MAX) } else { x }
}

/// A float result: finite operands must not overflow (language.md 2.2).
fn checked(result: f64, a: f64, b: f64) -> Result<Value> {
    if result.is_finite() || !a.is_finite() || !b.is_finite() {
        Ok(Value::float(result))
    } else {
        Err(Error::float_too_large())
    }
}

/// TYPES for an operator, or the error of an integer that meets a float beyond its range.
#[cold]
fn unfit(why: &OperandError, name: &str, a: &Value, b: &Value) -> Error {
    match why {
        OperandError::OutOfRange => Error::float_too_large(),
        OperandError::NotNumbers => Error::argument_types(name, &[a.clone(), b.clone()]),
    }
}

/// `(+ a b)`
pub(crate) fn add(a: &Value, b: &Value) -> Result<Value> {
    match pair(a, b) {
        Pair::Ints(x, y) => Ok(match x.checked_add(y) {
            Some(sum) => Value::Int(sum),
            None => Value::integer(BigInt::from(i128::from(x) + i128::from(y))),
        }),
        Pair::Floats(x, y) => checked(x + y, x, y),
        Pair::Bigs(x, y) => {
            admit(x.bits().max(y.bits()) + 1)?;
            Ok(Value::integer(&*x + &*y))
        }
        Pair::Neither(why) => Err(unfit(&why, "+", a, b)),
    }
}

/// `(- a b)`
pub(crate) fn subtract(a: &Value, b: &Value) -> Result<Value> {
    match pair(a, b) {
        Pair::Ints(x, y) => Ok(match x.checked_sub(y) {
            Some(difference) => Value::Int(difference),
            None => Value::integer(BigInt::from(i128::from(x) - i128::from(y))),
        }),
        Pair::Floats(x, y) => checked(x - y, x, y),
        Pair::Bigs(x, y) => {
            admit(x.bits().max(y.bits()) + 1)?;
            Ok(Value::integer(&*x - &*y))
        }
        Pair::Neither(why) => Err(unfit(&why, "-", a, b)),
    }
}

/// `(* a b)`
pub(crate) fn multiply(a: &Value, b: &Value) -> Result<Value> {
    match pair(a, b) {
        Pair::Ints(x, y) => Ok(match x.checked_mul(y) {
            Some(product) => Value::Int(product),
            None => Value::integer(BigInt::from(i128::from(x) * i128::from(y))),
        }),
        Pair::Floats(x, y) => checked(x * y, x, y),
        Pair::Bigs(x, y) => {
            // A product has the bits of both factors, or one less.
            admit((x.bits() + y.bits()).saturating_sub(1))?;
            Ok(Value::integer(product(&x, &y)?))
        }
        Pair::Neither(why) => Err(unfit(&why, "*", a, b)),
    }
}

/// `(- a)`
pub(crate) fn negate(a: &Value) -> Result<Value> {
    match a {
        Value::Float(x) => Ok(Value::float(-x.get())),
        Value::Int(_) | Value::BigInt(_) => subtract(&Value::Int(0), a),
        other => Err(Error::argument_types("-", std::slice::from_ref(other))),
    }
}

/// `(/ a b)`: integers give an integer where it is exact, and a float otherwise (decision 172). An integer is not divided by
/// the integer zero; beside a float, zero divides as IEEE 754 says.
pub(crate) fn divide(a: &Value, b: &Value) -> Result<Value> {
    match pair(a, b) {
        Pair::Ints(_, 0) => Err(Error::division_by_zero()),
        Pair::Ints(x, y) => Ok(match (x.checked_div(y), x.checked_rem(y)) {
            (Some(quotient), Some(0)) => Value::Int(quotient),
            (Some(_), _) => Value::float(x as f64 / y as f64),
            (None, _) => Value::integer(-BigInt::from(x)),
        }),
        Pair::Floats(x, y) if y == 0.0 => Ok(Value::float(x / y)),
        Pair::Floats(x, y) => checked(x / y, x, y),
        Pair::Bigs(_, y) if y.sign() == Sign::NoSign => Err(Error::division_by_zero()),
        Pair::Bigs(x, y) => {
            admit(x.bits().max(y.bits()))?;
            let (quotient, remainder) = quotient_and_remainder(&x, &y)?;
            if remainder.sign() == Sign::NoSign {
                return Ok(Value::integer(quotient));
            }
            let ((x, ex), (y, ey)) = (scaled(&x), scaled(&y));
            checked(unscaled(x / y, ex - ey), 0.0, 0.0)
        }
        Pair::Neither(why) => Err(unfit(&why, "/", a, b)),
    }
}

/// Shared by `quot`, `rem` and `mod`: the checks on their operands.
fn dividing<'a>(a: &'a Value, b: &'a Value) -> Result<Pair<'a>> {
    let (Some(x), Some(y)) = (float(a), float(b)) else { return Err(Error::bad_arithmetic()) };
    let special = |v: &Value, x: f64| matches!(v, Value::Float(_)) && !x.is_finite();
    if special(a, x) || special(b, y) {
        return Ok(Pair::Floats(f64::NAN, f64::NAN));
    }
    if y == 0.0 {
        return Err(Error::division_by_zero());
    }
    match pair(a, b) {
        Pair::Neither(_) => Err(Error::float_too_large()),
        pair => Ok(pair),
    }
}

/// Whether a finite number is divided by an infinite one.
fn divides_by_infinity(a: &Value, b: &Value) -> bool {
    let finite = match a {
        Value::Float(x) => x.is_finite(),
        other => other.is_number(),
    };
    finite && matches!(b, Value::Float(y) if y.is_infinite())
}

/// `(quot a b)`: rounded toward zero; a float where an operand is one.
pub(crate) fn quotient(a: &Value, b: &Value) -> Result<Value> {
    if let (Value::Int(x), Value::Int(y @ 1..)) = (a, b) {
        return Ok(Value::Int(x / y));
    }
    match dividing(a, b)? {
        Pair::Ints(x, y) => Ok(match x.checked_div(y) {
            Some(quotient) => Value::Int(quotient),
            None => Value::integer(-BigInt::from(x)),
        }),
        Pair::Floats(..) if divides_by_infinity(a, b) => Ok(Value::float(0.0)),
        Pair::Floats(x, _) if x.is_nan() => Ok(Value::float(x)),
        // Adding zero makes 0.0 of -0.0, as a quotient that was an integer in between would be.
        Pair::Floats(x, y) => checked((x / y).trunc() + 0.0, x, y),
        Pair::Bigs(x, y) => {
            admit(x.bits())?;
            Ok(Value::integer(quotient_and_remainder(&x, &y)?.0))
        }
        Pair::Neither(_) => Err(Error::bad_arithmetic()),
    }
}

/// `(rem a b)`: has the sign of `a`.
pub(crate) fn remainder(a: &Value, b: &Value) -> Result<Value> {
    if let (Value::Int(x), Value::Int(y @ 1..)) = (a, b) {
        return Ok(Value::Int(x % y));
    }
    match dividing(a, b)? {
        Pair::Ints(x, y) => Ok(Value::Int(x.checked_rem(y).unwrap_or(0))),
        Pair::Floats(x, _) if x.is_nan() => Ok(Value::float(x)),
        Pair::Floats(x, y) => checked(x - y * (x / y).trunc(), x, y),
        Pair::Bigs(x, y) => {
            admit(y.bits())?;
            Ok(Value::integer(quotient_and_remainder(&x, &y)?.1))
        }
        Pair::Neither(_) => Err(Error::bad_arithmetic()),
    }
}

/// `(mod a b)`: has the sign of `b`.
pub(crate) fn modulo(a: &Value, b: &Value) -> Result<Value> {
    if let (Value::Int(x), Value::Int(y @ 1..)) = (a, b) {
        return Ok(Value::Int(x.mod_floor(y)));
    }
    match dividing(a, b)? {
        Pair::Ints(x, y) => Ok(Value::Int(if y == -1 { 0 } else { x.mod_floor(&y) })),
        Pair::Floats(x, _) if x.is_nan() => Ok(Value::float(x)),
        Pair::Floats(x, y) => {
            // In two steps, as Clojure computes it: the last digits depend on that.
            let remainder = x - y * (x / y).trunc();
            let same_sign = (x > 0.0) == (y > 0.0);
            checked(if remainder == 0.0 || same_sign { remainder } else { remainder + y }, x, y)
        }
        Pair::Bigs(x, y) => {
            admit(y.bits() + 1)?;
            Ok(Value::integer(floor_quotient_and_remainder(&x, &y)?.1))
        }
        Pair::Neither(_) => Err(Error::bad_arithmetic()),
    }
}

/// The quotient of integers rounded down (`Math/floorDiv`).
pub(crate) fn floor_quotient(a: &Value, b: &Value) -> Result<Value> {
    match dividing(a, b)? {
        Pair::Ints(x, y) if x != i64::MIN || y != -1 => Ok(Value::Int(Integer::div_floor(&x, &y))),
        Pair::Floats(x, _) if x.is_nan() => Ok(Value::float(x)),
        Pair::Floats(x, y) if (x / y).is_finite() => Ok(integral((x / y).floor())),
        Pair::Bigs(x, y) => {
            admit(x.bits())?;
            Ok(Value::integer(floor_quotient_and_remainder(&x, &y)?.0))
        }
        Pair::Ints(x, _) => Ok(Value::integer(-BigInt::from(x))),
        _ => Err(Error::bad_arithmetic()),
    }
}

/// `(inc a)`, `(dec a)`
pub(crate) fn increment(a: &Value, by: i64) -> Result<Value> {
    match a {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => add(a, &Value::Int(by)),
        _ => Err(Error::bad_arithmetic()),
    }
}

/// The last of the values that no other one exceeds in this direction (`max`: `Greater`); a NaN among them
/// wins.
pub(crate) fn extreme(values: &mut [Value], direction: Ordering) -> Value {
    let (mut best, mut at) = (0, 0);
    'all: for piece in pieces(values) {
        for value in piece {
            if matches!(value, Value::Float(x) if x.is_nan()) {
                best = at;
                break 'all;
            }
            if compare(value, &values[best]) != direction.reverse() {
                best = at;
            }
            at += 1;
        }
    }
    values.get_mut(best).map(std::mem::take).unwrap_or_default()
}
