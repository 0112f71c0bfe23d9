//! Inspection of JSON Schemas: references, combinations, properties, and whether `null` is admitted.
//!
//! Schemas come from upstreams and are untrusted, so every traversal is bounded in depth and in the number of schemas
//! visited. Only references inside the document are followed.

use ahash::AHashSet;
use ptc_mcp::json::{Map, Value};

/// How deep combinations and references are followed.
const MAX_DEPTH: usize = 16;
/// How many schemas one look may visit.
const MAX_VIEWS: usize = 64;

/// The schema that a chain of `$ref`s leads to, or the schema itself. `None` if a reference leads nowhere, outside
/// the document, or round in a circle.
pub fn resolve<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        match schema.get("$ref") {
            Some(Value::String(reference)) => schema = target(root, reference)?,
            Some(_) => return None,
            None => return Some(schema),
        }
    }
    None
}

/// The part of the document that a reference into it leads to; URI fragments are percent-encoded.
pub(crate) fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return None;
    }
    root.pointer(&percent_encoding::percent_decode_str(fragment).decode_utf8().ok()?)
}

/// The object schemas that together describe a value: the schema itself and, through references, the members of its
/// `allOf`, `anyOf` and `oneOf`. In document order.
pub fn views<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Map> {
    fn collect<'s>(root: &'s Value, schema: &'s Value, depth: usize, found: &mut Vec<&'s Map>) {
        if depth == MAX_DEPTH || found.len() == MAX_VIEWS {
            return;
        }
        let Some(Value::Object(map)) = resolve(root, schema) else { return };
        found.push(map);
        for key in ["allOf", "anyOf", "oneOf"] {
            // Members that are no objects count as well: they are looked at.
            for member in map.get(key).and_then(Value::as_array).into_iter().flatten().take(MAX_VIEWS) {
                collect(root, member, depth + 1, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(root, schema, 0, &mut found);
    found
}

/// The properties of an object schema by name.
pub fn properties(schema: &Value) -> Option<&Map> {
    schema.get("properties").and_then(Value::as_object)
}

/// The names in `required`, in order, without repeats.
pub fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut known = AHashSet::new();
    names.filter_map(Value::as_str).filter(|name| known.insert(*name)).collect()
}

/// Whether the schema admits `null` as a value. Undecidable cases count as admitted, so that nothing is withheld from an
/// upstream that may want it.
pub fn admits_null(root: &Value, schema: &Value) -> bool {
    fn admits(root: &Value, schema: &Value, depth: usize, left: &mut usize) -> bool {
        if depth == MAX_DEPTH || *left == 0 {
            return true;
        }
        *left -= 1;
        let map = match resolve(root, schema) {
            Some(Value::Object(map)) => map,
            Some(Value::Bool(allowed)) => return *allowed,
            _ => return true,
        };
        if map.get("nullable") == Some(&Value::Bool(true)) {
            return true;
        }
        let members = |key: &str| map.get(key).and_then(Value::as_array);
        let type_allows = match map.get("type") {
            Some(Value::String(word)) => word == "null",
            Some(Value::Array(words)) => words.iter().any(|word| word == "null"),
            _ => true,
        };
        type_allows
            && map.get("const").is_none_or(Value::is_null)
            && members("enum").is_none_or(|values| values.iter().any(Value::is_null))
            && members("allOf").is_none_or(|all| {
                all.iter().take(MAX_VIEWS).all(|schema| admits(root, schema, depth + 1, left))
            })
            && ["anyOf", "oneOf"].iter().all(|key| {
                members(key).is_none_or(|any| {
                    any.len() > MAX_VIEWS || any.iter().any(|schema| admits(root, schema, depth + 1, left))
                })
            })
    }
    admits(root, schema, 0, &mut { MAX_VIEWS })
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn references_stay_inside_the_document() {
        let root = json!({"$defs": {"a/b c": {"type": "string"}, "x": {"$ref": "#/$defs/a~1b%20c"},
            "loop": {"$ref": "#/$defs/loop"}}});
        let at = |reference: &str| resolve(&root, &json!({"$ref": reference})).cloned();
        assert_eq!(at("#/$defs/x"), Some(json!({"type": "string"})));
        assert_eq!(at("#").as_ref(), Some(&root));
        for bad in ["#/$defs/none", "#/$defs/loop", "https://h/s.json", "other.json#/a", "#anchor"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn views_see_through_combinations_and_are_bounded() {
        let root = json!({"$defs": {"n": {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}});
        assert!(views(&root, &json!({"$ref": "#/$defs/n"})).len() <= MAX_VIEWS);
        let wide = json!({"$defs": {"n": {"allOf": vec![json!({"$ref": "#/$defs/n"}); 20_000]}}});
        assert_eq!(views(&wide, &json!({"$ref": "#/$defs/n"})).len(), MAX_VIEWS);
        // Sixteen deep, each asks for the next one twenty times.
        let wide = json!({"$defs": {"n": {"allOf": vec![json!({"$ref": "#/$defs/n"}); 20]}}});
        assert!(admits_null(&wide, &json!({"$ref": "#/$defs/n"})));
        let never =
            json!({"$defs": {"n": {"type": "string", "anyOf": vec![json!({"$ref": "#/$defs/n"}); 20_000]}}});
        assert!(!admits_null(&never, &json!({"$ref": "#/$defs/n"})));
        let schema = json!({"anyOf": [{"type": "null"}, {"allOf": [{"title": "t"}]}]});
        assert_eq!(views(&schema, &schema).len(), 4);
    }

    #[test]
    fn null_is_admitted_where_the_schema_says_so() {
        for (schema, expected) in [
            (json!({}), true),
            (json!(true), true),
            (json!(false), false),
            (json!({"type": "string"}), false),
            (json!({"type": "null"}), true),
            (json!({"type": ["string", "null"]}), true),
            (json!({"type": "string", "nullable": true}), true),
            (json!({"enum": ["a", "b"]}), false),
            (json!({"enum": ["a", null]}), true),
            (json!({"const": 1}), false),
            (json!({"const": null}), true),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), true),
            (json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), false),
            (json!({"allOf": [{"type": "string"}]}), false),
            (json!({"$ref": "#/nowhere"}), true),
        ] {
            assert_eq!(admits_null(&schema, &schema), expected, "{schema}");
        }
    }

    #[test]
    fn required_names_come_once() {
        assert_eq!(required(&json!({"required": ["b", "a", "b", 5]})), ["b", "a"]);
        assert!(required(&json!({"required": "b"})).is_empty());
    }
}
