//! Arguments as people type them: `key=value`.

use ptc_mcp::json::{Map, Value};

/// The object in `json`, extended by the `pairs`, each value in the type of the schema.
///
/// # Errors
/// One sentence that names the word which is no pair.
#[expect(clippy::disallowed_methods, reason = "entry point: object()")]
pub(super) fn object(json: &str, pairs: &[String], schema: Option<&Value>) -> Result<Value, String> {
    let mut all: Map = serde_json::from_str(json).map_err(|error| format!("--args: {error}"))?;
    for pair in pairs {
        let (key, text) = pair
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| format!("{pair} is no argument: write KEY=VALUE"))?;
        all.insert(key.to_owned(), value(text, schema.and_then(|schema| schema.get("properties")?.get(key))));
    }
    Ok(Value::Object(all))
}

/// A text in the type of a property's schema: JSON if it is JSON of an allowed type, else the text.
#[expect(clippy::disallowed_methods, reason = "entry point: value()")]
fn value(text: &str, schema: Option<&Value>) -> Value {
    let types = match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(word)) => vec![word.as_str()],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let Ok(json) = serde_json::from_str::<Value>(text) else { return text.into() };
    let of_type = match &json {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_str().contains(['.', 'e', 'E']) => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = types.contains(&of_type) || (of_type == "integer" && types.contains(&"number"));
    // The quotes of a quoted text belong to it.
    let takes_text = types.contains(&"string");
    if (fits && of_type != "string")
        || (types.is_empty() && !json.is_string())
        || !(takes_text || types.is_empty())
    {
        json
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn values_are_what_the_tool_s_schema_wants() {
        let schema = json!({"properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array"}, "maybe": {"type": ["string", "null"]},
            "flag": {"type": "boolean"}, "ratio": {"type": "number"}
        }});
        let given = |pairs: &[&str]| {
            let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
            object("{\"kept\": 1}", &pairs, Some(&schema))
        };
        assert_eq!(
            given(&[
                "text=12",
                "count=12",
                "list=[1,\"a\"]",
                "maybe=null",
                "flag=true",
                "ratio=2",
                "other=a=b",
                "free=3"
            ])
            .unwrap(),
            json!({
                "kept": 1, "text": "12", "count": 12, "list": [1, "a"], "maybe": null, "flag": true, "ratio": 2,
                "other": "a=b", "free": 3
            })
        );
        assert_eq!(given(&["text=\"q\"", "kept=2"]).unwrap(), json!({"kept": 2, "text": "\"q\""}));
        assert_eq!(given(&["count=many"]).unwrap()["count"], "many", "the check of the call tells");
        assert!(given(&["=x"]).unwrap_err().contains("write KEY=VALUE"));
    }
}
