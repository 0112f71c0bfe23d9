//! The time of day as all replicas know it (state.md 2.3): by the clock of the store that they share.
//!
//! Replicas date values that other replicas judge: ids of HTTP sessions, states of clients, runs, tokens. Their machines'
//! clocks may differ, so each asks the store for the time with every heartbeat, and counts on from then by a clock that cannot
//! be set. A process has one such store at most; one that shares none uses its machine's clock.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use super::lease::millis;
use ptc_base::time::{Clock, Instant};

/// Where this process counts from, by the system's clock.
static BEGAN: LazyLock<Instant> = LazyLock::new(|| Clock::default().now());
/// The store's time at [`BEGAN`], in milliseconds since 1970; 0 as long as no store has said it.
static STORE_AT_BEGAN: AtomicU64 = AtomicU64::new(0);

/// Notes the time of the shared store, in milliseconds since 1970.
pub fn follow_store(now: u64) {
    STORE_AT_BEGAN.store(now.saturating_sub(millis(Clock::current().since(*BEGAN))), Ordering::Relaxed);
}

/// The time by the clock of the store that this process shares; `None` if it shares none.
#[must_use]
pub fn store_time() -> Option<u64> {
    store_time_by(&Clock::current())
}

/// The same, counted on by `clock`.
pub(super) fn store_time_by(clock: &Clock) -> Option<u64> {
    match STORE_AT_BEGAN.load(Ordering::Relaxed) {
        0 => None,
        began => Some(began.saturating_add(millis(clock.since(*BEGAN)))),
    }
}

/// Milliseconds since 1970: by the clock of the store that this process shares, else by this machine's current setting.
#[must_use]
pub fn time_of_day() -> u64 {
    time_of_day_by(&Clock::current())
}

/// The same by `clock`, whichever thread asks.
#[must_use]
pub fn time_of_day_by(clock: &Clock) -> u64 {
    store_time_by(clock).unwrap_or_else(|| millis_of_day(clock))
}

/// Milliseconds since 1970 by `clock` alone.
pub(super) fn millis_of_day(clock: &Clock) -> u64 {
    clock.time_of_day().duration_since(UNIX_EPOCH).map_or(0, millis)
}
