//! Comparing where NaN is an error (language.md 2.11).

use crate::error::{Error, Result};
use crate::value::{Value, compare as total};
use std::cmp::Ordering;

/// Whether this is NaN.
pub(crate) fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(x) if x.is_nan())
}

/// `compare`: the total order of values, which NaN has no place in.
#[inline]
pub(crate) fn compare(a: &Value, b: &Value) -> Result<Ordering> {
    if is_nan(a) || is_nan(b) {
        return Err(Error::type_error("type_error: compare: unordered comparison with NaN"));
    }
    Ok(total(a, b))
}

/// Refuses a comparator whose order is not that of all maps and sets, and advises.
pub(crate) fn natural(name: &str, instead: &str, comparator: &Value) -> Result<()> {
    match comparator {
        Value::Builtin(builtin) if matches!(builtin.name, "<" | "compare") => Ok(()),
        _ => Err(Error::runtime(format!(
            "{name}: maps and sets are in ascending order, so the comparator can only be < or compare; sort where another \
             order is needed: {instead}"
        ))),
    }
}
