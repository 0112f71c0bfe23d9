//! `=`, `<` and their like, over values of all kinds (functions.md 17; language.md 2.10, 2.11).

use super::Builtin;
use super::namespaces::CORE;
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{self, Value};
use std::cmp::Ordering;

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(x) if x.is_nan())
}

/// Whether all arguments equal the first one.
fn all_equal(ctx: &mut Ctx<'_>, args: &[Value]) -> Result<bool> {
    ctx.charge(args.len())?;
    let Some((first, rest)) = args.split_first() else { return Ok(true) };
    Ok(meter::pieces(rest).all(|piece| piece.iter().all(|other| value::equal(first, other))))
}

/// Whether each argument and the next one are ordered so. NaN is ordered with nothing.
fn all_ordered(ctx: &mut Ctx<'_>, args: &[Value], fits: fn(Ordering) -> bool) -> Result<Value> {
    ctx.charge(args.len())?;
    let ordered =
        |pair: &[Value]| !is_nan(&pair[0]) && !is_nan(&pair[1]) && fits(value::compare(&pair[0], &pair[1]));
    Ok(Value::bool(meter::overlapping(args).all(|piece| piece.windows(2).all(ordered))))
}

/// `(= x & xs)`
fn equal(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    all_equal(ctx, args).map(Value::bool)
}

/// `(not= x & xs)`
fn not_equal(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    all_equal(ctx, args).map(|equal| Value::bool(!equal))
}

/// `(< x & xs)`
fn less(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    all_ordered(ctx, args, Ordering::is_lt)
}

/// `(<= x & xs)`
fn less_or_equal(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    all_ordered(ctx, args, Ordering::is_le)
}

/// `(> x & xs)`
fn greater(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    all_ordered(ctx, args, Ordering::is_gt)
}

/// `(>= x & xs)`
fn greater_or_equal(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    all_ordered(ctx, args, Ordering::is_ge)
}

/// `(compare a b)`: NaN has a place beside itself and `nil` only.
fn compare(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let is_placed = |value: &Value| is_nan(value) || value.is_nil();
    if (is_nan(&args[0]) || is_nan(&args[1])) && !args.iter().all(is_placed) {
        return Err(Error::type_error("type_error: compare: unordered comparison with NaN"));
    }
    Ok(Value::Int(value::compare(&args[0], &args[1]) as i64))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("compare", "Comparison").of([
    fun("=", CORE, "x & xs", equal)
        .doc("Whether all arguments equal the first, an integer an equal float too")
        .example("(= 1 1.0)", "true")
        .example("(= [1 {:a 2}] [1 {:a 2}])", "true")
        .example(r#"(= :a "a")"#, "false"),
    fun("==", CORE, "x & more", equal).doc("Same as =").example("(== 2 2.0)", "true"),
    fun("not=", CORE, "x & xs", not_equal)
        .doc("Whether some argument differs from the first")
        .example("(not= 1 2)", "true"),
    fun("<", CORE, "x & xs", less)
        .doc("Strictly ascending in the total order")
        .example("(< 1 2 3)", "true")
        .example(r#"(< "a" "b")"#, "true")
        .example("(< nil 1)", "true"),
    fun("<=", CORE, "x & xs", less_or_equal)
        .doc("Ascending in the total order")
        .example("(<= 1 1 2)", "true"),
    fun(">", CORE, "x & xs", greater)
        .doc("Strictly descending in the total order")
        .example("(> 3 2 1)", "true"),
    fun(">=", CORE, "x & xs", greater_or_equal)
        .doc("Descending in the total order")
        .example("(>= 3 3 1)", "true"),
    fun("compare", CORE, "a b", compare)
        .doc("-1, 0 or 1: how two values are ordered")
        .example("(compare 1 1.0)", "0")
        .example(r#"(compare "a" "b")"#, "-1")
        .example("(compare nil 1)", "-1")
        .example("(compare [1 9] [2])", "1")
        .example("(compare ##NaN nil)", "1"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    #[test]
    fn nan_equals_and_orders_nothing() {
        let nan = || Value::float(f64::NAN);
        for name in ["=", "==", "<", "<=", ">", ">="] {
            assert_eq!(display(name, [nan(), nan()]), "false", "{name}");
            assert_eq!(display(name, [nan()]), "true", "{name}");
        }
        assert_eq!(display("not=", [nan(), nan()]), "true");
        let text = "! type_error: type_error: compare: unordered comparison with NaN";
        assert_eq!(display("compare", [Value::Int(1), nan()]), text);
        assert_eq!(display("compare", [Value::str("a"), nan()]), text);
        assert_eq!(display("compare", [Value::Nil, nan()]), "-1");
        assert_eq!(display("compare", [nan(), nan()]), "0");
    }

    #[test]
    fn equality_compares_with_the_first_and_order_with_the_next() {
        let ints = |ns: &[i64]| ns.iter().copied().map(Value::Int).collect::<Vec<_>>();
        for (name, ns, text) in [
            ("=", &[1, 1, 1][..], "true"),
            ("=", &[1, 1, 2], "false"),
            ("not=", &[1, 1, 2], "true"),
            ("not=", &[1], "false"),
            ("<", &[1, 2, 3], "true"),
            ("<", &[1, 3, 2], "false"),
            ("<=", &[1, 1, 2], "true"),
            (">", &[3, 2, 2], "false"),
            (">=", &[3, 3, 1], "true"),
            ("compare", &[1, 2], "-1"),
        ] {
            assert_eq!(display(name, ints(ns)), text, "{name} {ns:?}");
        }
        assert_eq!(display("compare", [Value::Nil, Value::Int(1)]), "-1");
        assert_eq!(display("compare", [Value::Int(1), Value::Nil]), "1");
        assert_eq!(display("compare", [Value::Nil, Value::False]), "-1");
        assert_eq!(display("compare", [Value::Int(1), Value::float(1.0)]), "0");
        assert_eq!(display("<", []), "! arity error: < requires at least 1 argument, got 0");
    }
}
