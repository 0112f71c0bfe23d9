//! Turns the events of a call into commands for the trace writer.

use super::call_facts::{CallFinish, CallStart};
use super::status::Status;

use super::Traces;
use ptc_protocol::observer::{CallEnd, CallObserver, CallOutcome, ObservedCall};

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

    fn unknown_tool(&self, call: &ObservedCall, _is_denied: bool) {
        if self.runs(call) {
            let reason = Some("unknown_tool".to_owned());
            let ended =
                CallFinish { at: call.at, status: Status::Error, reason, duration_ms: 0, report: None };
            self.end(call.eval_id.number(), Box::new(ended));
        }
    }
}
