//! `reverse`, `subseq`, `rsubseq`.

use crate::builtins::access::reversed;
use crate::builtins::support::{Builder, elements};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Value, Vector, compare};
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

/// One bound of `subseq`: a test and its operand.
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

/// The key of an element of a map or a set.
fn key_of(is_map: bool, item: &Value) -> Value {
    match item {
        Value::Vector(entry) if is_map => entry.get(0).unwrap_or_default(),
        _ => item.clone(),
    }
}

/// The entries of a map or the elements of a set, ascending or descending, and whether it is a map.
fn all(ctx: &mut Ctx<'_>, name: &str, args: &[Value], descending: bool) -> Result<(Vector, bool)> {
    let (Value::Map(_) | Value::Set(_)) = &args[0] else { return Err(Error::argument_types(name, args)) };
    let all = elements(ctx, args[0].clone())?.unwrap_or_default();
    let all = if descending { reversed(ctx, &all)? } else { all };
    Ok((all, matches!(args[0], Value::Map(_))))
}

fn test(name: &str, args: &[Value], at: usize, key: &Value) -> Result<bool> {
    satisfies(&args[at], key, &args[at + 1]).ok_or_else(|| Error::argument_types(name, args))
}

/// Those whose keys satisfy the test.
fn satisfying(ctx: &mut Ctx<'_>, name: &str, args: &[Value], descending: bool) -> Result<Option<Vector>> {
    let (all, is_map) = all(ctx, name, args, descending)?;
    let mut out = Builder::new();
    for item in all {
        ctx.charge(1)?;
        if test(name, args, 1, &key_of(is_map, &item))? {
            out.push(item)?;
        }
    }
    // As in Clojure: what walks on to the first one finds none, what walks on from there has an empty part.
    let onward = matches!(&args[1], Value::Builtin(test) if test.name.starts_with('<') == descending);
    Ok(if out.is_empty() && onward { None } else { Some(out.take_vector()) })
}

/// As Clojure has it: from the key of the one test on in the direction of the walk, without the first one if it does not
/// satisfy that test, as long as the other test is satisfied.
fn between(ctx: &mut Ctx<'_>, name: &str, args: &[Value], descending: bool) -> Result<Option<Vector>> {
    let (start, end) = if descending { (3, 1) } else { (1, 3) };
    let before = if descending { Ordering::Greater } else { Ordering::Less };
    for at in [start, end] {
        test(name, args, at, &Value::Nil)?;
    }
    let (all, is_map) = all(ctx, name, args, descending)?;
    let mut out = Builder::new();
    let mut begun = false;
    for item in all {
        ctx.charge(1)?;
        let key = key_of(is_map, &item);
        if !begun {
            if compare(&key, &args[start + 1]) == before {
                continue;
            }
            begun = true;
            if !test(name, args, start, &key)? {
                continue;
            }
        }
        if !test(name, args, end, &key)? {
            break;
        }
        out.push(item)?;
    }
    Ok(begun.then(|| out.take_vector()))
}

fn part(ctx: &mut Ctx<'_>, name: &str, args: &[Value], descending: bool) -> Result<Value> {
    let part = if args.len() == 3 { satisfying } else { between };
    Ok(part(ctx, name, args, descending)?.map(Value::Vector).unwrap_or_default())
}

/// `(subseq c test key)`, `(subseq c test key test key)`
pub(super) fn subseq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    part(ctx, "subseq", args, false)
}

/// `(rsubseq c test key)`, `(rsubseq c test key test key)`
pub(super) fn rsubseq(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    part(ctx, "rsubseq", args, true)
}
