//! The one clock: the current time, waits, and deadlines.
//!
//! | Instead of | Use |
//! |---|---|
//! | `Instant::now()`, `instant.elapsed()` | [`now`], [`since`] |
//! | `SystemTime::now()` | [`time_of_day`] |
//! | `tokio::time::{sleep, sleep_until, timeout, timeout_at}` | [`sleep`], [`sleep_until`], [`timeout`], [`timeout_at`] |
//! | `tokio::task::spawn_blocking` for work that reads the time | [`spawn_blocking`] |
//!
//! All of them use the clock of the thread that calls them: the one that was [entered](Clock::enter) there, else the process's
//! ([`Clock::set_for_process`]), else the system's. Code that starts a thread enters [`Clock::current`] on it. A wait keeps the
//! clock under which it began, wherever it is polled; a struct whose methods run on other threads than its maker's keeps a
//! [`Clock`].
//!
//! Tests make a clock with [`Clock::stepped`] and set it ahead. The system's clock costs one load of a flag more than tokio's
//! own.

mod clock;
mod sleep;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

pub use clock::{Clock, Entered};
pub use sleep::{Elapsed, Sleep, Timeout};
pub use tokio::time::Instant;

/// The present by the clock of this thread.
#[inline]
#[must_use]
pub fn now() -> Instant {
    clock::ahead().map_or_else(clock::real_now, |ahead| clock::real_now() + ahead)
}

/// The time since `moment`; zero if it is in the future.
#[inline]
#[must_use]
pub fn since(moment: Instant) -> Duration {
    now().saturating_duration_since(moment)
}

/// The time of day by the clock of this thread. It may be set at any time: expiry and admission use [`now`].
#[inline]
#[must_use]
pub fn time_of_day() -> SystemTime {
    clock::ahead().map_or_else(clock::real_time_of_day, |ahead| clock::real_time_of_day() + ahead)
}

/// Waits for `duration`.
pub fn sleep(duration: Duration) -> Sleep {
    Clock::current().sleep(duration)
}

/// Waits until `deadline`.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Clock::current().sleep_until(deadline)
}

/// The output of `future`, unless it takes longer than `duration`.
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Clock::current().timeout(duration, future)
}

/// The output of `future`, unless `deadline` passes first.
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Clock::current().timeout_at(deadline, future)
}

/// As `tokio::task::spawn_blocking`; `work` has the clock of this thread.
pub fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let clock = Clock::current();
    tokio::task::spawn_blocking(move || {
        let _entered = clock.enter();
        work()
    })
}

/// Blocks this thread for `duration`.
pub fn block(duration: Duration) {
    Clock::current().block(duration);
}
