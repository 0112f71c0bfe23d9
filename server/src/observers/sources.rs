//! Sources of telemetry besides calls.

use std::sync::Arc;

use ptc_host::aggregator::Aggregator;
use ptc_host::engine::MemoryBudget;
use ptc_host::upstream::Phase;

use crate::identity;
use crate::observers::metrics::{Exposition, MetricKind};
use crate::principal::Principal;

/// Sessions, as operators see them.
pub trait SessionSource: Send + Sync {
    /// JSON of the sessions of a principal, the latest used one first.
    fn summaries_of(&self, principal: &Principal) -> Vec<String>;

    /// Writes the families of sessions.
    fn write_metrics(&self, to: &mut Exposition);
}

/// Handles to the state of the server.
#[derive(Default)]
pub struct Sources {
    /// Sessions, where they are offered.
    pub sessions: Option<Arc<dyn SessionSource>>,
    /// Upstreams, where some are configured.
    pub upstreams: Option<Arc<Aggregator>>,
    /// The memory budget shared by programs, sessions and messages.
    pub memory: Option<MemoryBudget>,
}

impl Sources {
    /// Writes the families of sessions and upstreams.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        let labels = [("version", identity::VERSION), ("commit", identity::GIT_COMMIT)];
        to.family("ptc_build_info", "The version that runs.", MetricKind::Gauge).sample(&labels, 1);
        if let Some(memory) = &self.memory {
            to.family(
                "ptc_memory_bytes",
                "Memory that programs, sessions and messages hold.",
                MetricKind::Gauge,
            )
            .sample(&[], memory.used());
            to.family("ptc_memory_limit_bytes", "Memory that they may hold together.", MetricKind::Gauge)
                .sample(&[], memory.limit());
        }
        if let Some(sessions) = &self.sessions {
            sessions.write_metrics(to);
        }
        let Some(upstreams) = &self.upstreams else { return };
        let states: Vec<_> =
            upstreams.upstreams().map(|(config, handle)| (config.name.as_str(), handle.health())).collect();
        let mut family = to.family("ptc_upstream_up", "1 while an upstream is started.", MetricKind::Gauge);
        for (server, health) in &states {
            family.sample(&[("server", server)], u8::from(health.phase == Phase::Started));
        }
        let mut family =
            to.family("ptc_upstream_in_flight", "Calls that hold a slot of an upstream.", MetricKind::Gauge);
        for (server, health) in &states {
            family.sample(&[("server", server)], health.in_flight);
        }
        let mut family = to.family("ptc_upstream_tools", "Tools that an upstream lists.", MetricKind::Gauge);
        for (server, health) in &states {
            family.sample(&[("server", server)], health.tools);
        }
        let mut family =
            to.family("ptc_upstream_starts", "Starts of an upstream that succeeded.", MetricKind::Counter);
        for (server, health) in &states {
            family.sample(&[("server", server)], health.starts);
        }
    }
}
