//! JSON straight into values and straight out of them (language.md 9.4, 9.5; ruling 10).

use crate::error::Result;
use crate::value::Value;

/// Parses one JSON document into a value; `None` when the text is not JSON as ruling 10 defines it.
pub fn parse(_text: &[u8]) -> Result<Option<Value>> {
    Ok(None)
}

/// Writes a value as JSON. The error text names the path: `non-JSON-encodable value at rows[0].ts`.
pub fn write(_value: &Value, _out: &mut Vec<u8>) -> Result<()> {
    Ok(())
}
