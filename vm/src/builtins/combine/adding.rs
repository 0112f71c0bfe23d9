//! Adding elements: `conj`, `cons`, `into`, `concat`.

use crate::builtins::support::adding::{append, conj_one, insert_all, is_target, pour};
use crate::builtins::support::{cursor, elements};
use crate::builtins::transducers;
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow};
use crate::value::{Value, Vector};
use std::mem::take;

const SLOT: usize = size_of::<Value>();

/// `(conj)`, `(conj c & xs)`
pub(super) fn conj(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Some((target, items)) = args.split_first_mut() else { return Ok(Value::vector([])) };
    if items.is_empty() {
        return Ok(take(target));
    }
    let fits = |item: &Value| match item {
        Value::Vector(pair) | Value::List(pair) => pair.len() == 2,
        item => matches!(item, Value::Map(_) | Value::Nil),
    };
    if !is_target(target) || matches!(target, Value::Map(_)) && !items.iter().all(fits) {
        return Err(Error::argument_types("conj", args));
    }
    let mut target = take(target);
    for item in items {
        ctx.reserve(SLOT)?;
        conj_one(ctx, &mut target, take(item))?;
    }
    Ok(target)
}

/// `(cons x c)`
pub(super) fn cons(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args[1].is_seqable() {
        return Err(Error::argument_types("cons", args));
    }
    let mut all = elements(ctx, take(&mut args[1]))?.unwrap_or_default();
    all.push_front(take(&mut args[0]));
    Ok(Value::List(all))
}

/// `(concat & cs)`
pub(super) fn concat(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    for (i, arg) in args.iter().enumerate() {
        if !arg.is_seqable() {
            return Err(Error::argument("concat", i + 1, "seqable", arg));
        }
    }
    let mut all = Vector::new();
    for arg in args {
        let more = elements(ctx, take(arg))?.unwrap_or_default();
        append(ctx, &mut all, &more)?;
    }
    Ok(Value::Vector(all))
}

/// `(into)`, `(into to)`, `(into to from)`, `(into to xf from)`
pub(super) fn into(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    match args {
        [] => return Ok(Flow::Return(Value::vector([]))),
        [only] => return Ok(Flow::Return(take(only))),
        [_, _] => {}
        _ => return transducers::into(ctx, args),
    }
    if !args[1].is_seqable() {
        return Err(Error::argument("into", 2, "seqable", &args[1]));
    }
    if !is_target(&args[0]) {
        return Err(Error::argument_types("into", args));
    }
    let mut target = take(&mut args[0]);
    match (&mut target, take(&mut args[1])) {
        (Value::Vector(vector) | Value::Queue(vector), from) => {
            let more = elements(ctx, from)?.unwrap_or_default();
            append(ctx, vector, &more)?;
        }
        (Value::Map(map), Value::Map(more)) => insert_all(ctx, map, &more)?,
        (target, from) => {
            let Some(mut items) = cursor(ctx, &from)? else {
                return Err(Error::argument("into", 2, "seqable", &from));
            };
            while let Some(item) = items.advance() {
                ctx.reserve(0)?;
                pour(ctx, target, item)?;
            }
        }
    }
    Ok(Flow::Return(target))
}
