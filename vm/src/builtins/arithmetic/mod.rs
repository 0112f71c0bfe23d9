//! `+ - * /` and their like (functions.md 14).

use super::{Arities, Builtin, Example, Native};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number::{
    add, divide, extreme, increment, modulo, multiply, negate, quotient, remainder, subtract,
};
use crate::value::Value;
use std::cmp::Ordering;
use std::mem::take;

/// Combines all arguments from the left; a single one is itself, if it is a number.
fn fold(
    ctx: &mut Ctx<'_>,
    args: &mut [Value],
    empty: i64,
    step: fn(&Value, &Value) -> Result<Value>,
) -> Result<Value> {
    ctx.charge(args.len())?;
    match args {
        [] => Ok(Value::Int(empty)),
        [one] if one.is_number() => Ok(take(one)),
        [one] => Err(Error::type_error(format!("expected number, got {}", one.kind_label()))),
        [first, rest @ ..] => chain(take(first), rest, step),
    }
}

fn chain(first: Value, rest: &[Value], step: fn(&Value, &Value) -> Result<Value>) -> Result<Value> {
    rest.iter().try_fold(first, |sum, next| step(&sum, next))
}

/// `(+ & xs)`
fn sum(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold(ctx, args, 0, add)
}

/// `(* & xs)`
fn product(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold(ctx, args, 1, multiply)
}

/// `(- x & xs)`
fn difference(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    match args {
        [] => Ok(Value::Int(0)),
        [one] => negate(one),
        [first, rest @ ..] => chain(take(first), rest, subtract),
    }
}

/// `(/ x & xs)`
fn ratio(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    match args {
        [] => Ok(Value::float(1.0)),
        [one] if one.is_number() => divide(&Value::Int(1), one),
        [_] => Err(Error::argument_types("divide", args)),
        [first, rest @ ..] => chain(take(first), rest, divide),
    }
}

fn quot(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    quotient(&args[0], &args[1])
}

fn rem(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    remainder(&args[0], &args[1])
}

fn modulus(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    modulo(&args[0], &args[1])
}

fn inc(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    increment(&args[0], 1)
}

fn dec(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    increment(&args[0], -1)
}

fn max(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    Ok(extreme(args, Ordering::Greater))
}

fn min(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    Ok(extreme(args, Ordering::Less))
}

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "+",
        namespace: "clojure.core",
        aliases: &["clojure.core/+", "core/+"],
        arities: Arities::AtLeast(0),
        signatures: &["(+ & xs)"],
        doc: "Sum; integers never overflow",
        section: "arith",
        examples: &[
            Example { program: "(+ 1 2 3)", value: "6" },
            Example { program: "(+ 1 0.5)", value: "1.5" },
            Example { program: "(+ 9223372036854775807 1)", value: "9223372036854775808" },
        ],
        native: Native::Plain(sum),
    },
    Builtin {
        name: "-",
        namespace: "clojure.core",
        aliases: &["clojure.core/-", "core/-"],
        arities: Arities::AtLeast(1),
        signatures: &["(- x & xs)"],
        doc: "Difference, or negation of one number",
        section: "arith",
        examples: &[Example { program: "(- 10 3 2)", value: "5" }, Example { program: "(- 5)", value: "-5" }],
        native: Native::Plain(difference),
    },
    Builtin {
        name: "*",
        namespace: "clojure.core",
        aliases: &["clojure.core/*", "core/*"],
        arities: Arities::AtLeast(0),
        signatures: &["(* & xs)"],
        doc: "Product; integers never overflow",
        section: "arith",
        examples: &[
            Example { program: "(* 2 3 4)", value: "24" },
            Example { program: "(* 2 1.5)", value: "3.0" },
        ],
        native: Native::Plain(product),
    },
    Builtin {
        name: "/",
        namespace: "clojure.core",
        aliases: &["clojure.core//", "core//"],
        arities: Arities::AtLeast(1),
        signatures: &["(/ x & xs)"],
        doc: "Division, always giving a float",
        section: "arith",
        examples: &[
            Example { program: "(/ 10 4)", value: "2.5" },
            Example { program: "(/ 6 3)", value: "2.0" },
            Example { program: "(/ 2)", value: "0.5" },
            Example { program: "(/ -1 0.0)", value: "##-Inf" },
        ],
        native: Native::Plain(ratio),
    },
    Builtin {
        name: "quot",
        namespace: "clojure.core",
        aliases: &["clojure.core/quot", "core/quot", "Math/quot"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(quot a b)"],
        doc: "Integer quotient truncated toward zero",
        section: "arith",
        examples: &[
            Example { program: "(quot -7 2)", value: "-3" },
            Example { program: "(quot 7.5 2)", value: "3" },
        ],
        native: Native::Plain(quot),
    },
    Builtin {
        name: "rem",
        namespace: "clojure.core",
        aliases: &["clojure.core/rem", "core/rem"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(rem a b)"],
        doc: "Remainder with the sign of the dividend",
        section: "arith",
        examples: &[
            Example { program: "(rem -7 3)", value: "-1" },
            Example { program: "(rem 7.5 2)", value: "1.5" },
        ],
        native: Native::Plain(rem),
    },
    Builtin {
        name: "mod",
        namespace: "clojure.core",
        aliases: &["clojure.core/mod", "core/mod"],
        arities: Arities::OneOf(&[2]),
        signatures: &["(mod a b)"],
        doc: "Modulus with the sign of the divisor",
        section: "arith",
        examples: &[
            Example { program: "(mod -7 3)", value: "2" },
            Example { program: "(mod 7 -3)", value: "-2" },
        ],
        native: Native::Plain(modulus),
    },
    Builtin {
        name: "inc",
        namespace: "clojure.core",
        aliases: &["clojure.core/inc", "core/inc"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(inc x)"],
        doc: "Add one",
        section: "arith",
        examples: &[
            Example { program: "(inc 41)", value: "42" },
            Example { program: "(inc 1.5)", value: "2.5" },
        ],
        native: Native::Plain(inc),
    },
    Builtin {
        name: "dec",
        namespace: "clojure.core",
        aliases: &["clojure.core/dec", "core/dec"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(dec x)"],
        doc: "Subtract one",
        section: "arith",
        examples: &[Example { program: "(dec 0)", value: "-1" }],
        native: Native::Plain(dec),
    },
    Builtin {
        name: "+'",
        namespace: "clojure.core",
        aliases: &["clojure.core/+'", "core/+'"],
        arities: Arities::AtLeast(0),
        signatures: &["(+' & more)"],
        doc: "Same as +",
        section: "arith",
        examples: &[Example { program: "(+' 1 2)", value: "3" }],
        native: Native::Plain(sum),
    },
    Builtin {
        name: "-'",
        namespace: "clojure.core",
        aliases: &["clojure.core/-'", "core/-'"],
        arities: Arities::AtLeast(1),
        signatures: &["(-' x & more)"],
        doc: "Same as -",
        section: "arith",
        examples: &[Example { program: "(-' 5 1)", value: "4" }],
        native: Native::Plain(difference),
    },
    Builtin {
        name: "*'",
        namespace: "clojure.core",
        aliases: &["clojure.core/*'", "core/*'"],
        arities: Arities::AtLeast(0),
        signatures: &["(*' & more)"],
        doc: "Same as *",
        section: "arith",
        examples: &[Example { program: "(*' 99999999999 99999999999)", value: "9999999999800000000001" }],
        native: Native::Plain(product),
    },
    Builtin {
        name: "inc'",
        namespace: "clojure.core",
        aliases: &["clojure.core/inc'", "core/inc'"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(inc' x)"],
        doc: "Same as inc",
        section: "arith",
        examples: &[Example { program: "(inc' 9223372036854775807)", value: "9223372036854775808" }],
        native: Native::Plain(inc),
    },
    Builtin {
        name: "dec'",
        namespace: "clojure.core",
        aliases: &["clojure.core/dec'", "core/dec'"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(dec' x)"],
        doc: "Same as dec",
        section: "arith",
        examples: &[Example { program: "(dec' 1)", value: "0" }],
        native: Native::Plain(dec),
    },
    Builtin {
        name: "max",
        namespace: "clojure.core",
        aliases: &["clojure.core/max", "core/max", "Math/max"],
        arities: Arities::AtLeast(1),
        signatures: &["(max x & xs)"],
        doc: "Largest argument in the total order",
        section: "arith",
        examples: &[
            Example { program: "(max 1 2.5)", value: "2.5" },
            Example { program: "(max 1 1.0)", value: "1" },
            Example { program: "(apply max [3 9 4])", value: "9" },
        ],
        native: Native::Plain(max),
    },
    Builtin {
        name: "min",
        namespace: "clojure.core",
        aliases: &["clojure.core/min", "core/min", "Math/min"],
        arities: Arities::AtLeast(1),
        signatures: &["(min x & xs)"],
        doc: "Smallest argument in the total order",
        section: "arith",
        examples: &[
            Example { program: "(min 4 2 3)", value: "2" },
            Example { program: r#"(min "b" "a")"#, value: r#""a""# },
        ],
        native: Native::Plain(min),
    },
];

#[cfg(test)]
mod tests;
