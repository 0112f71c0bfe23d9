//! `not`, `boolean` and `identity` (functions.md 18). `and` and `or` are forms, not functions.

use super::Builtin;
use super::namespaces::CORE;
use super::row::{fun, section};
use crate::error::Result;
use crate::machine::Ctx;
use crate::value::Value;

/// `(not x)`
fn not(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(!args[0].is_truthy()))
}

/// `(boolean x)`
fn boolean(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(Value::bool(args[0].is_truthy()))
}

/// `(identity x)`
fn identity(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(std::mem::take(&mut args[0]))
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("logic", "Logic").of([
    fun("not", CORE, "x", not)
        .doc("True for nil and false")
        .example("(not nil)", "true")
        .example("(not 0)", "false"),
    fun("boolean", CORE, "x", boolean)
        .doc("False for nil and false, else true")
        .example(r#"(boolean "false")"#, "true"),
    fun("identity", CORE, "x", identity).doc("Its argument").example("(map identity [1 nil])", "[1 nil]"),
    fun("time", CORE, "x", identity)
        .doc("Its argument: a program measures no time")
        .example("(time (+ 1 2))", "3"),
]);

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::display;
    use crate::value::Value;

    #[test]
    fn only_nil_and_false_are_false() {
        for (value, truth) in [
            (Value::Nil, false),
            (Value::False, false),
            (Value::Int(0), true),
            (Value::str(""), true),
            (Value::float(f64::NAN), true),
        ] {
            assert_eq!(display("boolean", [value.clone()]), truth.to_string());
            assert_eq!(display("not", [value]), (!truth).to_string());
        }
    }
}
