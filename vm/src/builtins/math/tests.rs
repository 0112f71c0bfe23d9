use crate::builtins::support::testing::display;
use crate::value::Value;
use num_bigint::BigInt;

fn int(n: i64) -> Value {
    Value::Int(n)
}

fn float(x: f64) -> Value {
    Value::float(x)
}

fn power_of_ten(n: u32) -> Value {
    Value::integer(BigInt::from(10).pow(n))
}

const INF: f64 = f64::INFINITY;

#[test]
fn rounding_gives_integers_of_any_size() {
    for (name, x, text) in [
        ("abs", int(i64::MIN), "9223372036854775808"),
        ("abs", float(-2.5), "2.5"),
        ("abs", float(-INF), "##Inf"),
        ("floor", float(-3.2), "-4"),
        ("ceil", float(-0.0), "0"),
        ("round", float(2.5), "3"),
        ("round", float(-2.5), "-3"),
        ("round", float(0.49999999999999994), "0"),
        ("Math/round", float(0.49999999999999994), "0"),
        ("Math/round", float(2.5), "3"),
        ("Math/round", float(-2.5), "-2"),
        ("Math/round", float(-2.6), "-3"),
        ("Math/round", int(3), "3"),
        ("Math/round", Value::Nil, "! type_error: Math/round: invalid argument types: nil"),
        ("Math/floor", float(2.5), "2.0"),
        ("Math/floor", int(-3), "-3.0"),
        ("Math/ceil", float(-0.5), "-0.0"),
        ("Math/floor", Value::str("a"), "! type_error: Math/floor: invalid argument types: string"),
        ("trunc", float(-3.7), "-3"),
        ("floor", float(1e25), "10000000000000000905969664"),
        ("floor", float(9.3e18), "9300000000000000000"),
        ("floor", float(INF), "##Inf"),
        ("ceil", power_of_ten(20), "100000000000000000000"),
        ("round", Value::Nil, "! type_error: round: invalid argument types: nil"),
        ("abs", Value::str("a"), "! type_error: abs: invalid argument types: string"),
    ] {
        assert_eq!(display(name, [x.clone()]), text, "{name} {x:?}");
    }
}

#[test]
fn conversions_truncate() {
    for (name, x, text) in [
        ("double", int(5), "5.0"),
        ("float", float(INF), "##Inf"),
        (
            "double",
            power_of_ten(400),
            "! arithmetic_error: number too large for a float (at most about 1.8e308); integers have no bound",
        ),
        ("int", float(3.9), "3"),
        ("int", float(-3.9), "-3"),
        ("int", float(f64::NAN), "0"),
        ("int", Value::str("A"), "65"),
        ("int", Value::str("😀"), "128512"),
        ("int", int(1 << 31), "! arithmetic_error: integer overflow"),
        ("int", int(-(1 << 31)), "-2147483648"),
        ("int", float(-INF), "! arithmetic_error: cannot convert -Infinity to integer"),
        ("int", Value::str("ab"), "! type_error: int: invalid argument types: string"),
        ("long", float(1e20), "100000000000000000000"),
        ("bigint", float(-2.5), "-2"),
        ("num", float(1.5), "1.5"),
        ("byte", int(1_000), "1000"),
    ] {
        assert_eq!(display(name, [x.clone()]), text, "{name} {x:?}");
    }
}

#[test]
fn real_functions_follow_ieee() {
    for (name, args, text) in [
        ("sqrt", vec![int(9)], "3.0"),
        ("sqrt", vec![int(-1)], "##NaN"),
        ("sqrt", vec![power_of_ten(400)], "1.0e200"),
        ("sqrt", vec![power_of_ten(20)], "10000000000.0"),
        ("pow", vec![int(2), int(10)], "1024.0"),
        ("pow", vec![int(0), int(-1)], "##Inf"),
        ("pow", vec![float(-0.0), int(-3)], "##-Inf"),
        ("pow", vec![int(-2), int(3)], "-8.0"),
        ("pow", vec![int(-8), float(0.5)], "##NaN"),
        ("pow", vec![float(f64::NAN), int(0)], "1.0"),
        ("pow", vec![int(1), float(INF)], "##NaN"),
        ("pow", vec![int(1), float(f64::NAN)], "##NaN"),
        ("pow", vec![int(10), int(400)], "##Inf"),
        ("pow", vec![int(10), int(-400)], "0.0"),
        ("Math/log", vec![power_of_ten(400)], "921.0340371976182"),
        ("Math/log", vec![int(0)], "##-Inf"),
        ("Math/log10", vec![int(1000)], "3.0"),
        ("Math/signum", vec![float(-0.0)], "-0.0"),
        ("Math/hypot", vec![int(3), int(4)], "5.0"),
        ("Math/toDegrees", vec![float(std::f64::consts::PI)], "180.0"),
        ("Math/PI", vec![], "3.141592653589793"),
        ("Long/MIN_VALUE", vec![], "-9223372036854775808"),
        ("Math/floorMod", vec![int(-7), int(3)], "2"),
        ("Math/IEEEremainder", vec![int(5), int(3)], "-1.0"),
        ("Math/IEEEremainder", vec![int(-5), int(2)], "-1.0"),
        ("Math/IEEEremainder", vec![int(-6), int(3)], "-0.0"),
        ("Math/IEEEremainder", vec![int(3), int(2)], "-1.0"),
        ("Math/IEEEremainder", vec![int(5), int(2)], "1.0"),
        ("Math/IEEEremainder", vec![float(f64::MAX), float(f64::MAX)], "0.0"),
        ("Math/IEEEremainder", vec![int(5), float(INF)], "5.0"),
        ("Math/IEEEremainder", vec![int(5), int(0)], "##NaN"),
        ("Math/ulp", vec![int(1)], "2.220446049250313e-16"),
        ("Math/ulp", vec![int(0)], "5.0e-324"),
        ("Math/ulp", vec![float(-INF)], "##Inf"),
        ("Math/nextUp", vec![int(1)], "1.0000000000000002"),
        ("Math/nextDown", vec![int(0)], "-5.0e-324"),
        ("Math/nextAfter", vec![int(1), int(0)], "0.9999999999999999"),
        ("Math/nextAfter", vec![int(1), int(1)], "1.0"),
        ("Math/getExponent", vec![int(10)], "3"),
        ("Math/getExponent", vec![int(0)], "-1023"),
        ("Math/getExponent", vec![float(INF)], "1024"),
        ("Math/scalb", vec![float(1.5), int(4)], "24.0"),
        ("Math/scalb", vec![int(1), int(-1074)], "5.0e-324"),
        ("Math/scalb", vec![int(1), int(5_000)], "##Inf"),
        // Between a half and one of the smallest float: rounded once, up.
        ("Math/scalb", vec![float(1.0 + f64::EPSILON), int(-1075)], "5.0e-324"),
        ("Math/addExact", vec![int(i64::MAX), int(1)], "9223372036854775808"),
        ("Math/subtractExact", vec![int(1), int(2)], "-1"),
        ("Math/multiplyExact", vec![int(3), int(4)], "12"),
        ("Math/negateExact", vec![int(3)], "-3"),
        ("Math/incrementExact", vec![int(3)], "4"),
        ("Math/decrementExact", vec![int(3)], "2"),
        (
            "Math/addExact",
            vec![float(1.5), int(1)],
            "! type_error: Math/addExact: invalid argument types: number, number",
        ),
        ("pow", vec![Value::Nil, int(1)], "! type_error: pow: invalid argument types: nil, number"),
    ] {
        assert_eq!(display(name, args.clone()), text, "{name} {args:?}");
    }
}
