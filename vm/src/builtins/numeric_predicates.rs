//! `zero?`, `even?` and their like: false for everything that is no number, never an error (functions.md 20).

use super::Builtin;
use super::namespaces::CORE;
use super::row::{fun, section};
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::Value;
use num_bigint::Sign;
use std::cmp::Ordering;

/// A number's order relative to zero; `None` for NaN and for other values.
fn sign(value: &Value) -> Option<Ordering> {
    match value {
        Value::Int(n) => Some(n.cmp(&0)),
        Value::BigInt(n) => {
            Some(if n.get().sign() == Sign::Minus { Ordering::Less } else { Ordering::Greater })
        }
        Value::Float(x) => x.get().partial_cmp(&0.0),
        _ => None,
    }
}

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::BigInt(_))
}

/// Whether a whole number is odd; `None` for other values.
fn parity(value: &Value) -> Option<bool> {
    match value {
        Value::Int(n) => Some(n & 1 == 1),
        Value::BigInt(n) => Some(n.get().bit(0)),
        Value::Float(x) if x.get().fract() == 0.0 => Some(x.get() % 2.0 != 0.0),
        _ => None,
    }
}

macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident = $test:expr;)*) => {
        $($(#[$doc])* fn $name(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
            let test: fn(&Value) -> bool = $test;
            Ok(Value::bool(test(&args[0])))
        })*
    };
}

predicates! {
    is_zero = |v| sign(v) == Some(Ordering::Equal);
    is_positive = |v| sign(v) == Some(Ordering::Greater);
    is_negative = |v| sign(v) == Some(Ordering::Less);
    is_even = |v| parity(v) == Some(false);
    is_odd = |v| parity(v) == Some(true);
    is_positive_integer = |v| is_integer(v) && sign(v) == Some(Ordering::Greater);
    is_negative_integer = |v| is_integer(v) && sign(v) == Some(Ordering::Less);
    is_natural = |v| is_integer(v) && sign(v) != Some(Ordering::Less);
    is_infinite = |v| matches!(v, Value::Float(x) if x.is_infinite());
    is_nan = |v| matches!(v, Value::Float(x) if x.is_nan());
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("numpreds", "Numeric predicates").of([
    fun("zero?", CORE, "x", is_zero)
        .doc("True for zero")
        .example("(zero? 0.0)", "true")
        .example(r#"(zero? "0")"#, "false"),
    fun("pos?", CORE, "x", is_positive).doc("True for positive numbers").example("(pos? ##Inf)", "true"),
    fun("neg?", CORE, "x", is_negative).doc("True for negative numbers").example("(neg? -0.5)", "true"),
    fun("even?", CORE, "x", is_even)
        .doc("True for even whole numbers")
        .example("(even? 4.0)", "true")
        .example("(even? 4.5)", "false"),
    fun("odd?", CORE, "x", is_odd).doc("True for odd whole numbers").example("(odd? -3)", "true"),
    fun("pos-int?", CORE, "x", is_positive_integer)
        .doc("True for positive integers")
        .example("(pos-int? 0)", "false"),
    fun("neg-int?", CORE, "x", is_negative_integer)
        .doc("True for negative integers")
        .example("(neg-int? -1)", "true"),
    fun("nat-int?", CORE, "x", is_natural)
        .doc("True for non-negative integers")
        .example("(nat-int? 0)", "true"),
    fun("infinite?", CORE, "x", is_infinite)
        .aliases(&["Double/isInfinite", "Float/isInfinite"])
        .doc("True for infinities")
        .example("(infinite? ##-Inf)", "true"),
    fun("NaN?", CORE, "x", is_nan)
        .aliases(&["Double/isNaN", "Float/isNaN"])
        .doc("True for NaN")
        .example("(NaN? ##NaN)", "true"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;
    use num_bigint::BigInt;

    #[test]
    fn predicates_tell_numbers_apart_and_are_false_for_everything_else() {
        let big = |n: i32| Value::integer(BigInt::from(n) << 70_u32);
        for (name, yes, no) in [
            (
                "zero?",
                vec![Value::Int(0), Value::float(-0.0)],
                vec![Value::Int(1), Value::float(1e-300), big(1)],
            ),
            ("pos?", vec![Value::Int(1), Value::float(f64::INFINITY), big(1)], vec![Value::Int(0), big(-1)]),
            ("neg?", vec![Value::Int(-1), Value::float(-0.5), big(-1)], vec![Value::float(-0.0), big(1)]),
            (
                "even?",
                vec![Value::Int(-2), Value::float(4.0), big(1)],
                vec![Value::Int(3), Value::float(4.5)],
            ),
            (
                "odd?",
                vec![Value::Int(-3), Value::float(3.0)],
                vec![Value::Int(2), Value::float(f64::INFINITY), big(1)],
            ),
            ("pos-int?", vec![Value::Int(1), big(1)], vec![Value::Int(0), Value::float(1.0)]),
            ("neg-int?", vec![Value::Int(-1), big(-1)], vec![Value::Int(0), Value::float(-1.0)]),
            ("nat-int?", vec![Value::Int(0), big(1)], vec![Value::Int(-1), Value::float(0.0)]),
            ("infinite?", vec![Value::float(f64::NEG_INFINITY)], vec![Value::float(1e308), big(1)]),
            ("Double/isNaN", vec![Value::float(f64::NAN)], vec![Value::float(0.0)]),
        ] {
            for value in yes {
                assert_eq!(display(name, [value.clone()]), "true", "{name} {value:?}");
            }
            for value in no.into_iter().chain([Value::Nil, Value::str("0"), Value::True, Value::vector([])]) {
                assert_eq!(display(name, [value.clone()]), "false", "{name} {value:?}");
            }
        }
        for name in ["zero?", "pos?", "neg?", "even?", "odd?"] {
            assert_eq!(display(name, [Value::float(f64::NAN)]), "false", "{name}");
        }
    }
}
