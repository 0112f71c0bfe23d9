//! Parsing the answer in the model's text (agent.md 8.8).

use super::FailReason;
use crate::settings::Config;
use crate::signature::{Schema, Shape, Signature, Type, beyond_floats};
use ptc_base::json::{Number, Value as Json};

/// Why a text is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnswerError {
    /// [`FailReason::JsonParseError`] or [`FailReason::ValidationError`].
    pub(super) reason: FailReason,
    pub(super) message: String,
    structured: bool,
}

impl AnswerError {
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
pub(super) fn answer(config: &Config, text: &str) -> Result<Json, AnswerError> {
    let signature = config.signature.as_ref();
    let value = typed(signature, text)?;
    let structured = signature.is_some_and(|signature| signature.returns.is_structured());
    config.accepts(&value).map(|()| value).map_err(|message| AnswerError {
        reason: FailReason::ValidationError,
        message,
        structured,
    })
}

/// The answer of the signature's type that `text` is.
fn typed(signature: Option<&Signature>, text: &str) -> Result<Json, AnswerError> {
    let Some(ty) = signature.map(|signature| &signature.returns).filter(|ty| !ty.is_text()) else {
        return Ok(Json::from(text));
    };
    if let Type::Schema(schema) = ty.required() {
        let structured = ty.is_structured();
        let made = by_schema(schema, structured, text);
        return made.map_err(|(reason, message)| AnswerError { reason, message, structured });
    }
    if ty.is_structured() { structured(ty, text) } else { scalar(ty, text) }
}

/// The first JSON object or array in a text that fits. If none does, the fault of the first.
fn structured(ty: &Type, text: &str) -> Result<Json, AnswerError> {
    let rejected = |reason, message: String| AnswerError { reason, message, structured: true };
    let mut first = None;
    let mut spans = Spans::of(text);
    for found in fenced(text).chain(&mut spans) {
        let unreadable = |text: &str| rejected(FailReason::JsonParseError, text.into());
        let checked = unwrapped(ty, found).map_err(unreadable).and_then(|value| {
            match (beyond_floats(&value), ty.check(&value)) {
                (Some(number), _) => Err(unreadable(&unheld(number))),
                (None, Err(found)) => Err(rejected(FailReason::ValidationError, found.to_string())),
                (None, Ok(())) => Ok(value),
            }
        });
        match checked {
            Ok(value) => return Ok(underscored(value)),
            Err(wrong) => first = first.or(Some(wrong)),
        }
    }
    Err(first.unwrap_or_else(|| rejected(FailReason::JsonParseError, spans.missing().into())))
}

/// The value that an object or array stands for where this type is wanted: a list may come as `{"items": […]}`.
fn unwrapped(ty: &Type, found: Json) -> Result<Json, &'static str> {
    match (ty.required(), found) {
        (Type::List(_), Json::Object(mut object)) => match object.shift_remove("items") {
            Some(items @ Json::Array(_)) => Ok(items),
            _ => Err("Expected {\"items\": [...]} wrapper for array response"),
        },
        (Type::Map | Type::Record(_), found) if !found.is_object() => {
            Err("Response must be a JSON object, not an array or primitive")
        }
        (_, found) => Ok(found),
    }
}

/// A single value, however it is dressed: quoted, fenced, bold, with a full stop.
#[expect(clippy::disallowed_methods, reason = "entry point: scalar()")]
fn scalar(ty: &Type, text: &str) -> Result<Json, AnswerError> {
    let rejected = |reason, message: String| AnswerError { reason, message, structured: false };
    let unreadable = |message: String| rejected(FailReason::JsonParseError, message);
    let quoted = serde_json::from_str::<String>(text.trim()).ok();
    let bare = undressed(quoted.as_deref().unwrap_or(text));
    let value = match ty.required() {
        _ if bare == "null" && matches!(ty, Type::Optional(_)) => Json::Null,
        Type::DateTime => datetime(bare).ok_or_else(|| {
            unreadable(format!("Could not parse datetime from response: {}", Json::from(text.trim())))
        })?,
        Type::Keyword => Json::from(bare),
        _ => spoken(bare).ok_or_else(|| unreadable(NO_SCALAR.into()))?,
    };
    if let Some(number) = beyond_floats(&value) {
        return Err(unreadable(unheld(number)));
    }
    let value = ty.coerce(value).value;
    ty.check(&value)
        .map(|()| value)
        .map_err(|found| rejected(FailReason::ValidationError, format!("Return validation failed: {found}")))
}

const NO_SCALAR: &str = "Could not parse JSON from response.";

/// The JSON value that a text without dress is; a boolean may begin with a capital, and a full stop may follow.
#[expect(clippy::disallowed_methods, reason = "entry point: spoken()")]
fn spoken(bare: &str) -> Option<Json> {
    for (word, value) in [("true", true), ("false", false)] {
        if bare.trim_end_matches('.').eq_ignore_ascii_case(word) {
            return Some(Json::Bool(value));
        }
    }
    [bare, bare.trim_end_matches('.')].into_iter().find_map(|text| ptc_base::json::from_str(text).ok())
}

/// A text without the decoration that models put around a value: a fence with its tag, marks of emphasis and code, quotes.
fn undressed(text: &str) -> &str {
    let mut bare = text.trim();
    if let Some(fenced) = bare.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        let (tag, body) = fenced.split_once('\n').unwrap_or(("", fenced));
        bare = if tag.trim().contains(' ') { fenced.trim() } else { body.trim() };
    }
    for mark in ["**", "__", "`", "\"", "*", "'"] {
        let inside = bare.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        bare = inside.map_or(bare, str::trim);
    }
    bare
}

/// The answer of an agent whose type is a JSON Schema. Names are as the schema has them.
#[expect(clippy::disallowed_methods, reason = "entry point: by_schema()")]
fn by_schema(schema: &Schema, structured: bool, text: &str) -> Result<Json, (FailReason, String)> {
    let whole = serde_json::from_str::<Json>(text.trim()).ok();
    let bare = undressed(text);
    let mut spans = Spans::of(text);
    let found: Vec<Json> = if structured {
        fenced(text).chain(&mut spans).collect()
    } else {
        spoken(bare).into_iter().collect()
    };
    // A word need not be quoted.
    let words: Vec<Json> = match schema.shape() {
        Shape::Object => Vec::new(),
        _ => vec![Json::from(text.trim()), Json::from(bare)],
    };
    let mut complaint = None;
    let said = whole.into_iter().chain(found).map(|value| (value, false));
    for (value, is_word) in said.chain(words.into_iter().map(|word| (word, true))) {
        let wrapped = match (&value, schema.shape()) {
            (Json::Object(fields), Shape::List | Shape::Union) if fields.len() == 1 => {
                fields.get("items").or_else(|| fields.get("answer")).cloned()
            }
            _ => None,
        };
        for value in wrapped.into_iter().chain([value]) {
            // A single value is read as arguments are, the fields of an object are taken as they came.
            let value = if structured { schema.bend(value) } else { schema.coerce(value).0 };
            let wrong = match (beyond_floats(&value), schema.check(&value)) {
                (Some(number), _) => (FailReason::JsonParseError, unheld(number)),
                (None, Ok(())) => return Ok(value),
                (None, Err(_)) if is_word => continue,
                (None, Err(found)) if structured => (FailReason::ValidationError, found.to_string()),
                (None, Err(found)) => {
                    (FailReason::ValidationError, format!("Return validation failed: {found}"))
                }
            };
            complaint.get_or_insert(wrong);
        }
    }
    let none = if structured { spans.missing() } else { NO_SCALAR };
    Err(complaint.unwrap_or_else(|| (FailReason::JsonParseError, none.to_owned())))
}

/// Why a number cannot be part of an answer.
fn unheld(number: &Number) -> String {
    format!("The number {} is beyond the largest float", ptc_base::text::with_dots(number.as_str(), 40))
}

/// A timestamp in UTC.
fn datetime(text: &str) -> Option<Json> {
    let instant: jiff::Timestamp = text.parse().ok()?;
    Some(Json::from(instant.to_string()))
}

/// The objects and arrays that are the whole of a fenced block.
#[expect(clippy::disallowed_methods, reason = "entry point: fenced()")]
fn fenced(text: &str) -> impl Iterator<Item = Json> {
    text.split("```").skip(1).step_by(2).filter_map(|block| {
        let body = block.trim_start().strip_prefix("json").unwrap_or(block).trim();
        serde_json::from_str::<Json>(body).ok().filter(|value| value.is_object() || value.is_array())
    })
}

/// The objects and arrays in a text, one after the other.
struct Spans<'t> {
    rest: &'t str,
    /// Starts that are still tried: a text of many brackets that close nothing is given up soon.
    left: usize,
    /// Whether a bracket closed around something that is no JSON.
    closed: bool,
}

impl Spans<'_> {
    fn of(text: &str) -> Spans<'_> {
        Spans { rest: text, left: 64, closed: false }
    }

    /// The message for a text that held none.
    fn missing(&self) -> &'static str {
        if self.closed { "JSON parse error" } else { "No valid JSON found in response" }
    }
}

impl Iterator for Spans<'_> {
    type Item = Json;

    #[expect(clippy::disallowed_methods, reason = "entry point: Spans.next")]
    fn next(&mut self) -> Option<Json> {
        while self.left > 0 {
            self.left -= 1;
            let start = self.rest.find(['{', '['])?;
            self.rest = &self.rest[start..];
            let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Json>();
            match values.next() {
                Some(Ok(value)) => {
                    self.rest = &self.rest[values.byte_offset()..];
                    return Some(value);
                }
                Some(Err(error)) => self.closed |= !error.is_eof(),
                None => {}
            }
            self.rest = &self.rest[1..];
        }
        None
    }
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
    use ptc_base::json::json;

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
