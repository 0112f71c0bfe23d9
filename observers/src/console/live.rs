//! The running calls.

use std::borrow::Cow;
use std::collections::HashMap;

use ptc_host::engine::EvalId;
use ptc_host::time::{self, Instant};
use ptc_mcp::json::{Object, object_text, write_array};

use ptc_protocol::principal::Principal;

/// Maximum number of calls shown.
const MAX_LISTED: usize = 100;

/// A running call.
#[derive(Debug)]
pub(super) struct LiveCall {
    /// Its principal.
    pub(super) principal: Principal,
    /// Its JSON-RPC id as text, scrubbed.
    pub(super) request_id: String,
    /// The tool.
    pub(super) tool: Cow<'static, str>,
    /// The program under the payload policy, as JSON.
    pub(super) program: Option<String>,
    /// When it began.
    pub(super) started: Instant,
}

/// All of them.
#[derive(Default)]
pub(super) struct LiveCalls(HashMap<EvalId, LiveCall>);

impl LiveCalls {
    pub(super) fn insert(&mut self, eval_id: EvalId, call: LiveCall) {
        self.0.insert(eval_id, call);
    }

    pub(super) fn remove(&mut self, eval_id: EvalId) {
        self.0.remove(&eval_id);
    }

    /// Writes the number of running calls of `principal`, and the oldest of them.
    pub(super) fn write(&self, object: &mut Object<'_>, principal: &Principal) {
        let mut own: Vec<_> = self.0.iter().filter(|(_, call)| call.principal == *principal).collect();
        own.sort_by_key(|(_, call)| call.started);
        object.integer("live_count", own.len() as u64);
        write_array(object.key("live"), own.into_iter().take(MAX_LISTED), |out, (eval_id, call)| {
            let json = object_text(|object| {
                object.string("eval_id", &eval_id.to_string());
                object.string("request_id", &call.request_id);
                object.string("tool", &call.tool);
                object.integer("running_ms", time::since(call.started).as_millis() as u64);
                object.raw("program", call.program.as_deref().unwrap_or("null"));
            });
            out.extend_from_slice(json.as_bytes());
        });
    }
}
