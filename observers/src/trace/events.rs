//! Turns the events of a call into commands for the trace writer.

use std::sync::Arc;

use jiff::Timestamp;
use ptc_host::engine::EvalId;
use ptc_mcp::Revision;

use super::Traces;
use super::writer::Status;
use ptc_protocol::observer::{CallEnd, CallObserver, CallOutcome, ObservedCall};
use ptc_protocol::principal::Owner;
use ptc_protocol::report::CallReport;
use ptc_protocol::tool::RequestOrigin;

/// Tools whose calls are our own evaluations.
const EVALS: [&str; 3] = ["lisp_eval", "lisp_session_eval", "lisp_task"];

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
    fn of(call: &ObservedCall) -> CallStart {
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

impl CallObserver for Traces {
    fn reads_programs(&self) -> bool {
        true
    }

    fn runs(&self, call: &ObservedCall) -> bool {
        self.begin(call.eval_id.number(), Box::new(CallStart::of(call)))
    }

    fn ended(&self, call: &ObservedCall, end: &CallEnd) {
        let (status, reason, report) = match &end.outcome {
            CallOutcome::Answered(answered) if answered.ran => {
                let status = if answered.is_error { Status::Error } else { Status::Ok };
                (status, answered.reason.clone(), answered.report.clone())
            }
            CallOutcome::Crashed(message) => (Status::Crashed, Some(message.clone()), None),
            // A call that never ran has no trace.
            CallOutcome::Cancelled if call.running => (Status::Cancelled, Some("cancelled".into()), None),
            CallOutcome::Answered(_) | CallOutcome::Cancelled | CallOutcome::Discarded => return,
        };
        // A call that was answered at once has not been traced yet.
        if call.running || self.runs(call) {
            let ended = CallFinish { at: end.at, status, reason, duration_ms: end.duration_ms, report };
            self.end(call.eval_id.number(), Box::new(ended));
        }
    }

    fn unknown_tool(&self, call: &ObservedCall) {
        if self.runs(call) {
            let reason = Some("unknown_tool".to_owned());
            let ended =
                CallFinish { at: call.at, status: Status::Error, reason, duration_ms: 0, report: None };
            self.end(call.eval_id.number(), Box::new(ended));
        }
    }
}
