//! The state of an upstream as operators see it.

use std::time::Duration;

use super::CallFault;

/// Where an upstream is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not running; the next call starts it.
    Stopped,
    /// A start is under way.
    Starting,
    /// Running, tools listed.
    Started,
    /// It ended abnormally; no start is tried before the time is up.
    Recovery(Duration),
    /// Shut down for good.
    Closed,
}

/// A snapshot of an upstream's state. Counts are of this moment and may be stale when read.
#[derive(Debug, Clone)]
pub struct Health {
    /// Where it is in its life.
    pub phase: Phase,
    /// The negotiated MCP revision, while it is started; `None` for transports without one.
    pub protocol_version: Option<Box<str>>,
    /// Tools in the latest list; 0 when never loaded.
    pub tools: usize,
    /// Calls that hold a slot.
    pub in_flight: usize,
    /// Calls that wait for one.
    pub waiting: usize,
    /// Starts that succeeded since the process began; above 1 it has been restarted.
    pub starts: u64,
    /// The latest fault of a start or the reason of the latest abnormal end.
    pub last_fault: Option<CallFault>,
}

impl Health {
    /// The same, with the calls of other connections of the upstream.
    pub(super) fn with_calls_of(self, others: &[Health]) -> Health {
        let sum = |own: usize, calls: fn(&Health) -> usize| own + others.iter().map(calls).sum::<usize>();
        let in_flight = sum(self.in_flight, |other| other.in_flight);
        let waiting = sum(self.waiting, |other| other.waiting);
        Health { in_flight, waiting, ..self }
    }
}

/// Something happened to an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamEvent {
    /// A start succeeded and tools were listed; a live catalog takes the new list.
    Started,
    /// The upstream announced `notifications/tools/list_changed`.
    ToolsChanged,
    /// It announced that resources have come or gone.
    ResourcesChanged,
    /// It announced that prompts have come or gone.
    PromptsChanged,
    /// It announced a change of a resource that has a subscription.
    ResourceUpdated {
        /// The resource, or a part of it.
        uri: Box<str>,
    },
    /// It ended. `abnormal` opens the recovery window.
    Ended {
        /// Whether the end was a crash rather than a clean exit.
        abnormal: bool,
        /// The fault that calls in flight got.
        fault: CallFault,
    },
}
