//! Calls in positions that accept functions, string keys and paths (functions.md 0.4).

use crate::error::Result;
use crate::machine::{Args, CallNow, Ctx};
use crate::value::Value;

/// As [`Ctx::call_now`]; a string reads that key of the first argument, and a vector that path, unless the argument is a
/// number and so an index of the vector. Families refuse strings before, where their positions do not accept them.
#[inline]
pub(crate) fn call(ctx: &mut Ctx<'_>, function: &Value, args: Args) -> Result<CallNow> {
    match function {
        Value::Vector(_) if args.first().is_some_and(Value::is_number) => ctx.call_now(function, args),
        Value::Str(_) | Value::Vector(_) => {
            ctx.charge(1)?;
            let item = args.first().unwrap_or(&Value::Nil);
            Ok(CallNow::Done(read_path(ctx, item, function)?.unwrap_or_default()))
        }
        _ => ctx.call_now(function, args),
    }
}

/// One argument as call arguments.
#[inline]
pub(crate) fn one(value: Value) -> Args {
    let mut args = Args::new();
    args.push(value);
    args
}

/// Two arguments as call arguments.
#[inline]
pub(crate) fn two(a: Value, b: Value) -> Args {
    let mut args = Args::new();
    args.push(a);
    args.push(b);
    args
}

/// The value that a read of a key finds in `item`: flexible; the exact key first and then a path for a vector (ruling 13).
fn read_path(ctx: &mut Ctx<'_>, item: &Value, key: &Value) -> Result<Option<Value>> {
    if let Some(found) = ctx.lookup(item, key) {
        return Ok(Some(found));
    }
    let Value::Vector(path) = key else { return Ok(None) };
    let mut here = item.clone();
    for (i, step) in path.iter().enumerate() {
        if i > 0 {
            ctx.charge(1)?;
        }
        let next = match &here {
            Value::Map(_) => ctx.lookup(&here, &step),
            Value::Vector(vector) => vector.at(&step),
            _ => None,
        };
        match next {
            Some(next) => here = next,
            None => return Ok(None),
        }
    }
    Ok(Some(here))
}
