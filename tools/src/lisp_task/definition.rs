//! The listing of `lisp_task`.

use ptc_mcp::json::{Value, json};

use super::super::lisp_eval::annotations;
use super::{NAME, TaskOptions};
use ptc_protocol::tool::Definition;

const CARD: &str = "Give a bounded task in plain language; the server plans and runs the upstream calls and returns the \
    answer. Describe the result you want; do not write programs or call upstream tools yourself.";

/// The listing with this summary of the upstreams.
pub(super) fn definition(options: &TaskOptions, summary: &str) -> Definition {
    Definition {
        name: NAME.into(),
        title: Some("PTC-Lisp task".into()),
        description: format!("{CARD}\n\nWhat the upstreams can do:\n{summary}"),
        input_schema: json!({"type": "object", "required": ["task"], "properties": {
            "task": {"type": "string", "description": "The task in plain language; must contain more than whitespace."},
            "context": {"type": "object", "additionalProperties": true,
                "description": "Optional named JSON values that the task may use."},
            "constraints": {"type": "object", "additionalProperties": true,
                "description": "Optional wishes for the answer: max_items (integer), preferred_fields (list of names)."},
        }})
        .to_string(),
        output_schema: Some(output_schema().to_string()),
        annotations: Some(annotations(true, options.read_only).to_json()),
        meta: None,
        long: None,
    }
}

fn output_schema() -> Value {
    let object = || json!({"type": "object"});
    let count = || json!({"type": "integer", "minimum": 0});
    let text = || json!({"type": "string"});
    let call = json!({"type": "object", "required": ["server", "tool", "status", "effect", "turn"], "properties": {
        "server": text(), "tool": text(), "status": {"enum": ["ok", "error", "attempted"]}, "duration_ms": count(),
        "effect": {"enum": ["read", "write", "unknown"]}, "turn": count(), "args_hash": text(),
        "result_bytes": {"type": ["integer", "null"], "minimum": 0}, "oversize": {"type": "boolean"},
        "reason": text(), "error": text(),
    }});
    let shared = |status: &str| {
        json!({
            "status": {"const": status},
            "warnings": {"type": "array", "items": object()},
            "planner": object(),
            "execution": object(),
            "upstream_calls": {"type": "array", "items": call},
            "upstream_results": {"type": "array", "items": object()},
            "notes": {"type": "array", "items": {"type": "string"}},
            "ptc_metrics": {"type": ["object", "null"]},
            "program": text(),
            "trace_id": {"type": ["string", "null"]},
        })
    };
    let branch = |status: &str, own: &[(&str, Value)]| {
        let mut properties = shared(status);
        let mut required = vec!["status"];
        for (name, schema) in own {
            properties[*name] = schema.clone();
            if *name != "feedback" {
                required.push(name);
            }
        }
        required.extend(["warnings", "planner", "execution", "upstream_calls"]);
        json!({"type": "object", "required": required, "properties": properties})
    };
    json!({"type": "object", "oneOf": [
        branch("ok", &[("answer", text()), ("structured_result", json!({}))]),
        branch("error", &[("reason", text()), ("message", text()), ("feedback", text())]),
    ]})
}
