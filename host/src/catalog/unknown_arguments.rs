//! Arguments that an MCP tool does not describe. They are sent, as the server may accept more than it describes; but most
//! servers drop such names silently, and a mistyped filter then gives unfiltered data.

use ptc_mcp::json::Value;
use std::fmt::Write as _;

use super::{ServerEntry, ToolEntry};
use ptc_base::similar::most_similar;
use ptc_base::text::{bounded_line, clip, string_literal};
use ptc_schema::json_schema::views;

/// Longest name that a note shows, in bytes.
const MAX_NAME: usize = 60;

/// A note for the reader of an answer on `unknown`, names that the program gave and the schema has no property of. `None` if
/// there are none, or if the schema welcomes other names.
pub(super) fn note_on_unknown(server: &ServerEntry, tool: &ToolEntry, unknown: &[String]) -> Option<String> {
    let first = unknown.first()?;
    let views = views(&tool.input_schema, &tool.input_schema);
    let welcomes_others = views.iter().any(|view| {
        view.contains_key("patternProperties")
            || view.get("additionalProperties").is_some_and(|others| others != &Value::Bool(false))
    });
    let lists = || views.iter().filter_map(|view| view.get("properties").and_then(Value::as_object));
    if welcomes_others || lists().next().is_none() {
        return None;
    }
    let names = || lists().flat_map(|properties| properties.keys()).map(String::as_str);
    let shown = |name: &str| bounded_line(&string_literal(clip(name, MAX_NAME)), MAX_NAME);
    let mut text = format!("`{}.{}` describes no argument {}", server.name, tool.name, shown(first));
    if unknown.len() > 1 {
        let _ = write!(text, " (and {} more)", unknown.len() - 1);
    }
    if let Some(similar) = most_similar(first, names()) {
        let _ = write!(text, "; did you mean {}?", shown(similar));
        return Some(text);
    }
    let known: Vec<String> = names().take(MAX_HINTED).map(shown).collect();
    let more = if names().nth(MAX_HINTED).is_some() { " and others" } else { "" };
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let _ = write!(text, "; it takes {known}{more}");
    Some(text)
}

/// Names that a hint shows at most.
pub(super) const MAX_HINTED: usize = 8;

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;

    fn note(schema: Value, unknown: &[&str]) -> Option<String> {
        let server = fixtures::server("fs", vec![json!({"name": "search", "inputSchema": schema})]);
        let unknown: Vec<String> = unknown.iter().map(|&name| name.to_owned()).collect();
        note_on_unknown(&server, &server.tools()[0], &unknown)
    }

    #[test]
    fn names_that_a_closed_list_lacks_are_told() {
        let schema = json!({"properties": {"path": {}, "pattern": {}}});
        assert_eq!(
            note(schema.clone(), &["pth"]).as_deref(),
            Some("`fs.search` describes no argument \"pth\"; did you mean \"path\"?")
        );
        assert_eq!(
            note(schema.clone(), &["zoom", "x"]).as_deref(),
            Some("`fs.search` describes no argument \"zoom\" (and 1 more); it takes \"path\", \"pattern\"")
        );
        assert_eq!(
            note(json!({"properties": {}, "additionalProperties": false}), &["zoom"]).as_deref(),
            Some("`fs.search` describes no argument \"zoom\"; it takes none")
        );
        assert_eq!(note(schema, &[]), None);
    }

    #[test]
    fn open_lists_are_left_alone() {
        for schema in [
            json!({"type": "object"}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {}}, "patternProperties": {"^x-": {}}}),
            json!({"anyOf": [{"properties": {"a": {}}}, {"additionalProperties": {}}]}),
        ] {
            assert_eq!(note(schema.clone(), &["zoom"]), None, "{schema}");
        }
    }
}
