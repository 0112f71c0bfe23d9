//! Reading: `get`, `get-in`, `find`, `select-keys`, `keys`, `vals`, `entries`, `key`, `val`.

use crate::builtins::access::{grapheme_at, or_nil};
use crate::builtins::support::{Builder, cursor, errors};
use crate::error::{Error, Result};
use crate::machine::{Ctx, keyword_arguments};
use crate::meter;
use crate::value::{Map, Str, Value};
use std::mem::take;

/// The grapheme of a text at an index that may be no index at all.
fn at_position(text: &Str, index: &Value) -> Option<Value> {
    match index {
        Value::Int(i) => grapheme_at(text, usize::try_from(*i).ok()?),
        // As Clojure's `get` of a text, which takes any number.
        Value::Float(x) if x.get() > -1.0 => grapheme_at(text, x.get() as usize),
        _ => None,
    }
}

/// The value that a read of `key` finds in a map, flexibly, by index in a vector or text, or in a set; nothing in anything
/// else.
fn read(ctx: &mut Ctx<'_>, from: &Value, key: &Value) -> Result<Option<Value>> {
    match from {
        Value::Vector(vector) => Ok(vector.at(key)),
        Value::Map(_) => Ok(ctx.lookup(from, key)),
        Value::Set(set) => Ok(set.get(key).cloned()),
        Value::Str(text) => {
            if !matches!(key, Value::Int(0)) {
                ctx.charge(text.as_str().len() / 16)?;
            }
            Ok(at_position(text, key))
        }
        _ => Ok(None),
    }
}

/// Notes a read of a value without keys by a map: its value is `nil` as in Clojure, which is hardly the intention.
fn note_swapped(ctx: &mut Ctx<'_>, name: &str, example: &str, args: &[Value]) {
    if let (Value::Keyword(_) | Value::Str(_) | Value::Vector(_), Value::Map(_)) = (&args[0], &args[1]) {
        ctx.note(Str::from_string(format!(
            "{name}: got ({}, map), its arguments seem to be swapped; it takes the collection first: ({example})",
            args[0].kind_label()
        )));
    }
}

/// `(get m k)`, `(get m k default)`
pub(super) fn get(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match read(ctx, &args[0], &args[1])? {
        Some(found) => Ok(found),
        None => {
            note_swapped(ctx, "get", "get map key", args);
            Ok(args.get_mut(2).map(take).unwrap_or_default())
        }
    }
}

/// `(get-in m path)`, `(get-in m path default)`
pub(super) fn get_in(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Some(mut path) = cursor(ctx, &args[1])? else {
        return Err(Error::argument("get-in", 2, "seqable", &args[1]));
    };
    note_swapped(ctx, "get-in", "get-in map path", args);
    let missing = |args: &mut [Value]| args.get_mut(2).map(take).unwrap_or_default();
    let mut here = take(&mut args[0]);
    while let Some(step) = path.advance() {
        ctx.charge(1)?;
        match read(ctx, &here, &step)? {
            Some(next) => here = next,
            None => return Ok(missing(args)),
        }
    }
    Ok(here)
}

/// `(find m k)`
pub(super) fn find(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if matches!(args[0], Value::List(_) | Value::Queue(_)) {
        return Err(errors::no_index("find"));
    }
    if !matches!(args[0], Value::Map(_) | Value::Vector(_) | Value::Nil) {
        return Err(Error::type_error(format!(
            "type_error: find: {} is not associative; find supports maps and vectors only",
            args[0].kind_label()
        )));
    }
    let found = read(ctx, &args[0], &args[1])?;
    Ok(found.map_or(Value::Nil, |value| Value::pair(take(&mut args[1]), value)))
}

/// `(select-keys m ks)`
pub(super) fn select_keys(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Some(mut keys) = cursor(ctx, &args[1])? else {
        return Err(Error::argument("select-keys", 2, "seqable", &args[1]));
    };
    // Without keys nothing is read, whatever it is.
    if keys.remaining() == 0 {
        return Ok(Value::Map(Map::new()));
    }
    if matches!(args[0], Value::List(_) | Value::Queue(_)) {
        return Err(errors::no_index("select-keys"));
    }
    if !matches!(args[0], Value::Map(_) | Value::Vector(_) | Value::Nil) {
        return Err(Error::argument("select-keys", 1, "map", &args[0]));
    }
    select(ctx, &args[0], &mut keys).map(Value::Map)
}

/// `(seq-to-map-for-destructuring s)`
pub(super) fn map_of_pairs(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Nil => Ok(Value::Map(Map::new())),
        Value::Vector(_) | Value::List(_) | Value::Queue(_) => {
            let mut pairs = take(&mut args[0]);
            keyword_arguments(&mut pairs)?;
            Ok(pairs)
        }
        _ => Err(Error::argument_types("seq-to-map-for-destructuring", args)),
    }
}

/// The entries of `from` under the keys that `keys` gives, in their spelling.
pub(in crate::builtins) fn select(
    ctx: &mut Ctx<'_>,
    from: &Value,
    keys: &mut crate::value::Cursor,
) -> Result<Map> {
    ctx.charge(keys.remaining())?;
    let mut entries = Vec::new();
    while let Some(key) = keys.advance() {
        meter::uncharged(1);
        if let Some(value) = read(ctx, from, &key)? {
            if entries.len() == entries.capacity() {
                ctx.reserve((2 * entries.len()).max(4) * 3 * Map::ENTRY_BYTES)?;
            }
            entries.push((key, value));
        }
    }
    Ok(Map::from_entries(entries))
}

/// Shared by `keys`, `vals` and `entries`: one value for each entry.
fn each_entry(
    ctx: &mut Ctx<'_>,
    map: &Map,
    bytes: usize,
    show: impl Fn(&Value, &Value) -> Value,
) -> Result<Value> {
    ctx.charge(map.len())?;
    ctx.reserve(map.len().saturating_mul(bytes))?;
    let mut out = Builder::with_capacity(map.len())?;
    for (key, value) in map.iter() {
        out.push(show(key, value))?;
    }
    Ok(out.take())
}

/// `(keys m)`
pub(super) fn keys(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Map(map) => each_entry(ctx, map, 0, |key, _| key.clone()).map(or_nil),
        other => parts_of_entries(ctx, "keys", other, |(key, _)| key),
    }
}

/// `(vals m)`
pub(super) fn vals(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Map(map) => each_entry(ctx, map, 0, |_, value| value.clone()).map(or_nil),
        other => parts_of_entries(ctx, "vals", other, |(_, value)| value),
    }
}

/// The keys or values of entries that were filtered, sorted or put into a set: pairs in anything seqable.
fn parts_of_entries(
    ctx: &mut Ctx<'_>,
    name: &str,
    value: &Value,
    part: fn((Value, Value)) -> Value,
) -> Result<Value> {
    let refused = || Error::argument(name, 1, "map", value);
    let Some(mut entries) = cursor(ctx, value)? else { return Err(refused()) };
    ctx.charge(entries.remaining())?;
    let mut parts = Builder::with_capacity(entries.remaining())?;
    while let Some(entry) = entries.advance() {
        parts.push(part(entry_parts(&entry).ok_or_else(refused)?))?;
    }
    Ok(or_nil(parts.take()))
}

/// `(entries m)`
pub(super) fn entries(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Map(map) => {
            let pair = crate::builtins::support::sequence::PAIR;
            each_entry(ctx, map, pair, |key, value| Value::pair(key.clone(), value.clone()))
        }
        _ => Err(Error::argument_types("entries", args)),
    }
}

/// The two parts of a value that can stand for an entry.
pub(in crate::builtins) fn entry_parts(value: &Value) -> Option<(Value, Value)> {
    match value {
        Value::Vector(pair) | Value::List(pair) if pair.len() == 2 => pair.get(0).zip(pair.get(1)),
        _ => None,
    }
}

/// `(key e)`
pub(super) fn key(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    entry_parts(&args[0]).map(|(key, _)| key).ok_or_else(|| Error::argument_types("key", args))
}

/// `(val e)`
pub(super) fn val(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    entry_parts(&args[0]).map(|(_, value)| value).ok_or_else(|| Error::argument_types("val", args))
}
