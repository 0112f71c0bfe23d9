//! `set`, `disj`, `union`, `intersection`, `difference` and the questions about subsets.
//!
//! As in Clojure, `nil` and collections other than sets may stand among the operands: `union` conjoins the elements
//! of the smaller operand to the larger one, `intersection` and `difference` ask `contains?` of the other operand,
//! which for a vector means its indices. A list has none, and its elements count.

use super::super::maps::entry_parts;
use crate::builtins::support::{cursor, order, sequence};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{Cursor, Map, Set, Value, Vector};
use std::mem::take;

/// `(set c)`
pub(super) fn set(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::Set(_) = &args[0] {
        return Ok(take(&mut args[0]));
    }
    match elements(ctx, &args[0])? {
        Some(items) => collect(ctx, items),
        None => Err(Error::argument_types("set", args)),
    }
}

/// The elements of a seqable value; maps give entries.
fn elements(ctx: &mut Ctx<'_>, value: &Value) -> Result<Option<Cursor>> {
    if let Value::Map(map) = value {
        ctx.reserve(map.len().saturating_mul(sequence::PAIR))?;
    }
    cursor(ctx, value)
}

fn collect(ctx: &mut Ctx<'_>, mut items: Cursor) -> Result<Value> {
    ctx.charge(items.remaining())?;
    ctx.reserve(items.remaining().saturating_mul(2 * Set::ELEMENT_BYTES))?;
    let mut all = Vec::with_capacity(items.remaining());
    while let Some(item) = items.advance() {
        all.push(item);
    }
    Ok(Value::Set(all.into_iter().collect()))
}

/// `(hash-set & xs)`, `(sorted-set & xs)`
pub(super) fn hash_set(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    ctx.reserve(args.len().saturating_mul(2 * Set::ELEMENT_BYTES))?;
    let mut all = Vec::with_capacity(args.len());
    for piece in meter::pieces_mut(args) {
        all.extend(piece.iter_mut().map(take));
    }
    Ok(Value::Set(all.into_iter().collect()))
}

/// `(sorted-set-by cmp & xs)`
pub(super) fn sorted_set_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    order::natural("sorted-set-by", "(sort > s)", &args[0])?;
    hash_set(ctx, &mut args[1..])
}

/// `(disj s & xs)`
pub(super) fn disj(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    match &args[0] {
        Value::Set(_) => {}
        Value::Nil => return Ok(Value::Nil),
        _ if args.len() == 1 => return Ok(take(&mut args[0])),
        _ => return Err(Error::argument_types("disj", args)),
    }
    let Value::Set(mut set) = take(&mut args[0]) else { unreachable!("it is a set") };
    for item in &args[1..] {
        meter::uncharged(1);
        set.remove(item);
    }
    Ok(Value::Set(set))
}

/// The number of elements of an operand; refuses a value that cannot be one.
fn size(name: &str, a: &Value, b: &Value, operand: &Value) -> Result<usize> {
    sequence::count(operand).ok_or_else(|| Error::argument_types(name, &[a.clone(), b.clone()]))
}

/// Folds the operands from the left with an operation of two.
fn fold(
    ctx: &mut Ctx<'_>,
    args: &mut [Value],
    operation: fn(&mut Ctx<'_>, Value, Value) -> Result<Value>,
) -> Result<Value> {
    let Some((first, others)) = args.split_first_mut() else { return Ok(Value::Set(Set::new())) };
    let mut result = take(first);
    for other in others {
        result = operation(ctx, result, take(other))?;
    }
    Ok(result)
}

/// `(union & ss)`
///
/// Of more than two, the largest one takes in the others; of the largest ones, the last.
pub(super) fn union(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args.len() > 2 {
        ctx.charge(args.len())?;
        let (mut at, mut most) = (0, 0);
        for (i, operand) in args.iter().enumerate() {
            meter::uncharged(1);
            let Some(count) = sequence::count(operand) else {
                return Err(Error::argument_types("union", args));
            };
            if count >= most {
                (at, most) = (i, count);
            }
        }
        let mut result = take(&mut args[at]);
        for other in args[..at].iter().chain(&args[at + 1..]) {
            result = conjoin(ctx, result, other.clone())?;
        }
        return Ok(result);
    }
    fold(ctx, args, |ctx, a, b| {
        let smaller = size("union", &a, &b, &a)? < size("union", &a, &b, &b)?;
        let (into, from) = if smaller { (b, a) } else { (a, b) };
        conjoin(ctx, into, from)
    })
}

/// Adds all elements of `from` to `into`.
fn conjoin(ctx: &mut Ctx<'_>, into: Value, from: Value) -> Result<Value> {
    let types = |into: &Value, from: &Value| Error::argument_types("union", &[into.clone(), from.clone()]);
    let Some(mut items) = elements(ctx, &from)? else { return Err(types(&into, &from)) };
    let more = items.remaining();
    ctx.charge(more)?;
    ctx.reserve(more.saturating_mul(2 * Map::ENTRY_BYTES))?;
    match into {
        Value::Set(mut set) => {
            while let Some(item) = items.advance() {
                set.insert(item);
            }
            Ok(Value::Set(set))
        }
        Value::Nil if more == 0 => Ok(Value::Nil),
        Value::Vector(mut vector) => {
            while let Some(item) = items.advance() {
                vector.push(item);
            }
            Ok(Value::Vector(vector))
        }
        Value::List(mut list) => {
            while let Some(item) = items.advance() {
                list.push_front(item);
            }
            Ok(Value::List(list))
        }
        Value::Map(mut map) => {
            while let Some(item) = items.advance() {
                let Some((key, value)) = entry_parts(&item) else {
                    return Err(types(&Value::Map(map), &from));
                };
                map.insert(key, value);
            }
            Ok(Value::Map(map))
        }
        other => Err(types(&other, &from)),
    }
}

/// `contains?` as Clojure has it for the operand of a set function: elements of sets, keys of maps, indices of
/// vectors and strings.
fn contains(collection: &Value, item: &Value) -> bool {
    match collection {
        Value::Set(set) => set.contains(item),
        Value::Map(map) => map.get(item).is_some(),
        Value::Vector(vector) => item.is_index(vector.len()),
        Value::Str(text) => item.is_index(text.len()),
        _ => false,
    }
}

/// Removes the elements of `set` for which `doomed` says so.
fn remove_where(ctx: &mut Ctx<'_>, mut set: Set, doomed: impl Fn(&Value) -> bool) -> Result<Value> {
    ctx.charge(set.len())?;
    let gone: Vec<Value> = set.iter().filter(|item| doomed(item)).cloned().collect();
    for item in &gone {
        set.remove(item);
    }
    Ok(Value::Set(set))
}

/// `(intersection s & ss)`
pub(super) fn intersection(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold(ctx, args, |ctx, a, b| {
        let swap = size("intersection", &a, &b, &b)? < size("intersection", &a, &b, &a)?;
        let (smaller, larger) = if swap { (b, a) } else { (a, b) };
        match smaller {
            Value::Nil => Ok(Value::Nil),
            Value::Set(set) if !matches!(larger, Value::List(_)) => {
                remove_where(ctx, set, |item| !contains(&larger, item))
            }
            other => Err(Error::argument_types("intersection", &[other, larger])),
        }
    })
}

/// `(difference s & ss)`
pub(super) fn difference(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    fold(ctx, args, |ctx, a, b| {
        let fewer = size("difference", &a, &b, &a)? < size("difference", &a, &b, &b)?;
        match a {
            Value::Nil => Ok(Value::Nil),
            Value::Set(set) if fewer && !matches!(b, Value::List(_)) => {
                remove_where(ctx, set, |item| contains(&b, item))
            }
            Value::Set(mut set) => {
                let Some(mut items) = elements(ctx, &b)? else { return Ok(Value::Set(set)) };
                ctx.charge(items.remaining())?;
                while let Some(item) = items.advance() {
                    set.remove(&item);
                }
                Ok(Value::Set(set))
            }
            other => Err(Error::argument_types("difference", &[other, b])),
        }
    })
}

/// Whether `whole` contains every element of `part`.
fn includes(ctx: &mut Ctx<'_>, name: &str, args: &[Value], part: usize, whole: usize) -> Result<Value> {
    let (part, whole) = (&args[part], &args[whole]);
    let accepted =
        |value: &Value| matches!(value, Value::Set(_) | Value::Vector(_) | Value::Map(_) | Value::Nil);
    if !(accepted(part) || matches!(part, Value::List(_))) || !accepted(whole) {
        return Err(Error::argument_types(name, args));
    }
    let Some(mut items) = elements(ctx, part)? else { return Err(Error::argument_types(name, args)) };
    if items.remaining() > sequence::count(whole).unwrap_or(0) {
        return Ok(Value::False);
    }
    ctx.charge(items.remaining())?;
    while let Some(item) = items.advance() {
        if !contains(whole, &item) {
            return Ok(Value::False);
        }
    }
    Ok(Value::True)
}

/// `(subset? s1 s2)`
pub(super) fn is_subset(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    includes(ctx, "subset?", args, 0, 1)
}

/// `(superset? s1 s2)`
pub(super) fn is_superset(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    includes(ctx, "superset?", args, 1, 0)
}

/// The rows of a relation, which is a set, a vector or a list; `n` counts arguments from 1.
pub(super) fn rows(name: &str, n: usize, value: &Value) -> Result<Cursor> {
    match value {
        Value::Nil => Ok(Cursor::Vector(Vector::new().into_iter())),
        Value::Vector(rows) | Value::List(rows) => Ok(Cursor::Vector(rows.iter())),
        Value::Set(set) => Ok(Cursor::Set(set.clone().into_iter())),
        other => Err(Error::argument(name, n, "set or list of maps", other)),
    }
}
