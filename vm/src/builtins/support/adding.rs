//! Adding elements to a collection of any kind, as `conj` and `into` do.

use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::print;
use crate::value::{Map, Value, Vector};

/// Adds one element to a collection of any kind: in front of a list, which `nil` becomes, after a queue. `None` when it is
/// none, or when the element is no map entry. Charges a step.
#[inline]
pub(crate) fn conj_one(ctx: &mut Ctx<'_>, target: &mut Value, item: Value) -> Result<Option<()>> {
    ctx.charge(1)?;
    match target {
        Value::Vector(vector) | Value::Queue(vector) => vector.push(item),
        Value::List(list) => list.push_front(item),
        Value::Set(set) => set.insert(item),
        Value::Map(map) => match item {
            Value::Vector(pair) | Value::List(pair) if pair.len() == 2 => {
                map.insert(pair.get(0).unwrap_or_default(), pair.get(1).unwrap_or_default());
            }
            Value::Map(more) => insert_all(ctx, map, &more)?,
            Value::Nil => {}
            _ => return Ok(None),
        },
        Value::Nil => *target = Value::list([item]),
        _ => return Ok(None),
    }
    Ok(Some(()))
}

/// Appends with the cost of the shorter side, which is the actual work.
pub(crate) fn append(ctx: &mut Ctx<'_>, all: &mut Vector, more: &Vector) -> Result<()> {
    let work = all.len().min(more.len());
    ctx.charge(work + 1)?;
    ctx.reserve(work.saturating_mul(size_of::<Value>()))?;
    all.append(more);
    Ok(())
}

/// Adds all entries of `more`.
pub(crate) fn insert_all(ctx: &mut Ctx<'_>, map: &mut Map, more: &Map) -> Result<()> {
    if map.is_empty() {
        *map = more.clone();
        return Ok(());
    }
    for (key, value) in more.iter() {
        ctx.charge(1)?;
        ctx.reserve(0)?;
        map.insert(key.clone(), value.clone());
    }
    Ok(())
}

/// `into: invalid map entry: V. …`; the doubled prefix is the text of the specification.
#[cold]
fn invalid_entry(item: &Value) -> Error {
    Error::type_error(format!(
        "type_error: into: invalid map entry: {}. Expected [key, value] vector.",
        print::readable_lossy(item)
    ))
}

/// Adds one element as `into` does.
pub(crate) fn pour(ctx: &mut Ctx<'_>, target: &mut Value, item: Value) -> Result<()> {
    let entry = if matches!(target, Value::Map(_)) { item.clone() } else { Value::Nil };
    match conj_one(ctx, target, item)? {
        Some(()) => Ok(()),
        None => Err(invalid_entry(&entry)),
    }
}

/// Whether `into` can add to this.
pub(crate) fn is_target(value: &Value) -> bool {
    matches!(
        value,
        Value::Nil | Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Set(_) | Value::Map(_)
    )
}
