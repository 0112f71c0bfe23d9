//! Parsing the answer in the model's text (agent.md 8.8).

use crate::signature::{Signature, Type};
use ptc_host::json::Value as Json;

/// Why a text is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    /// `json_parse_error` or `validation_error`.
    pub(super) reason: &'static str,
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

/// The answer that `text` is.
pub(super) fn answer(signature: Option<&Signature>, text: &str) -> Result<Json, Rejected> {
    let Some(ty) = signature.map(|signature| &signature.returns).filter(|ty| !ty.is_text()) else {
        return Ok(Json::from(text));
    };
    let structured = ty.is_structured();
    let rejected = |reason, message: String| Rejected { reason, message, structured };
    let unreadable = |message: &str| rejected("json_parse_error", message.into());
    let value = match ty.required() {
        Type::DateTime => datetime(text).ok_or_else(|| {
            rejected(
                "json_parse_error",
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
                (Type::Map | Type::Record(_) | Type::Closed(_), found) if !found.is_object() => {
                    return Err(unreadable("Response must be a JSON object, not an array or primitive"));
                }
                (_, found) => found,
            }
        }
        wanted => match serde_json::from_str(text.trim()) {
            Ok(value) => value,
            // A keyword is text that need not be quoted.
            Err(_) if matches!(wanted, Type::Keyword | Type::Enum(_)) => Json::from(text.trim()),
            Err(_) => return Err(unreadable("Could not parse JSON from response.")),
        },
    };
    ty.check(&value).map_err(|found| {
        let message =
            if structured { found.to_string() } else { format!("Return validation failed: {found}") };
        rejected("validation_error", message)
    })?;
    Ok(underscored(value))
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
        answer(Some(&Signature::parse(signature).unwrap()), text).map_err(|rejected| rejected.message)
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
    fn feedback_has_one_full_stop() {
        let rejected = answer(Some(&Signature::parse(":int").unwrap()), "x").unwrap_err();
        assert_eq!(
            rejected.feedback(),
            "Error: Could not parse JSON from response. Please return a valid value matching the expected output."
        );
    }
}
