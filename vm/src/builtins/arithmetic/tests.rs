use crate::Reason;
use crate::builtins::support::testing::{call, display, outcome};
use crate::machine::Limits;
use crate::value::Value;
use num_bigint::BigInt;

fn big(text: &str) -> Value {
    Value::integer(text.parse::<BigInt>().unwrap())
}

fn power_of_ten(n: u32) -> Value {
    Value::integer(BigInt::from(10).pow(n))
}

const INF: Value = Value::float(f64::INFINITY);
const NAN: Value = Value::float(f64::NAN);
const MAX: Value = Value::Int(i64::MAX);
const MIN: Value = Value::Int(i64::MIN);

fn int(n: i64) -> Value {
    Value::Int(n)
}

fn float(x: f64) -> Value {
    Value::float(x)
}

#[test]
fn sums_and_products_promote_and_mix() {
    for (name, args, text) in [
        ("+", vec![], "0"),
        ("*", vec![], "1"),
        ("+", vec![int(1), int(2), int(3)], "6"),
        ("+", vec![int(1), float(0.5)], "1.5"),
        ("+", vec![MAX, int(1)], "9223372036854775808"),
        ("-", vec![MIN, int(1)], "-9223372036854775809"),
        ("-", vec![big("9223372036854775808"), int(1)], "9223372036854775807"),
        ("-", vec![MIN], "9223372036854775808"),
        ("-", vec![float(0.0)], "-0.0"),
        ("*", vec![MIN, int(-1)], "9223372036854775808"),
        (
            "*",
            vec![big("-10000000000000000000000"), big("10000000000000000000000")],
            "-100000000000000000000000000000000000000000000",
        ),
        ("inc", vec![MAX], "9223372036854775808"),
        ("dec'", vec![MIN], "-9223372036854775809"),
        ("inc", vec![INF], "##Inf"),
        ("+", vec![INF, float(f64::NEG_INFINITY)], "##NaN"),
        ("*", vec![int(0), INF], "##NaN"),
        ("*", vec![power_of_ten(400), float(f64::NEG_INFINITY)], "##-Inf"),
        ("max", vec![int(1), float(2.5), int(2)], "2.5"),
        ("max", vec![int(1), float(1.0)], "1.0"),
        ("min", vec![float(1.0), int(1)], "1"),
        ("max", vec![float(1.0), int(1), int(0)], "1"),
        ("max", vec![int(5), NAN, Value::str("a")], "##NaN"),
        ("max", vec![int(5), Value::Nil], "5"),
        ("min", vec![int(5), Value::Nil], "nil"),
        ("min", vec![Value::str("b"), Value::str("a")], "\"a\""),
    ] {
        assert_eq!(display(name, args.clone()), text, "{name} {args:?}");
    }
}

const TOO_LARGE: &str =
    "! arithmetic_error: number too large for a float (at most about 1.8e308); integers have no bound";

#[test]
fn exact_quotients_of_integers_are_integers() {
    for (args, text) in [
        (vec![int(10), int(4)], "2.5"),
        (vec![int(6), int(3)], "2"),
        (vec![int(7), int(2)], "3.5"),
        (vec![int(-7), int(7)], "-1"),
        (vec![int(0), int(5)], "0"),
        (vec![int(2)], "0.5"),
        (vec![int(1)], "1"),
        (vec![int(-1)], "-1"),
        (vec![float(2.0)], "0.5"),
        (vec![float(6.0), int(3)], "2.0"),
        (vec![int(6), float(3.0)], "2.0"),
        (vec![int(12), int(3), int(2)], "2"),
        (vec![int(1), int(3), int(3)], "0.1111111111111111"),
        (vec![MIN, int(-1)], "9223372036854775808"),
        (vec![big("9223372036854775808"), int(2)], "4611686018427387904"),
        (vec![big("-9223372036854775808000"), int(1000)], "-9223372036854775808"),
        (vec![power_of_ten(22), float(10.0)], "1.0e21"),
        (vec![int(-1), float(0.0)], "##-Inf"),
        (vec![int(1), float(-0.0)], "##-Inf"),
        (vec![int(0), float(0.0)], "##NaN"),
        (vec![float(0.0)], "##Inf"),
        (vec![float(f64::NEG_INFINITY), int(-2)], "##Inf"),
        (vec![NAN, int(0)], "##NaN"),
        (vec![power_of_ten(400), power_of_ten(399)], "10"),
        (vec![power_of_ten(400), int(3), power_of_ten(399)], TOO_LARGE),
        (vec![power_of_ten(399), power_of_ten(400)], "0.1"),
        (vec![int(1), power_of_ten(400)], "0.0"),
        (vec![int(5), int(2), int(0)], "! arithmetic_error: division by zero"),
        (vec![int(5), float(2.0), int(0)], "##Inf"),
        (vec![power_of_ten(400), int(0)], "! arithmetic_error: division by zero"),
        (vec![float(0.0), int(0)], "##NaN"),
        (vec![float(-1.0), int(0)], "##-Inf"),
        (vec![float(1e308), float(1e-10)], TOO_LARGE),
        (vec![power_of_ten(400), int(3)], TOO_LARGE),
        (vec![Value::str("4"), int(2)], "! type_error: /: invalid argument types: string, number"),
    ] {
        assert_eq!(display("/", args.clone()), text, "{args:?}");
    }
}

#[test]
fn integer_division_rounds_as_named() {
    for (name, a, b, text) in [
        ("quot", int(-7), int(2), "-3"),
        ("rem", int(-7), int(3), "-1"),
        ("mod", int(-7), int(3), "2"),
        ("mod", int(7), int(-3), "-2"),
        ("Math/floorDiv", int(-7), int(2), "-4"),
        ("quot", MIN, int(-1), "9223372036854775808"),
        ("Math/floorDiv", MIN, int(-1), "9223372036854775808"),
        ("rem", MIN, int(-1), "0"),
        ("mod", MIN, int(-1), "0"),
        ("quot", float(7.5), int(2), "3.0"),
        ("quot", int(-10), float(3.0), "-3.0"),
        ("quot", float(-1.0), int(2), "0.0"),
        ("mod", float(-0.3), float(0.1), "2.7755575615628914e-17"),
        ("mod", float(-4.0), int(2), "0.0"),
        ("mod", int(7), float(-2.5), "-0.5"),
        ("rem", float(7.5), int(2), "1.5"),
        ("mod", float(-7.5), int(2), "0.5"),
        ("quot", float(1e10), int(3), "3333333333.0"),
        ("quot", float(1e20), int(1), "1.0e20"),
        ("quot", power_of_ten(30), power_of_ten(28), "100"),
        ("mod", big("-1000000000000000000001"), int(10), "9"),
        ("rem", big("-1000000000000000000001"), int(10), "-1"),
        ("mod", int(5), INF, "##NaN"),
        ("quot", INF, int(0), "##NaN"),
        ("quot", int(5), float(0.0), "! arithmetic_error: division by zero"),
        ("mod", float(5.5), int(0), "! arithmetic_error: division by zero"),
        ("quot", float(1e308), float(1e-10), TOO_LARGE),
        ("rem", Value::Nil, int(1), "! arithmetic_error: bad argument in arithmetic expression"),
    ] {
        assert_eq!(display(name, [a.clone(), b.clone()]), text, "{name} {a:?} {b:?}");
    }
}

#[test]
fn what_is_no_number_is_named() {
    for (name, args, text) in [
        ("+", vec![Value::Nil], "! type_error: expected number, got nil"),
        ("*", vec![Value::str("a")], "! type_error: expected number, got string"),
        ("+", vec![int(1), Value::Nil, int(2)], "! type_error: +: invalid argument types: number, nil"),
        ("-", vec![Value::str("a"), int(1)], "! type_error: -: invalid argument types: string, number"),
        ("*", vec![int(2), Value::vector([])], "! type_error: *: invalid argument types: number, list"),
        ("inc", vec![Value::keyword("a")], "! arithmetic_error: bad argument in arithmetic expression"),
        ("-", vec![], "! arity error: - requires at least 1 argument, got 0"),
        ("max", vec![], "! arity error: max requires at least 1 argument, got 0"),
        ("+", vec![float(1e308), float(1e308)], TOO_LARGE),
        ("+", vec![power_of_ten(400), float(1.0)], TOO_LARGE),
    ] {
        assert_eq!(display(name, args.clone()), text, "{name} {args:?}");
    }
}

#[test]
fn integers_stop_at_one_megabit_before_they_are_computed() {
    let large = Value::integer(BigInt::from(1) << 600_000_u32);
    assert_eq!(call("*", [large.clone(), large.clone()]).unwrap_err().reason(), Reason::MemoryExceeded);
    assert!(call("+", [large.clone(), large.clone()]).is_ok());
    let limits = Limits { steps: 200, ..Limits::default() };
    assert_eq!(
        outcome("*", [large.clone(), int(3)], limits).result.unwrap_err().reason(),
        Reason::StepLimitExceeded
    );
    let limits = Limits { memory_bytes: 50_000, ..Limits::default() };
    assert_eq!(outcome("+", [large, int(3)], limits).result.unwrap_err().reason(), Reason::MemoryExceeded);
}

#[test]
fn small_and_large_integers_obey_the_same_laws() {
    use crate::number::{add, modulo, multiply, quotient, remainder, subtract};
    use crate::value::equal;
    let edges = [i64::MIN, i64::MIN + 1, -(1 << 32), -7, -1, 0, 1, 2, 3_037_000_500, i64::MAX - 1, i64::MAX];
    let mut numbers: Vec<BigInt> = edges.iter().map(|n| BigInt::from(*n)).collect();
    numbers.extend(edges.iter().map(|n| BigInt::from(*n) * BigInt::from(i64::MAX) - 3));
    for a in &numbers {
        for b in &numbers {
            let (x, y) = (Value::integer(a.clone()), Value::integer(b.clone()));
            assert!(equal(&add(&x, &y).unwrap(), &Value::integer(a + b)), "{a} + {b}");
            assert!(equal(&subtract(&x, &y).unwrap(), &Value::integer(a - b)), "{a} - {b}");
            assert!(equal(&multiply(&x, &y).unwrap(), &Value::integer(a * b)), "{a} * {b}");
            if *b == BigInt::ZERO {
                assert!(quotient(&x, &y).is_err());
                continue;
            }
            let (q, r, m) = (quotient(&x, &y).unwrap(), remainder(&x, &y).unwrap(), modulo(&x, &y).unwrap());
            assert!(equal(&add(&multiply(&q, &y).unwrap(), &r).unwrap(), &x), "{a} quot {b}");
            assert!(equal(&r, &Value::integer(a % b)), "{a} rem {b}");
            assert!(equal(&m, &Value::integer(((a % b) + b) % b)), "{a} mod {b}");
        }
    }
}
