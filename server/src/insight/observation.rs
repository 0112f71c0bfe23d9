//! One call on its way.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;

use super::{Insight, Record};
use crate::principal::Owner;
use crate::protocol::message::RequestId;
use crate::protocol::version::Revision;
use crate::tools::{CallContext, CallReport, ToolReply};
use ptc_host::engine::EvalId;

/// A call that was announced. Dropping it means that the call was cancelled.
pub struct Observation {
    insight: Arc<Insight>,
    call: Call,
    ended: bool,
}

/// What is known of a call from its beginning.
pub(super) struct Call {
    pub(super) owner: Owner,
    pub(super) request_id: RequestId,
    pub(super) eval_id: EvalId,
    pub(super) revision: Revision,
    pub(super) tool: &'static str,
    pub(super) started: Instant,
}

/// How a call ended.
pub(super) struct Ended {
    pub(super) at: Timestamp,
    /// 0 for calls that never ran.
    pub(super) duration_ms: u64,
    pub(super) is_error: bool,
    pub(super) reason: Option<String>,
    /// Whether the reply names an evaluation.
    pub(super) is_eval: bool,
    pub(super) report: Option<Box<CallReport>>,
}

impl Observation {
    pub(super) fn new(insight: Arc<Insight>, context: &CallContext, tool: &'static str) -> Self {
        let call = Call {
            owner: context.owner.clone(),
            request_id: context.request_id.clone(),
            eval_id: context.eval_id,
            revision: context.revision,
            tool,
            started: Instant::now(),
        };
        if let Some(metrics) = &insight.observers.metrics {
            metrics.began();
        }
        Observation { insight, call, ended: false }
    }

    /// The call was answered. Takes the report out of the reply.
    pub fn answered(mut self, reply: &mut ToolReply) {
        self.ended = true;
        let reason = reply.reason();
        let ran = !matches!(reason.as_deref(), Some("args_error" | "session_args_error" | "busy"));
        let ended = Ended {
            at: Timestamp::now(),
            duration_ms: if ran { self.call.started.elapsed().as_millis() as u64 } else { 0 },
            is_error: reply.is_error,
            reason,
            is_eval: reply.eval_id.is_some(),
            report: reply.report.take(),
        };
        self.insight.answered(&self.call, ended);
    }

    /// The call was refused before it began, in a way that is not recorded.
    pub fn discard(mut self) {
        self.ended = true;
    }

    /// The call ended by a fault of ours.
    pub fn crashed(mut self) {
        self.ended = true;
        self.insight.unanswered(&self.call, "internal_error");
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if !self.ended {
            self.insight.unanswered(&self.call, "cancelled");
        }
        if let Some(metrics) = &self.insight.observers.metrics {
            metrics.over();
        }
    }
}

impl Insight {
    /// A call ended without an answer of its tool. It is counted, and not remembered.
    fn unanswered(&self, call: &Call, outcome: &'static str) {
        if let Some(metrics) = &self.observers.metrics {
            metrics.ended(call.tool, outcome, call.eval_id, None);
        }
    }

    fn answered(&self, call: &Call, ended: Ended) {
        if let Some(metrics) = &self.observers.metrics {
            let outcome = if ended.is_error { ended.reason.as_deref().unwrap_or("other") } else { "ok" };
            metrics.ended(call.tool, outcome, call.eval_id, ended.report.as_deref());
        }
        if let Some(ring) = &self.observers.ring {
            ring.push(Record::new(call, &ended, &self.recording));
        }
    }
}
