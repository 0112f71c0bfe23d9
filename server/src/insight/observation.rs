//! One call on its way.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use ptc_mcp::Revision;
use ptc_mcp::json::Raw;

use super::Insight;
use crate::observers::console::LiveCall;
use crate::observers::recent::Record;
use crate::observers::recent::record::shortened;
use crate::observers::recording::payloads;
use crate::observers::trace::{self, Begun, Status, TraceKey, current_origin};
use crate::principal::Owner;
use crate::protocol::message::RequestId;
use crate::protocol::tool::{CallContext, ToolReply};
use crate::report::CallReport;
use ptc_host::engine::EvalId;

/// A call that was announced. Dropping it means that the call was cancelled.
pub struct Observation {
    insight: Arc<Insight>,
    call: Call,
    trace: Trace,
    /// The program under the policy, until the call runs; only for the console.
    program: Option<String>,
    /// Whether the console shows the call.
    shown: bool,
    ended: bool,
}

/// How far the trace of a call is.
enum Trace {
    /// There is none.
    None,
    /// It will be opened when the call runs.
    Ready(Box<Begun>),
    /// It is open.
    Open(TraceKey),
}

/// What is known of a call from its beginning.
pub(crate) struct Call {
    pub(crate) owner: Owner,
    pub(crate) request_id: RequestId,
    pub(crate) eval_id: EvalId,
    pub(crate) revision: Revision,
    pub(crate) tool: &'static str,
    pub(crate) started: Instant,
}

/// How a call ended.
pub(crate) struct Ended {
    pub(crate) at: Timestamp,
    /// 0 for calls that never ran.
    pub(crate) duration_ms: u64,
    pub(crate) is_error: bool,
    pub(crate) reason: Option<String>,
    /// Whether the reply names an evaluation.
    pub(crate) is_eval: bool,
    pub(crate) report: Option<Box<CallReport>>,
}

impl Observation {
    pub(super) fn new(
        insight: Arc<Insight>,
        context: &CallContext,
        tool: &'static str,
        arguments: Option<Raw<'_>>,
    ) -> Self {
        let trace = match &insight.observers.traces {
            None => Trace::None,
            Some(_) => Trace::Ready(Box::new(begun(context, tool, arguments))),
        };
        let program = insight.observers.console.as_ref().and_then(|_| {
            let mut members = arguments.and_then(Raw::members)?;
            let text = members.find(|(key, _)| key == "program")?.1.as_str()?;
            Some(payloads::program(&insight.recording, &text))
        });
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
        Observation { insight, call, trace, program, shown: false, ended: false }
    }

    /// The call is about to run.
    pub fn runs(&mut self) {
        self.open_trace();
        if let Some(console) = &self.insight.observers.console {
            let redactor = &self.insight.recording.redactor;
            let live = LiveCall {
                principal: self.call.owner.principal.clone(),
                request_id: shortened(&redactor.scrub(&self.call.request_id.to_string())),
                tool: self.call.tool,
                program: self.program.take(),
                started: self.call.started,
            };
            console.began(self.call.eval_id, live);
            self.shown = true;
        }
    }

    fn open_trace(&mut self) {
        self.trace = match (std::mem::replace(&mut self.trace, Trace::None), &self.insight.observers.traces) {
            (Trace::Ready(begun), Some(traces)) => traces.begin(begun).map_or(Trace::None, Trace::Open),
            (other, _) => other,
        };
    }

    /// Closes the trace, if there is one.
    fn trace(&mut self, status: Status, reason: Option<String>, report: Option<Box<CallReport>>) {
        // A call that was answered at once has not been traced yet.
        self.open_trace();
        if let (Some(traces), Trace::Open(key)) = (&self.insight.observers.traces, &self.trace) {
            let duration_ms = self.call.started.elapsed().as_millis() as u64;
            let at = Timestamp::now();
            traces.end(*key, Box::new(trace::Ended { at, status, reason, duration_ms, report }));
        }
    }

    /// The call was answered. Takes the report out of the reply.
    pub fn answered(mut self, reply: &mut ToolReply) {
        self.ended = true;
        let reason = reply.reason();
        let ran = !matches!(reason.as_deref(), Some("args_error" | "session_args_error" | "busy"));
        let mut ended = Ended {
            at: Timestamp::now(),
            duration_ms: if ran { self.call.started.elapsed().as_millis() as u64 } else { 0 },
            is_error: reply.is_error,
            reason,
            is_eval: reply.eval_id.is_some(),
            report: reply.report.take(),
        };
        self.insight.answered(&self.call, &ended);
        if ran {
            let status = if ended.is_error { Status::Error } else { Status::Ok };
            self.trace(status, ended.reason.take(), ended.report.take());
        }
    }

    /// The call was refused before it began, in a way that is not recorded.
    pub fn discard(mut self) {
        self.ended = true;
    }

    /// The call ended by a fault of ours.
    pub fn crashed(mut self, message: &str) {
        self.ended = true;
        self.trace(Status::Crashed, Some(message.to_owned()), None);
        self.insight.unanswered(&self.call, "internal_error");
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        if !self.ended {
            self.insight.unanswered(&self.call, "cancelled");
            // A call that never ran leaves no trace.
            if let Trace::Open(_) = self.trace {
                self.trace(Status::Cancelled, Some("cancelled".into()), None);
            }
        }
        let observers = &self.insight.observers;
        if let Some(metrics) = &observers.metrics {
            metrics.over();
        }
        if let Some(console) = observers.console.as_ref().filter(|_| self.shown) {
            console.over(self.call.eval_id);
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

    fn answered(&self, call: &Call, ended: &Ended) {
        if let Some(metrics) = &self.observers.metrics {
            let outcome = if ended.is_error { ended.reason.as_deref().unwrap_or("other") } else { "ok" };
            metrics.ended(call.tool, outcome, call.eval_id, ended.report.as_deref());
        }
        if let Some(ring) = &self.observers.ring {
            let record = Record::new(call, ended, &self.recording);
            if let Some(console) = &self.observers.console {
                console.answered(&record.principal, record.at, record.is_error, record.metrics.as_ref());
            }
            ring.push(record);
        }
    }
}

/// Tools whose calls are evaluations of ours.
const EVALS: [&str; 3] = ["lisp_eval", "lisp_session_eval", "lisp_task"];
/// Characters of the name of a tool that does not exist.
const NAME_CHARS: usize = 128;

/// What a trace is opened with.
fn begun(context: &CallContext, tool: &str, arguments: Option<Raw<'_>>) -> Begun {
    let (mut program, mut context_bytes) = (None, 0);
    for (key, value) in arguments.and_then(Raw::members).into_iter().flatten() {
        match &*key {
            "program" => program = value.as_str().map(String::from),
            "context" => context_bytes = value.text().len(),
            _ => {}
        }
    }
    Begun {
        owner: context.owner.clone(),
        request_id: context.request_id.to_string(),
        eval_id: EVALS.contains(&tool).then_some(context.eval_id),
        tool: tool.chars().take(NAME_CHARS).collect(),
        revision: context.revision,
        origin: current_origin(),
        at: Timestamp::now(),
        program,
        context_bytes,
    }
}

/// Traces a call of a tool that does not exist.
pub(super) fn unknown_tool(insight: &Insight, context: &CallContext, name: &str) {
    let Some(traces) = &insight.observers.traces else { return };
    let begun = Box::new(begun(context, name, None));
    let at = begun.at;
    if let Some(key) = traces.begin(begun) {
        let reason = Some("unknown_tool".to_owned());
        let ended = trace::Ended { at, status: Status::Error, reason, duration_ms: 0, report: None };
        traces.end(key, Box::new(ended));
    }
}
