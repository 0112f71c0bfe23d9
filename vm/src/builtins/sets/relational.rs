//! Relations, that is sets or vectors of maps: `set/select`, `set/project`, `set/rename`, `set/index`, `set/join`;
//! and the functions on keys that they are made of: `rename-keys`, `map-invert`.

use super::super::maps::select;
use super::algebra::rows;
use crate::builtins::support::{Builder, Feed, Sink, Table, check, each};
use crate::error::{Error, Result};
use crate::machine::{Ctx, Flow, portable};
use crate::value::{Cursor, Map, Set, Value, Vector};
use std::mem::take;
use std::ops::ControlFlow;

/// `map` with the keys of `renames` replaced by their values. Keys are found as writes find them (ruling 12), absent
/// ones are ignored, keys that are there already are overwritten.
fn renamed(ctx: &mut Ctx<'_>, map: &Map, renames: &Map) -> Result<Map> {
    ctx.charge(renames.len())?;
    let mut result = map.clone();
    for (old, _) in renames.iter() {
        result.remove_flexible(old);
    }
    for (old, new) in renames.iter() {
        if let Some(value) = map.get_flexible(old) {
            result.insert_flexible(new.clone(), value.clone());
        }
    }
    Ok(result)
}

/// The map of new names in argument `n`.
fn renames<'a>(name: &str, n: usize, args: &'a [Value]) -> Result<&'a Map> {
    match &args[n - 1] {
        Value::Map(map) => Ok(map),
        other => Err(Error::argument(name, n, "map", other)),
    }
}

/// `(rename-keys m renames)`
pub(super) fn rename_keys(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Map(map) => Ok(Value::Map(renamed(ctx, map, renames("rename-keys", 2, args)?)?)),
        other => Err(Error::argument("rename-keys", 1, "map", other)),
    }
}

/// `(map-invert m)`
pub(super) fn map_invert(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Nil => Ok(Value::Map(Map::new())),
        Value::Map(map) => {
            ctx.charge(map.len())?;
            ctx.reserve(map.len().saturating_mul(3 * Map::ENTRY_BYTES))?;
            Ok(Value::Map(map.iter().map(|(key, value)| (value.clone(), key.clone())).collect()))
        }
        other => Err(Error::argument("map-invert", 1, "map", other)),
    }
}

/// Keeps the rows for which a predicate holds.
#[derive(Default)]
pub(crate) struct RowFilter(Builder);

portable!(RowFilter(rows));

impl Sink for RowFilter {
    const KEEPS_ITEM: bool = true;

    fn accept(&mut self, _: &mut Ctx<'_>, item: Value, result: Value) -> Result<ControlFlow<Value>> {
        if result.is_truthy() {
            self.0.push(item)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<Value> {
        set_of(ctx, &mut self.0)
    }
}

/// The collected items, as a set.
fn set_of(ctx: &mut Ctx<'_>, items: &mut Builder) -> Result<Value> {
    ctx.charge(items.len())?;
    ctx.reserve(items.len().saturating_mul(2 * Set::ELEMENT_BYTES))?;
    Ok(Value::Set(items.take_vector().into_iter().collect()))
}

/// `(set/select pred relation)`
pub(super) fn select_rows(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    check::callable("set/select", 1, "predicate", &args[0])?;
    let rows = rows("set/select", 2, &args[1])?;
    Ok(each(take(&mut args[0]), Feed::One(rows), RowFilter::default()))
}

/// One map for each row, as a set.
fn map_rows(
    ctx: &mut Ctx<'_>,
    mut rows: Cursor,
    mut show: impl FnMut(&mut Ctx<'_>, Value) -> Result<Value>,
) -> Result<Value> {
    let mut out = Builder::new();
    while let Some(row) = rows.advance() {
        ctx.charge(1)?;
        let row = show(ctx, row)?;
        out.push(row)?;
    }
    set_of(ctx, &mut out)
}

/// `(set/project relation ks)`
pub(super) fn project(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let rows = rows("set/project", 1, &args[0])?;
    let keys = check::seqable(ctx, "set/project", 2, &args[1])?;
    map_rows(ctx, rows, |ctx, row| select(ctx, &row, &mut keys.clone()).map(Value::Map))
}

/// `(set/rename relation renames)`
pub(super) fn rename(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let rows = rows("set/rename", 1, &args[0])?;
    let renames = renames("set/rename", 2, args)?;
    map_rows(ctx, rows, |ctx, row| match row {
        Value::Map(map) => renamed(ctx, &map, renames).map(Value::Map),
        other => Ok(other),
    })
}

/// The rows by their values at the given keys, in the order of the rows.
fn indexed(ctx: &mut Ctx<'_>, mut rows: Cursor, keys: &Cursor) -> Result<Table<Vector>> {
    let mut index = Table::default();
    while let Some(row) = rows.advance() {
        let part = Value::Map(select(ctx, &row, &mut keys.clone())?);
        index.entry(part, Vector::new)?.0.push(row);
    }
    Ok(index)
}

/// `(set/index relation ks)`
pub(super) fn index(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let rows = rows("set/index", 1, &args[0])?;
    let keys = check::seqable(ctx, "set/index", 2, &args[1])?;
    let mut index = indexed(ctx, rows, &keys)?;
    index.take_map(|rows| Value::Set(rows.into_iter().collect())).map(Value::Map)
}

/// `(set/join left right)`, `(set/join left right keys)`: the pairs of rows that agree on the keys that both relations
/// have, or on the keys of the left that `keys` maps to keys of the right, each pair as one map. Where a pair differs on
/// another key, the row of the larger relation counts, as in Clojure.
pub(super) fn join(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let (left, right) = (rows("set/join", 1, &args[0])?, rows("set/join", 2, &args[1])?);
    let keys = match args.get(2) {
        Some(Value::Map(keys)) => keys.clone(),
        Some(other) => return Err(Error::argument("set/join", 3, "map", other)),
        None => common_keys(&args[0], &args[1]),
    };
    ctx.charge(keys.len())?;
    // Keys of the smaller relation, which is indexed, each with the key of the larger one.
    let swap = left.remaining() > right.remaining();
    let (smaller, mut larger) = if swap { (right, left) } else { (left, right) };
    let turn = |(key, other): (&Value, &Value)| {
        if swap { (other.clone(), key.clone()) } else { (key.clone(), other.clone()) }
    };
    let keys: Vec<(Value, Value)> = keys.iter().map(turn).collect();
    let of_smaller = Cursor::Vector(keys.iter().map(|(key, _)| key.clone()).collect::<Vector>().into_iter());
    let mut index = indexed(ctx, smaller, &of_smaller)?;
    let mut out = Builder::new();
    while let Some(row) = larger.advance() {
        let Value::Map(row) = row else { continue };
        ctx.charge(keys.len() + 1)?;
        let agreed =
            |(key, other): &(Value, Value)| row.get_flexible(other).map(|value| (key.clone(), value.clone()));
        let part = Value::Map(keys.iter().filter_map(agreed).collect());
        for partner in index.entry(part, Vector::new)?.0.iter() {
            let Value::Map(partner) = partner else { continue };
            ctx.charge(row.len() + 1)?;
            ctx.reserve(row.len().saturating_mul(3 * Map::ENTRY_BYTES))?;
            let mut joined = partner.clone();
            for (key, value) in row.iter() {
                joined.insert_flexible(key.clone(), value.clone());
            }
            out.push(Value::Map(joined))?;
        }
    }
    set_of(ctx, &mut out)
}

/// The keys that the first rows of both relations have, each mapped to itself.
fn common_keys(left: &Value, right: &Value) -> Map {
    let first = |rows: &Value| match rows {
        Value::Vector(rows) | Value::List(rows) => rows.first(),
        Value::Set(rows) => rows.element_at(0).cloned(),
        _ => None,
    };
    match (first(left), first(right)) {
        (Some(Value::Map(left)), Some(Value::Map(right))) => left
            .iter()
            .filter_map(|(key, _)| right.key_flexible(key).map(|found| (key.clone(), found)))
            .collect(),
        _ => Map::new(),
    }
}
