//! The shape of a tool on one line, from its schemas: `{status? limit?≤30 cursor?} → {"tickets" […] "next_cursor"}`.

use ptc_mcp::json::{Map, Value};

use super::ToolEntry;
use super::payload::payload_schema;
use super::types::ordered_arguments;
use crate::json_schema::{resolve, views};
use crate::text::{argument_key, cut, one_line, string_literal};

/// The most arguments, and the most keys of a result, that a shape shows.
const MAX_NAMES: usize = 12;
/// Longest name, in characters.
const MAX_NAME: usize = 40;
/// Longest shape, in characters.
const MAX_CHARS: usize = 200;

/// What a call takes and, if the tool says so, what its value has. Names are the upstream's own; values never appear.
pub(super) fn tool_shape(tool: &ToolEntry) -> String {
    let arguments = arguments_shape(&tool.input_schema);
    let result = tool.output_schema.as_ref().and_then(|root| {
        let payload = payload_schema(Some(root)).usual().unwrap_or(root);
        result_shape(root, payload, 0)
    });
    cut(result.map_or_else(|| arguments.clone(), |result| format!("{arguments} → {result}")), MAX_CHARS)
}

/// The shape of a tool by now, if it takes or gives anything else than it did.
pub(crate) fn changed_shape(then: &ToolEntry, now: &ToolEntry) -> Option<String> {
    let same = then.input_schema == now.input_schema && then.output_schema == now.output_schema;
    (!same).then(|| format!("{} {}", now.name, tool_shape(now)))
}

fn arguments_shape(schema: &Value) -> String {
    let shown = ordered_arguments(schema).into_iter().map(|(name, property, needed)| {
        let key = argument_key(&cut(one_line(name), MAX_NAME));
        let name = key.strip_prefix(':').unwrap_or(&key);
        let optional = if needed { "" } else { "?" };
        let views = views(schema, property);
        let most = views.iter().find_map(|view| view.get("maximum").filter(|most| most.is_number()));
        let most = most.map_or_else(String::new, |most| format!("≤{most}"));
        let nested = match kind(&views) {
            Some("array") => " […]",
            Some("object") => " {…}",
            _ => "",
        };
        format!("{name}{optional}{most}{nested}")
    });
    format!("{{{}}}", joined(shown))
}

/// The shape of a described value; `None` where nothing is said about it.
fn result_shape(root: &Value, schema: &Value, depth: usize) -> Option<String> {
    let views = views(root, schema);
    match kind(&views)? {
        "array" if depth < 2 => {
            let items = views.iter().find_map(|view| view.get("items"));
            let items = items.and_then(|items| result_shape(root, items, depth + 1));
            Some(format!("[{}]", items.unwrap_or_else(|| "…".to_owned())))
        }
        "array" => Some("[…]".to_owned()),
        "object" => {
            let mut names: Vec<(&String, &Value)> =
                views.iter().filter_map(|view| properties(view)).flatten().take(MAX_NAMES * 64).collect();
            if names.is_empty() || depth > 1 {
                return Some("{…}".to_owned());
            }
            names.dedup_by_key(|(name, _)| *name);
            let shown = names.into_iter().map(|(name, property)| {
                let nested =
                    match resolve(root, property).map(|property| crate::json_schema::views(root, property)) {
                        Some(views) => match kind(&views) {
                            Some("array") => " […]",
                            Some("object") => " {…}",
                            _ => "",
                        },
                        None => "",
                    };
                format!("{}{nested}", string_literal(&cut(one_line(name), MAX_NAME)))
            });
            Some(format!("{{{}}}", joined(shown)))
        }
        word => Some(word.to_owned()),
    }
}

fn properties(view: &Map) -> Option<&Map> {
    view.get("properties").and_then(Value::as_object)
}

/// The JSON type that a schema asks for, `null` aside.
fn kind<'s>(views: &[&'s Map]) -> Option<&'s str> {
    let named = views.iter().find_map(|view| match view.get("type")? {
        Value::String(word) if word != "null" => Some(word.as_str()),
        Value::Array(words) => words.iter().filter_map(Value::as_str).find(|word| *word != "null"),
        _ => None,
    });
    let has = |key: &str| views.iter().any(|view| view.contains_key(key));
    let known = ["array", "object", "string", "integer", "number", "boolean"];
    named
        .filter(|word| known.contains(word))
        .or_else(|| has("properties").then_some("object"))
        .or_else(|| has("items").then_some("array"))
}

fn joined(names: impl ExactSizeIterator<Item = String>) -> String {
    let total = names.len();
    let mut shown: Vec<String> = names.take(MAX_NAMES).collect();
    if total > MAX_NAMES {
        shown.push("…".to_owned());
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;

    fn shape(tool: Value) -> String {
        let server = fixtures::server("s", vec![tool]);
        tool_shape(&server.tools()[0])
    }

    #[test]
    fn a_shape_has_the_names_of_arguments_and_of_results() {
        let tickets = json!({"name": "list_tickets",
            "inputSchema": {"type": "object", "properties": {"cursor": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 30}, "status": {"enum": ["open"]}}},
            "outputSchema": {"type": "object", "properties": {
                "tickets": {"type": "array", "items": {"type": "object"}},
                "next_cursor": {"type": ["string", "null"]}, "total": {"type": "integer"},
                "page": {"$ref": "#/$defs/Page"}}, "$defs": {"Page": {"properties": {"n": {}}}}}});
        assert_eq!(
            shape(tickets),
            "{cursor? limit?≤30 status?} → {\"tickets\" […] \"next_cursor\" \"total\" \"page\" {…}}"
        );
    }

    #[test]
    fn needed_arguments_come_first_and_nested_ones_are_marked() {
        let tool = json!({"name": "t", "inputSchema": {"required": ["to", "page"], "properties": {
            "page": {"type": "integer", "default": 1}, "to": {"type": "array"}, "filter": {"type": "object"},
            "max score": {"anyOf": [{"type": "number", "maximum": 1.5}, {"type": "null"}]}}}});
        assert_eq!(shape(tool), "{to […] filter? {…} \"max score\"?≤1.5 page?}");
    }

    #[test]
    fn results_of_every_kind() {
        for (schema, expected) in [
            (json!({"type": "string"}), "{} → string"),
            (json!({"properties": {"content": {"type": "string"}}}), "{} → string"),
            (json!({"properties": {"result": {"items": {"type": "integer"}}}}), "{} → [integer]"),
            (
                json!({"type": "array", "items": {"properties": {"id": {}, "tags": {"items": {}}}}}),
                "{} → [{\"id\" \"tags\" […]}]",
            ),
            (json!({"type": "array"}), "{} → […]"),
            (json!({"type": "object"}), "{} → {…}"),
            (json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}), "{} → integer"),
            (json!({"type": "array", "items": {"$ref": "#"}}), "{} → [[[…]]]"),
            (json!({}), "{}"),
            (json!(true), "{}"),
        ] {
            assert_eq!(shape(json!({"name": "t", "outputSchema": schema})), expected, "{schema}");
        }
    }

    #[test]
    fn hostile_schemas_give_one_short_line() {
        let wide: Map = (0..500).map(|i| (format!("p\n{i}{}", "x".repeat(100)), json!({}))).collect();
        let text = shape(
            json!({"name": "t", "inputSchema": {"properties": wide}, "outputSchema": {"properties": wide}}),
        );
        assert_eq!(text.chars().count(), MAX_CHARS);
        assert!(!text.contains('\n'), "{text}");
        let few: Map = (0..13).map(|i| (format!("p{i:02}"), json!({}))).collect();
        assert!(shape(json!({"name": "t", "inputSchema": {"properties": few}})).ends_with(" p11? …}"));
    }
}
