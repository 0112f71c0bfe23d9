//! Writing: `assoc`, `dissoc`, `merge`, `hash-map` and its kin.

use super::read::entry_parts;
use crate::builtins::support::adding::{conj_one, is_target};
use crate::builtins::support::{errors, order};
use crate::error::{Error, Reason, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::value::{Map, Value, Vector, identical};
use std::mem::take;

/// An index into `vector` at which a value may be put: that of an element, or the one after the last. `refused` makes the error
/// for a value that is no index at all.
pub(super) fn writable_index(
    vector: &Vector,
    index: &Value,
    refused: impl FnOnce() -> Error,
) -> Result<usize> {
    let index = match index {
        Value::Int(i) => usize::try_from(*i).ok(),
        _ => None,
    };
    let Some(index) = index else { return Err(refused()) };
    if index > vector.len() {
        let text = format!("index {index} out of bounds for list of length {}", vector.len());
        return Err(Error::runtime(text));
    }
    Ok(index)
}

/// Puts a value at an index that [`writable_index`] has accepted.
pub(super) fn put(vector: &mut Vector, index: usize, value: Value) {
    if index == vector.len() { vector.push(value) } else { vector.set(index, value) }
}

/// `(assoc m k v & kvs)`
pub(super) fn assoc(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if args.len() < 3 || args.len().is_multiple_of(2) {
        let text = format!("assoc requires a map or list and key-value pairs, got {} args", args.len());
        return Err(Error::runtime(text));
    }
    ctx.charge(args.len() / 2)?;
    match take(&mut args[0]) {
        Value::Map(map) => Ok(Value::Map(assoc_map(map, &mut args[1..]))),
        Value::Nil => Ok(Value::Map(assoc_map(Map::new(), &mut args[1..]))),
        Value::Vector(mut vector) => {
            for pair in (1..args.len()).step_by(2) {
                let index = writable_index(&vector, &args[pair], || {
                    let mut shown = args.to_vec();
                    shown[0] = Value::Vector(Vector::new());
                    Error::argument_types("assoc", &shown)
                })?;
                put(&mut vector, index, take(&mut args[pair + 1]));
                meter::uncharged(1);
            }
            Ok(Value::Vector(vector))
        }
        Value::List(_) | Value::Queue(_) => Err(errors::no_index("assoc")),
        other => Err(Error::argument("assoc", 1, "map or list", &other)),
    }
}

fn assoc_map(mut map: Map, pairs: &mut [Value]) -> Map {
    for pair in pairs.chunks_exact_mut(2) {
        meter::uncharged(1);
        map.insert_flexible(take(&mut pair[0]), take(&mut pair[1]));
    }
    map
}

/// `(dissoc m & ks)`
pub(super) fn dissoc(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    ctx.charge(args.len())?;
    match take(&mut args[0]) {
        Value::Nil => Ok(Value::Nil),
        Value::Map(mut map) => {
            for key in &args[1..] {
                meter::uncharged(1);
                map.remove_flexible(key);
            }
            Ok(Value::Map(map))
        }
        other => Err(Error::argument("dissoc", 1, "map", &other)),
    }
}

/// The key under which an entry of `from` goes into `into`: that of the entry which a read would find (ruling 12).
/// If `from` has an entry of its own for that key too, they are two entries, and stay so.
pub(super) fn merged_key(into: &Map, from: &Map, key: &Value) -> Option<Value> {
    let found = into.key_flexible(key)?;
    if !identical(&found, key) && from.get(&found).is_some() { None } else { Some(found) }
}

/// `(merge & ms)`: adds the rest to the first one, as `conj` does, unless there is nothing but `nil` and `false`.
pub(super) fn merge(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if !args.iter().any(Value::is_truthy) {
        return Ok(Value::Nil);
    }
    let Some((first, others)) = args.split_first_mut() else { return Ok(Value::Nil) };
    let mut merged = take(first);
    for (i, other) in others.iter_mut().enumerate() {
        if !merged.is_truthy() {
            merged = Value::Map(Map::new());
        }
        if !is_target(&merged) {
            return Err(Error::argument("merge", 1, "map", &merged));
        }
        match (&mut merged, take(other)) {
            (Value::Map(map), Value::Map(more)) if map.is_empty() => *map = more,
            (Value::Map(map), Value::Map(more)) => merge_into(ctx, map, more)?,
            (Value::Map(_), Value::Nil) => {}
            (Value::Map(map), item) => {
                let Some((key, value)) = entry_parts(&item) else {
                    return Err(Error::argument("merge", i + 2, "map", &item));
                };
                ctx.charge(1)?;
                map.insert_flexible(key, value);
            }
            (other, item) => {
                conj_one(ctx, other, item)?;
            }
        }
    }
    Ok(merged)
}

/// Puts all entries of `from` into `into`.
fn merge_into(ctx: &mut Ctx<'_>, into: &mut Map, from: Map) -> Result<()> {
    ctx.charge(from.len())?;
    ctx.reserve(from.len().saturating_mul(2 * Map::ENTRY_BYTES))?;
    for (key, value) in from.iter() {
        let key = merged_key(into, &from, key).unwrap_or_else(|| key.clone());
        into.insert(key, value.clone());
    }
    Ok(())
}

/// Alternating keys and values as a map, the last one of a key winning.
fn from_pairs(ctx: &mut Ctx<'_>, name: &str, args: &mut [Value]) -> Result<Value> {
    if !args.len().is_multiple_of(2) {
        let text = format!("{name} requires an even number of arguments, got {}", args.len());
        return Err(Error::new(Reason::ArityError, text));
    }
    ctx.charge(args.len())?;
    ctx.reserve(args.len().saturating_mul(3 * size_of::<Value>()))?;
    let mut entries = Vec::with_capacity(args.len() / 2);
    for piece in meter::pieces_mut(args) {
        // A piece has whole pairs: all but the last have an even number of items.
        entries.extend(piece.chunks_exact_mut(2).map(|pair| (take(&mut pair[0]), take(&mut pair[1]))));
    }
    Ok(Value::Map(Map::from_entries(entries)))
}

/// `(hash-map & kvs)`
pub(super) fn hash_map(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    from_pairs(ctx, "hash-map", args)
}

/// `(array-map & kvs)`
pub(super) fn array_map(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    from_pairs(ctx, "array-map", args)
}

/// `(sorted-map & kvs)`
pub(super) fn sorted_map(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    from_pairs(ctx, "sorted-map", args)
}

/// `(sorted-map-by cmp & kvs)`
pub(super) fn sorted_map_by(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    order::natural("sorted-map-by", "(sort-by key > m)", &args[0])?;
    from_pairs(ctx, "sorted-map-by", &mut args[1..])
}
