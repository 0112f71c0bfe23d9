//! Integers of 64 and of 32 bits that wrap round, as Clojure's `unchecked-…` and Java's do (functions.md 15).

use super::Builtin;
use super::bits::not_an_integer;
use super::math::to_int;
use super::namespaces::CORE;
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number::{add, increment, multiply, negate, subtract};
use crate::value::Value;

/// Two integers of 64 bits by `wrapping`; anything else by the arithmetic of all numbers, as in Clojure.
fn long(
    args: &[Value],
    wrapping: fn(i64, i64) -> i64,
    otherwise: fn(&Value, &Value) -> Result<Value>,
) -> Result<Value> {
    match args {
        [Value::Int(a), Value::Int(b)] => Ok(Value::Int(wrapping(*a, *b))),
        _ => otherwise(&args[0], &args[1]),
    }
}

/// An operand of 32 bits, cast as `int` casts it.
fn operand(name: &str, value: &Value) -> Result<i32> {
    to_int(value)?.ok_or_else(|| not_an_integer(name, value))
}

/// Two integers of 32 bits.
fn int(name: &str, args: &[Value], wrapping: fn(i32, i32) -> i32) -> Result<Value> {
    Ok(Value::Int(wrapping(operand(name, &args[0])?, operand(name, &args[1])?).into()))
}

/// The lowest 64 bits of a number; floats are cut off and stay within the range of `least` bits, as Java's casts do.
fn lowest_bits(name: &str, value: &Value, bits: u32) -> Result<i64> {
    match value {
        Value::Int(n) => Ok(*n),
        Value::BigInt(n) => {
            let low = n.get().iter_u64_digits().next().unwrap_or(0).cast_signed();
            Ok(if n.get() < &0.into() { low.wrapping_neg() } else { low })
        }
        Value::Float(x) if bits == 64 => Ok(x.get() as i64),
        Value::Float(x) => Ok((x.get() as i32).into()),
        other => Err(not_an_integer(name, other)),
    }
}

fn divided(name: &str, args: &[Value], wrapping: fn(i32, i32) -> i32) -> Result<Value> {
    if operand(name, &args[1])? == 0 {
        return Err(Error::division_by_zero());
    }
    int(name, args, wrapping)
}

/// A row of two parameters over 64 bits.
macro_rules! of_long {
    ($name:literal, $wrapping:path, $otherwise:path) => {
        fun($name, CORE, "x y", |_, args| long(args, $wrapping, $otherwise))
    };
}

/// A row of two parameters over 32 bits.
macro_rules! of_int {
    ($name:literal, $wrapping:path) => {
        fun($name, CORE, "x y", |_, args| int($name, args, $wrapping))
    };
}

/// A row of one parameter over 32 bits.
macro_rules! of_one_int {
    ($name:literal, $wrapping:expr) => {
        fun($name, CORE, "x", |_, args| Ok(Value::Int($wrapping(operand($name, &args[0])?).into())))
    };
}

/// A row that keeps the lowest bits of a number.
macro_rules! cast {
    ($name:literal, $type:ty) => {
        fun($name, CORE, "x", |_, args| {
            let kept = lowest_bits($name, &args[0], <$type>::BITS)? as $type;
            Ok(Value::Int(kept.into()))
        })
    };
}

fn negated(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Int(n) => Ok(Value::Int(n.wrapping_neg())),
        other => negate(other),
    }
}

fn stepped(args: &[Value], by: i64) -> Result<Value> {
    match &args[0] {
        Value::Int(n) => Ok(Value::Int(n.wrapping_add(by))),
        other => increment(other, by),
    }
}

/// `(unsigned-bit-shift-right x n)`: of `n` the lowest six bits count, as in Java.
fn shift_right(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match args {
        [Value::Int(x), Value::Int(n)] => Ok(Value::Int((x.cast_unsigned() >> (*n & 63)).cast_signed())),
        [Value::BigInt(_), _] | [Value::Int(_), Value::BigInt(_)] => Err(Error::integer_overflow()),
        [Value::Int(_), other] | [other, _] => Err(not_an_integer("unsigned-bit-shift-right", other)),
        _ => Err(Error::argument_types("unsigned-bit-shift-right", args)),
    }
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("bits", "Bitwise").of([
    of_long!("unchecked-add", i64::wrapping_add, add)
        .doc("Sum that wraps round at 64 bits")
        .example("(unchecked-add 9223372036854775807 1)", "-9223372036854775808"),
    of_long!("unchecked-subtract", i64::wrapping_sub, subtract)
        .doc("Difference that wraps round at 64 bits")
        .example("(unchecked-subtract -9223372036854775808 1)", "9223372036854775807"),
    of_long!("unchecked-multiply", i64::wrapping_mul, multiply)
        .doc("Product that wraps round at 64 bits")
        .example("(unchecked-multiply 4611686018427387904 2)", "-9223372036854775808"),
    fun("unchecked-negate", CORE, "x", negated)
        .doc("Negative that wraps round at 64 bits")
        .example("(unchecked-negate 5)", "-5"),
    fun("unchecked-inc", CORE, "x", |_, args| stepped(args, 1))
        .doc("One more, wrapping round at 64 bits")
        .example("(unchecked-inc 9223372036854775807)", "-9223372036854775808"),
    fun("unchecked-dec", CORE, "x", |_, args| stepped(args, -1))
        .doc("One less, wrapping round at 64 bits")
        .example("(unchecked-dec 4)", "3"),
    of_int!("unchecked-add-int", i32::wrapping_add)
        .doc("Sum that wraps round at 32 bits")
        .example("(unchecked-add-int 2147483647 1)", "-2147483648"),
    of_int!("unchecked-subtract-int", i32::wrapping_sub)
        .doc("Difference that wraps round at 32 bits")
        .example("(unchecked-subtract-int 1 2)", "-1"),
    of_int!("unchecked-multiply-int", i32::wrapping_mul)
        .doc("Product that wraps round at 32 bits")
        .example("(unchecked-multiply-int 65536 65536)", "0"),
    fun("unchecked-divide-int", CORE, "x y", |_, args| {
        divided("unchecked-divide-int", args, i32::wrapping_div)
    })
    .doc("Quotient of integers of 32 bits, cut off")
    .example("(unchecked-divide-int 7 2)", "3"),
    fun("unchecked-remainder-int", CORE, "x y", |_, args| {
        divided("unchecked-remainder-int", args, i32::wrapping_rem)
    })
    .doc("Remainder of integers of 32 bits, with the sign of the first")
    .example("(unchecked-remainder-int -7 2)", "-1"),
    of_one_int!("unchecked-negate-int", i32::wrapping_neg)
        .doc("Negative that wraps round at 32 bits")
        .example("(unchecked-negate-int 4)", "-4"),
    of_one_int!("unchecked-inc-int", |n: i32| n.wrapping_add(1))
        .doc("One more, wrapping round at 32 bits")
        .example("(unchecked-inc-int 2147483647)", "-2147483648"),
    of_one_int!("unchecked-dec-int", |n: i32| n.wrapping_sub(1))
        .doc("One less, wrapping round at 32 bits")
        .example("(unchecked-dec-int 4)", "3"),
    cast!("unchecked-byte", i8).doc("The lowest 8 bits of a number").example("(unchecked-byte 200)", "-56"),
    cast!("unchecked-short", i16)
        .doc("The lowest 16 bits of a number")
        .example("(unchecked-short 65535)", "-1"),
    cast!("unchecked-int", i32)
        .doc("The lowest 32 bits of a number")
        .example("(unchecked-int 4294967295)", "-1"),
    cast!("unchecked-long", i64)
        .doc("The lowest 64 bits of a number")
        .example("(unchecked-long 18446744073709551615)", "-1")
        .example("(unchecked-long 1.9)", "1"),
    fun("unsigned-bit-shift-right", CORE, "x n", shift_right)
        .doc("Shift right of 64 bits without a sign")
        .example("(unsigned-bit-shift-right -1 60)", "15"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    #[test]
    fn floats_and_large_integers_are_cast_as_java_casts_them() {
        let big = |exponent: u32| Value::integer(num_bigint::BigInt::from(1) << exponent);
        for (name, value, expected) in [
            ("unchecked-int", Value::float(1e20), "2147483647"),
            ("unchecked-byte", Value::float(1e20), "-1"),
            ("unchecked-byte", Value::float(-1.9), "-1"),
            ("unchecked-long", Value::float(f64::NAN), "0"),
            ("unchecked-long", big(64), "0"),
            ("unchecked-long", big(63), "-9223372036854775808"),
            ("unchecked-short", Value::Int(-32769), "32767"),
        ] {
            assert_eq!(display(name, vec![value]), expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_integer_of_64_bits_is_reckoned_as_usual() {
        assert_eq!(display("unchecked-add", vec![Value::Int(1), Value::float(0.5)]), "1.5");
        assert_eq!(display("unchecked-negate", vec![Value::Int(i64::MIN)]), "-9223372036854775808");
    }

    #[test]
    fn operands_of_32_bits_are_held_to_them() {
        let shown = display("unchecked-add-int", vec![Value::Int(1 << 31), Value::Int(0)]);
        assert_eq!(shown, "! arithmetic_error: integer overflow");
        let shown = display("unchecked-divide-int", vec![Value::Int(1), Value::float(0.5)]);
        assert_eq!(shown, "! arithmetic_error: division by zero");
        for name in ["unchecked-subtract-int", "unsigned-bit-shift-right"] {
            let big = Value::integer(num_bigint::BigInt::from(1) << 90_u32);
            assert_eq!(display(name, vec![big, Value::Int(1)]), "! arithmetic_error: integer overflow");
        }
        assert_eq!(display("unchecked-add-int", vec![Value::Int(1), Value::float(1.9)]), "2");
        assert_eq!(display("unchecked-inc-int", vec![Value::str("a")]), "98");
        let shown = display("unchecked-dec-int", vec![Value::Nil]);
        assert_eq!(shown, "! type_error: unchecked-dec-int: expected an integer, got nil nil");
    }
}
