//! Parameters in a tool's input schema that control paging.

use ptc_mcp::json::Value;
use ptc_vm::paging::{Parameter, ParameterKind, Parameters};

use ptc_base::text::clip;
use ptc_schema::json_schema::{properties, views};

/// Bytes of a description in which a bound is looked for.
const MOST_PROSE: usize = 400;
/// Words before the maximum of an argument, and before its default.
const MAXIMUM: [&str; 5] = ["max", "at most", "up to", "no more than", "not exceed"];
const DEFAULT: [&str; 1] = ["default"];
/// Bytes between such a word and its number.
const BETWEEN: usize = 16;

/// The parameters of a tool with this input schema.
pub(super) fn parameters(input_schema: &Value) -> Parameters {
    let all = properties(input_schema).into_iter().flatten();
    Parameters::new(all.map(|(name, schema)| parameter(name, input_schema, schema)))
}

fn parameter(name: &str, root: &Value, schema: &Value) -> Parameter {
    let views = views(root, schema);
    let first = |key: &str| schema.get(key).or_else(|| views.iter().find_map(|view| view.get(key)));
    let whole = |key: &str| first(key).and_then(Value::as_i64);
    let types = || {
        views.iter().flat_map(|view| match view.get("type") {
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(word)) => vec![word.as_str()],
            _ => Vec::new(),
        })
    };
    let is = |wanted: &[&str]| types().any(|word| wanted.contains(&word));
    let kind = match (is(&["integer", "number"]), is(&["string"])) {
        (true, false) => ParameterKind::Number,
        (false, true) => ParameterKind::Text,
        _ => ParameterKind::Any,
    };
    let description = first("description").and_then(Value::as_str).unwrap_or_default();
    let prose =
        |words: &[&str]| if kind == ParameterKind::Text { None } else { number_behind(description, words) };
    let below = whole("exclusiveMaximum").and_then(|most| most.checked_sub(1));
    Parameter {
        name: name.to_owned(),
        kind,
        default: whole("default").or_else(|| prose(&DEFAULT)),
        minimum: whole("minimum"),
        maximum: whole("maximum").or(below).or_else(|| prose(&MAXIMUM)),
    }
}

/// The number shortly after the first of these words that has one: `Page size (default 30, max 100)`.
fn number_behind(text: &str, words: &[&str]) -> Option<i64> {
    let text = clip(text, MOST_PROSE).to_ascii_lowercase();
    words.iter().find_map(|word| {
        text.match_indices(word).find_map(|(at, _)| {
            let behind = &text[at + word.len()..];
            let begin = behind.bytes().take(BETWEEN).position(|byte| byte.is_ascii_digit())?;
            // Another clause speaks of something else.
            if behind[..begin].contains([',', ';', '.', '(']) {
                return None;
            }
            let digits = behind[begin..].bytes().take_while(u8::is_ascii_digit).count();
            behind[begin..begin + digits].parse().ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn schemas_and_prose_tell_kinds_and_bounds() {
        let schema = json!({"properties": {
            "limit": {"anyOf": [{"type": "integer", "maximum": 100}, {"type": "null"}], "default": 30},
            "size": {"type": "integer", "description": "Items per page (default: 20, max 50)."},
            "page": {"type": ["integer", "string"], "minimum": 1},
            "cursor": {"type": "string", "default": "x", "description": "at most 64 characters"},
            "top": {"type": "integer", "exclusiveMaximum": 11, "description": "the maximum, in 2024 that was raised"},
        }});
        let wanted = [
            ("cursor", ParameterKind::Text, None, None, None),
            ("limit", ParameterKind::Number, Some(30), None, Some(100)),
            ("page", ParameterKind::Any, None, Some(1), None),
            ("size", ParameterKind::Number, Some(20), None, Some(50)),
            ("top", ParameterKind::Number, None, None, Some(10)),
        ];
        let wanted = wanted.map(|(name, kind, default, minimum, maximum)| Parameter {
            name: name.to_owned(),
            kind,
            default,
            minimum,
            maximum,
        });
        let mut sorted = wanted.to_vec();
        sorted.sort_by_key(|parameter| {
            properties(&schema).unwrap().keys().position(|name| *name == parameter.name)
        });
        assert_eq!(parameters(&schema), Parameters::new(sorted));
        assert_eq!(parameters(&json!({"type": "object"})), Parameters::default());
        assert_eq!(number_behind("the maximum. 5 of them", &MAXIMUM), None);
        assert_eq!(number_behind(&format!("{}max 5", "ä".repeat(300)), &MAXIMUM), None);
    }
}
