//! JSON values as program text.

use ptc_mcp::json::Value;

use crate::text::string_literal;

/// A JSON value as program text.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::String(text) => string_literal(text),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let entries: Vec<_> =
                map.iter().map(|(k, v)| format!("{} {}", string_literal(k), literal(v))).collect();
            format!("{{{}}}", entries.join(" "))
        }
        other => other.to_string(),
    }
}
