//! Schemas without hidden characters.
//!
//! A reader of JSON undoes the escapes of JSON, so texts have the escapes of [`visible`] in them. Names and values go to the upstream
//! as they are: one with hidden characters is left out, and the description says in JSON what it is.

use std::borrow::Cow;

use ptc_host::visible::visible;
use ptc_mcp::json::{Map, Value};

use super::loosen::{leave_out, loosen, note_values, take_off};
use super::parts::NAMED;

/// Keywords whose texts mean something else with escapes in them.
const EXACT: [&str; 16] = [
    "enum",
    "const",
    "default",
    "examples",
    "example",
    "pattern",
    "type",
    "format",
    "contentEncoding",
    "contentMediaType",
    "$id",
    "$schema",
    "$ref",
    "$dynamicRef",
    "$anchor",
    "$dynamicAnchor",
];

/// Makes the hidden characters of a schema visible to whoever parses it.
pub fn shown(schema: &mut Value) {
    if has_hidden_text(schema) {
        loosen(schema, &mut show);
    }
}

/// Makes the hidden characters in the texts of a value visible to whoever parses it, and leaves out members whose names have some.
pub fn shown_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = visible(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shown_value),
        Value::Object(members) => {
            members.retain(|name, _| !hides(name));
            members.values_mut().for_each(shown_value);
        }
        _ => {}
    }
}

fn show(part: &mut Map) -> bool {
    let mut is_looser = leave_out(part, |name| !hides(name));
    for keyword in NAMED.into_iter().chain(["dependentRequired"]) {
        let Some(Value::Object(named)) = part.get_mut(keyword) else { continue };
        let before = named.len();
        named.retain(|name, value| !(hides(name) || value.is_array() && has_hidden_text(value)));
        if named.len() < before {
            is_looser = true;
            if keyword == "patternProperties" {
                part.remove("additionalProperties");
            }
        }
    }
    let is_exact = |keyword: &str| EXACT.contains(&keyword);
    let hidden =
        part.iter().filter(|(keyword, value)| hides(keyword) || is_exact(keyword) && has_hidden_text(value));
    let hidden: Vec<String> = hidden.map(|(keyword, _)| keyword.clone()).collect();
    for keyword in hidden {
        let value = part.get(&keyword).cloned().unwrap_or_default();
        is_looser |= take_off(part, &keyword);
        let values = match (keyword.as_str(), &value) {
            ("enum", Value::Array(values)) => values.as_slice(),
            ("const", value) => std::slice::from_ref(value),
            _ => continue,
        };
        note_values(part, values);
    }
    for (keyword, value) in part {
        if !is_exact(keyword) {
            show_texts(value);
        }
    }
    is_looser
}

/// Texts that are no parts of a schema.
fn show_texts(value: &mut Value) {
    match value {
        Value::String(_) => shown_value(value),
        Value::Array(items) => items.iter_mut().for_each(show_texts),
        _ => {}
    }
}

/// Whether a text has characters that its reader does not see. Line feeds and tabs are seen.
fn hides(text: &str) -> bool {
    matches!(visible(text), Cow::Owned(_))
}

fn has_hidden_text(value: &Value) -> bool {
    match value {
        Value::String(text) => hides(text),
        Value::Array(items) => items.iter().any(has_hidden_text),
        Value::Object(members) => members.iter().any(|(name, value)| hides(name) || has_hidden_text(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    fn seen(mut schema: Value) -> Value {
        shown(&mut schema);
        schema
    }

    #[test]
    fn prose_is_escaped_where_a_parser_does_not_undo_it() {
        let schema = json!({"title": "a\u{200b}b", "description": "x\u{202e}y\nz", "x-hint": ["q\u{e0041}"],
            "properties": {"description": {"description": "\u{1b}[2J", "items": {"$comment": "\u{feff}"}}}});
        let expected = json!({"title": "a\\u200bb", "description": "x\\u202ey\nz", "x-hint": ["q\\udb40\\udc41"],
            "properties": {"description": {"description": "\\u001b[2J", "items": {"$comment": "\\ufeff"}}}});
        assert_eq!(seen(schema), expected);
    }

    #[test]
    fn names_and_values_that_hide_something_are_left_out_and_told() {
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["na\u{200b}me", "plain"],
            "properties": {"na\u{200b}me": {"type": "string", "description": "d."}, "plain": {"enum": ["a", "b\u{200b}"]},
                "kind": {"const": "\\u200b\u{200b}"}, "text": {"pattern": "\u{200b}", "default": "\u{200b}"}},
            "$defs": {"\u{200b}": {}}, "dependentRequired": {"plain": ["na\u{200b}me"], "kind": ["plain"]}});
        let expected = json!({"type": "object", "required": ["plain"],
            "description": "More properties, by their names in JSON: \"na\\u200bme\" (string, required): d.",
            "properties": {"plain": {"description": "One of these values, in JSON: \"a\", \"b\\u200b\"."},
                "kind": {"description": "One of these values, in JSON: \"\\\\u200b\\u200b\"."}, "text": {}},
            "$defs": {}, "dependentRequired": {"kind": ["plain"]}});
        assert_eq!(seen(schema), expected);
    }

    #[test]
    fn what_was_left_out_is_not_forbidden_by_the_rest() {
        let schema = json!({"not": {"required": ["a\u{200b}"]}, "unevaluatedProperties": false,
            "properties": {"x": {"oneOf": [{"const": "\u{200b}"}, {"const": 1}], "anyOf": [{}]},
                "y": {"$ref": "#/$defs/\u{200b}"}, "z": {"$ref": "#/not"}}, "$defs": {"\u{200b}": {}}});
        let x = json!({"anyOf": [{}], "allOf": [{"anyOf": [
            {"description": "One of these values, in JSON: \"\\u200b\"."}, {"const": 1}]}]});
        assert_eq!(seen(schema), json!({"properties": {"x": x, "y": {}, "z": {}}, "$defs": {}}));
    }

    #[test]
    fn schemas_without_hidden_characters_stay_as_they_are() {
        let schema = json!({"oneOf": [{"not": {"pattern": "^\\u200b$"}}], "enum": ["line\nfeed", "👩🏽‍🚀"], "$ref": "#/gone"});
        assert_eq!(seen(schema.clone()), schema);
    }
}
