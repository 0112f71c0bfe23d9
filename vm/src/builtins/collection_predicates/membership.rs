//! `contains?` and `distinct?`.

use crate::builtins::support::{Table, errors};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::Value;

/// `(contains? c k)`: a key of a map, an element of a set, an index of a vector or text.
pub(super) fn contains(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let found = match (&args[0], &args[1]) {
        (Value::Nil, _) => false,
        (Value::Map(map), key) => map.get_flexible(key).is_some(),
        (Value::Set(set), value) => set.contains(value),
        (Value::Vector(vector), index) => index.is_index(vector.len()),
        (Value::Str(text), index @ Value::Int(_)) => {
            ctx.charge(text.as_str().len() / 16)?;
            index.is_index(text.len())
        }
        (Value::List(_) | Value::Queue(_), _) => return Err(errors::no_index("contains?")),
        _ => return Err(Error::argument_types("contains?", args)),
    };
    Ok(Value::bool(found))
}

/// `(distinct? & xs)`
pub(super) fn distinct(_: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let mut seen = Table::default();
    for arg in args {
        if !seen.entry(std::mem::take(arg), || ())?.1 {
            return Ok(Value::False);
        }
    }
    Ok(Value::True)
}
