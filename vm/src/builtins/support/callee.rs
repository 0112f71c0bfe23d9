//! Calls in positions that accept functions, string keys and paths (functions.md 0.4).

use crate::error::Result;
use crate::machine::{Args, CallNow, Ctx};
use crate::value::Value;

/// As [`Ctx::call_now`]; a string or a vector reads that key or path of the first argument. Families refuse
/// strings and vectors before, where their positions do not accept them.
#[inline]
pub(crate) fn call(ctx: &mut Ctx<'_>, function: &Value, args: Args) -> Result<CallNow> {
    match function {
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

/// What a read of a key finds in `item`: flexible, with a path for a vector (ruling 13). A path that starts at a
/// vector steps by index.
pub(crate) fn read_path(ctx: &mut Ctx<'_>, item: &Value, key: &Value) -> Result<Option<Value>> {
    let (Value::Vector(start), Value::Vector(path)) = (item, key) else {
        return match key {
            Value::Vector(path) if path.is_empty() && !matches!(item, Value::Map(_)) => {
                Ok(Some(item.clone()))
            }
            _ => ctx.lookup(item, key),
        };
    };
    let Some(first) = path.get(0) else { return Ok(Some(item.clone())) };
    let found = match first {
        Value::Int(i) => usize::try_from(i).ok().and_then(|i| start.get(i)),
        _ => None,
    };
    let Some(found) = found else { return Ok(None) };
    // Every step goes one level down and the rest of the path is looked up there, one vector at a time.
    let mut here = found;
    for step in path.iter().skip(1) {
        ctx.charge(1)?;
        let next = match (&here, &step) {
            (Value::Map(_), _) => ctx.lookup(&here, &step)?,
            (Value::Vector(vector), Value::Int(i)) => usize::try_from(*i).ok().and_then(|i| vector.get(i)),
            _ => None,
        };
        match next {
            Some(next) => here = next,
            None => return Ok(None),
        }
    }
    Ok(Some(here))
}
