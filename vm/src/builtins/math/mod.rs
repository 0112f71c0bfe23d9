//! Rounding, conversion between kinds of numbers, and real functions (functions.md 16, 37.2).
//!
//! `Math/NAME` is the bare function where there is one, but for `Math/floor`, `Math/ceil` and `Math/round`, which are Java's:
//! the bare ones give integers and round halves away from zero. The others exist under their qualified names only, because
//! programs like to call their own functions `log` or `exp`.

mod convert;
mod floats;
mod real;
mod rounding;

pub(super) use convert::to_int;

use super::Builtin;
use super::namespaces::{CORE, EXTENSION, MATH};
use super::row::{constant, fun, section};
use crate::value::Value;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("math", "Mathematics").of([
    fun("abs", CORE, "x", rounding::abs)
        .also_in(MATH)
        .doc("Absolute value")
        .example("(abs -5)", "5")
        .example("(abs -2.5)", "2.5"),
    fun("floor", EXTENSION, "x", rounding::floor)
        .doc("Largest integer not above")
        .example("(floor -3.2)", "-4"),
    fun("ceil", EXTENSION, "x", rounding::ceil).doc("Smallest integer not below").example("(ceil 3.2)", "4"),
    fun("round", EXTENSION, "x | x digits", rounding::round)
        .doc("Nearest integer, halves away from zero; with digits, a float of so many decimals")
        .example("(round 2.5)", "3")
        .example("(round -2.5)", "-3")
        .example("(round 2.345 2)", "2.35"),
    fun("trunc", EXTENSION, "x", rounding::trunc)
        .also_in(MATH)
        .doc("Integer part: rounds toward zero")
        .example("(trunc -3.7)", "-3"),
    fun("double", CORE, "x", convert::double)
        .also_in(MATH)
        .aliases(&[".doubleValue", ".floatValue"])
        .doc("Convert to float")
        .example("(double 5)", "5.0"),
    fun("float", CORE, "x", convert::float).also_in(MATH).doc("Same as double").example("(float 5)", "5.0"),
    fun("unchecked-double", CORE, "x", convert::double)
        .doc("Same as double")
        .example("(unchecked-double 5)", "5.0"),
    fun("unchecked-float", CORE, "x", convert::float)
        .doc("Same as double")
        .example("(unchecked-float 5)", "5.0"),
    fun("int", CORE, "x", convert::int)
        .also_in(MATH)
        .aliases(&[".intValue"])
        .doc("Truncates to an integer of 32 bits; code point of a character")
        .example("(int 3.9)", "3")
        .example(r#"(int "A")"#, "65")
        .example("(int ##NaN)", "0"),
    fun("sqrt", EXTENSION, "x", real::sqrt)
        .also_in(MATH)
        .doc("Square root")
        .example("(sqrt 9)", "3.0")
        .example("(sqrt -1)", "##NaN"),
    fun("pow", EXTENSION, "x y", real::pow)
        .also_in(MATH)
        .doc("Power as a float, with the special cases of IEEE 754")
        .example("(pow 2 10)", "1024.0")
        .example("(pow 0 -1)", "##Inf")
        .example("(pow -2 3)", "-8.0"),
    fun("long", CORE, "x", convert::long)
        .aliases(&[".longValue"])
        .doc("Truncates to an integer of any size; code point of a character")
        .example("(long 3.9)", "3"),
    fun("bigint", CORE, "x", convert::bigint)
        .doc("Truncates to an integer of any size, or reads one from a text")
        .example("(bigint 1e20)", "100000000000000000000"),
    fun("biginteger", CORE, "x", convert::bigint).doc("Same as bigint").example("(biginteger 5)", "5"),
    fun("short", CORE, "x", convert::short)
        .doc("Truncates to an integer, without a range check")
        .example("(short 3.9)", "3"),
    fun("byte", CORE, "x", convert::byte)
        .doc("Truncates to an integer, without a range check")
        .example("(byte 3.9)", "3"),
    fun("num", CORE, "x", convert::num).doc("The number itself").example("(num 1.5)", "1.5"),
    fun("Math/floor", MATH, "x", rounding::java_floor)
        .doc("Largest whole number not above, as a float")
        .example("(Math/floor -3.2)", "-4.0"),
    fun("Math/ceil", MATH, "x", rounding::java_ceil)
        .doc("Smallest whole number not below, as a float")
        .example("(Math/ceil 3.2)", "4.0"),
    fun("Math/round", MATH, "x | x digits", rounding::java_round)
        .doc("Nearest integer, halves up; with digits as round")
        .example("(Math/round 2.5)", "3")
        .example("(Math/round -2.5)", "-2"),
    fun("Math/log", MATH, "x", real::log).doc("Natural logarithm").example("(Math/log 1)", "0.0"),
    fun("Math/log10", MATH, "x", real::log10).doc("Logarithm to base 10").example("(Math/log10 1000)", "3.0"),
    fun("Math/exp", MATH, "x", real::exp).doc("e to the power of x").example("(Math/exp 0)", "1.0"),
    fun("Math/sin", MATH, "x", real::sin).doc("Sine of an angle in radians").example("(Math/sin 0)", "0.0"),
    fun("Math/cos", MATH, "x", real::cos).doc("Cosine of an angle in radians").example("(Math/cos 0)", "1.0"),
    fun("Math/tan", MATH, "x", real::tan)
        .doc("Tangent of an angle in radians")
        .example("(Math/tan 0)", "0.0"),
    fun("Math/asin", MATH, "x", real::asin).doc("Arc sine in radians").example("(Math/asin 0)", "0.0"),
    fun("Math/acos", MATH, "x", real::acos).doc("Arc cosine in radians").example("(Math/acos 1)", "0.0"),
    fun("Math/atan", MATH, "x", real::atan).doc("Arc tangent in radians").example("(Math/atan 0)", "0.0"),
    fun("Math/sinh", MATH, "x", real::sinh).doc("Hyperbolic sine").example("(Math/sinh 0)", "0.0"),
    fun("Math/cosh", MATH, "x", real::cosh).doc("Hyperbolic cosine").example("(Math/cosh 0)", "1.0"),
    fun("Math/tanh", MATH, "x", real::tanh).doc("Hyperbolic tangent").example("(Math/tanh 0)", "0.0"),
    fun("Math/cbrt", MATH, "x", real::cbrt).doc("Cube root").example("(Math/cbrt 27)", "3.0"),
    fun("Math/signum", MATH, "x", real::signum)
        .doc("-1.0, 0.0 or 1.0: the sign")
        .example("(Math/signum -5)", "-1.0"),
    fun("Math/toDegrees", MATH, "x", real::to_degrees)
        .aliases(&["Math/to-degrees", "clojure.math/to-degrees"])
        .doc("Degrees of an angle in radians")
        .example("(Math/toDegrees 0)", "0.0"),
    fun("Math/toRadians", MATH, "x", real::to_radians)
        .aliases(&["Math/to-radians", "clojure.math/to-radians"])
        .doc("Radians of an angle in degrees")
        .example("(Math/toRadians 0)", "0.0"),
    fun("Math/atan2", MATH, "y x", real::atan2)
        .doc("Angle of the point x y in radians")
        .example("(Math/atan2 0 1)", "0.0"),
    fun("Math/hypot", MATH, "x y", real::hypot)
        .doc("Length of the hypotenuse")
        .example("(Math/hypot 3 4)", "5.0"),
    fun("Math/rint", MATH, "x", real::rint)
        .doc("Nearest whole float; halves go to the even one")
        .example("(Math/rint 2.5)", "2.0"),
    fun("Math/log1p", MATH, "x", real::log1p)
        .doc("Natural logarithm of 1 + x")
        .example("(Math/log1p 0)", "0.0"),
    fun("Math/expm1", MATH, "x", real::expm1)
        .doc("e to the power of x, less 1")
        .example("(Math/expm1 0)", "0.0"),
    fun("Math/copySign", MATH, "x y", real::copy_sign)
        .aliases(&["Math/copy-sign", "clojure.math/copy-sign"])
        .doc("x with the sign of y")
        .example("(Math/copySign 2 -1)", "-2.0"),
    fun("Math/floorDiv", MATH, "a b", real::floor_div)
        .aliases(&["Math/floor-div", "clojure.math/floor-div"])
        .doc("Integer quotient rounded down")
        .example("(Math/floorDiv -7 2)", "-4"),
    fun("Math/floorMod", MATH, "a b", real::floor_mod)
        .aliases(&["Math/floor-mod", "clojure.math/floor-mod"])
        .doc("Modulus with the sign of the divisor")
        .example("(Math/floorMod -7 3)", "2"),
    fun("Math/IEEEremainder", MATH, "x y", floats::ieee_remainder)
        .aliases(&["Math/IEEE-remainder", "clojure.math/IEEE-remainder"])
        .doc("x less the multiple of y that is nearest to it")
        .example("(Math/IEEEremainder 5 3)", "-1.0"),
    fun("Math/ulp", MATH, "x", floats::ulp)
        .doc("Distance to the next float away from zero")
        .example("(Math/ulp 1.0)", "2.220446049250313e-16"),
    fun("Math/nextUp", MATH, "x", floats::next_up)
        .aliases(&["Math/next-up", "clojure.math/next-up"])
        .doc("The next float above")
        .example("(Math/nextUp 1.0)", "1.0000000000000002"),
    fun("Math/nextDown", MATH, "x", floats::next_down)
        .aliases(&["Math/next-down", "clojure.math/next-down"])
        .doc("The next float below")
        .example("(Math/nextDown 1.0)", "0.9999999999999999"),
    fun("Math/nextAfter", MATH, "x y", floats::next_after)
        .aliases(&["Math/next-after", "clojure.math/next-after"])
        .doc("The next float from x on towards y")
        .example("(Math/nextAfter 1.0 2)", "1.0000000000000002"),
    fun("Math/getExponent", MATH, "x", floats::exponent)
        .aliases(&["Math/get-exponent", "clojure.math/get-exponent"])
        .doc("The exponent of a float to base 2")
        .example("(Math/getExponent 10)", "3"),
    fun("Math/scalb", MATH, "x n", floats::scale)
        .doc("x times 2 to the power of n")
        .example("(Math/scalb 1.5 4)", "24.0"),
    fun("Math/addExact", MATH, "a b", floats::add_exact)
        .aliases(&["Math/add-exact", "clojure.math/add-exact"])
        .doc("Sum of integers, which have no bound")
        .example("(Math/addExact 1 2)", "3"),
    fun("Math/subtractExact", MATH, "a b", floats::subtract_exact)
        .aliases(&["Math/subtract-exact", "clojure.math/subtract-exact"])
        .doc("Difference of integers, which have no bound")
        .example("(Math/subtractExact 1 2)", "-1"),
    fun("Math/multiplyExact", MATH, "a b", floats::multiply_exact)
        .aliases(&["Math/multiply-exact", "clojure.math/multiply-exact"])
        .doc("Product of integers, which have no bound")
        .example("(Math/multiplyExact 3 4)", "12"),
    fun("Math/negateExact", MATH, "a", floats::negate_exact)
        .aliases(&["Math/negate-exact", "clojure.math/negate-exact"])
        .doc("An integer with the other sign")
        .example("(Math/negateExact 3)", "-3"),
    fun("Math/incrementExact", MATH, "a", floats::increment_exact)
        .aliases(&["Math/increment-exact", "clojure.math/increment-exact"])
        .doc("The next integer")
        .example("(Math/incrementExact 3)", "4"),
    fun("Math/decrementExact", MATH, "a", floats::decrement_exact)
        .aliases(&["Math/decrement-exact", "clojure.math/decrement-exact"])
        .doc("The integer before")
        .example("(Math/decrementExact 3)", "2"),
    constant("Math/PI", MATH, || Value::float(std::f64::consts::PI))
        .calls(&["Math/PI"])
        .doc("The ratio of a circle's circumference to its diameter")
        .example("Math/PI", "3.141592653589793"),
    constant("Math/E", MATH, || Value::float(std::f64::consts::E))
        .calls(&["Math/E"])
        .doc("The base of natural logarithms")
        .example("Math/E", "2.718281828459045"),
    constant("Long/MAX_VALUE", EXTENSION, || Value::Int(i64::MAX))
        .calls(&["Long/MAX_VALUE"])
        .doc("Largest integer of 64 bits")
        .example("Long/MAX_VALUE", "9223372036854775807"),
    constant("Long/MIN_VALUE", EXTENSION, || Value::Int(i64::MIN))
        .calls(&["Long/MIN_VALUE"])
        .doc("Smallest integer of 64 bits")
        .example("Long/MIN_VALUE", "-9223372036854775808"),
    constant("Integer/MAX_VALUE", EXTENSION, || Value::Int(i64::from(i32::MAX)))
        .calls(&["Integer/MAX_VALUE"])
        .doc("Largest integer of 32 bits")
        .example("Integer/MAX_VALUE", "2147483647"),
    constant("Integer/MIN_VALUE", EXTENSION, || Value::Int(i64::from(i32::MIN)))
        .calls(&["Integer/MIN_VALUE"])
        .doc("Smallest integer of 32 bits")
        .example("Integer/MIN_VALUE", "-2147483648"),
]);

#[cfg(test)]
mod tests;
