//! What operators and callers can learn about the server: one observer that sees every tool call once.
//!
//! A call is announced with [`Insight::begin`] and ends exactly once, whichever way it ends. Everything that tells of
//! calls – the memory behind `lisp_debug`, later ones beside it – takes what it needs from that one ending, so
//! that they never disagree. Without an observer nothing of this is computed.

mod observation;
pub mod payloads;
pub mod record;
pub mod ring;

use std::sync::Arc;

use ptc_host::credentials::Redactor;

pub use observation::Observation;
pub use record::Record;
pub use ring::Ring;

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

/// The observer of all calls of a process.
pub struct Insight {
    recording: Recording,
    ring: Option<Arc<Ring>>,
}

impl Insight {
    /// An observer that remembers calls in `ring`.
    pub fn new(recording: Recording, ring: Option<Arc<Ring>>) -> Self {
        Insight { recording, ring }
    }

    /// Announces a call of `tool`.
    pub fn begin(self: &Arc<Self>, context: &CallContext, tool: &'static str) -> Observation {
        Observation::new(self.clone(), context, tool)
    }
}
