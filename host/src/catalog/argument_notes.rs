//! Notes of `doc` on single arguments beneath the line of their types: one line for each that has a description, listed values,
//! a default, bounds or a structure of its own.

use ptc_mcp::json::Value;

use super::types::{ordered_arguments, structure};
use ptc_base::text::literal::{literal, literals};
use ptc_base::text::{argument_key, bounded_line};
use ptc_schema::json_schema::views;

/// Longest description of an argument and longest list of its values, in bytes.
const MAX_BYTES: usize = 2048;
/// Longest of all lines together, in bytes.
const MAX_NOTES: usize = 128 * 1024;
/// Keys of a schema that bound a number, and how a line shows them.
const BOUNDS: [(&str, &str); 4] = [
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
];

/// The lines, each with a line break in front: `\n  :limit - page size; at least 1; at most 30; default 10`.
pub(super) fn argument_notes(input_schema: &Value) -> String {
    let mut lines = String::new();
    for (name, schema, _) in ordered_arguments(input_schema) {
        let parts = parts(input_schema, schema);
        if !parts.is_empty() {
            lines.push_str(&format!("\n  {} - {}", argument_key(name), parts.join("; ")));
        }
        if lines.len() > MAX_NOTES {
            lines.push_str("\n  ...");
            break;
        }
    }
    lines
}

fn parts(root: &Value, schema: &Value) -> Vec<String> {
    let views = views(root, schema);
    // What stands beside a reference counts as well, and comes first.
    let first = |key: &str| schema.get(key).or_else(|| views.iter().find_map(|view| view.get(key)));
    let mut parts = Vec::new();
    if let Some(Value::String(text)) = first("description") {
        let line = bounded_line(text, MAX_BYTES);
        parts.extend(Some(line.trim_end_matches('.').to_owned()).filter(|line| !line.is_empty()));
    }
    if let Some(Value::Array(values)) = first("enum").filter(|values| values != &&Value::Array(Vec::new())) {
        parts.push(format!("one of {}", bounded_line(&literals(values, " ", MAX_BYTES), MAX_BYTES)));
    }
    for (key, words) in BOUNDS {
        // Drafts before 6 have booleans beside `minimum` and `maximum`.
        if let Some(bound @ Value::Number(_)) = first(key) {
            parts.push(format!("{words} {bound}"));
        }
    }
    if let Some(default) = first("default").filter(|default| !default.is_null()) {
        parts.push(format!("default {}", bounded_line(&literal(default, MAX_BYTES), MAX_BYTES)));
    }
    parts.extend(structure(root, schema));
    parts
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    #[test]
    fn a_line_tells_what_the_type_does_not() {
        let schema = json!({"required": ["q"], "properties": {
            "q": {"type": "string", "description": "Text\n to  find."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 30, "default": 10},
            "state": {"enum": ["open", "closed", null], "description": "only these"},
            "plain": {"type": "string"},
            "max_score": {"exclusiveMaximum": 1.5},
            "old": {"minimum": 0, "exclusiveMinimum": true},
            "a b": {"default": {"x": [1, null]}}}});
        assert_eq!(
            argument_notes(&schema),
            "\n  :q - Text to find\
             \n  \"a b\" - default {\"x\" [1 nil]}\
             \n  :limit - at least 1; at most 30; default 10\
             \n  :max_score - less than 1.5\
             \n  :old - at least 0\
             \n  :state - only these; one of \"open\" \"closed\" nil"
        );
        assert_eq!(argument_notes(&json!({"properties": {"a": {"type": "string"}}})), "");
        assert_eq!(argument_notes(&json!(null)), "");
    }

    #[test]
    fn references_combinations_and_structure_are_seen() {
        let schema = json!({
            "$defs": {"State": {"enum": ["a", "b"], "description": "of the definition"},
                "Item": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
                    "notes": {"type": "array", "items": {"type": "string"}}}}},
            "properties": {
                "state": {"$ref": "#/$defs/State", "description": "own words"},
                "count": {"anyOf": [{"type": "integer", "minimum": 2}, {"type": "null"}], "default": null},
                "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}}}});
        assert_eq!(
            argument_notes(&schema),
            "\n  :count - at least 2\
             \n  :items - [{:name string :notes [string]?}]\
             \n  :state - own words; one of \"a\" \"b\""
        );
    }

    #[test]
    fn notes_on_many_arguments_of_one_long_type_are_bounded() {
        let properties: ptc_mcp::json::Map =
            (0..20_000).map(|i| (format!("p{i}"), json!({"$ref": "#/$defs/long"}))).collect();
        for key in ["enum", "default", "description"] {
            let long = "x".repeat(200_000);
            let value = if key == "enum" { json!([long, long]) } else { json!(long) };
            let notes = argument_notes(&json!({"properties": properties, "$defs": {"long": {key: value}}}));
            assert!(notes.len() < MAX_NOTES + 3 * MAX_BYTES && notes.ends_with("\n  ..."), "{}", notes.len());
        }
    }

    #[test]
    fn hostile_texts_stay_on_their_line_and_in_their_bounds() {
        let schema = json!({"properties": {"x": {"description": format!("a\nb\u{2028}c {}", "é".repeat(5000)),
            "enum": ["\n"]}}});
        let notes = argument_notes(&schema);
        assert_eq!(notes.lines().count(), 2);
        assert!(notes.starts_with("\n  :x - a b c é") && notes.ends_with("; one of \"\\n\""), "{notes}");
        assert!(notes.len() < 2048 + 40, "{}", notes.len());
    }
}
