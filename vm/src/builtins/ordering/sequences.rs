//! `reverse`, `subseq`, `rsubseq`.

use crate::builtins::access::reversed;
use crate::builtins::support::{Builder, elements};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Value, compare};
use std::cmp::Ordering;
use std::mem::take;

/// `(reverse c)`
pub(super) fn reverse(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args[0].is_seqable() {
        return Err(Error::argument_types("reverse", args));
    }
    let all = elements(ctx, take(&mut args[0]))?.unwrap_or_default();
    reversed(ctx, &all).map(Value::List)
}

/// One bound of `subseq`: a test and what it compares with.
fn satisfies(test: &Value, key: &Value, bound: &Value) -> Option<bool> {
    let Value::Builtin(builtin) = test else { return None };
    let order = compare(key, bound);
    Some(match builtin.name {
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        ">=" => order != Ordering::Less,
        _ => return None,
    })
}

/// The entries of a map or the elements of a set whose keys satisfy one or two tests; `None` when there are none.
fn part(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Option<crate::value::Vector>> {
    if !matches!(args[0], Value::Map(_) | Value::Set(_)) {
        return Err(Error::argument_types(name, args));
    }
    let is_map = matches!(args[0], Value::Map(_));
    let all = elements(ctx, args[0].clone())?.unwrap_or_default();
    let mut out = Builder::new();
    for item in all {
        ctx.charge(1)?;
        let key = match &item {
            Value::Vector(entry) if is_map => entry.get(0).unwrap_or_default(),
            _ => item.clone(),
        };
        let mut inside = true;
        for bound in args[1..].chunks(2) {
            match satisfies(&bound[0], &key, &bound[1]) {
                Some(holds) => inside &= holds,
                None => return Err(Error::argument_types(name, args)),
            }
        }
        if inside {
            out.push(item)?;
        }
    }
    Ok(if out.is_empty() { None } else { Some(out.take_vector()) })
}

/// `(subseq c test key)`, `(subseq c test key test key)`
pub(super) fn subseq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    Ok(part(ctx, "subseq", args)?.map(Value::Vector).unwrap_or_default())
}

/// `(rsubseq c test key)`, `(rsubseq c test key test key)`
pub(super) fn rsubseq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match part(ctx, "rsubseq", args)? {
        Some(found) => reversed(ctx, &found).map(Value::Vector),
        None => Ok(Value::Nil),
    }
}
