//! `+ - * /` and their like (functions.md 14).

use super::Builtin;
use super::namespaces::{CORE, MATH};
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
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
    meter::pieces(rest).try_fold(first, |sum, piece| piece.iter().try_fold(sum, |sum, next| step(&sum, next)))
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

/// Whether an integer zero divides the intermediate result of integers, which may be a float by then.
fn divides_integers_by_zero(args: &[Value]) -> bool {
    let mut integers = meter::pieces(args).flatten().take_while(|value| !matches!(value, Value::Float(_)));
    integers.next().is_some_and(Value::is_number) && integers.any(|value| matches!(value, Value::Int(0)))
}

/// `(/ x & xs)`
fn ratio(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    match args {
        [] => Ok(Value::Int(1)),
        [one] if one.is_number() => divide(&Value::Int(1), one),
        [_] => Err(Error::argument_types("/", args)),
        [_, _, _, ..] if divides_integers_by_zero(args) => Err(Error::division_by_zero()),
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
pub(super) static BUILTINS: &[Builtin] = &section("arith", "Arithmetic").of([
    fun("+", CORE, "& xs", sum)
        .aliases(&["Integer/sum", "Long/sum", "Double/sum"])
        .doc("Sum; integers never overflow")
        .example("(+ 1 2 3)", "6")
        .example("(+ 1 0.5)", "1.5")
        .example("(+ 9223372036854775807 1)", "9223372036854775808"),
    fun("-", CORE, "x & xs", difference)
        .doc("Difference, or negation of one number")
        .example("(- 10 3 2)", "5")
        .example("(- 5)", "-5"),
    fun("*", CORE, "& xs", product)
        .doc("Product; integers never overflow")
        .example("(* 2 3 4)", "24")
        .example("(* 2 1.5)", "3.0"),
    fun("/", CORE, "x & xs", ratio)
        .doc("Quotient: an integer where that is exact, else a float")
        .example("(/ 10 4)", "2.5")
        .example("(/ 6 3)", "2")
        .example("(/ 2)", "0.5")
        .example("(/ -1 0.0)", "##-Inf"),
    fun("quot", CORE, "a b", quot)
        .also_in(MATH)
        .doc("Quotient truncated toward zero; a float where an argument is one")
        .example("(quot -7 2)", "-3")
        .example("(quot 7.5 2)", "3.0"),
    fun("rem", CORE, "a b", rem)
        .doc("Remainder with the sign of the dividend")
        .example("(rem -7 3)", "-1")
        .example("(rem 7.5 2)", "1.5"),
    fun("mod", CORE, "a b", modulus)
        .doc("Modulus with the sign of the divisor")
        .example("(mod -7 3)", "2")
        .example("(mod 7 -3)", "-2"),
    fun("inc", CORE, "x", inc).doc("Add one").example("(inc 41)", "42").example("(inc 1.5)", "2.5"),
    fun("dec", CORE, "x", dec).doc("Subtract one").example("(dec 0)", "-1"),
    fun("+'", CORE, "& more", sum).doc("Same as +").example("(+' 1 2)", "3"),
    fun("-'", CORE, "x & more", difference).doc("Same as -").example("(-' 5 1)", "4"),
    fun("*'", CORE, "& more", product)
        .doc("Same as *")
        .example("(*' 99999999999 99999999999)", "9999999999800000000001"),
    fun("inc'", CORE, "x", inc)
        .doc("Same as inc")
        .example("(inc' 9223372036854775807)", "9223372036854775808"),
    fun("dec'", CORE, "x", dec).doc("Same as dec").example("(dec' 1)", "0"),
    fun("max", CORE, "x & xs", max)
        .aliases(&["Integer/max", "Long/max", "Double/max"])
        .also_in(MATH)
        .doc("Largest argument in the total order, the last of equals")
        .example("(max 1 2.5)", "2.5")
        .example("(max 1 1.0)", "1.0")
        .example("(apply max [3 9 4])", "9"),
    fun("min", CORE, "x & xs", min)
        .aliases(&["Integer/min", "Long/min", "Double/min"])
        .also_in(MATH)
        .doc("Smallest argument in the total order, the last of equals")
        .example("(min 4 2 3)", "2")
        .example(r#"(min "b" "a")"#, r#""a""#),
]);

#[cfg(test)]
mod tests;
