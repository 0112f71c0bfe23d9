//! Reading by position. Maps and sets are read in the order in which they are walked (docs/guide/divergences.md), but by `nth`
//! and the functions of vectors.

use crate::builtins::support::{callee, check, elements, errors};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Graphemes, Str, Value, Vector, last_grapheme};
use std::mem::take;

/// The grapheme of a text at an index.
pub(in crate::builtins) fn grapheme_at(text: &Str, index: usize) -> Option<Value> {
    if index == 0 {
        // Needs no count of the whole text.
        return Graphemes::new(text.as_str()).next().map(|(_, first)| Value::str(first));
    }
    if index >= text.len() { None } else { Some(Value::Str(text.slice(index, index + 1))) }
}

/// The element at `index` of a vector, list or string; `None` when there is none, or when it is none of these.
fn element(value: &Value, index: usize) -> Option<Value> {
    match value {
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => vector.get(index),
        Value::Str(text) => grapheme_at(text, index),
        _ => None,
    }
}

/// The elements of anything seqable; `nil` is empty. Refuses anything else under the name of the function.
fn positional(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Vector> {
    if !args[0].is_seqable() {
        return Err(Error::argument_types(name, args));
    }
    Ok(elements(ctx, take(&mut args[0]))?.unwrap_or_default())
}

/// The element at `index` of anything seqable.
fn element_of(name: &str, args: &[Value], index: usize) -> Result<Value> {
    let found = match &args[0] {
        value @ (Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Str(_) | Value::Nil) => {
            element(value, index)
        }
        Value::Map(map) => map.iter().nth(index).map(|(key, value)| entry(key, value)),
        Value::Set(set) => set.iter().nth(index).cloned(),
        _ => return Err(Error::argument_types(name, args)),
    };
    Ok(found.unwrap_or_default())
}

fn entry(key: &Value, value: &Value) -> Value {
    Value::pair(key.clone(), value.clone())
}

/// `nil` for an empty list or vector.
pub(crate) fn or_nil(sequence: Value) -> Value {
    match sequence {
        Value::Vector(items) | Value::List(items) | Value::Queue(items) if items.is_empty() => Value::Nil,
        sequence => sequence,
    }
}

/// `(first c)`
pub(super) fn first(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    element_of("first", args, 0)
}

/// `(second c)`
pub(super) fn second(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    element_of("second", args, 1)
}

/// `(last c)`
pub(super) fn last(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => {
            Ok(vector.last().unwrap_or_default())
        }
        Value::Str(text) => Ok(last_grapheme(text.as_str()).map(Value::str).unwrap_or_default()),
        Value::Nil => Ok(Value::Nil),
        Value::Map(map) => {
            Ok(map.iter().next_back().map(|(key, value)| entry(key, value)).unwrap_or_default())
        }
        Value::Set(set) => Ok(set.iter().next_back().cloned().unwrap_or_default()),
        _ => Err(Error::argument_types("last", args)),
    }
}

/// `(nth c i)`, `(nth c i default)`
pub(super) fn nth(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let index = match (&args[0], &args[1]) {
        (Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Str(_) | Value::Nil, Value::Int(i)) => {
            usize::try_from(*i).ok()
        }
        (Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Str(_) | Value::Nil, other)
            if other.is_number() =>
        {
            check::position(other).and_then(|i| usize::try_from(i).ok())
        }
        (_, Value::Map(_)) => return Err(errors::no_maps("nth")),
        _ => return Err(Error::argument_types("nth", args)),
    };
    let found = index.and_then(|index| element(&args[0], index));
    Ok(found.unwrap_or_else(|| args.get_mut(2).map(take).unwrap_or_default()))
}

/// Everything after the first element: of a list as a list, else as a vector.
fn behind_first(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Value> {
    if let Value::List(list) | Value::Queue(list) = &args[0] {
        return Ok(Value::List(list.slice(1, list.len())));
    }
    let all = positional(ctx, name, args)?;
    Ok(Value::Vector(all.slice(1, all.len())))
}

/// `(rest c)`
pub(super) fn rest(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    behind_first(ctx, "rest", args)
}

/// `(next c)`
pub(super) fn next(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    behind_first(ctx, "next", args).map(or_nil)
}

/// `(butlast c)`
pub(super) fn butlast(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let all = positional(ctx, "butlast", args)?;
    Ok(or_nil(Value::Vector(all.slice(0, all.len().saturating_sub(1)))))
}

/// The root of `ffirst` and its kin: anything seqable.
fn root(ctx: &mut Ctx<'_>, name: &str, args: &[Value]) -> Result<Vector> {
    match &args[0] {
        Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) => Ok(vector.clone()),
        value if value.is_seqable() => Ok(elements(ctx, value.clone())?.unwrap_or_default()),
        _ => Err(Error::argument_types(name, args)),
    }
}

/// The first element of the root, for functions that continue inside it; that of a string has no elements.
fn inner(ctx: &mut Ctx<'_>, name: &str, args: &[Value]) -> Result<Value> {
    let inner = match &args[0] {
        Value::Str(text) if !text.as_str().is_empty() => return Err(Error::argument_types(name, args)),
        _ => root(ctx, name, args)?.get(0).unwrap_or_default(),
    };
    if inner.is_seqable() || inner.is_endless() { Ok(inner) } else { Err(Error::argument_types(name, args)) }
}

/// `(ffirst v)`
pub(super) fn ffirst(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let inner = inner(ctx, "ffirst", args)?;
    if inner.is_endless() {
        return Ok(Flow::TailCall(ctx.library().required("first"), callee::one(inner)));
    }
    element_of("ffirst", &[inner], 0).map(Flow::Return)
}

/// `(fnext v)`
pub(super) fn fnext(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(root(ctx, "fnext", args)?.get(1).unwrap_or_default())
}

/// `(nfirst v)`
pub(super) fn nfirst(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let inner = inner(ctx, "nfirst", args)?;
    if inner.is_endless() {
        return Ok(Flow::TailCall(ctx.library().required("next"), callee::one(inner)));
    }
    next(ctx, &mut [inner]).map(Flow::Return)
}

/// `(nnext v)`
pub(super) fn nnext(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let all = root(ctx, "nnext", args)?;
    Ok(or_nil(args[0].sequence_like(all.slice(2, all.len()))))
}

/// `(peek v)`
pub(super) fn peek(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Vector(vector) => Ok(vector.last().unwrap_or_default()),
        Value::List(list) | Value::Queue(list) => Ok(list.first().unwrap_or_default()),
        Value::Nil => Ok(Value::Nil),
        _ => Err(Error::argument_types("peek", args)),
    }
}

/// `(pop v)`
pub(super) fn pop(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match take(&mut args[0]) {
        Value::Nil => Ok(Value::Nil),
        Value::Vector(items) | Value::List(items) if items.is_empty() => Ok(Value::Nil),
        Value::Vector(mut vector) => {
            vector.pop();
            Ok(Value::Vector(vector))
        }
        Value::List(mut list) => {
            list.pop_front();
            Ok(Value::List(list))
        }
        Value::Queue(mut queue) => {
            queue.pop_front();
            Ok(Value::Queue(queue))
        }
        other => Err(Error::argument_types("pop", &[other])),
    }
}

/// `(subvec v a)`, `(subvec v a b)`
pub(super) fn subvec(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let bound = |value: &Value| check::position(value).map(|i| usize::try_from(i).unwrap_or(0));
    if let (Value::Vector(vector), Some(from)) = (&args[0], bound(&args[1])) {
        match args.get(2).map(bound) {
            None => return Ok(Value::Vector(vector.slice(from, vector.len()))),
            Some(Some(to)) => return Ok(Value::Vector(vector.slice(from, to))),
            Some(None) => {}
        }
    }
    match &args[0] {
        Value::List(_) | Value::Queue(_) => Err(errors::no_index("subvec")),
        _ => Err(Error::argument_types("subvec", args)),
    }
}

/// `(rseq c)`
pub(super) fn rseq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !matches!(args[0], Value::Vector(_) | Value::Map(_) | Value::Set(_)) {
        return Err(Error::argument_types("rseq", args));
    }
    let all = elements(ctx, take(&mut args[0]))?.unwrap_or_default();
    Ok(or_nil(Value::Vector(reversed(ctx, &all)?)))
}

/// The elements in reverse order; charges a step for each.
pub(crate) fn reversed(ctx: &mut Ctx<'_>, all: &Vector) -> Result<Vector> {
    ctx.charge(all.len())?;
    let mut out = crate::builtins::support::Builder::with_capacity(all.len())?;
    for item in all.iter().rev() {
        out.push(item)?;
    }
    Ok(out.take_vector())
}
