//! The operators' page (`--console`): running and finished calls, what they fetched and what they returned.
//!
//! The page itself is static and holds no data. Its data comes from read-only routes behind the same checks as the
//! MCP path; other routes take answers to runs, and try a tool. Every caller sees its own calls, sessions, sign-ins and
//! runs, an operator the calls, sessions and runs of all. Callers see the upstreams and the catalog that their programs can list, an
//! operator the state of all upstreams.

mod calls;
mod live;
mod page;
mod runs;
mod sign_ins;
mod state;
mod timeline;

pub use calls::{CallQuery, CallsFacts, calls};
pub use page::PAGE;
pub use runs::{RunsFacts, cancelled, runs, taken, whole_question};
pub(crate) use sign_ins::sign_ins;
pub use state::Facts;
pub use state::{catalog, state, tool_only_reads};

use ptc_host::aggregator::{CallWatch, SentCall};
use ptc_host::engine::EvalId;
use ptc_host::sync::Mutex;

use super::recent::record::shortened;
use super::recording::{Recording, payloads};
use live::{LiveCall, LiveCalls};
use ptc_protocol::observer::{CallEnd, CallObserver, CallOutcome, ObservedCall};
use ptc_protocol::report::Payload;
use timeline::Timelines;

/// The page's data besides the recent calls.
pub struct Console {
    recording: Recording,
    live: Mutex<LiveCalls>,
    timelines: Mutex<Timelines>,
}

impl Console {
    /// A page that shows as much of programs as `recording` allows.
    pub fn new(recording: Recording) -> Console {
        Console { recording, live: Mutex::default(), timelines: Mutex::default() }
    }
}

impl CallWatch for Console {
    fn sent(&self, call: &SentCall<'_>) {
        let live = self.live.lock().of_eval(call.eval);
        if let Some(live) = live {
            live.upstream_calls.lock().add(call);
        }
    }

    fn ended(&self, eval: EvalId, number: u32, fault: Option<&'static str>) {
        let live = self.live.lock().of_eval(eval);
        if let Some(live) = live {
            live.upstream_calls.lock().end(number, fault);
        }
    }
}

impl CallObserver for Console {
    fn reads_programs(&self) -> bool {
        true
    }

    fn runs(&self, call: &ObservedCall) -> bool {
        let recording = self.recording.for_principal(call.owner.principal.name());
        let live = LiveCall {
            principal: call.owner.principal.clone(),
            request_id: shortened(&recording.redactor.scrub(&call.request_id.to_string())),
            tool: call.tool.clone(),
            program: call.program.as_deref().map(|program| payloads::program(&recording, program)),
            started: call.started,
            upstream_calls: Mutex::default(),
        };
        self.live.lock().insert(call.eval_id, live);
        true
    }

    fn ended(&self, call: &ObservedCall, end: &CallEnd) {
        if let CallOutcome::Answered(answered) = &end.outcome {
            let payload = answered.report.as_ref().map(|report| &report.payload);
            let metrics =
                payload.filter(|payload| !payload.upstream_calls.is_empty()).map(Payload::ptc_metrics);
            let principal = &call.owner.principal;
            self.timelines.lock().add(principal, end.at, answered.is_error, metrics.as_ref());
        }
        if call.running {
            self.live.lock().remove(call.eval_id);
        }
    }
}
