//! `not`, `boolean` and `identity` (functions.md 18). `and` and `or` are forms, not functions.

use super::{Arities, Builtin, Example, Native};
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
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "not",
        namespace: "clojure.core",
        aliases: &["clojure.core/not", "core/not"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(not x)"],
        doc: "True for nil and false",
        section: "logic",
        examples: &[
            Example { program: "(not nil)", value: "true" },
            Example { program: "(not 0)", value: "false" },
        ],
        native: Native::Plain(not),
    },
    Builtin {
        name: "boolean",
        namespace: "clojure.core",
        aliases: &["clojure.core/boolean", "core/boolean"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(boolean x)"],
        doc: "False for nil and false, else true",
        section: "logic",
        examples: &[Example { program: r#"(boolean "false")"#, value: "true" }],
        native: Native::Plain(boolean),
    },
    Builtin {
        name: "identity",
        namespace: "clojure.core",
        aliases: &["clojure.core/identity", "core/identity"],
        arities: Arities::OneOf(&[1]),
        signatures: &["(identity x)"],
        doc: "Its argument",
        section: "logic",
        examples: &[Example { program: "(map identity [1 nil])", value: "[1 nil]" }],
        native: Native::Plain(identity),
    },
];

#[cfg(test)]
mod tests {
    use crate::builtins::support::testing::shown;
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
            assert_eq!(shown("boolean", [value.clone()]), truth.to_string());
            assert_eq!(shown("not", [value]), (!truth).to_string());
        }
    }
}
