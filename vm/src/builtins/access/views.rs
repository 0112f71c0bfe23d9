//! Sequence views, sizes, and the building of vectors from arguments.

use crate::builtins::support::{check, elements, sequence};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::meter;
use crate::value::{Map, Set, Value, Vector};
use std::mem::take;

/// `(seq c)`
pub(super) fn seq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args[0].is_seqable() {
        return Err(Error::argument_types("seq", args));
    }
    let sequence = match take(&mut args[0]) {
        list @ Value::List(_) => list,
        Value::Queue(items) => Value::List(items),
        other => Value::Vector(elements(ctx, other)?.unwrap_or_default()),
    };
    Ok(if is_empty(&sequence) == Some(true) { Value::Nil } else { sequence })
}

/// `(count c)`
pub(super) fn count(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match sequence::count(&args[0]) {
        Some(n) => Ok(Value::Int(n as i64)),
        None => Err(Error::argument("count", 1, "seqable", &args[0])),
    }
}

/// `(bounded-count n c)`: everything but text is counted already.
pub(super) fn bounded_count(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let found = match (check::count(&args[0]), sequence::count(&args[1])) {
        (Some(limit), Some(n)) if matches!(args[1], Value::Str(_)) => n.min(limit),
        (Some(_), Some(n)) => n,
        _ => return Err(Error::argument_types("bounded-count", args)),
    };
    Ok(Value::Int(found as i64))
}

/// Whether a collection or text has no elements; `None` for any other value.
pub(crate) fn is_empty(value: &Value) -> Option<bool> {
    Some(match value {
        Value::Nil => true,
        Value::Vector(v) | Value::List(v) | Value::Queue(v) => v.is_empty(),
        Value::Str(s) => s.as_str().is_empty(),
        Value::Map(m) => m.is_empty(),
        Value::Set(s) => s.is_empty(),
        _ => return None,
    })
}

/// `(empty? c)`
pub(super) fn empty_p(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    is_empty(&args[0]).map(Value::bool).ok_or_else(|| Error::argument_types("empty?", args))
}

/// `(not-empty c)`
pub(super) fn not_empty(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match is_empty(&args[0]) {
        Some(true) => Ok(Value::Nil),
        Some(false) => Ok(take(&mut args[0])),
        None => Err(Error::argument_types("not-empty", args)),
    }
}

/// `(empty c)`
pub(super) fn empty(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(match &args[0] {
        Value::Queue(_) => Value::Queue(Vector::new()),
        sequence @ (Value::Vector(_) | Value::List(_)) => sequence.sequence_like(Vector::new()),
        Value::Map(_) => Value::Map(Map::new()),
        Value::Set(_) => Value::Set(Set::new()),
        series if series.is_endless() => Value::list([]),
        _ => Value::Nil,
    })
}

/// `(vec c)`
pub(super) fn vec(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        value if value.is_seqable() => {
            Ok(Value::Vector(elements(ctx, take(&mut args[0]))?.unwrap_or_default()))
        }
        _ => Err(Error::argument_types("vec", args)),
    }
}

/// The arguments, taken out.
fn arguments(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Vec<Value>> {
    ctx.charge(args.len())?;
    ctx.reserve(size_of_val(args))?;
    let mut all = Vec::with_capacity(args.len());
    for piece in meter::pieces_mut(args) {
        all.extend(piece.iter_mut().map(take));
    }
    Ok(all)
}

/// `(vector & xs)`
pub(super) fn vector(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    arguments(ctx, args).map(Value::vector)
}

/// `(list & xs)`
pub(super) fn list(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    arguments(ctx, args).map(Value::list)
}

/// `(list* x & xs c)`
pub(super) fn list_star(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let last = args.len() - 1;
    if !args[last].is_seqable() {
        return Err(Error::argument_types("list*", args));
    }
    let all = elements(ctx, take(&mut args[last]))?.unwrap_or_default();
    ctx.charge(last)?;
    let mut front: Vector = args[..last].iter_mut().map(take).collect();
    ctx.reserve(front.len().min(all.len()).saturating_mul(size_of::<Value>()))?;
    front.append(&all);
    // Alone, the collection is what `seq` makes of it.
    Ok(if last == 0 && front.is_empty() { Value::Nil } else { Value::List(front) })
}

/// `(doall c)`, `(doall n c)`: everything finite is there already.
pub(super) fn doall(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    Ok(Flow::Return(args.last_mut().map(take).unwrap_or_default()))
}

/// `(dorun c)`, `(dorun n c)`
pub(super) fn dorun(_: &mut Ctx<'_>, _: &mut [Value]) -> Result<Flow> {
    Ok(Flow::Return(Value::Nil))
}

/// `(realized? x)`
pub(super) fn realized(_: &mut Ctx<'_>, _: &mut [Value]) -> Result<Value> {
    Ok(Value::True)
}
