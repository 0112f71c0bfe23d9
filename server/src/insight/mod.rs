//! What operators and callers can learn about the server: one observer that sees every tool call once.
//!
//! A call is announced with [`Insight::begin`] and ends exactly once, whichever way it ends. Everything that tells of
//! calls – the memory behind `lisp_debug`, the metrics, the traces – takes what it needs from that one ending, so that they never
//! disagree. Without an observer nothing of this is computed.

mod observation;

use std::sync::Arc;
use std::time::Duration;

pub use observation::Observation;
pub(crate) use observation::{Call, Ended};

use ptc_mcp::json::Raw;

use crate::observers::console::{self, Console, Facts};
use crate::observers::metrics::{Exposition, Metrics, write_process};
use crate::observers::recent::Ring;
use crate::observers::recording::Recording;
use crate::observers::sources::Sources;
use crate::observers::trace::Traces;
use crate::principal::Principal;
use crate::protocol::tool::CallContext;

/// Who wants to know of calls.
#[derive(Default)]
pub struct Observers {
    /// Remembers the latest calls.
    pub ring: Option<Arc<Ring>>,
    /// Counts calls.
    pub metrics: Option<Arc<Metrics>>,
    /// Writes a file for each call.
    pub traces: Option<Arc<Traces>>,
    /// Feeds the operators' page, which shows the ring, too.
    pub console: Option<Console>,
}

impl Observers {
    /// Whether nobody wants to know.
    pub fn is_empty(&self) -> bool {
        self.ring.is_none() && self.metrics.is_none() && self.traces.is_none() && self.console.is_none()
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
    pub fn begin(
        self: &Arc<Self>,
        context: &CallContext,
        tool: &'static str,
        arguments: Option<Raw<'_>>,
    ) -> Observation {
        Observation::new(self.clone(), context, tool, arguments)
    }

    /// Traces a call of a tool that does not exist. Nothing else remembers it.
    pub fn unknown_tool(&self, context: &CallContext, name: &str) {
        observation::unknown_tool(self, context, name);
    }

    /// What the operators' page shows `principal`; `None` where there is no page.
    pub fn console_state(&self, facts: &Facts<'_>, principal: &Principal) -> Option<String> {
        let (console, ring) = (self.observers.console.as_ref()?, self.observers.ring.as_ref()?);
        Some(console::state(console, ring, &self.sources, facts, principal))
    }

    /// The tools of all upstreams, for the operators' page.
    pub fn console_catalog(&self) -> String {
        console::catalog(&self.sources)
    }

    /// Waits until what is on its way to files is there, but no longer than `limit`.
    pub fn flush(&self, limit: Duration) {
        if let Some(traces) = &self.observers.traces {
            traces.flush(limit);
        }
    }

    /// Writes the families of calls, sessions, upstreams and the process.
    pub fn write_metrics(&self, to: &mut Exposition) {
        if let Some(metrics) = &self.observers.metrics {
            metrics.write(to);
        }
        if let Some(traces) = &self.observers.traces {
            traces.write_metrics(to);
        }
        self.sources.write_metrics(to);
        write_process(to);
    }
}
