//! The listing of `lisp_debug`.

use ptc_mcp::json::object_text;

use super::arguments::{MAX_ID_BYTES, MAX_LIMIT, MAX_SINCE};
use ptc_protocol::tool::{Annotations, Definition};

const DESCRIPTION: &str = "Read-only diagnostics of this server: totals, recent calls, or one call by request_id. In \
    memory, redacted.";

pub(super) fn definition() -> Definition {
    let input = format!(
        r#"{{"type":"object","required":["op"],"properties":{{"op":{{"type":"string","enum":["stats","recent","get"]}},"limit":{{"type":"integer","minimum":1,"maximum":{MAX_LIMIT},"description":"Calls that recent shows; 20 if left out."}},"since_seconds":{{"type":"integer","minimum":1,"maximum":{MAX_SINCE},"description":"Only calls of the last so many seconds (stats, recent)."}},"errors_only":{{"type":"boolean","description":"Only failed calls (stats, recent)."}},"request_id":{{"type":"string","maxLength":{MAX_ID_BYTES},"description":"The call that get shows: its JSON-RPC id as text, or its eval_id."}}}},"additionalProperties":false}}"#
    );
    Definition {
        name: super::head::NAME.into(),
        title: Some("PTC-Lisp diagnostics".into()),
        description: DESCRIPTION.into(),
        input_schema: input,
        output_schema: Some(output()),
        annotations: Some(
            Annotations { read_only: true, destructive: false, idempotent: true, open_world: false }
                .to_json(),
        ),
        meta: None,
        long: None,
    }
}

/// Three answers distinguished by `op`, and the failure.
fn output() -> String {
    let answer = |op: &str, required: &str, more: &str| {
        format!(
            r#"{{"type":"object","required":["op","payload_policy","redaction_applied",{required}],"properties":{{"op":{{"const":"{op}"}},"payload_policy":{{"enum":["none","summary","full"]}},"redaction_applied":{{"const":true}},"truncated":{{"const":true}},{more}}}}}"#
        )
    };
    let stats = answer(
        "stats",
        r#""debug_source","ring_size","ring_count","trace_dir_enabled","window""#,
        r#""debug_source":{"const":"ring_buffer"},"ring_size":{"type":"integer"},"ring_count":{"type":"integer","minimum":0},"trace_dir_enabled":{"type":"boolean"},"window":{"type":"object","required":["from","to","calls"]},"by_tool":{"type":"object"},"errors":{"type":"object"},"upstream_calls":{"type":"object"},"agentic":{"type":"object"},"payload_reduction":{"type":"object"}"#,
    );
    let recent = answer(
        "recent",
        r#""count","calls""#,
        r#""count":{"type":"integer","minimum":0},"calls":{"type":"array","items":{"type":"object","required":["request_id","ts","tool","status","duration_ms"]}}"#,
    );
    let get = answer(
        "get",
        r#""request_id","found","source""#,
        r#""request_id":{"type":"string"},"found":{"type":"boolean"},"source":{"enum":["ring_buffer","trace_file"]},"record":{"type":["object","array"]},"note":{"type":"string"}"#,
    );
    let failure = r#"{"type":"object","required":["status","reason","message","feedback"],"properties":{"status":{"const":"error"},"reason":{"enum":["args_error","unknown_tool","shutting_down"]},"message":{"type":"string"},"feedback":{"type":"string"}}}"#;
    object_text(|object| {
        object.string("type", "object");
        object.raw("oneOf", &format!("[{stats},{recent},{get},{failure}]"));
    })
}
