//! What a trace says of a call.

use super::status::Status;
use jiff::Timestamp;
use ptc_host::engine::EvalId;
use ptc_mcp::Revision;
use ptc_protocol::observer::ObservedCall;
use ptc_protocol::principal::Owner;
use ptc_protocol::report::CallReport;
use ptc_protocol::tool::RequestOrigin;
use std::sync::Arc;

/// A call that begins.
#[derive(Debug)]
pub(super) struct CallStart {
    pub(super) owner: Owner,
    /// Its JSON-RPC id as text.
    pub(super) request_id: String,
    /// Its evaluation, if it is one.
    pub(super) eval_id: Option<EvalId>,
    /// The tool as the client named it.
    pub(super) tool: String,
    pub(super) revision: Revision,
    /// The HTTP request it came with.
    pub(super) origin: Option<RequestOrigin>,
    pub(super) at: Timestamp,
    pub(super) program: Option<Arc<str>>,
    pub(super) context_bytes: usize,
}

impl CallStart {
    pub(super) fn of(call: &ObservedCall) -> CallStart {
        CallStart {
            owner: call.owner.clone(),
            request_id: call.request_id.to_string(),
            eval_id: EVALS.contains(&&*call.tool).then_some(call.eval_id),
            tool: call.tool.clone().into_owned(),
            revision: call.revision,
            origin: call.origin.clone(),
            at: call.at,
            program: call.program.clone(),
            context_bytes: call.context_bytes,
        }
    }

    /// Bytes that it occupies, roughly.
    pub(super) fn size(&self) -> usize {
        let program = self.program.as_ref().map_or(0, |program| program.len());
        program + self.request_id.len() + self.tool.len()
    }
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct CallFinish {
    pub(super) at: Timestamp,
    pub(super) status: Status,
    /// The reason of the failure, or the text of an internal error.
    pub(super) reason: Option<String>,
    pub(super) duration_ms: u64,
    /// All other facts.
    pub(super) report: Option<Arc<CallReport>>,
}

/// Tools whose calls are our own evaluations.
pub(super) const EVALS: [&str; 3] = ["lisp_eval", "lisp_session_eval", "lisp_task"];
