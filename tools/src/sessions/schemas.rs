//! Output schemas and hints of the session tools.

use std::sync::Arc;

use ptc_mcp::json::Object;

use crate::schemas::{self, error_branch, run_branches, success_branch, union};
use ptc_protocol::tool::Annotations;
use ptc_runs::Runs;

const OBJECT: &str = r#"{"type":"object"}"#;

/// The output schema of a tool whose success has these members.
pub(super) fn output(required: &[&str]) -> String {
    union([success_branch(required, bag), error_branch(&["status", "reason", "message"], bag)])
}

/// The output schema of a program's session.
pub(super) fn output_of_eval(runs: Option<&Arc<Runs>>) -> String {
    let branches =
        [success_branch(&["status", "session"], bag), error_branch(&["status", "reason", "message"], bag)];
    union(branches.into_iter().chain(run_branches(runs)))
}

/// Hints of a tool that reaches nothing outside the server.
pub(super) fn hints(read_only: bool, destructive: bool, idempotent: bool) -> Annotations {
    Annotations { read_only, destructive, idempotent, open_world: false }
}

/// The members that all session tools share.
fn bag(properties: &mut Object<'_>) {
    schemas::strings(properties, &["reason", "message", "feedback", "session_id", "text", "result"]);
    for name in ["session", "limits", "memory", "detail"] {
        properties.raw(name, OBJECT);
    }
    properties.raw("count", r#"{"type":"integer","minimum":0}"#);
    properties.raw("sessions", schemas::OBJECTS);
    schemas::prints(properties);
    schemas::validated(properties);
    schemas::flags(properties, &["closed", "truncated", "output_truncated", "feedback_truncated"]);
}
