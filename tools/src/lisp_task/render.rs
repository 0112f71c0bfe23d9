//! Renders the program's value as the task's answer (server.md 9.6).

use ptc_host::text::clip;
use ptc_mcp::json::{Map, Value, json};

use super::arguments::ReductionOptions;

/// An answer, cut to size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RenderedAnswer {
    /// For people.
    pub(super) answer: String,
    /// For programs.
    pub(super) structured: Value,
    /// True if something was cut off.
    pub(super) truncated: bool,
}

impl RenderedAnswer {
    /// Bytes of both, as they are counted.
    pub(super) fn bytes(&self) -> u64 {
        json!({"answer": self.answer, "structured_result": self.structured}).to_string().len() as u64
    }
}

/// Renders a value as the answer.
pub(super) fn render(value: Value, wishes: &ReductionOptions, max_bytes: usize) -> RenderedAnswer {
    let mut value = decoded(value);
    if !wishes.preferred_fields.is_empty() {
        value = narrowed(value, &wishes.preferred_fields);
    }
    if let Some(max) = wishes.max_items {
        shorten(&mut value, max);
    }
    let text = value.to_string();
    let truncated = text.len() > max_bytes;
    let answer = match &value {
        Value::String(text) => text.clone(),
        _ => text.clone(),
    };
    let answer = clip(&answer, max_bytes).to_owned();
    let structured = if truncated { clip(&text, max_bytes).into() } else { value };
    RenderedAnswer { answer, structured, truncated }
}

/// Parses a text that holds JSON, and once more if the result is such a text.
#[expect(clippy::disallowed_methods, reason = "entry point: decoded()")]
fn decoded(value: Value) -> Value {
    let once = |value: Value| match &value {
        Value::String(text) => serde_json::from_str(text).unwrap_or(value),
        _ => value,
    };
    once(once(value))
}

/// Keeps only the relevant fields, in each map that has all of them.
fn narrowed(value: Value, fields: &[String]) -> Value {
    match value {
        Value::Object(mut map) if fields.iter().all(|field| map.contains_key(field)) => {
            let kept = fields.iter().filter_map(|field| Some((field.clone(), map.remove(field)?)));
            Value::Object(kept.collect())
        }
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, narrowed(value, fields))).collect::<Map>())
        }
        Value::Array(items) => items.into_iter().map(|item| narrowed(item, fields)).collect(),
        other => other,
    }
}

/// Truncates a list, or the first list in a map.
fn shorten(value: &mut Value, max: usize) {
    match value {
        Value::Array(items) => items.truncate(max),
        Value::Object(map) => {
            if let Some(Value::Array(items)) = map.values_mut().find(|value| value.is_array()) {
                items.truncate(max);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(value: Value, max_items: Option<usize>, fields: &[&str], max: usize) -> RenderedAnswer {
        let preferred_fields = fields.iter().map(|field| (*field).to_owned()).collect();
        render(value, &ReductionOptions { max_items, preferred_fields }, max)
    }

    #[test]
    fn text_that_is_json_is_read() {
        let nested = Value::String(Value::String("[1]".into()).to_string());
        for (value, answer, structured) in [
            (json!("README has 5 sections."), "README has 5 sections.", json!("README has 5 sections.")),
            (json!("{\"a-b\": 1}"), "{\"a-b\":1}", json!({"a-b": 1})),
            (nested, "[1]", json!([1])),
            (json!({"n": 1}), "{\"n\":1}", json!({"n": 1})),
        ] {
            let made = rendered(value, None, &[], 100);
            assert_eq!(
                (made.answer.as_str(), &made.structured, made.truncated),
                (answer, &structured, false)
            );
        }
    }

    #[test]
    fn wishes_cut_lists_and_fields() {
        let value = json!({"note": 1, "rows": [{"a": 1, "b": 2, "c": 3}, {"a": 4}, {"c": 5, "a": 6}]});
        let made = rendered(value, Some(2), &["c", "a"], 1000);
        assert_eq!(made.structured.to_string(), r#"{"note":1,"rows":[{"c":3,"a":1},{"a":4}]}"#);
    }

    #[test]
    fn long_answers_are_cut_between_characters() {
        let made = rendered(json!("é".repeat(100)), None, &[], 21);
        assert_eq!(made.answer, "é".repeat(10));
        assert_eq!(made.structured, json!(format!("\"{}", "é".repeat(10))));
        assert!(made.truncated && made.bytes() > 60);
    }
}
