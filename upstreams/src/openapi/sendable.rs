//! The part of a parameter's schema that a URL can carry: scalars, lists of scalars, and maps of scalars where the style has a
//! way to write them. Other parts are not advertised (ruling 60).

use ptc_mcp::json::{Map, Value, json};

use super::style::Style;

/// Nesting up to which schemas are narrowed; deeper parts cannot be sent.
const MAX_DEPTH: usize = 16;

/// The kinds allowed at a place of a schema.
#[derive(Clone, Copy)]
struct AllowedKinds {
    lists: bool,
    maps: bool,
}

const SCALAR: AllowedKinds = AllowedKinds { lists: false, maps: false };

/// The part of `schema` whose values can be written in this style. `None` if there is none.
pub(super) fn sendable(schema: &Value, style: Style) -> Option<Value> {
    narrow(schema, AllowedKinds { lists: style.takes_lists(), maps: style.takes_maps() }, 0)
}

fn narrow(schema: &Value, place: AllowedKinds, depth: usize) -> Option<Value> {
    let map = match schema {
        Value::Object(map) if depth < MAX_DEPTH => map,
        Value::Bool(true) => return Some(json!({"type": "string"})),
        _ => return None,
    };
    let mut narrowed = map.clone();
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(members)) = map.get(key) {
            let members: Vec<Value> =
                members.iter().filter_map(|member| narrow(member, place, depth + 1)).collect();
            if members.iter().all(|member| member.get("type").is_some_and(|t| t == "null")) {
                return None;
            }
            narrowed.insert(key.to_owned(), members.into());
        }
    }
    if let Some(Value::Array(members)) = map.get("allOf") {
        let members: Option<Vec<Value>> =
            members.iter().map(|member| narrow(member, place, depth + 1)).collect();
        narrowed.insert("allOf".to_owned(), members?.into());
    }
    let kept: Vec<&str> = types(map)
        .into_iter()
        .filter(|word| match *word {
            "array" => place.lists && keep_items(map, &mut narrowed, depth),
            "object" => place.maps && keep_properties(map, &mut narrowed, depth),
            _ => true,
        })
        .collect();
    match map.get("type") {
        Some(Value::Array(_)) if kept.iter().all(|word| *word == "null") => return None,
        Some(Value::Array(_)) => {
            narrowed.insert("type".to_owned(), kept.into());
        }
        // A null alone is what a union that is narrowed one level up may hold.
        _ if kept.is_empty() && !types(map).is_empty() => return None,
        _ => {}
    }
    Some(Value::Object(narrowed))
}

/// Whether lists of this schema can be sent; `items` then holds the part that can.
fn keep_items(map: &Map, narrowed: &mut Map, depth: usize) -> bool {
    if map.contains_key("prefixItems") {
        return false;
    }
    let Some(items) = map.get("items") else { return true };
    let items = narrow(items, SCALAR, depth + 1);
    items.map(|items| narrowed.insert("items".to_owned(), items)).is_some()
}

/// Whether maps of this schema can be sent; `properties` then holds those that can.
fn keep_properties(map: &Map, narrowed: &mut Map, depth: usize) -> bool {
    let Some(Value::Object(properties)) = map.get("properties") else { return true };
    let mut kept = Map::new();
    for (name, property) in properties {
        match narrow(property, SCALAR, depth + 1) {
            Some(property) => drop(kept.insert(name.clone(), property)),
            None if ptc_schema::json_schema::required(&Value::Object(map.clone()))
                .contains(&name.as_str()) =>
            {
                return false;
            }
            None => {}
        }
    }
    narrowed.insert("properties".to_owned(), kept.into());
    true
}

/// The types that a schema names, or implies by its keywords for items and properties.
pub(super) fn types(map: &Map) -> Vec<&str> {
    match map.get("type") {
        Some(Value::String(word)) => vec![word],
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        _ if map.contains_key("properties") => vec!["object"],
        _ if map.contains_key("items") => vec!["array"],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: Value) -> Value {
        json!({"type": "array", "items": items})
    }

    #[test]
    fn what_a_url_can_carry_stays() {
        for schema in [
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": ["integer", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"allOf": [{"type": "string"}], "default": "x"}),
            list(json!({"type": "integer"})),
            list(json!({})),
            json!({"type": "array"}),
        ] {
            assert_eq!(sendable(&schema, Style::Repeated), Some(schema.clone()), "{schema}");
        }
        let map = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(sendable(&map, Style::Deep), Some(map.clone()));
        assert_eq!(sendable(&map, Style::Repeated), None);
    }

    #[test]
    fn what_it_cannot_carry_goes() {
        let map = json!({"type": "object"});
        for (schema, style) in [
            (list(map.clone()), Style::Repeated),
            (list(list(json!({"type": "string"}))), Style::Joined(",")),
            (json!({"properties": {"a": {}}}), Style::Repeated),
            (json!({"items": {"type": "object"}}), Style::Repeated),
            (json!({"anyOf": [map, {"type": "null"}]}), Style::Repeated),
            (json!({"type": ["object", "null"]}), Style::Repeated),
            (json!({"allOf": [{"type": "string"}, {"type": "object"}]}), Style::Repeated),
            (list(json!({"type": "string"})), Style::Deep),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "object"}}}),
                Style::Deep,
            ),
            (json!(false), Style::Repeated),
        ] {
            assert_eq!(sendable(&schema, style), None, "{schema} {style:?}");
        }
        assert_eq!(
            sendable(&json!({"anyOf": [{"type": "string"}, {"type": "object"}]}), Style::Repeated),
            Some(json!({"anyOf": [{"type": "string"}]}))
        );
        assert_eq!(
            sendable(&json!({"type": ["string", "object"]}), Style::Repeated),
            Some(json!({"type": ["string"]}))
        );
        assert_eq!(
            sendable(
                &json!({"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "string"}}}),
                Style::Deep
            ),
            Some(json!({"type": "object", "properties": {"b": {"type": "string"}}}))
        );
    }

    #[test]
    fn depth_is_bounded() {
        let mut schema = json!({"type": "string"});
        for _ in 0..100 {
            schema = json!({"anyOf": [schema]});
        }
        assert_eq!(sendable(&schema, Style::Repeated), None);
    }
}
