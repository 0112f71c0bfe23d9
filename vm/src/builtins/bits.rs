//! Bitwise operations on integers of any size, in two's complement (functions.md 15).

use super::Builtin;
use super::namespaces::{CORE, MATH};
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::number::{MAX_INTEGER_BITS, admit, integer_too_large};
use crate::print::readable_lossy;
use crate::value::Value;
use num_bigint::BigInt;
use num_traits::Signed;
use std::borrow::Cow;

/// An integer operand.
fn integer<'a>(name: &str, value: &'a Value) -> Result<Cow<'a, BigInt>> {
    match value {
        Value::Int(n) => Ok(Cow::Owned(BigInt::from(*n))),
        Value::BigInt(n) => Ok(Cow::Borrowed(n.get())),
        other => Err(not_an_integer(name, other)),
    }
}

pub(super) fn not_an_integer(name: &str, value: &Value) -> Error {
    let (kind, shown) = (value.kind_label(), readable_lossy(value));
    Error::type_error(format!("{name}: expected an integer, got {kind} {shown}"))
}

/// A bit number or a shift. An amount that no memory could hold becomes the largest number.
fn amount(name: &str, value: &Value) -> Result<u64> {
    match value {
        Value::Int(n) if *n >= 0 => Ok(*n as u64),
        Value::BigInt(n) if n.get().is_positive() => Ok(u64::MAX),
        other => Err(Error::type_error(format!(
            "{name}: shift amount must be a non-negative integer, got {}",
            readable_lossy(other)
        ))),
    }
}

/// Combines all arguments from the left.
fn fold(
    name: &str,
    args: &[Value],
    small: fn(i64, i64) -> i64,
    big: fn(&BigInt, &BigInt) -> BigInt,
) -> Result<Value> {
    meter::charge_steps(args.len() as u64)?;
    let Some((first, rest)) = args.split_first() else { return Ok(Value::Nil) };
    integer(name, first)?;
    let step = |bits: Value, next: &Value| {
        if let (Value::Int(a), Value::Int(b)) = (&bits, next) {
            return Ok(Value::Int(small(*a, *b)));
        }
        let (a, b) = (integer(name, &bits)?, integer(name, next)?);
        admit(a.bits().max(b.bits()) + 1)?;
        Ok(Value::integer(big(&a, &b)))
    };
    meter::pieces(rest).try_fold(first.clone(), |bits, piece| piece.iter().try_fold(bits, step))
}

/// `(bit-and x y & more)`
fn and(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold("bit-and", args, |a, b| a & b, |a, b| a & b)
}

/// `(bit-or x y & more)`
fn or(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold("bit-or", args, |a, b| a | b, |a, b| a | b)
}

/// `(bit-xor x y & more)`
fn xor(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold("bit-xor", args, |a, b| a ^ b, |a, b| a ^ b)
}

/// `(bit-and-not x y & more)`
fn and_not(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold("bit-and-not", args, |a, b| a & !b, |a, b| a & !b)
}

/// `(bit-not x)`
fn not(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::Int(n) = args[0] {
        return Ok(Value::Int(!n));
    }
    let n = integer("bit-not", &args[0])?;
    admit(n.bits() + 1)?;
    Ok(Value::integer(!&*n))
}

/// `(bit-shift-left x n)`: `x·2ⁿ`
fn shift_left(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (x, n) = (integer("bit-shift-left", &args[0])?, amount("bit-shift-left", &args[1])?);
    if x.bits() == 0 {
        return Ok(Value::Int(0));
    }
    admit(x.bits().saturating_add(n))?;
    Ok(Value::integer(&*x << n))
}

/// `(bit-shift-right x n)`: `x/2ⁿ` rounded down
fn shift_right(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (x, n) = (integer("bit-shift-right", &args[0])?, amount("bit-shift-right", &args[1])?);
    admit(x.bits())?;
    // Nothing but the sign is left after all bits.
    Ok(Value::integer(&*x >> n.min(x.bits() + 1)))
}

/// An operation on bit `n`, which leaves a number of at most `n` bits more.
fn on_bit(name: &str, args: &[Value], change: fn(&mut BigInt, u64)) -> Result<Value> {
    let (x, n) = (integer(name, &args[0])?, amount(name, &args[1])?);
    let bits = x.bits().max(n.saturating_add(1)).saturating_add(1);
    if bits > MAX_INTEGER_BITS {
        // Nothing changes where the sign says what the bit is set to already.
        let mut sign = BigInt::from(if x.is_negative() { -1 } else { 0 });
        let before = sign.clone();
        change(&mut sign, 0);
        return if sign == before && n > x.bits() { Ok(args[0].clone()) } else { Err(integer_too_large()) };
    }
    admit(bits)?;
    let mut x = x.into_owned();
    change(&mut x, n);
    Ok(Value::integer(x))
}

/// `(bit-set x n)`
fn set(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    on_bit("bit-set", args, |x, n| x.set_bit(n, true))
}

/// `(bit-clear x n)`
fn clear(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    on_bit("bit-clear", args, |x, n| x.set_bit(n, false))
}

/// `(bit-flip x n)`
fn flip(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    on_bit("bit-flip", args, |x, n| x.set_bit(n, !x.bit(n)))
}

/// `(bit-test x n)`
fn test(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (x, n) = (integer("bit-test", &args[0])?, amount("bit-test", &args[1])?);
    Ok(Value::bool(if n > x.bits() { x.is_negative() } else { x.bit(n) }))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("bits", "Bitwise").of([
    fun("bit-and", CORE, "x y & more", and).also_in(MATH).doc("Bitwise and").example("(bit-and 12 10)", "8"),
    fun("bit-or", CORE, "x y & more", or).also_in(MATH).doc("Bitwise or").example("(bit-or 12 10)", "14"),
    fun("bit-xor", CORE, "x y & more", xor)
        .also_in(MATH)
        .doc("Bitwise exclusive or")
        .example("(bit-xor 12 10)", "6"),
    fun("bit-and-not", CORE, "x y & more", and_not)
        .also_in(MATH)
        .doc("Clear in the first the bits set in the others")
        .example("(bit-and-not 15 1 2)", "12"),
    fun("bit-not", CORE, "x", not).also_in(MATH).doc("Bitwise complement").example("(bit-not 5)", "-6"),
    fun("bit-shift-left", CORE, "x n", shift_left)
        .also_in(MATH)
        .doc("Shift left")
        .example("(bit-shift-left 1 4)", "16")
        .example("(bit-shift-left 1 64)", "18446744073709551616"),
    fun("bit-shift-right", CORE, "x n", shift_right)
        .also_in(MATH)
        .doc("Arithmetic shift right")
        .example("(bit-shift-right -8 1)", "-4"),
    fun("bit-set", CORE, "x n", set).also_in(MATH).doc("Set one bit").example("(bit-set 0 3)", "8"),
    fun("bit-clear", CORE, "x n", clear).also_in(MATH).doc("Clear one bit").example("(bit-clear 15 1)", "13"),
    fun("bit-flip", CORE, "x n", flip).also_in(MATH).doc("Flip one bit").example("(bit-flip 5 0)", "4"),
    fun("bit-test", CORE, "x n", test)
        .also_in(MATH)
        .doc("True when one bit is set")
        .example("(bit-test 5 2)", "true"),
]);

#[cfg(test)]
mod tests {
    use crate::Reason;
    use crate::builtins::support::testing::{call, display};
    use crate::value::Value;
    use num_bigint::BigInt;

    fn int(n: i64) -> Value {
        Value::Int(n)
    }

    #[test]
    fn operations_are_those_of_unbounded_twos_complement() {
        let huge = || Value::integer(BigInt::from(1) << 70_u32);
        for (name, args, text) in [
            ("bit-and", vec![int(12), int(10)], "8"),
            ("bit-or", vec![int(12), int(10), int(1)], "15"),
            ("bit-xor", vec![int(12), int(-1)], "-13"),
            ("bit-and-not", vec![int(15), int(1), int(2)], "12"),
            ("bit-and", vec![huge(), int(-1)], "1180591620717411303424"),
            ("bit-and", vec![huge(), int(1)], "0"),
            ("bit-not", vec![int(5)], "-6"),
            ("bit-not", vec![huge()], "-1180591620717411303425"),
            ("bit-shift-left", vec![int(1), int(64)], "18446744073709551616"),
            ("bit-shift-left", vec![int(0), huge()], "0"),
            ("bit-shift-right", vec![int(-8), int(1)], "-4"),
            ("bit-shift-right", vec![int(-8), huge()], "-1"),
            ("bit-shift-right", vec![huge(), int(i64::MAX)], "0"),
            ("bit-set", vec![int(0), int(3)], "8"),
            ("bit-set", vec![int(-1), huge()], "-1"),
            ("bit-clear", vec![int(15), int(1)], "13"),
            ("bit-clear", vec![int(-1), int(70)], "-1180591620717411303425"),
            ("bit-clear", vec![int(7), int(i64::MAX)], "7"),
            ("bit-flip", vec![int(5), int(0)], "4"),
            ("bit-test", vec![int(5), int(2)], "true"),
            ("bit-test", vec![int(-5), huge()], "true"),
            ("bit-test", vec![int(5), int(i64::MAX)], "false"),
        ] {
            assert_eq!(display(name, args.clone()), text, "{name} {args:?}");
        }
    }

    #[test]
    fn operands_are_integers_and_shifts_not_negative() {
        for (name, args, text) in [
            ("bit-and", vec![Value::float(1.5), int(1)], "bit-and: expected an integer, got number 1.5"),
            ("bit-or", vec![int(6), Value::Nil], "bit-or: expected an integer, got nil nil"),
            ("bit-clear", vec![Value::str("a"), int(1)], "bit-clear: expected an integer, got string \"a\""),
            (
                "bit-test",
                vec![int(5), Value::Nil],
                "bit-test: shift amount must be a non-negative integer, got nil",
            ),
            (
                "bit-flip",
                vec![int(0), int(-2)],
                "bit-flip: shift amount must be a non-negative integer, got -2",
            ),
        ] {
            assert_eq!(display(name, args), format!("! type_error: {text}"));
        }
    }

    #[test]
    fn a_shift_cannot_ask_for_gigabytes() {
        for (name, x, n) in [
            ("bit-shift-left", 1, i64::MAX),
            ("bit-set", 0, 1 << 40),
            ("bit-clear", -1, 1 << 40),
            ("bit-flip", 1, 1 << 40),
        ] {
            assert_eq!(call(name, [int(x), int(n)]).unwrap_err().reason(), Reason::MemoryExceeded, "{name}");
        }
    }
}
