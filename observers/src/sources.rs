//! Sources of telemetry besides calls.

use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, CurrentUpstreams};
use ptc_host::engine::Engine;
use ptc_host::state::WatchedState;
use ptc_host::upstream::Phase;

use crate::draft_desk::DraftDesk;
use crate::metrics::{Exposition, MetricKind};
use ptc_host::digest::short_hash;
use ptc_protocol::identity;
use ptc_protocol::principal::Principal;
use ptc_protocol::server_state::ServerState;
use ptc_runs::Runs;
use ptc_runs::webhook::Webhook;

/// Sessions, for the console.
pub trait SessionSource: Send + Sync {
    /// The open sessions of a principal, or of all callers.
    fn summaries_of(&self, principal: Option<&Principal>) -> SessionSummaries;

    /// True if these are only the ones that this process has used last, and a store may have more.
    fn is_part(&self) -> bool;

    /// Writes the metric families of sessions.
    fn write_metrics(&self, to: &mut Exposition);
}

/// Open sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSummaries {
    /// How many there are.
    pub count: usize,
    /// JSON of the ones that were used last, the latest first: at most 200.
    pub latest: Vec<String>,
}

/// Handles to the state of the server.
#[derive(Default)]
pub struct Sources {
    /// Sessions, if they are enabled.
    pub sessions: Option<Arc<dyn SessionSource>>,
    /// Upstreams, if some are configured.
    pub upstreams: Option<Arc<CurrentUpstreams>>,
    /// The engine: the memory that programs, sessions and messages share, and the caches between programs.
    pub engine: Option<Engine>,
    /// The state that outlives the process.
    pub state: Option<ServerState>,
    /// Runs of programs that outlive their requests, if they are enabled.
    pub runs: Option<Arc<Runs>>,
    /// Drafts of programs, if models may propose some.
    pub drafts: Option<Arc<dyn DraftDesk>>,
    /// The webhook that answers approvals.
    pub webhook: Option<Arc<Webhook>>,
    /// True if metrics show what each caller holds: whoever may scrape them sees who is there.
    pub shows_owners: bool,
}

impl Sources {
    /// Writes the metric families of sessions and upstreams.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        let labels = [("version", identity::VERSION), ("commit", identity::GIT_COMMIT)];
        to.family("ptc_build_info", "The version that runs.", MetricKind::Gauge).sample(&labels, 1);
        if let Some(engine) = &self.engine {
            let help = "Programs that wait for a thread.";
            to.family("ptc_programs_waiting", help, MetricKind::Gauge).sample(&[], engine.waiting());
            let help = "Threads that run programs and serve connections.";
            to.family("ptc_threads", help, MetricKind::Gauge).sample(&[], engine.threads());
            let cached = engine.cached();
            let help = "Memory that is kept between programs, and goes when programs need it.";
            let mut family = to.family("ptc_cache_bytes", help, MetricKind::Gauge);
            family.sample(&[("cache", "programs")], cached.program_bytes);
            family.sample(&[("cache", "patterns")], cached.pattern_bytes);
        }
        if let Some(memory) = self.engine.as_ref().and_then(Engine::memory) {
            to.family(
                "ptc_memory_bytes",
                "Memory that programs, sessions and messages hold.",
                MetricKind::Gauge,
            )
            .sample(&[], memory.used());
            to.family("ptc_memory_limit_bytes", "Memory that they may hold together.", MetricKind::Gauge)
                .sample(&[], memory.limit());
            if let Some(share) = memory.share() {
                let help = "Memory that one caller's programs and sessions may hold together.";
                to.family("ptc_memory_owner_limit_bytes", help, MetricKind::Gauge).sample(&[], share);
            }
            if self.shows_owners {
                let help = "Memory that one caller's programs and sessions hold.";
                let mut family = to.family("ptc_memory_owner_bytes", help, MetricKind::Gauge);
                for (name, bytes) in memory.taken_by() {
                    family.sample(&[("owner", &short_hash(name.as_bytes()))], bytes);
                }
            }
        }
        if let Some(sessions) = &self.sessions {
            sessions.write_metrics(to);
        }
        if let Some(store) = self.state.as_ref().and_then(|state| state.store.as_ref()) {
            write_store(store, to);
        }
        let Some(upstreams) = self.upstreams.as_ref().map(|upstreams| upstreams.current()) else { return };
        let states: Vec<_> = upstreams
            .unfiltered()
            .upstreams()
            .map(|(config, handle)| (config.name.as_str(), handle.health()))
            .collect();
        let mut family = to.family("ptc_upstream_up", "1 while an upstream is started.", MetricKind::Gauge);
        for (server, health) in &states {
            family.sample(&[("server", server)], u8::from(health.phase == Phase::Started));
        }
        let mut family =
            to.family("ptc_upstream_in_flight", "Calls that hold a slot of an upstream.", MetricKind::Gauge);
        for (server, health) in &states {
            family.sample(&[("server", server)], health.in_flight);
        }
        let help = "Calls that wait for a slot of an upstream.";
        let mut family = to.family("ptc_upstream_waiting", help, MetricKind::Gauge);
        for (server, health) in &states {
            family.sample(&[("server", server)], health.waiting);
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
        write_pins(&upstreams, to);
        write_sign_ins(&upstreams, to);
        write_samplings(&upstreams, to);
    }
}

/// The metric family of pinned definitions, if an upstream is held to some (upstreams.md 22).
fn write_pins(upstreams: &Aggregator, to: &mut Exposition) {
    if upstreams.pin_reports().next().is_none() {
        return;
    }
    let help = "Tools of an upstream that differ from the lock.";
    let mut family = to.family("ptc_upstream_pin_differences", help, MetricKind::Gauge);
    for (server, report) in upstreams.pin_reports() {
        let counts =
            [("changed", report.changed.len()), ("new", report.new.len()), ("gone", report.gone.len())];
        for (kind, count) in counts {
            family.sample(&[("server", server), ("kind", kind)], count);
        }
    }
}

/// The metric families of the store of state.
fn write_store(store: &WatchedState, to: &mut Exposition) {
    to.family("ptc_state_up", "1 unless the state store is down.", MetricKind::Gauge)
        .sample(&[], u8::from(!store.is_down()));
    let help = "Operations of the state store that ended.";
    let mut family = to.family("ptc_state_operations", help, MetricKind::Counter);
    for figures in store.figures() {
        family.sample(&[("operation", figures.name)], figures.ended);
    }
    let help = "Operations for which the state store was unavailable.";
    let mut family = to.family("ptc_state_failures", help, MetricKind::Counter);
    for figures in store.figures() {
        family.sample(&[("operation", figures.name)], figures.failed);
    }
    let help = "Time that operations of the state store took together.";
    let mut family = to.family("ptc_state_seconds", help, MetricKind::Counter);
    for figures in store.figures() {
        family.sample(&[("operation", figures.name)], figures.time.as_secs_f64());
    }
}

/// The metric families of sampling requests that a model answers, if an upstream may make some (waiting.md 3.2).
fn write_samplings(upstreams: &Aggregator, to: &mut Exposition) {
    if upstreams.samplings().next().is_none() {
        return;
    }
    let help = "Requests of an upstream for a model's answer by outcome.";
    let mut family = to.family("ptc_upstream_samplings", help, MetricKind::Counter);
    for (server, counts) in upstreams.samplings() {
        for (outcome, count) in counts.requests() {
            family.sample(&[("server", server), ("outcome", outcome)], count);
        }
    }
    let help = "Tokens that these took, as far as the model reports them.";
    let mut family = to.family("ptc_upstream_sampling_tokens", help, MetricKind::Counter);
    for (server, counts) in upstreams.samplings() {
        for (direction, count) in counts.tokens() {
            family.sample(&[("server", server), ("direction", direction)], count);
        }
    }
}

/// The metric families of sign-ins, if an upstream requires one (auth.md 12.3).
fn write_sign_ins(upstreams: &Aggregator, to: &mut Exposition) {
    if upstreams.sign_ins().next().is_none() {
        return;
    }
    let help = "1 while a person has to sign in to an upstream.";
    let mut family = to.family("ptc_upstream_sign_in_needed", help, MetricKind::Gauge);
    for (server, counts) in upstreams.sign_ins() {
        family.sample(&[("server", server)], u8::from(counts.is_sign_in_needed()));
    }
    let mut family =
        to.family("ptc_auth_refreshes", "Renewals of tokens by server and outcome.", MetricKind::Counter);
    for (server, counts) in upstreams.sign_ins() {
        for (outcome, count) in counts.refreshes() {
            family.sample(&[("server", server), ("outcome", outcome)], count);
        }
    }
    let mut family =
        to.family("ptc_auth_sign_ins", "Sign-ins through this server by outcome.", MetricKind::Counter);
    for (server, counts) in upstreams.sign_ins() {
        for (outcome, count) in counts.sign_ins() {
            family.sample(&[("server", server), ("outcome", outcome)], count);
        }
    }
}
