//! Counts the events of the listener and reports them as telemetry. No figure and no event carries a token, a session
//! id or a payload.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use tracing::debug;

use super::auth::AuthenticationError;
use crate::sharded_counter::ShardedCounter;
use ptc_host::time::{self, Instant};
use ptc_observers::metrics::{Exposition, Histogram, MetricKind};

/// Limits that refuse requests.
const LIMITS: [&str; 12] = [
    "max_sessions",
    "max_sessions_per_owner",
    "in_flight",
    "per_owner_concurrency",
    "global_concurrency",
    "max_listeners",
    "max_listeners_per_owner",
    "max_connections_per_owner",
    "max_buffered_bytes",
    "max_buffered_bytes_per_owner",
    "max_total_memory_bytes",
    "max_total_memory_bytes_per_owner",
];
/// Routes that are counted separately.
const ROUTES: [&str; 2] = ["mcp", "other"];
/// Classes of status codes.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
/// The reasons for calls that end without their own answer.
const CANCELLATIONS: [&str; 3] = ["client", "client_disconnect", "await_timeout"];

/// Counts of a listener.
#[derive(Debug, Default)]
pub(super) struct Counts {
    requests: [[ShardedCounter; CLASSES.len()]; ROUTES.len()],
    /// How long requests took, if metrics are served.
    durations: Option<[Histogram; ROUTES.len()]>,
    auth_missing: AtomicU64,
    auth_invalid: AtomicU64,
    auth_scope: AtomicU64,
    auth_unavailable: AtomicU64,
    rate_limited: AtomicU64,
    host_rejected: AtomicU64,
    origin_rejected: AtomicU64,
    limits: [AtomicU64; LIMITS.len()],
    cancelled: [AtomicU64; CANCELLATIONS.len()],
    flooded: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    /// No counts; `measures` if metrics are served.
    pub(super) fn new(measures: bool) -> Self {
        let durations = measures.then(|| std::array::from_fn(|_| Histogram::of_durations()));
        Counts { durations, ..Counts::default() }
    }

    /// Counts an answered request whose head came at `started`.
    pub(super) fn request(&self, is_mcp: bool, status: StatusCode, started: Instant) {
        let class = usize::from(status.as_u16() / 100).clamp(2, 5) - 2;
        let route = usize::from(!is_mcp);
        self.requests[route][class].add(1);
        if let Some(durations) = &self.durations {
            durations[route].observe(time::since(started).as_micros() as u64, None);
        }
    }

    /// The number of answered requests.
    #[cfg(test)]
    pub(super) fn answered(&self) -> u64 {
        self.requests.iter().flatten().map(ShardedCounter::count).sum()
    }

    /// Counts a request whose host is not this machine.
    pub(super) fn host_rejected(&self, instance: &str) {
        add(&self.host_rejected);
        debug!(event = "ptc_lisp.http.host.rejected", count = 1, instance);
    }

    /// Counts a request from a web page that may not connect.
    pub(super) fn origin_rejected(&self, instance: &str) {
        add(&self.origin_rejected);
        debug!(event = "ptc_lisp.http.origin.rejected", count = 1, instance);
    }

    /// Counts a request that is not authenticated.
    pub(super) fn auth_failure(&self, instance: &str, why: AuthenticationError) {
        let (counter, reason) = match why {
            AuthenticationError::Missing => (&self.auth_missing, "missing"),
            AuthenticationError::Malformed
            | AuthenticationError::Unknown
            | AuthenticationError::Invalid(_)
            | AuthenticationError::Expired => (&self.auth_invalid, "invalid"),
            AuthenticationError::InsufficientScope => (&self.auth_scope, "scope"),
            AuthenticationError::Unavailable => (&self.auth_unavailable, "unavailable"),
        };
        add(counter);
        debug!(event = "ptc_lisp.http.auth.failure", count = 1, instance, reason);
    }

    /// Counts a source that is blocked from now on.
    pub(super) fn rate_limited(&self, instance: &str, source: IpAddr, block: Duration) {
        add(&self.rate_limited);
        let block_ms = block.as_millis() as u64;
        debug!(event = "ptc_lisp.http.auth.rate_limited", count = 1, instance, source = %source, block_ms);
    }

    /// Counts a request that a limit refused.
    pub(super) fn limit_rejected(&self, instance: &str, limit_name: &'static str) {
        if let Some(at) = LIMITS.iter().position(|limit| *limit == limit_name) {
            add(&self.limits[at]);
        }
        debug!(event = "ptc_lisp.http.limit.rejected", count = 1, instance, limit_name);
    }

    /// Counts a connection that was closed because its client sent too many frames that ask for nothing.
    pub(super) fn flooded(&self, instance: &str, source: IpAddr) {
        add(&self.flooded);
        debug!(event = "ptc_lisp.http.flooded", count = 1, instance, source = %source);
    }

    /// Counts a call that ended without its own answer.
    pub(super) fn cancelled(&self, instance: &str, reason: &'static str) {
        if let Some(at) = CANCELLATIONS.iter().position(|known| *known == reason) {
            add(&self.cancelled[at]);
        }
        debug!(event = "ptc_lisp.http.cancelled", count = 1, instance, reason);
    }

    /// Writes the metric families of the listener.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut family = to.family(
            "ptc_http_requests",
            "HTTP requests answered, by route and status.",
            MetricKind::Counter,
        );
        for (route, classes) in ROUTES.iter().zip(&self.requests) {
            for (class, count) in CLASSES.iter().zip(classes) {
                family.sample(&[("route", route), ("status", class)], count.count());
            }
        }
        if let Some(durations) = &self.durations {
            let help = "Time from the head of a request to that of its answer, by route.";
            let mut family = to.family("ptc_http_request_duration_seconds", help, MetricKind::Histogram);
            for (route, durations) in ROUTES.iter().zip(durations) {
                family.histogram(&[("route", route)], durations);
            }
        }
        let mut family = to.family(
            "ptc_http_auth_failures",
            "Requests without or with wrong credentials, without a required scope, or whose credentials nobody could verify.",
            MetricKind::Counter,
        );
        family.sample(&[("reason", "missing")], get(&self.auth_missing));
        family.sample(&[("reason", "invalid")], get(&self.auth_invalid));
        family.sample(&[("reason", "scope")], get(&self.auth_scope));
        family.sample(&[("reason", "unavailable")], get(&self.auth_unavailable));
        to.family("ptc_http_auth_rate_limited", "Times that a source was blocked.", MetricKind::Counter)
            .sample(&[], get(&self.rate_limited));
        let mut family = to.family(
            "ptc_http_source_rejected",
            "Requests refused for their Host or Origin.",
            MetricKind::Counter,
        );
        family.sample(&[("header", "host")], get(&self.host_rejected));
        family.sample(&[("header", "origin")], get(&self.origin_rejected));
        let mut family =
            to.family("ptc_http_limit_rejected", "Requests that a limit refused.", MetricKind::Counter);
        for (limit, count) in LIMITS.iter().zip(&self.limits) {
            family.sample(&[("limit", limit)], get(count));
        }
        to.family(
            "ptc_http_floods",
            "Connections closed for frames that ask for nothing.",
            MetricKind::Counter,
        )
        .sample(&[], get(&self.flooded));
        let mut family = to.family(
            "ptc_http_cancelled",
            "Calls that ended without their own answer.",
            MetricKind::Counter,
        );
        for (reason, count) in CANCELLATIONS.iter().zip(&self.cancelled) {
            family.sample(&[("reason", reason)], get(count));
        }
    }
}
