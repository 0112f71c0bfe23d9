//! `apply` (functions.md 24).

use super::support::cursor;
use super::{Arities, Builtin, Example, Native};
use crate::error::{Error, Reason, Result};
use crate::machine::{Args, Ctx, Flow};
use crate::value::Value;
use std::mem::take;

/// `(apply f c)`, `(apply f x & xs c)`
fn apply(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let [function, given @ .., last] = args else {
        return Err(Error::new(Reason::InvalidArity, "expected (apply f coll) or (apply f x y coll)"));
    };
    let items = match last {
        Value::Vector(_) | Value::Set(_) | Value::Map(_) if function.is_callable() => cursor(ctx, last)?,
        _ => None,
    };
    let Some(mut items) = items else {
        if !function.is_callable() {
            // The call says so.
            return Ok(Flow::TailCall(take(function), Args::new()));
        }
        let kind = last.kind_label();
        return Err(Error::type_error(format!("apply expects collection as last argument, got {kind}")));
    };
    let count = given.len() + items.remaining();
    ctx.charge(count)?;
    ctx.reserve(count.saturating_mul(size_of::<Value>()))?;
    let mut spread = Args::with_capacity(count);
    spread.extend(given.iter_mut().map(take));
    while let Some(item) = items.advance() {
        spread.push(item);
    }
    Ok(Flow::TailCall(take(function), spread))
}

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[Builtin {
    name: "apply",
    namespace: "clojure.core",
    aliases: &["clojure.core/apply", "core/apply"],
    arities: Arities::AtLeast(0),
    signatures: &["(apply f c)", "(apply f x & xs c)"],
    doc: "Call a function with a collection spread as its last arguments",
    section: "apply",
    examples: &[
        Example { program: "(apply + 1 2 [3 4])", value: "10" },
        Example { program: r#"(apply str ["a" "b"])"#, value: r#""ab""# },
        Example { program: "(apply map vector [[1 2] [3 4]])", value: "[[1 3] [2 4]]" },
    ],
    native: Native::Frame(apply),
}];
