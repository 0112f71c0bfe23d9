//! The shape of a value: names and types without content.

use crate::signature::is_integer;
use crate::tool::JsonMap;
use ptc_host::json::{Value as Json, json};

/// Properties that a schema shows.
const MAX_PROPERTIES: usize = 20;
/// Characters of a text that its preview shows.
const BEGINNING: usize = 1000;
/// Items of a list that are compared with its first.
const LOOKED_AT: usize = 4;

/// Shape and count.
pub(super) fn metadata(value: &Json) -> (JsonMap, bool) {
    let mut body = JsonMap::new();
    let truncated = match value {
        Json::Array(items) => {
            body.insert("result_count".into(), items.len().into());
            list(items, &mut body)
        }
        Json::Object(map) => {
            let (schema, truncated) = object(map);
            body.insert("schema".into(), schema);
            body.insert("sample_keys".into(), json!(sorted_keys(map)));
            truncated
        }
        scalar => {
            body.insert("schema".into(), type_schema(scalar));
            false
        }
    };
    (body, truncated)
}

/// Shape and count; of a text, whose shape says nothing, also its length and its beginning.
pub(super) fn with_beginning(value: &Json) -> (JsonMap, bool) {
    let (mut body, truncated) = metadata(value);
    let Json::String(text) = value else { return (body, truncated) };
    body.insert("characters".into(), text.chars().count().into());
    let beginning: String = text.chars().take(BEGINNING).collect();
    let cut = beginning.len() < text.len();
    body.insert("beginning".into(), beginning.into());
    (body, cut)
}

/// The first rows of a list, and their shape.
pub(super) fn rows(value: &Json, limit: usize) -> (JsonMap, bool) {
    let Json::Array(items) = value else { return metadata(value) };
    let displayed = &items[..items.len().min(limit)];
    let mut body = JsonMap::new();
    body.insert("rows".into(), json!(displayed));
    body.insert("result_count".into(), items.len().into());
    let truncated = list(displayed, &mut body);
    (body, truncated || displayed.len() < items.len())
}

/// Adds `schema` and `sample_keys` of a list; whether properties are left out.
fn list(items: &[Json], body: &mut JsonMap) -> bool {
    let (schema, truncated) = match items.first() {
        None => (json!({}), false),
        Some(Json::Object(first)) => {
            let consistent = items.iter().skip(1).take(LOOKED_AT).all(|item| {
                item.as_object().is_some_and(|item| {
                    item.len() == first.len() && item.keys().all(|key| first.contains_key(key))
                })
            });
            if consistent {
                body.insert("sample_keys".into(), json!(sorted_keys(first)));
                object(first)
            } else if items.iter().all(Json::is_object) {
                (json!({"type": "object"}), false)
            } else {
                (json!({"type": "any"}), false)
            }
        }
        Some(first) => {
            let kind = type_name(first);
            let same = items.iter().all(|item| type_name(item) == kind);
            (json!({"type": if same { kind } else { "any" }}), false)
        }
    };
    body.insert("schema".into(), json!({"type": "array", "items": schema}));
    truncated
}

fn sorted_keys(map: &JsonMap) -> Vec<&String> {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_unstable();
    keys.truncate(MAX_PROPERTIES);
    keys
}

fn object(map: &JsonMap) -> (Json, bool) {
    if map.is_empty() {
        return (json!({"type": "object"}), false);
    }
    let properties: JsonMap =
        sorted_keys(map).into_iter().map(|key| (key.clone(), type_name(&map[key]).into())).collect();
    let truncated = properties.len() < map.len();
    let mut schema = json!({"type": "object", "properties": properties});
    if truncated {
        schema["truncated"] = true.into();
    }
    (schema, truncated)
}

/// The JSON Schema word for a value's type.
fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if is_integer(number) => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// A bare JSON Schema of a value's type.
fn type_schema(value: &Json) -> Json {
    json!({"type": type_name(value)})
}
