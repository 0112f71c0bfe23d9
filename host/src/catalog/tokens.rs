//! The words by which the search finds tools and servers.

use ptc_mcp::json::Value;
use ptc_vm::builtins::words::tokenize;

/// The words of a tool or server, taken once when its entry is built.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    pub(super) name: Vec<String>,
    pub(super) other: Vec<String>,
}

impl Tokens {
    pub(super) fn of_tool(name: &str, description: &str, input: &Value, annotations: Option<&Value>) -> Self {
        let mut other = tokenize(description);
        for key in crate::json_schema::properties(input).into_iter().flat_map(|p| p.keys()) {
            other.extend(tokenize(key));
        }
        for (key, value) in annotations.and_then(Value::as_object).into_iter().flatten() {
            other.extend(tokenize(key));
            match value {
                Value::String(text) => other.extend(tokenize(text)),
                Value::Bool(_) | Value::Number(_) => other.extend(tokenize(&value.to_string())),
                _ => {}
            }
        }
        Self::new(name, other)
    }

    pub(super) fn of_server(name: &str, description: &str, capabilities: &[String]) -> Self {
        let mut other = tokenize(description);
        other.extend(capabilities.iter().flat_map(|text| tokenize(text)));
        Self::new(name, other)
    }

    fn new(name: &str, mut other: Vec<String>) -> Self {
        // A repeated target word never changes a maximum.
        other.sort_unstable();
        other.dedup();
        Self { name: tokenize(name), other }
    }
}
