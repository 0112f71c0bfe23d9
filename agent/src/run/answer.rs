//! Parsing the answer in the model's text (agent.md 8.8).

use super::FailReason;
use crate::settings::Config;
use crate::signature::{Schema, Shape, Signature, Type, beyond_floats};
use ptc_host::json::{Number, Value as Json};

/// Why a text is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    /// [`FailReason::JsonParseError`] or [`FailReason::ValidationError`].
    pub(super) reason: FailReason,
    pub(super) message: String,
    structured: bool,
}

impl Rejected {
    /// The feedback for the model's next attempt.
    pub(super) fn feedback(&self) -> String {
        let wanted = if self.structured {
            "Please return a valid JSON object matching the expected output format."
        } else {
            "Please return a valid value matching the expected output."
        };
        format!("Error: {}. {wanted}", self.message.trim_end_matches('.'))
    }
}

/// The answer that `text` is, if the agent's validators accept it.
pub(super) fn answer(config: &Config, text: &str) -> Result<Json, Rejected> {
    let signature = config.signature.as_ref();
    let value = typed(signature, text)?;
    let structured = signature.is_some_and(|signature| signature.returns.is_structured());
    config.accepts(&value).map(|()| value).map_err(|message| Rejected {
        reason: FailReason::ValidationError,
        message,
        structured,
    })
}

/// The answer of the signature's type that `text` is.
fn typed(signature: Option<&Signature>, text: &str) -> Result<Json, Rejected> {
    let Some(ty) = signature.map(|signature| &signature.returns).filter(|ty| !ty.is_text()) else {
        return Ok(Json::from(text));
    };
    let structured = ty.is_structured();
    let rejected = |reason, message: String| Rejected { reason, message, structured };
    let unreadable = |message: &str| rejected(FailReason::JsonParseError, message.into());
    if let Type::Schema(schema) = ty.required() {
        return by_schema(schema, structured, text).map_err(|(reason, message)| rejected(reason, message));
    }
    let value = match ty.required() {
        Type::DateTime => datetime(text).ok_or_else(|| {
            rejected(
                FailReason::JsonParseError,
                format!("Could not parse datetime from response: {}", Json::from(text.trim())),
            )
        })?,
        wanted if structured => {
            let found = find_json(text).map_err(unreadable)?;
            match (wanted, found) {
                (Type::List(_), Json::Object(mut object)) => match object.shift_remove("items") {
                    Some(items @ Json::Array(_)) => items,
                    _ => return Err(unreadable("Expected {\"items\": [...]} wrapper for array response")),
                },
                (Type::Map | Type::Record(_), found) if !found.is_object() => {
                    return Err(unreadable("Response must be a JSON object, not an array or primitive"));
                }
                (_, found) => found,
            }
        }
        wanted => match serde_json::from_str(text.trim()) {
            Ok(value) => value,
            // A keyword is text that need not be quoted.
            Err(_) if matches!(wanted, Type::Keyword) => Json::from(text.trim()),
            Err(_) => return Err(unreadable("Could not parse JSON from response.")),
        },
    };
    if let Some(number) = beyond_floats(&value) {
        return Err(unreadable(&unheld(number)));
    }
    ty.check(&value).map_err(|found| {
        let message =
            if structured { found.to_string() } else { format!("Return validation failed: {found}") };
        rejected(FailReason::ValidationError, message)
    })?;
    Ok(underscored(value))
}

/// The answer of an agent whose type is a JSON Schema. Names are as the schema has them.
fn by_schema(schema: &Schema, structured: bool, text: &str) -> Result<Json, (FailReason, String)> {
    let whole = serde_json::from_str::<Json>(text.trim()).ok();
    let found = if structured { find_json(text) } else { Err("Could not parse JSON from response.") };
    // A word need not be quoted.
    let bare = (schema.shape() != Shape::Object).then(|| Json::from(text.trim()));
    let mut complaint = None;
    for value in whole.into_iter().chain(found.clone().ok()).chain(bare.clone()) {
        let wrapped = match (&value, schema.shape()) {
            (Json::Object(fields), Shape::List | Shape::Union) if fields.len() == 1 => {
                fields.get("items").or_else(|| fields.get("answer")).cloned()
            }
            _ => None,
        };
        for value in wrapped.into_iter().chain([value]) {
            let is_bare = bare.as_ref() == Some(&value);
            let value = schema.bend(value);
            let wrong = match (beyond_floats(&value), schema.check(&value)) {
                (Some(number), _) => (FailReason::JsonParseError, unheld(number)),
                (None, Ok(())) => return Ok(value),
                (None, Err(_)) if is_bare => continue,
                (None, Err(found)) if structured => (FailReason::ValidationError, found.to_string()),
                (None, Err(found)) => {
                    (FailReason::ValidationError, format!("Return validation failed: {found}"))
                }
            };
            complaint.get_or_insert(wrong);
        }
    }
    Err(complaint.unwrap_or_else(|| (FailReason::JsonParseError, found.err().unwrap_or_default().to_owned())))
}

/// Why a number cannot be part of an answer.
fn unheld(number: &Number) -> String {
    format!("The number {} is beyond the largest float", ptc_host::text::with_dots(number.as_str(), 40))
}

/// A timestamp in UTC, from a JSON string or bare text.
fn datetime(text: &str) -> Option<Json> {
    let text = text.trim();
    let bare = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned());
    let instant: jiff::Timestamp = bare.parse().ok()?;
    Some(Json::from(instant.to_string()))
}

/// The first JSON object or array in a text: in a fenced block, else anywhere.
fn find_json(text: &str) -> Result<Json, &'static str> {
    let mut blocks = text.split("```").skip(1).step_by(2);
    let fenced = blocks.find_map(|block| {
        let body = block.trim_start().strip_prefix("json").unwrap_or(block).trim();
        serde_json::from_str::<Json>(body).ok().filter(|value| value.is_object() || value.is_array())
    });
    if let Some(value) = fenced {
        return Ok(value);
    }
    let mut rest = text;
    let mut closed = false;
    // Each start is tried once; a text of many brackets that close nothing is given up soon.
    for _ in 0..64 {
        let Some(start) = rest.find(['{', '[']) else { break };
        rest = &rest[start..];
        match serde_json::Deserializer::from_str(rest).into_iter::<Json>().next() {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) => closed |= !error.is_eof(),
            None => {}
        }
        rest = &rest[1..];
    }
    Err(if closed { "JSON parse error" } else { "No valid JSON found in response" })
}

/// Keys with `_` for `-`, at all depths.
fn underscored(value: Json) -> Json {
    match value {
        Json::Object(map) => Json::Object(
            map.into_iter().map(|(key, value)| (key.replace('-', "_"), underscored(value))).collect(),
        ),
        Json::Array(items) => items.into_iter().map(underscored).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::json::json;

    fn read(signature: &str, text: &str) -> Result<Json, String> {
        typed(Some(&Signature::parse(signature).unwrap()), text).map_err(|rejected| rejected.message)
    }

    #[test]
    fn answers_by_type() {
        assert_eq!(read(":any", " {x "), Ok(json!(" {x ")));
        assert_eq!(read(":int", " 5\n"), Ok(json!(5)));
        assert_eq!(
            read(":int", "5.5"),
            Err("Return validation failed: root: expected int, got float".into())
        );
        assert_eq!(read(":int", "five"), Err("Could not parse JSON from response.".into()));
        assert_eq!(read(":datetime", "2026-01-02T03:04:05+02:00"), Ok(json!("2026-01-02T01:04:05Z")));
        assert_eq!(read(":datetime", "soon"), Err("Could not parse datetime from response: \"soon\"".into()));
        assert_eq!(read("{a-b :int}", "Here:\n```json\n{\"a-b\": 1}\n```"), Ok(json!({"a_b": 1})));
        assert_eq!(read("{a :int}", "{note} {\"a\":1} done"), Ok(json!({"a": 1})));
        assert_eq!(read("[:int]", "{\"items\":[1]}"), Ok(json!([1])));
        assert_eq!(read("[:int]", "so [1, 2]"), Ok(json!([1, 2])));
        assert_eq!(
            read("[:int]", "{}"),
            Err("Expected {\"items\": [...]} wrapper for array response".into())
        );
        assert_eq!(
            read(":map", "[1]"),
            Err("Response must be a JSON object, not an array or primitive".into())
        );
        assert_eq!(read(":map", "none"), Err("No valid JSON found in response".into()));
        assert_eq!(read(":map", "{a 1}"), Err("JSON parse error".into()));
        assert_eq!(read("{a :int}", "{\"a\":\"x\"}"), Err("a: expected int, got string".into()));
    }

    #[test]
    fn numbers_that_no_float_holds_are_no_answer() {
        let text = "The number 1e+999 is beyond the largest float";
        for (signature, answer) in
            [(":float", "1e999"), ("{a :float}", "{\"a\": [1, 1e999]}"), (":map", "{\"a\": 1e999}")]
        {
            assert_eq!(read(signature, answer), Err(text.into()), "{signature}");
        }
        let digits = "9".repeat(400);
        assert_eq!(read(":int", &digits).map(|value| value.to_string()), Ok(digits.clone()));
        assert!(read(":float", &digits).unwrap_err().contains("beyond the largest float"));
    }

    #[test]
    fn answers_by_json_schema_keep_its_names() {
        let read = |schema: Json, text: &str| {
            let returns = Type::from_json_schema(&schema).unwrap();
            typed(Some(&Signature { params: Vec::new(), returns }), text).map_err(|rejected| rejected.message)
        };
        let person = json!({"type": "object", "required": ["first-name"],
            "properties": {"first-name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}});
        assert_eq!(
            read(person.clone(), "Here: {\"first_name\": \"A\", \"age\": null}"),
            Ok(json!({"first-name": "A"}))
        );
        assert_eq!(
            read(person, "{\"first-name\": \"A\", \"age\": -1}"),
            Err("age: expected at least 0, got -1".into())
        );
        let words = json!({"type": "string", "enum": ["yes", "no"]});
        assert_eq!(read(words.clone(), "\"yes\""), Ok(json!("yes")));
        assert_eq!(read(words.clone(), " no\n"), Ok(json!("no")));
        assert_eq!(read(words, "maybe"), Err("Could not parse JSON from response.".into()));
        let list = json!({"type": "array", "items": {"type": "integer"}});
        assert_eq!(read(list.clone(), "{\"items\": [1]}"), Ok(json!([1])));
        assert_eq!(read(list, "[1, \"x\"]"), Err("1: expected int, got string".into()));
        let either = json!({"oneOf": [{"const": "Stop"}, {"type": "object", "properties": {"Go": {"type": "integer"}},
            "required": ["Go"], "additionalProperties": false}]});
        assert_eq!(read(either.clone(), "Stop"), Ok(json!("Stop")));
        assert_eq!(read(either.clone(), "{\"answer\": {\"Go\": 3}}"), Ok(json!({"Go": 3})));
        assert_eq!(read(either, "{\"Go\": \"x\"}"), Err("Go: expected int, got string".into()));
    }

    #[test]
    fn feedback_has_one_full_stop() {
        let rejected = typed(Some(&Signature::parse(":int").unwrap()), "x").unwrap_err();
        assert_eq!(
            rejected.feedback(),
            "Error: Could not parse JSON from response. Please return a valid value matching the expected output."
        );
    }
}
