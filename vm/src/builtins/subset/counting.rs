//! `take` and `drop` by count.

use super::grouping::size;
use crate::builtins::access::{is_empty, or_nil};
use crate::builtins::support::check::count;
use crate::builtins::support::transducer;
use crate::builtins::support::{Builder, elements, endless, errors};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Value, Vector};
use std::mem::take as take_out;

/// `(take n c)`
pub(super) fn take(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let Some(n) = count(&args[0]) else { return Err(Error::argument("take", 1, "integer", &args[0])) };
    if args.len() == 1 {
        return transducer(ctx, "take", args);
    }
    if let Value::Str(text) = &args[1] {
        // Only the part that is taken becomes graphemes.
        args[1] = Value::Str(text.slice(0, n));
    }
    let all = ordered(ctx, "take", args)?;
    Ok(Flow::Return(Value::Vector(all.slice(0, n))))
}

/// `(drop n c)`
pub(crate) fn drop(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let Some(n) = count(&args[0]) else { return Err(Error::argument("drop", 1, "integer", &args[0])) };
    if args.len() == 1 {
        return transducer(ctx, "drop", args);
    }
    let all = ordered(ctx, "drop", args)?;
    Ok(Flow::Return(Value::Vector(all.slice(n, all.len()))))
}

/// The collection of `take` and `drop`: anything seqable.
fn ordered(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Vector> {
    match &args[1] {
        value if value.is_seqable() => Ok(elements(ctx, take_out(&mut args[1]))?.unwrap_or_default()),
        value => Err(Error::argument(name, 2, "seqable", value)),
    }
}

/// The collection of `take-last` and `drop-last`, which know only the template TYPES.
fn ordered_last(ctx: &mut Ctx<'_>, shown: &str, args: &mut [Value]) -> Result<Vector> {
    let last = args.len() - 1;
    if !args[last].is_seqable() {
        return Err(Error::argument_types(shown, args));
    }
    Ok(elements(ctx, take_out(&mut args[last]))?.unwrap_or_default())
}

/// `(take-last n c)`
pub(super) fn take_last(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Some(n) = count(&args[0]) else { return Err(Error::argument_types("take-last", args)) };
    let all = ordered_last(ctx, "take-last", args)?;
    let last = all.slice(all.len().saturating_sub(n), all.len());
    Ok(or_nil(Value::Vector(last)))
}

/// `(drop-last c)`, `(drop-last n c)`
pub(super) fn drop_last(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let n = if args.len() == 1 { Some(1) } else { count(&args[0]) };
    let Some(n) = n else { return Err(Error::argument_types("drop-last", args)) };
    let all = ordered_last(ctx, "drop-last", args)?;
    Ok(Value::Vector(all.slice(0, all.len().saturating_sub(n))))
}

/// The elements after the first n of `(name c n)`: of a list as a list, else as a vector.
fn nth_rest(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Value> {
    if !args[0].is_seqable() {
        return Err(errors::not_a_collection(&args[0]));
    }
    let Some(n) = count(&args[1]) else { return Err(Error::argument_types(name, args)) };
    if let Value::List(list) | Value::Queue(list) = &args[0] {
        return Ok(Value::List(list.slice(n, list.len())));
    }
    let all = elements(ctx, take_out(&mut args[0]))?.unwrap_or_default();
    Ok(Value::Vector(all.slice(n, all.len())))
}

/// `(nthrest c n)`: the collection itself if nothing has to be left out, or nothing is there.
pub(super) fn nthrest(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match count(&args[1]) {
        Some(n) if n == 0 || is_empty(&args[0]) == Some(true) => Ok(take_out(&mut args[0])),
        _ => nth_rest(ctx, "nthrest", args),
    }
}

/// `(nthnext c n)`
pub(super) fn nthnext(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args[0].is_nil() {
        return Ok(Value::Nil);
    }
    nth_rest(ctx, "nthnext", args).map(or_nil)
}

/// `(split-at n c)`
pub(super) fn split_at(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Some(n) = count(&args[0]) else { return Err(Error::argument_types("split-at", args)) };
    if !args[1].is_seqable() {
        return Err(errors::not_a_collection(&args[1]));
    }
    let all = elements(ctx, take_out(&mut args[1]))?.unwrap_or_default();
    Ok(Value::pair(Value::Vector(all.slice(0, n)), Value::Vector(all.slice(n, all.len()))))
}

/// `(take-nth n c)`: by no step, or a negative one, it stays at the first element.
pub(crate) fn take_nth(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let step = size("take-nth", "n", &args[0])?;
    if args.len() == 1 {
        // Clojure counts elements by the remainder, which has no sign.
        args[0] = Value::Int(step.saturating_abs());
        return transducer(ctx, "take-nth", args);
    }
    if !args[1].is_seqable() {
        return Err(errors::not_a_collection(&args[1]));
    }
    let all = elements(ctx, take_out(&mut args[1]))?.unwrap_or_default();
    let step = usize::try_from(step).unwrap_or(0);
    if step == 0 {
        return Ok(Flow::Return(match all.first() {
            Some(first) => endless::make(ctx, "repeat", [first]),
            None => Value::Vector(all),
        }));
    }
    let count = all.len().div_ceil(step);
    ctx.charge(count)?;
    let mut out = Builder::with_capacity(count)?;
    for i in 0..count {
        out.push(all.get(i * step).unwrap_or_default())?;
    }
    Ok(Flow::Return(out.take()))
}
