//! The latest calls, for `lisp_debug` and the console.

pub mod record;
mod ring;

use std::sync::Arc;

pub use record::RecentCall;
pub use ring::Ring;

use super::recording::Recording;
use ptc_protocol::observer::{CallEnd, CallObserver, CallOutcome, ObservedCall};

/// Records answered calls.
pub struct Recorder {
    ring: Arc<Ring>,
    recording: Recording,
}

impl Recorder {
    /// Records calls in `ring`, as far as `recording` allows.
    pub(crate) fn new(ring: Arc<Ring>, recording: Recording) -> Recorder {
        Recorder { ring, recording }
    }
}

impl CallObserver for Recorder {
    fn ended(&self, call: &ObservedCall, end: &CallEnd) {
        if let CallOutcome::Answered(answered) = &end.outcome {
            let recording = self.recording.for_principal(call.owner.principal.name());
            self.ring.push(RecentCall::new(call, end, answered, &recording));
        }
    }
}
