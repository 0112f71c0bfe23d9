//! Keys of the maps that programs give instead of arguments: `{:server … :tool …}`. They may be keywords or strings.

use crate::print;
use crate::value::Value;

/// The name of a key; `None` if it has none.
pub(in crate::builtins) fn key_name(key: &Value) -> Option<&str> {
    match key {
        Value::Keyword(key) => Some(key.name()),
        Value::Str(key) => Some(key.as_str()),
        _ => None,
    }
}

/// A key as a message shows it: a name in quotation marks.
#[cold]
pub(in crate::builtins) fn shown_key(key: &Value) -> String {
    match key {
        Value::Keyword(key) => print::literal(&Value::str(key.name())),
        other => print::literal(other),
    }
}
