//! The shape of a value: names and types without content.

use crate::tool::JsonMap;
use ptc_base::json::{Value as Json, json};
use ptc_schema::parsed::has_no_fraction;
use std::collections::HashMap;

/// Properties that a schema shows.
const MAX_PROPERTIES: usize = 20;
/// Characters of a text that its preview shows.
const BEGINNING: usize = 1000;
/// Items of a list whose keys are compared with its first's.
const LOOKED_AT: usize = 4;

/// Shape and count.
pub(super) fn metadata(value: &Json) -> (JsonMap, bool) {
    let mut body = JsonMap::new();
    let truncated = match value {
        Json::Array(items) => {
            body.insert("result_count".into(), items.len().into());
            list(items, &mut body)
        }
        Json::Object(map) => object(&[map], ObjectKeys::of_map(map), &mut body, |schema| schema),
        scalar => {
            body.insert("schema".into(), type_schema(std::slice::from_ref(scalar)));
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
    let array = |schema: Json| json!({"type": "array", "items": schema});
    let maps: Vec<&JsonMap> = items.iter().filter_map(Json::as_object).collect();
    let schema = match maps.first() {
        _ if items.is_empty() => json!({}),
        Some(first) if maps.len() == items.len() => {
            let consistent = maps
                .iter()
                .skip(1)
                .take(LOOKED_AT)
                .all(|item| item.len() == first.len() && item.keys().all(|key| first.contains_key(key)));
            if consistent {
                return object(&maps, ObjectKeys::of_rows(first), body, array);
            }
            json!({"type": "object"})
        }
        _ => type_schema(items),
    };
    body.insert("schema".into(), array(schema));
    false
}

/// Adds `schema`, wrapped, and `sample_keys` of objects that share their keys; whether keys are left out.
fn object(maps: &[&JsonMap], keys: ObjectKeys<'_>, body: &mut JsonMap, wrap: impl Fn(Json) -> Json) -> bool {
    let ObjectKeys { mut names, data } = keys;
    let wide = names.len() > MAX_PROPERTIES;
    names.truncate(MAX_PROPERTIES);
    let mut schema = json!({"type": "object"});
    let types = |key: &String| type_of(maps.iter().filter_map(|map| map.get(key)));
    if !names.is_empty() {
        schema["properties"] =
            names.iter().map(|key| ((*key).clone(), types(key).into())).collect::<JsonMap>().into();
    }
    if wide {
        schema["truncated"] = true.into();
    }
    if !data.is_empty() {
        schema["data_keys"] = data.len().into();
        let values = maps.iter().flat_map(|map| data.iter().filter_map(|key| map.get(key)));
        schema["data_values"] = type_of(values).into();
    }
    body.insert("schema".into(), wrap(schema));
    body.insert("sample_keys".into(), json!(names));
    wide || !data.is_empty()
}

/// The keys of an object: names of fields, and those that are data themselves, which the model must not see.
struct ObjectKeys<'m> {
    /// Sorted.
    names: Vec<&'m String>,
    data: Vec<&'m String>,
}

impl<'m> ObjectKeys<'m> {
    /// Of rows that share them: they are names of columns, unless they look like something else.
    fn of_rows(row: &'m JsonMap) -> ObjectKeys<'m> {
        let (data, mut names): (Vec<&String>, Vec<&String>) = row.keys().partition(|key| is_data(key));
        names.sort_unstable();
        ObjectKeys { names, data }
    }

    /// Of one object: a stem that occurs with three or more numbers is an id.
    fn of_map(map: &'m JsonMap) -> ObjectKeys<'m> {
        let ObjectKeys { names, mut data } = ObjectKeys::of_rows(map);
        let mut stems: HashMap<String, u32> = HashMap::new();
        for stem in names.iter().filter_map(|key| stem(key)) {
            *stems.entry(stem).or_default() += 1;
        }
        let (ids, names): (Vec<&String>, Vec<&String>) = names
            .into_iter()
            .partition(|key| stem(key).is_some_and(|stem| stems.get(&stem).is_some_and(|count| *count >= 3)));
        data.extend(ids);
        ObjectKeys { names, data }
    }
}

/// Whether a key is no name of a field: an address, an id, a date, a number, a sentence.
fn is_data(key: &str) -> bool {
    let digits = key.chars().filter(|c| c.is_numeric()).count();
    let hex = key.len() >= 8 && key.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    key.contains('@')
        || key.contains("://")
        || digits >= 4
        || key.starts_with(char::is_numeric)
        || !key.chars().any(char::is_alphabetic)
        || hex
        || key.chars().count() > 64
}

/// A key with its numbers taken out; `None` if it has none.
fn stem(key: &str) -> Option<String> {
    let stem: String = key.chars().filter(|c| !c.is_numeric()).collect();
    (stem.len() < key.len()).then_some(stem)
}

/// The JSON Schema word for the type of all these values; several are `any`, and `|null` is added if some may be missing.
fn type_of<'v>(values: impl Iterator<Item = &'v Json>) -> String {
    let (mut kind, mut null) = (None, false);
    for value in values {
        let next = match type_name(value) {
            "null" => {
                null = true;
                continue;
            }
            other => other,
        };
        kind = Some(match kind {
            None => next,
            Some(known) if known == next => known,
            Some("integer" | "number") if matches!(next, "integer" | "number") => "number",
            Some(_) => return "any".into(),
        });
    }
    match (kind, null) {
        (None, true) => "null".into(),
        (None, false) => "any".into(),
        (Some(kind), true) => format!("{kind}|null"),
        (Some(kind), false) => kind.into(),
    }
}

/// The JSON Schema word for a value's type.
fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if has_no_fraction(number) => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// A bare JSON Schema of the type of all these values.
fn type_schema(values: &[Json]) -> Json {
    json!({"type": type_of(values.iter())})
}
