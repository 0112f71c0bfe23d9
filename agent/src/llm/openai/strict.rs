//! JSON Schema for OpenAI's strict mode: every property required and optional ones nullable, no further properties,
//! alternatives as `anyOf`, references by themselves, and only the keywords that the endpoint knows.

use ptc_base::json::{Map, Value as Json, json};

/// Keywords that are sent as they are.
const KEPT: [&str; 11] = [
    "description",
    "enum",
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "type",
];
/// Keywords that are left out. The answer is checked against them all the same.
const DROPPED: [&str; 16] = [
    "$schema",
    "$id",
    "$comment",
    "title",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "minLength",
    "maxLength",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "contentMediaType",
];
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// The schema for strict mode; `None` if the mode has no words for it, as for maps with keys of any name.
pub(super) fn strict(schema: &Json) -> Option<Json> {
    let Json::Object(map) = schema else { return None };
    if let Some(reference) = map.get("$ref") {
        let alone =
            map.keys().all(|key| key == "$ref" || key == "description" || DROPPED.contains(&key.as_str()));
        return alone.then(|| json!({"$ref": reference.clone()}));
    }
    if let Some([one]) = map.get("allOf").and_then(Json::as_array).map(Vec::as_slice) {
        let alone =
            map.keys().all(|key| key == "allOf" || key == "description" || DROPPED.contains(&key.as_str()));
        return alone.then(|| strict(one)).flatten();
    }
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "properties" | "required" | "additionalProperties" | "unevaluatedProperties" => {}
            "const" => {
                out.insert("enum".into(), json!([value.clone()]));
            }
            "anyOf" | "oneOf" if !map.contains_key("properties") && !out.contains_key("anyOf") => {
                let choices: Option<Vec<Json>> = value.as_array()?.iter().map(strict).collect();
                out.insert("anyOf".into(), choices?.into());
            }
            "items" => {
                out.insert(key.clone(), strict(value)?);
            }
            "$defs" | "definitions" => {
                let definitions: Option<Map> = value
                    .as_object()?
                    .iter()
                    .map(|(name, schema)| strict(schema).map(|schema| (name.clone(), schema)))
                    .collect::<Option<Vec<_>>>()
                    .map(|all| all.into_iter().collect());
                out.insert(key.clone(), Json::Object(definitions?));
            }
            "format" => {
                if value.as_str().is_some_and(|format| FORMATS.contains(&format)) {
                    out.insert(key.clone(), value.clone());
                }
            }
            key if KEPT.contains(&key) => {
                out.insert(key.to_owned(), value.clone());
            }
            key if DROPPED.contains(&key) || key.starts_with("x-") => {}
            _ => return None,
        }
    }
    if map.get("type").is_some_and(|ty| ty == "object") || map.contains_key("properties") {
        object(map, &mut out)?;
    }
    // The mode wants a type beside the words of an enum.
    let words = out.get("enum").and_then(Json::as_array).is_some_and(|all| all.iter().all(Json::is_string));
    if words && !out.contains_key("type") {
        out.insert("type".into(), "string".into());
    }
    let says_something = ["type", "enum", "anyOf"].iter().any(|key| out.contains_key(key));
    let list = map.get("type").is_some_and(|ty| ty == "array");
    (says_something && (!list || out.contains_key("items"))).then_some(Json::Object(out))
}

fn object(map: &Map, out: &mut Map) -> Option<()> {
    let closed = |key: &str| map.get(key).is_none_or(|rest| rest.as_bool().is_some());
    if !closed("additionalProperties") || !closed("unevaluatedProperties") {
        return None;
    }
    let declared = match map.get("properties") {
        Some(properties) => properties.as_object()?,
        // An object without properties may be anything.
        None if map.get("additionalProperties") == Some(&Json::Bool(false)) => &Map::new(),
        None => return None,
    };
    let required: Vec<&str> =
        map.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let mut properties = Map::with_capacity(declared.len());
    for (name, schema) in declared {
        let plain = strict(schema)?;
        let schema = if required.contains(&name.as_str()) { plain } else { nullable(plain) };
        properties.insert(name.clone(), schema);
    }
    let names: Vec<&str> = declared.keys().map(String::as_str).collect();
    out.insert("type".into(), "object".into());
    out.insert("required".into(), json!(names));
    out.insert("properties".into(), Json::Object(properties));
    out.insert("additionalProperties".into(), false.into());
    Some(())
}

/// A schema that null satisfies, too.
fn nullable(mut schema: Json) -> Json {
    let is_null = |schema: &Json| schema.get("type").is_some_and(|ty| ty == "null");
    match schema.get("anyOf").and_then(Json::as_array) {
        Some(choices) if choices.iter().any(is_null) => return schema,
        Some(_) => {
            if let Some(choices) = schema.get_mut("anyOf").and_then(Json::as_array_mut) {
                choices.push(json!({"type": "null"}));
            }
            return schema;
        }
        None => {}
    }
    match schema.get("type").cloned() {
        Some(Json::Array(words)) if words.iter().any(|word| word == "null") => schema,
        Some(Json::String(word)) if schema.get("enum").is_none() && schema.get("properties").is_none() => {
            schema["type"] = json!([word, "null"]);
            schema
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_properties_are_required_and_nullable() {
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "P", "type": "object",
            "properties": {
                "a": {"type": "integer", "format": "int32", "minimum": 0}, "b": {"type": "string", "maxLength": 5},
                "c": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]}, "d": {"$ref": "#/$defs/C", "description": "d"},
                "e": {"type": ["string", "null"]}},
            "required": ["a"],
            "$defs": {"C": {"oneOf": [{"type": "string", "const": "x"}, {"type": "object", "properties":
                {"y": {"type": "array", "items": {"type": "number"}}}, "required": ["y"]}]}}});
        assert_eq!(
            strict(&schema).unwrap(),
            json!({"$defs": {"C": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "object", "required": ["y"],
                "properties": {"y": {"type": "array", "items": {"type": "number"}}}, "additionalProperties": false}]}},
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "minimum": 0}, "b": {"type": ["string", "null"]},
                    "c": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]},
                    "d": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]}, "e": {"type": ["string", "null"]}},
                "required": ["a", "b", "c", "d", "e"], "additionalProperties": false})
        );
    }

    #[test]
    fn words_have_a_type() {
        let words = json!({"anyOf": [{"enum": ["a", "b"]}, {"const": "c"}]});
        let sent =
            json!({"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"enum": ["c"], "type": "string"}]});
        assert_eq!(strict(&words), Some(sent));
    }

    #[test]
    fn what_strict_mode_cannot_say_is_left_to_the_check() {
        for schema in [
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"type": "object"}),
            json!({}),
            json!({"type": "array", "prefixItems": [{"type": "integer"}]}),
            json!({"type": "object", "properties": {"a": {}}}),
            json!({"type": "array"}),
            json!({"type": "object", "properties": {"a": {"type": "null"}}, "oneOf": [{"type": "object"}]}),
        ] {
            assert_eq!(strict(&schema), None, "{schema}");
        }
    }
}
