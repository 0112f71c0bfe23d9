//! Methods of maps.

use crate::builtins::support::errors::java_type_name;
use crate::builtins::support::sequence;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Map, Set, Value, equal};

/// The receiver, which must be a map.
fn receiver(method: &str, args: &[Value]) -> Result<Map> {
    match &args[0] {
        Value::Map(map) => Ok(map.clone()),
        other => Err(Error::type_error(format!("{method}: expected map, got {}", java_type_name(other)))),
    }
}

/// `(.containsKey m k)`: of a vector, an index.
pub(super) fn contains_key(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    if let Value::Vector(vector) = &args[0] {
        return Ok(Value::bool(args[1].is_index(vector.len())));
    }
    let map = receiver(".containsKey", args)?;
    Ok(Value::bool(map.get_flexible(&args[1]).is_some()))
}

/// `(.containsValue m v)`
pub(super) fn contains_value(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let map = receiver(".containsValue", args)?;
    for (_, value) in map.iter() {
        ctx.charge(1)?;
        if equal(value, &args[1]) {
            return Ok(Value::True);
        }
    }
    Ok(Value::False)
}

/// `(.getOrDefault m k default)`
pub(super) fn get_or_default(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let map = receiver(".getOrDefault", args)?;
    let found = map.get_flexible(&args[1]).cloned();
    Ok(found.unwrap_or_else(|| std::mem::take(&mut args[2])))
}

/// The set of the results for all entries.
fn set_of(ctx: &mut Ctx<'_>, map: &Map, bytes: usize, of: fn(&Value, &Value) -> Value) -> Result<Value> {
    ctx.charge(map.len())?;
    ctx.reserve(map.len().saturating_mul(2 * Set::ELEMENT_BYTES + bytes))?;
    let mut elements = Vec::with_capacity(map.len());
    for (key, value) in map.iter() {
        crate::meter::uncharged(1);
        elements.push(of(key, value));
    }
    Ok(Value::Set(elements.into_iter().collect()))
}

/// `(.keySet m)`
pub(super) fn key_set(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let map = receiver(".keySet", args)?;
    set_of(ctx, &map, 0, |key, _| key.clone())
}

/// `(.entrySet m)`
pub(super) fn entry_set(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let map = receiver(".entrySet", args)?;
    set_of(ctx, &map, sequence::PAIR, |key, value| Value::pair(key.clone(), value.clone()))
}
