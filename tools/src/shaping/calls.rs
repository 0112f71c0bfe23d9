//! Upstream calls as listed in results.

use ptc_host::engine::{CallRecord, CallStatus};

use ptc_mcp::json::object_text;

/// A failed call in the compact form.
pub(super) fn failed_call(call: &CallRecord) -> String {
    object_text(|object| {
        object.string("server", &call.server);
        object.string("tool", &call.tool);
        object.string("status", "error");
        if let Some(reason) = &call.reason {
            object.string("reason", reason);
        }
        if let Some(sent) = call.sent {
            object.boolean("sent", sent);
        }
    })
}

/// The entry of `upstream_results`, if it has content.
pub(crate) fn call_result(call: &CallRecord) -> Option<String> {
    if call.status == CallStatus::Ok && call.overview.is_none() {
        return None;
    }
    Some(object_text(|object| {
        object.string("server", &call.server);
        object.string("tool", &call.tool);
        match (&call.overview, call.status) {
            (Some(overview), CallStatus::Ok) => {
                object.string("status", "ok");
                object.string("value_kind", overview.value_kind);
                object.string("shape", &overview.shape);
                object.string("preview", &overview.preview);
            }
            _ => {
                object.string("status", "error");
                for (name, text) in [("reason", &call.reason), ("error", &call.error)] {
                    if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
                        object.string(name, text);
                    }
                }
                if let Some(sent) = call.sent {
                    object.boolean("sent", sent);
                }
            }
        }
    }))
}
