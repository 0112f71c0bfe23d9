//! What all sessions of a server share, whether they are in this process or in a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, SessionLimits};
use ptc_host::state::store_time;
use ptc_host::time::{self, Clock};
use ptc_observers::metrics::{Exposition, MetricKind};
use ptc_protocol::principal::Owner;
use ptc_protocol::settings::Sessions;
use ptc_protocol::timestamp;

use super::refusal::Refusal;

/// Why sessions end: `lisp_session_close`, the end of their owner, expiry, idleness, and eviction.
const ENDS: [&str; 5] = ["closed", "owner_gone", "ttl_expired", "idle_expired", "evicted"];
/// How telemetry describes the access of sessions to the server.
pub(super) const MODE: &str = "read_only";

/// The clock by which sessions expire; injected, so that tests can set it.
pub(crate) type SessionTime = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The clock of the store that replicas share. Without one it is the time of day at creation, and a monotonic clock
/// from then on: no session expires early or late because the machine's clock jumps.
pub fn system_clock() -> SessionTime {
    let (clock, made, since) = (Clock::current(), timestamp::now(), time::now());
    let shared = || Timestamp::from_millisecond(i64::try_from(store_time()?).ok()?).ok();
    Arc::new(move || shared().unwrap_or_else(|| later(made, clock.since(since))))
}

/// The engine that has the values of sessions, their limits, their clock, and their counts.
pub(super) struct Environment {
    pub(super) engine: Engine,
    pub(super) settings: Sessions,
    pub(super) redactor: Redactor,
    clock: SessionTime,
    started: AtomicU64,
    /// Counts by [`ENDS`].
    ended: [AtomicU64; ENDS.len()],
}

impl Environment {
    pub(super) fn new(
        engine: Engine,
        settings: Sessions,
        redactor: Redactor,
        clock: SessionTime,
    ) -> Arc<Environment> {
        let (started, ended) = (AtomicU64::new(0), Default::default());
        Arc::new(Environment { engine, settings, redactor, clock, started, ended })
    }

    /// The time of day.
    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// How many sessions an owner may have, by the settings or by the policy if that gives it fewer, and what one more is told.
    pub(super) fn most_sessions(&self, owner: &Owner) -> (usize, Refusal) {
        let quota = owner.principal.authority().and_then(|authority| authority.grant.limits().sessions);
        match quota.and_then(|most| usize::try_from(most).ok()) {
            Some(most) if most < self.settings.max_per_owner => (most, Refusal::PolicyLimit),
            _ => (self.settings.max_per_owner, Refusal::OwnerLimit),
        }
    }

    /// Limits of one session, to which the policy may give less memory than the settings do.
    pub(super) fn session_limits(&self, memory_quota: Option<u64>) -> SessionLimits {
        SessionLimits {
            bindings: self.settings.bindings,
            memory_bytes: memory_quota.unwrap_or(u64::MAX).min(self.settings.memory_bytes),
            binding_bytes: self.settings.binding_bytes,
            history_entry_bytes: self.settings.history_entry_bytes,
        }
    }

    /// Counts a session that was opened.
    pub(super) fn note_start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session that has ended.
    pub(super) fn note_end(&self, reason: &str) {
        if let Some(end) = ENDS.iter().position(|end| *end == reason) {
            self.ended[end].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes the metric families of both counts.
    pub(super) fn write_counts(&self, to: &mut Exposition) {
        to.family("ptc_sessions_started", "Sessions opened.", MetricKind::Counter)
            .sample(&[], self.started.load(Ordering::Relaxed));
        let mut family = to.family("ptc_sessions_ended", "Sessions ended, by reason.", MetricKind::Counter);
        for (reason, count) in ENDS.iter().zip(&self.ended) {
            family.sample(&[("reason", reason)], count.load(Ordering::Relaxed));
        }
    }

    /// Names that programs chose, with secrets removed.
    pub(super) fn names(&self, owner: &Owner, names: &[String]) -> Vec<String> {
        let redactor = self.redactor_of(owner);
        names.iter().map(|name| redactor.scrub(name).into_owned()).collect()
    }

    /// Removes secrets from texts for this owner.
    pub(super) fn redactor_of(&self, owner: &Owner) -> Redactor {
        self.redactor.for_principal(Some(owner.principal.name()))
    }
}

pub(super) fn later(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}
