//! Whether an argument is of the kind that a parameter takes. Arguments are sent as text, so a number is accepted for a string,
//! and a string for a number if it reads as one.

use ptc_mcp::json::{Map, Value};

use super::sendable::types;
use super::style::scalar;

/// Nesting up to which schemas are checked; deeper values count as fitting.
const MAX_DEPTH: usize = 16;

/// The kind that a parameter of this schema takes, in words (`an integer`, `a list of strings`), if `value` is not of it.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    if fits(schema, value, 0) {
        return None;
    }
    let mut words = Vec::new();
    describe(schema, &mut words, 0);
    words.dedup();
    Some(if words.is_empty() { "a string, a number or a boolean".to_owned() } else { words.join(" or ") })
}

fn fits(schema: &Value, value: &Value, depth: usize) -> bool {
    let Value::Object(map) = schema else { return true };
    if depth == MAX_DEPTH {
        return true;
    }
    if value.is_null() && map.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    let members = |key: &str| map.get(key).and_then(Value::as_array);
    let any = |key: &str| {
        members(key).is_none_or(|members| members.iter().any(|member| fits(member, value, depth + 1)))
    };
    let all = members("allOf").is_none_or(|members| members.iter().all(|m| fits(m, value, depth + 1)));
    let words = types(map);
    all && any("anyOf")
        && any("oneOf")
        && (words.is_empty() || words.iter().any(|word| is_of_type(map, word, value, depth)))
}

fn is_of_type(map: &Map, word: &str, value: &Value, depth: usize) -> bool {
    let is_scalar = |value: &Value| scalar(value).is_some();
    match (word, value) {
        ("null", _) => value.is_null(),
        ("string", _) => is_scalar(value),
        ("boolean", Value::Bool(_)) => true,
        ("boolean", Value::String(text)) => matches!(text.as_str(), "true" | "false"),
        ("integer", Value::Number(number)) => is_integer(&number.to_string()),
        ("integer", Value::String(text)) => is_integer(text),
        ("number", Value::Number(_)) => true,
        ("number", Value::String(text)) => text.parse::<f64>().is_ok_and(f64::is_finite),
        ("array", Value::Array(items)) => {
            let item_fits = |item| map.get("items").is_none_or(|schema| fits(schema, item, depth + 1));
            items.iter().all(|item| is_scalar(item) && item_fits(item))
        }
        ("object", Value::Object(entries)) => entries.iter().all(|(name, value)| {
            let schema = map.get("properties").and_then(|properties| properties.get(name));
            value.is_null() || is_scalar(value) && schema.is_none_or(|schema| fits(schema, value, depth + 1))
        }),
        ("boolean" | "integer" | "number" | "array" | "object", _) => false,
        // A type that JSON Schema does not know says nothing.
        _ => is_scalar(value),
    }
}

/// Digits with a sign at most; of any length, as the service may count beyond 64 bits.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn describe(schema: &Value, words: &mut Vec<String>, depth: usize) {
    let Value::Object(map) = schema else { return };
    if depth == MAX_DEPTH {
        return;
    }
    for word in types(map) {
        words.extend(match word {
            "string" => Some("a string".to_owned()),
            "integer" => Some("an integer".to_owned()),
            "number" => Some("a number".to_owned()),
            "boolean" => Some("true or false".to_owned()),
            "array" => Some(match map.get("items").and_then(Value::as_object).map(types).as_deref() {
                Some([one @ ("string" | "integer" | "number" | "boolean")]) => format!("a list of {one}s"),
                _ => "a list of strings, numbers or booleans".to_owned(),
            }),
            "object" => Some("a map of strings, numbers or booleans".to_owned()),
            _ => None,
        });
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for member in map.get(key).and_then(Value::as_array).into_iter().flatten() {
            describe(member, words, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn kinds_that_travel_as_the_wanted_text_fit() {
        for (kind, value) in [
            ("string", json!("x")),
            ("string", json!(42)),
            ("string", json!(true)),
            ("integer", json!(42)),
            ("integer", json!("42")),
            ("integer", json!("-123456789012345678901234567890")),
            ("number", json!(1.5)),
            ("number", json!("1e3")),
            ("boolean", json!(false)),
            ("boolean", json!("true")),
            ("null", json!(null)),
            ("object", json!({"a": 1, "b": null})),
            ("array", json!([1, "x", true])),
            ("array", json!([])),
        ] {
            assert_eq!(misfit(&json!({"type": kind}), &value), None, "{kind} {value}");
        }
        for schema in [json!({}), json!({"type": "file"}), json!(true), json!({"$ref": "#/nowhere"})] {
            assert_eq!(misfit(&schema, &json!("x")), None, "{schema}");
        }
        assert_eq!(misfit(&json!({"type": "string", "nullable": true}), &json!(null)), None);
    }

    #[test]
    fn other_kinds_are_told() {
        for (schema, value, wanted) in [
            (json!({"type": "integer"}), json!("ten"), "an integer"),
            (json!({"type": "integer"}), json!(1.5), "an integer"),
            (json!({"type": "integer"}), json!(""), "an integer"),
            (json!({"type": "number"}), json!(true), "a number"),
            (json!({"type": "boolean"}), json!(1), "true or false"),
            (json!({"type": "string"}), json!(["a"]), "a string"),
            (json!({"type": "string"}), json!({"a": 1}), "a string"),
            (json!({"type": "string"}), json!(null), "a string"),
            (json!({"type": ["string", "null"]}), json!([1]), "a string"),
            (json!({"items": {"type": "integer"}}), json!([1, "x"]), "a list of integers"),
            (json!({"type": "array"}), json!("a"), "a list of strings, numbers or booleans"),
            (json!({"type": "array"}), json!([[1]]), "a list of strings, numbers or booleans"),
            (json!({"type": "object"}), json!({"a": [1]}), "a map of strings, numbers or booleans"),
            (
                json!({"properties": {"gt": {"type": "integer"}}}),
                json!({"gt": "x"}),
                "a map of strings, numbers or booleans",
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}),
                json!("x"),
                "an integer or a list of strings",
            ),
        ] {
            assert_eq!(misfit(&schema, &value).as_deref(), Some(wanted), "{schema} {value}");
        }
    }
}
