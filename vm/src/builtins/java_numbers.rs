//! Static members of Java's classes of numbers (functions.md 37.2). Integers are those of 64 or of 32 bits.

use super::Builtin;
use super::namespaces::EXTENSION;
use super::row::{constant, fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::number;
use crate::value::Value;
use std::cmp::Ordering;

/// Argument `i`, an integer of 64 bits.
fn long(name: &str, args: &[Value], i: usize) -> Result<i64> {
    match &args[i] {
        Value::Int(n) => Ok(*n),
        Value::BigInt(_) => Err(Error::integer_overflow()),
        _ => Err(Error::argument_types(name, args)),
    }
}

/// Argument `i`, an integer of 32 bits.
fn int(name: &str, args: &[Value], i: usize) -> Result<i32> {
    i32::try_from(long(name, args, i)?).map_err(|_| Error::integer_overflow())
}

/// `(Long/compare a b)`
fn compare_integers(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let order = long("Long/compare", args, 0)?.cmp(&long("Long/compare", args, 1)?);
    Ok(Value::Int(order as i64))
}

/// The order of floats in Java: -0.0 before 0.0, and NaN after everything.
fn java_order(a: f64, b: f64) -> Ordering {
    let one_nan = |x: f64| if x.is_nan() { f64::NAN.abs() } else { x };
    one_nan(a).total_cmp(&one_nan(b))
}

/// `(Double/compare a b)`
fn compare_floats(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match (number::float(&args[0]), number::float(&args[1])) {
        (Some(a), Some(b)) => Ok(Value::Int(java_order(a, b) as i64)),
        _ => Err(Error::argument_types("Double/compare", args)),
    }
}

/// A row of one integer of 64 bits.
macro_rules! of_long {
    ($name:literal, $f:expr) => {
        fun($name, EXTENSION, "n", |_, args| Ok(Value::Int($f(long($name, args, 0)?).into())))
    };
}

/// A row of one integer of 32 bits.
macro_rules! of_int {
    ($name:literal, $f:expr) => {
        fun($name, EXTENSION, "n", |_, args| Ok(Value::Int($f(int($name, args, 0)?).into())))
    };
}

/// A row that turns an integer by a number of bits, of which only the lowest count.
macro_rules! turn {
    ($name:literal, $read:ident, $f:expr) => {
        fun($name, EXTENSION, "n bits", |_, args| {
            let bits = long($name, args, 1)? as u32;
            Ok(Value::Int($f($read($name, args, 0)?, bits).into()))
        })
    };
}

/// A constant that is an integer.
macro_rules! number {
    ($name:literal, $value:expr) => {
        constant($name, EXTENSION, || Value::Int($value.into())).calls(&[$name])
    };
}

/// A constant that is a float.
macro_rules! float {
    ($name:literal, $value:expr) => {
        constant($name, EXTENSION, || Value::float($value)).calls(&[$name])
    };
}

/// The highest bit that is set.
fn highest(n: u64) -> u64 {
    n.checked_ilog2().map_or(0, |bit| 1 << bit)
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("jstr", "Java strings and constants").of([
    fun("Long/compare", EXTENSION, "a b", compare_integers)
        .aliases(&["Integer/compare"])
        .doc("-1, 0 or 1: how two integers are ordered")
        .example("(Long/compare 1 2)", "-1"),
    fun("Double/compare", EXTENSION, "a b", compare_floats)
        .aliases(&["Float/compare"])
        .doc("-1, 0 or 1: how two floats are ordered, -0.0 before 0.0 and NaN last")
        .example("(Double/compare -0.0 0.0)", "-1")
        .example("(Double/compare ##NaN ##NaN)", "0"),
    of_long!("Long/bitCount", i64::count_ones)
        .doc("How many bits of an integer of 64 bits are set")
        .example("(Long/bitCount 255)", "8"),
    of_int!("Integer/bitCount", i32::count_ones)
        .doc("How many bits of an integer of 32 bits are set")
        .example("(Integer/bitCount -1)", "32"),
    of_long!("Long/numberOfLeadingZeros", i64::leading_zeros)
        .doc("How many zeros stand before the highest of 64 bits that is set")
        .example("(Long/numberOfLeadingZeros 1)", "63"),
    of_int!("Integer/numberOfLeadingZeros", i32::leading_zeros)
        .doc("How many zeros stand before the highest of 32 bits that is set")
        .example("(Integer/numberOfLeadingZeros 1)", "31"),
    of_long!("Long/numberOfTrailingZeros", i64::trailing_zeros)
        .doc("How many zeros stand behind the lowest of 64 bits that is set")
        .example("(Long/numberOfTrailingZeros 8)", "3"),
    of_int!("Integer/numberOfTrailingZeros", i32::trailing_zeros)
        .doc("How many zeros stand behind the lowest of 32 bits that is set")
        .example("(Integer/numberOfTrailingZeros 0)", "32"),
    of_long!("Long/highestOneBit", |n: i64| highest(n.cast_unsigned()).cast_signed())
        .doc("The highest of 64 bits that is set, alone")
        .example("(Long/highestOneBit 100)", "64"),
    of_int!("Integer/highestOneBit", |n: i32| highest(n.cast_unsigned().into()) as i32)
        .doc("The highest of 32 bits that is set, alone")
        .example("(Integer/highestOneBit 100)", "64"),
    of_long!("Long/lowestOneBit", |n: i64| n & n.wrapping_neg())
        .doc("The lowest of 64 bits that is set, alone")
        .example("(Long/lowestOneBit 100)", "4"),
    of_int!("Integer/lowestOneBit", |n: i32| n & n.wrapping_neg())
        .doc("The lowest of 32 bits that is set, alone")
        .example("(Integer/lowestOneBit 100)", "4"),
    of_long!("Long/reverse", i64::reverse_bits)
        .doc("An integer with its 64 bits in reverse")
        .example("(Long/reverse 1)", "-9223372036854775808"),
    of_int!("Integer/reverse", i32::reverse_bits)
        .doc("An integer with its 32 bits in reverse")
        .example("(Integer/reverse 2)", "1073741824"),
    of_long!("Long/signum", i64::signum)
        .aliases(&["Integer/signum"])
        .doc("-1, 0 or 1: the sign of an integer")
        .example("(Long/signum -5)", "-1"),
    turn!("Long/rotateLeft", long, i64::rotate_left)
        .doc("An integer with its 64 bits turned to the left")
        .example("(Long/rotateLeft 1 65)", "2"),
    turn!("Integer/rotateLeft", int, i32::rotate_left)
        .doc("An integer with its 32 bits turned to the left")
        .example("(Integer/rotateLeft 1 33)", "2"),
    turn!("Long/rotateRight", long, i64::rotate_right)
        .doc("An integer with its 64 bits turned to the right")
        .example("(Long/rotateRight 2 1)", "1"),
    turn!("Integer/rotateRight", int, i32::rotate_right)
        .doc("An integer with its 32 bits turned to the right")
        .example("(Integer/rotateRight 1 1)", "-2147483648"),
    number!("Long/SIZE", 64).doc("Bits of a long").example("Long/SIZE", "64"),
    number!("Long/BYTES", 8).doc("Bytes of a long").example("Long/BYTES", "8"),
    number!("Integer/SIZE", 32).doc("Bits of an int").example("Integer/SIZE", "32"),
    number!("Integer/BYTES", 4).doc("Bytes of an int").example("Integer/BYTES", "4"),
    number!("Double/SIZE", 64).doc("Bits of a double").example("Double/SIZE", "64"),
    number!("Double/BYTES", 8).doc("Bytes of a double").example("Double/BYTES", "8"),
    number!("Short/MAX_VALUE", i16::MAX)
        .doc("Largest integer of 16 bits")
        .example("Short/MAX_VALUE", "32767"),
    number!("Short/MIN_VALUE", i16::MIN)
        .doc("Smallest integer of 16 bits")
        .example("Short/MIN_VALUE", "-32768"),
    number!("Byte/MAX_VALUE", i8::MAX).doc("Largest integer of 8 bits").example("Byte/MAX_VALUE", "127"),
    number!("Byte/MIN_VALUE", i8::MIN).doc("Smallest integer of 8 bits").example("Byte/MIN_VALUE", "-128"),
    number!("Double/MAX_EXPONENT", f64::MAX_EXP - 1)
        .doc("Largest exponent of a float")
        .example("Double/MAX_EXPONENT", "1023"),
    number!("Double/MIN_EXPONENT", f64::MIN_EXP - 1)
        .doc("Smallest exponent of a float that is not subnormal")
        .example("Double/MIN_EXPONENT", "-1022"),
    float!("Double/MIN_NORMAL", f64::MIN_POSITIVE)
        .doc("Smallest positive float that is not subnormal")
        .example("(pos? Double/MIN_NORMAL)", "true"),
    float!("Float/MAX_VALUE", f32::MAX.into())
        .doc("Largest float of 32 bits")
        .example("(< 3.4e38 Float/MAX_VALUE 3.5e38)", "true"),
    float!("Float/MIN_VALUE", f32::from_bits(1).into())
        .doc("Smallest positive float of 32 bits")
        .example("(pos? Float/MIN_VALUE)", "true"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    #[test]
    fn bits_are_those_of_the_class() {
        for (name, n, expected) in [
            ("Long/highestOneBit", -1, "-9223372036854775808"),
            ("Integer/highestOneBit", -1, "-2147483648"),
            ("Integer/highestOneBit", 0, "0"),
            ("Long/lowestOneBit", 0, "0"),
            ("Long/numberOfTrailingZeros", 0, "64"),
            ("Integer/numberOfLeadingZeros", -1, "0"),
            ("Integer/bitCount", 1 << 40, "! arithmetic_error: integer overflow"),
        ] {
            assert_eq!(display(name, [Value::Int(n)]), expected, "{name} {n}");
        }
        assert_eq!(display("Integer/rotateRight", [Value::Int(2), Value::Int(-31)]), "1");
    }

    #[test]
    fn floats_are_ordered_as_java_orders_them() {
        let ascending = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 5e-324, f64::INFINITY, -f64::NAN];
        for (i, a) in ascending.into_iter().enumerate() {
            for (j, b) in ascending.into_iter().enumerate() {
                let expected = (i.cmp(&j) as i64).to_string();
                assert_eq!(
                    display("Double/compare", [Value::float(a), Value::float(b)]),
                    expected,
                    "{a} {b}"
                );
            }
        }
        let text = "! type_error: Double/compare: invalid argument types: number, nil";
        assert_eq!(display("Double/compare", [Value::Int(1), Value::Nil]), text);
    }
}
