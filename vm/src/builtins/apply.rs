//! `apply` (functions.md 24).

use super::Builtin;
use super::namespaces::CORE;
use super::row::{frame, section};
use super::support::cursor;
use crate::error::{Error, Reason, Result};
use crate::machine::{Args, Ctx, Flow};
use crate::value::Value;
use std::mem::take;

/// `(apply f c)`, `(apply f x & xs c)`
fn apply(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let [function, given @ .., last] = args else {
        return Err(Error::new(Reason::InvalidArity, "expected (apply f coll) or (apply f x y coll)"));
    };
    let items = if function.is_callable() { cursor(ctx, last)? } else { None };
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
pub(super) static BUILTINS: &[Builtin] =
    &section("apply", "Calling").of([frame("apply", CORE, "f c | f x & xs c", apply)
        .at_least(0)
        .doc("Call a function with a collection spread as its last arguments")
        .example("(apply + 1 2 [3 4])", "10")
        .example("(apply + nil)", "0")
        .example(r#"(apply str ["a" "b"])"#, r#""ab""#)
        .example("(apply map vector [[1 2] [3 4]])", "[[1 3] [2 4]]")]);
