//! `zero?`, `even?` and their like: false for everything that is no number, never an error (functions.md 20).

use super::{Arities, Builtin, Example, Native};
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::Value;
use num_bigint::Sign;
use std::cmp::Ordering;

/// How a number stands to zero; `None` for NaN and for what is no number.
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

/// Whether a whole number is odd; `None` for what is no whole number.
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
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "zero?",
        namespace: "clojure.core",
        aliases: &["clojure.core/zero?", "core/zero?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(zero? x)"],
        doc: "True for zero",
        section: "numpreds",
        examples: &[
            Example { program: "(zero? 0.0)", value: "true" },
            Example { program: r#"(zero? "0")"#, value: "false" },
        ],
        native: Native::Plain(is_zero),
    },
    Builtin {
        name: "pos?",
        namespace: "clojure.core",
        aliases: &["clojure.core/pos?", "core/pos?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(pos? x)"],
        doc: "True for positive numbers",
        section: "numpreds",
        examples: &[Example { program: "(pos? ##Inf)", value: "true" }],
        native: Native::Plain(is_positive),
    },
    Builtin {
        name: "neg?",
        namespace: "clojure.core",
        aliases: &["clojure.core/neg?", "core/neg?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(neg? x)"],
        doc: "True for negative numbers",
        section: "numpreds",
        examples: &[Example { program: "(neg? -0.5)", value: "true" }],
        native: Native::Plain(is_negative),
    },
    Builtin {
        name: "even?",
        namespace: "clojure.core",
        aliases: &["clojure.core/even?", "core/even?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(even? x)"],
        doc: "True for even whole numbers",
        section: "numpreds",
        examples: &[
            Example { program: "(even? 4.0)", value: "true" },
            Example { program: "(even? 4.5)", value: "false" },
        ],
        native: Native::Plain(is_even),
    },
    Builtin {
        name: "odd?",
        namespace: "clojure.core",
        aliases: &["clojure.core/odd?", "core/odd?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(odd? x)"],
        doc: "True for odd whole numbers",
        section: "numpreds",
        examples: &[Example { program: "(odd? -3)", value: "true" }],
        native: Native::Plain(is_odd),
    },
    Builtin {
        name: "pos-int?",
        namespace: "clojure.core",
        aliases: &["clojure.core/pos-int?", "core/pos-int?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(pos-int? x)"],
        doc: "True for positive integers",
        section: "numpreds",
        examples: &[Example { program: "(pos-int? 0)", value: "false" }],
        native: Native::Plain(is_positive_integer),
    },
    Builtin {
        name: "neg-int?",
        namespace: "clojure.core",
        aliases: &["clojure.core/neg-int?", "core/neg-int?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(neg-int? x)"],
        doc: "True for negative integers",
        section: "numpreds",
        examples: &[Example { program: "(neg-int? -1)", value: "true" }],
        native: Native::Plain(is_negative_integer),
    },
    Builtin {
        name: "nat-int?",
        namespace: "clojure.core",
        aliases: &["clojure.core/nat-int?", "core/nat-int?"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(nat-int? x)"],
        doc: "True for non-negative integers",
        section: "numpreds",
        examples: &[Example { program: "(nat-int? 0)", value: "true" }],
        native: Native::Plain(is_natural),
    },
    Builtin {
        name: "infinite?",
        namespace: "clojure.core",
        aliases: &["clojure.core/infinite?", "core/infinite?", "Double/isInfinite", "Float/isInfinite"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(infinite? x)"],
        doc: "True for infinities",
        section: "numpreds",
        examples: &[Example { program: "(infinite? ##-Inf)", value: "true" }],
        native: Native::Plain(is_infinite),
    },
    Builtin {
        name: "NaN?",
        namespace: "clojure.core",
        aliases: &["clojure.core/NaN?", "core/NaN?", "Double/isNaN", "Float/isNaN"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(NaN? x)"],
        doc: "True for NaN",
        section: "numpreds",
        examples: &[Example { program: "(NaN? ##NaN)", value: "true" }],
        native: Native::Plain(is_nan),
    },
];

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::shown;
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
                assert_eq!(shown(name, [value.clone()]), "true", "{name} {value:?}");
            }
            for value in no.into_iter().chain([Value::Nil, Value::str("0"), Value::True, Value::vector([])]) {
                assert_eq!(shown(name, [value.clone()]), "false", "{name} {value:?}");
            }
        }
        for name in ["zero?", "pos?", "neg?", "even?", "odd?"] {
            assert_eq!(shown(name, [Value::float(f64::NAN)]), "false", "{name}");
        }
    }
}
