//! Seqable values as cursors and vectors.

use super::{Builder, endless};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Cursor, Value, Vector};

/// Bytes that a pair takes besides its slot, for reservations.
pub(crate) const PAIR: usize = 48 + 2 * size_of::<Value>();

/// The elements as a cursor, or `None` when the value is not seqable: as [`Value::cursor`], with the graphemes
/// of a string charged before they are made. The loop over the cursor charges for its elements. A
/// sequence without end is an error.
pub(crate) fn cursor(ctx: &mut Ctx<'_>, value: &Value) -> Result<Option<Cursor>> {
    if let Value::Str(text) = value {
        ctx.charge(text.as_str().len())?;
    }
    if endless::open(value).is_some() {
        return Err(endless::error(value));
    }
    value.cursor()
}

/// The elements as a vector, or `None` when the value is not seqable. A vector or a list has one at no cost.
pub(crate) fn elements(ctx: &mut Ctx<'_>, value: Value) -> Result<Option<Vector>> {
    if let Value::Vector(vector) | Value::List(vector) | Value::Queue(vector) = value {
        return Ok(Some(vector));
    }
    if matches!(value, Value::Map(_)) {
        ctx.reserve(count(&value).unwrap_or(0).saturating_mul(PAIR))?;
    }
    let Some(cursor) = cursor(ctx, &value)? else { return Ok(None) };
    match cursor {
        Cursor::Vector(items) if matches!(value, Value::Str(_) | Value::Nil) => Ok(Some(items.collect())),
        cursor => rest_of(ctx, cursor).map(Some),
    }
}

/// The rest of a cursor, as a vector.
pub(crate) fn rest_of(ctx: &mut Ctx<'_>, mut cursor: Cursor) -> Result<Vector> {
    let left = cursor.remaining();
    ctx.charge(left)?;
    let mut out = Builder::with_capacity(left)?;
    while let Some(item) = cursor.advance() {
        out.push(item)?;
    }
    Ok(out.take_vector())
}

/// How many elements a seqable value has.
pub(crate) fn count(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Nil => 0,
        Value::Vector(v) | Value::List(v) | Value::Queue(v) => v.len(),
        Value::Str(s) => s.len(),
        Value::Map(m) => m.len(),
        Value::Set(s) => s.len(),
        _ => return None,
    })
}

/// The elements of several collections that are walked in step, as far as the shortest goes: of an endless sequence as many as
/// that needs. `refuse` makes the error for a value that is not seqable, from its place and itself.
pub(crate) fn in_step(
    ctx: &mut Ctx<'_>,
    collections: &[Value],
    refuse: impl Fn(usize, &Value) -> Error,
) -> Result<Vec<Cursor>> {
    let mut shortest = None;
    for (i, collection) in collections.iter().enumerate() {
        if endless::open(collection).is_none() {
            let Some(count) = count(collection) else { return Err(refuse(i, collection)) };
            shortest = Some(shortest.map_or(count, |shortest: usize| shortest.min(count)));
        }
    }
    let mut cursors = Vec::with_capacity(collections.len());
    for collection in collections {
        let beginning = match (endless::open(collection), shortest) {
            (None, _) => None,
            (Some(endless), Some(count)) => endless::beginning(ctx, &endless, count)?.map(Value::Vector),
            (Some(_), None) => return Err(endless::error(collection)),
        };
        let items = beginning.as_ref().unwrap_or(collection);
        cursors.extend(cursor(ctx, items)?);
    }
    Ok(cursors)
}
