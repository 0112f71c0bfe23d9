//! `contains?` and `distinct?`.

use crate::builtins::support::{Table, errors};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::value::{Value, identical};

/// `(contains? c k)`: a key of a map, an element of a set or a vector.
pub(super) fn contains(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let found = match (&args[0], &args[1]) {
        (Value::Nil, _) => false,
        (Value::Map(_), Value::Vector(_)) => ctx.lookup(&args[0], &args[1])?.is_some(),
        (Value::Map(map), key) => map.get_flexible(key).is_some(),
        (Value::Set(set), value) => set.contains(value),
        (Value::Vector(vector), value) => {
            let mut found = false;
            for item in vector.iter() {
                ctx.charge(1)?;
                if identical(&item, value) {
                    found = true;
                    break;
                }
            }
            found
        }
        (Value::List(_), _) => return Err(errors::no_index("contains?")),
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
