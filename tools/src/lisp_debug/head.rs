//! The name of the tool, and how all its answers begin.

use ptc_mcp::json::Object;
use ptc_protocol::settings::PayloadPolicy;

/// The first members of every answer.
pub(super) fn write_head(object: &mut Object<'_>, op: &str, policy: PayloadPolicy) {
    object.string("op", op);
    object.string("payload_policy", policy_name(policy));
    object.boolean("redaction_applied", true);
}

/// The name of the tool.
pub const NAME: &str = "lisp_debug";

/// The name of a policy on the command line and in answers.
pub(super) fn policy_name(policy: PayloadPolicy) -> &'static str {
    match policy {
        PayloadPolicy::None => "none",
        PayloadPolicy::Summary => "summary",
        PayloadPolicy::Full => "full",
    }
}
