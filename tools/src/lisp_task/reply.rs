//! The answer as a tool result (server.md 9.6, 9.7).

use ptc_mcp::json::{Map, Value, json};

use super::TaskOptions;
use crate::shaping::{Shaper, guard};
use ptc_protocol::tool::ToolReply;

/// A call that never ran.
pub(super) fn refused(reason: &str, message: &str) -> ToolReply {
    let body = json!({
        "status": "error", "reason": reason, "message": message, "feedback": message, "warnings": [], "planner": {},
        "execution": {}, "upstream_calls": [],
    });
    ToolReply::mirrored(true, body.to_string())
}

/// The reply with this body, within the response profile's limit on a whole result.
pub(super) fn reply(is_error: bool, body: Map, options: &TaskOptions) -> ToolReply {
    // The result has the answer twice, in text and in structure, with escapes.
    let max_result_bytes = options.max_result_bytes.saturating_mul(2);
    let shaper = Shaper::new(options.profile, max_result_bytes);
    guard(&shaper, ToolReply::mirrored(is_error, Value::Object(body).to_string()))
}
