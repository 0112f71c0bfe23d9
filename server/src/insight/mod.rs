//! What operators and callers can learn about the server: one observer that sees every tool call once.
//!
//! A call is announced with [`Insight::begin`] and ends exactly once, whichever way it ends. Everything that tells of
//! calls – the memory behind `lisp_debug`, the metrics – takes what it needs from that one ending, so that they never
//! disagree. Without an observer nothing of this is computed.

mod observation;
pub mod payloads;
pub mod record;
pub mod ring;
mod sources;

use std::sync::Arc;

use ptc_host::credentials::Redactor;

pub use observation::Observation;
pub use record::Record;
pub use ring::Ring;
pub use sources::Sources;

use crate::metrics::{Exposition, Metrics, write_process};
use crate::options::settings::PayloadPolicy;
use crate::tools::CallContext;

/// How much of programs and data may be recorded, and who takes secrets out of it.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The operator's choice.
    pub policy: PayloadPolicy,
    /// Knows the secrets.
    pub redactor: Redactor,
}

/// Who wants to know of calls.
#[derive(Default)]
pub struct Observers {
    /// Remembers the latest calls.
    pub ring: Option<Arc<Ring>>,
    /// Counts calls.
    pub metrics: Option<Arc<Metrics>>,
}

impl Observers {
    /// Whether nobody wants to know.
    pub fn is_empty(&self) -> bool {
        self.ring.is_none() && self.metrics.is_none()
    }
}

/// The observer of all calls of a process.
pub struct Insight {
    recording: Recording,
    observers: Observers,
    sources: Sources,
}

impl Insight {
    /// Passes calls on to `observers`; `sources` is what else there is to tell of.
    pub fn new(recording: Recording, observers: Observers, sources: Sources) -> Self {
        Insight { recording, observers, sources }
    }

    /// Announces a call of `tool`.
    pub fn begin(self: &Arc<Self>, context: &CallContext, tool: &'static str) -> Observation {
        Observation::new(self.clone(), context, tool)
    }

    /// Writes the families of calls, sessions, upstreams and the process.
    pub fn write_metrics(&self, to: &mut Exposition) {
        if let Some(metrics) = &self.observers.metrics {
            metrics.write(to);
        }
        self.sources.write_metrics(to);
        write_process(to);
    }
}
