//! Exact comparison of integers of any size and floats.

use crate::meter;
use crate::value::Value;
use num_bigint::{BigInt, Sign};
use num_traits::FromPrimitive;
use std::cmp::Ordering;

/// 2⁶³, the first float that no `Int` reaches.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// Compares two numbers by value; NaN is above everything and ties with itself. In `strict` order an integer
/// comes before a float of the same value.
pub(super) fn compare(a: &Value, b: &Value, strict: bool) -> Ordering {
    let tie = |integer_first: Ordering| if strict { integer_first } else { Ordering::Equal };
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => x.cmp(y),
        (Value::Float(x), Value::Float(y)) => floats(x.get(), y.get()),
        (Value::Int(x), Value::Float(y)) => int_float(*x, y.get()).then(tie(Ordering::Less)),
        (Value::Float(x), Value::Int(y)) => int_float(*y, x.get()).reverse().then(tie(Ordering::Greater)),
        (Value::BigInt(x), Value::BigInt(y)) => {
            if std::ptr::eq(x.get(), y.get()) {
                return Ordering::Equal;
            }
            meter::work(x.get().bits().min(y.get().bits()) / 512);
            if meter::exhausted() { Ordering::Equal } else { x.get().cmp(y.get()) }
        }
        (Value::BigInt(x), Value::Int(_)) => sign(x.get()),
        (Value::Int(_), Value::BigInt(y)) => sign(y.get()).reverse(),
        (Value::BigInt(x), Value::Float(y)) => big_float(x.get(), y.get()).then(tie(Ordering::Less)),
        (Value::Float(x), Value::BigInt(y)) => {
            big_float(y.get(), x.get()).reverse().then(tie(Ordering::Greater))
        }
        _ => unreachable!("both are numbers"),
    }
}

#[inline]
pub(super) fn floats(x: f64, y: f64) -> Ordering {
    // Only NaN is not comparable, and `-0.0` equals `0.0`.
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}

fn int_float(x: i64, y: f64) -> Ordering {
    if y.is_nan() || y >= TWO_63 {
        return Ordering::Less;
    }
    if y < -TWO_63 {
        return Ordering::Greater;
    }
    // The whole part of `y` is an i64 now, and exact.
    let whole = y.trunc();
    x.cmp(&(whole as i64)).then_with(|| floats(whole, y))
}

/// The order of an integer outside 64 bits and any `Int`.
fn sign(x: &BigInt) -> Ordering {
    if x.sign() == Sign::Minus { Ordering::Less } else { Ordering::Greater }
}

fn big_float(x: &BigInt, y: f64) -> Ordering {
    if y.is_nan() || y == f64::INFINITY {
        return Ordering::Less;
    }
    if y == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    if y.abs() < TWO_63 {
        return sign(x);
    }
    meter::work(2);
    BigInt::from_f64(y).map_or(Ordering::Less, |y| x.cmp(&y))
}
