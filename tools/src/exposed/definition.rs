//! How an upstream's tool is listed: as the upstream describes it.

use std::sync::Arc;

use ptc_host::catalog::ToolEntry;
use ptc_host::visible::visible;
use ptc_mcp::json::{Map, Value, object_text};
use ptc_protocol::schemas::{Use, change_parts, mend, shown, shown_value};
use ptc_protocol::tool::{Definition, ToolName};
use ptc_runs::Runs;

use crate::schemas::or_unfinished;

/// The schema of a tool's results. The list is refused as a whole by clients that know the protocol of 2025 if one of these is not of
/// an object.
pub(super) fn output_schema(tool: &ToolEntry) -> Option<&Value> {
    tool.output_schema.as_ref().filter(|schema| schema.get("type").is_some_and(|kind| kind == "object"))
}

/// The definition of a tool that is exposed. `runs`: what its calls may become.
pub(super) fn definition(
    name: ToolName,
    server: &str,
    tool: &ToolEntry,
    runs: Option<&Arc<Runs>>,
) -> Definition {
    let mut input = tool.input_schema.clone();
    without_headers(&mut input);
    mend(&mut input, Use::Read);
    if let Some(members) = input.as_object_mut().filter(|members| !members.contains_key("type")) {
        members.insert("type".to_owned(), "object".into());
    }
    shown(&mut input);
    let reference = format!("{server}/{}", tool.name);
    Definition {
        name,
        title: tool.title.clone().map(|title| visible(&title).into_owned().into()),
        description: visible(&tool.description).into_owned(),
        input_schema: input.to_string(),
        output_schema: output_schema(tool).map(|schema| {
            let mut schema = schema.clone();
            mend(&mut schema, Use::Compiled);
            shown(&mut schema);
            or_unfinished(&schema, runs)
        }),
        annotations: tool
            .annotations
            .as_ref()
            .and_then(Value::as_object)
            .map(|hints| hints_of(hints).to_string()),
        meta: Some(object_text(|object| object.string("ptc/tool", &reference))),
        long: None,
    }
}

/// Hints that are of the kinds that clients take.
fn hints_of(hints: &Map) -> Value {
    let fits = |name: &str, hint: &Value| match name {
        "title" => hint.is_string(),
        "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint" => hint.is_boolean(),
        _ => true,
    };
    let hints = hints.iter().filter(|(name, hint)| fits(name, hint));
    let mut hints = Value::Object(hints.map(|(name, hint)| (name.clone(), hint.clone())).collect());
    shown_value(&mut hints);
    hints
}

/// Takes the annotations off a schema that have clients of its server repeat arguments in headers: our clients send arguments to
/// us, and we repeat them. A server over HTTP that lists such an annotation would have to hold its own clients to it.
fn without_headers(schema: &mut Value) {
    change_parts(schema, &mut |part| {
        part.remove("x-mcp-header");
        true
    });
}

/// That of a tool of which nothing but the name is known.
pub(super) fn undescribed(name: ToolName) -> Definition {
    Definition {
        name,
        title: None,
        description: String::new(),
        input_schema: r#"{"type":"object"}"#.to_owned(),
        output_schema: None,
        annotations: None,
        meta: None,
        long: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn hints_are_of_the_kinds_that_clients_take_and_hide_nothing() {
        let hints = json!({"readOnlyHint": "yes", "idempotentHint": true, "title": 5, "own": [1, {"a": "x\u{200b}", "\u{200b}": 2}]});
        let expected = json!({"idempotentHint": true, "own": [1, {"a": "x\\u200b"}]});
        assert_eq!(hints_of(hints.as_object().unwrap()), expected);
    }

    #[test]
    fn arguments_are_not_to_be_repeated_in_headers() {
        let mut schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "more": {"type": "object", "properties": {"limit": {"type": "integer", "x-mcp-header": "Limit"}}},
            "x-mcp-header": {"type": "string", "default": {"x-mcp-header": "data"}},
        }, "anyOf": [{"properties": {"zone": {"x-mcp-header": "Zone"}}}]});
        without_headers(&mut schema);
        let expected = json!({"type": "object", "properties": {
            "region": {"type": "string"},
            "more": {"type": "object", "properties": {"limit": {"type": "integer"}}},
            "x-mcp-header": {"type": "string", "default": {"x-mcp-header": "data"}},
        }, "anyOf": [{"properties": {"zone": {}}}]});
        assert_eq!(schema, expected);
    }
}
