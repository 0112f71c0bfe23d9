//! Slows down clients that guess tokens.
//!
//! Failures are counted by peer address. A block never affects a request with a valid token: such a request is admitted
//! before the limiter is asked.

use ptc_host::sync::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_host::time::Instant;
use ptc_protocol::settings::RateLimit;

/// Sources remembered at a time.
const MAX_SOURCES: usize = 10_000;

#[derive(Debug)]
pub(super) struct Limiter {
    limit: RateLimit,
    sources: Mutex<HashMap<IpAddr, AttemptWindow>>,
    /// True if any source is remembered. In the usual case that none is, it saves valid requests the lock.
    any: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
struct AttemptWindow {
    failures: u32,
    window_start: Instant,
    blocked_until: Option<Instant>,
}

/// The answer to a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptVerdict {
    /// The failure itself; the flag is set if it triggered a block.
    Refused {
        /// True if later failures are blocked now.
        armed: bool,
    },
    /// Only the number of seconds to wait.
    Blocked(u64),
}

impl Limiter {
    pub(super) fn new(limit: RateLimit) -> Self {
        Limiter { limit, sources: Mutex::default(), any: AtomicBool::new(false) }
    }

    /// Duration of a block.
    pub(super) fn block(&self) -> Duration {
        self.limit.block
    }

    /// Whether failures of `source` are blocked now.
    pub(super) fn is_blocked(&self, source: IpAddr, now: Instant) -> bool {
        self.any.load(Ordering::Acquire)
            && self
                .sources
                .lock()
                .get(&source)
                .and_then(|row| row.blocked_until)
                .is_some_and(|until| until > now)
    }

    /// Counts a failed attempt of `source`.
    pub(super) fn failed(&self, source: IpAddr, now: Instant) -> AttemptVerdict {
        let mut sources = self.sources.lock();
        self.any.store(true, Ordering::Release);
        if let Some(until) =
            sources.get(&source).and_then(|row| row.blocked_until).filter(|until| *until > now)
        {
            return AttemptVerdict::Blocked((until - now).as_millis().div_ceil(1000).max(1) as u64);
        }
        if sources.len() >= MAX_SOURCES && !sources.contains_key(&source) {
            self.make_room(&mut sources, now);
        }
        let row = sources.entry(source).or_insert(AttemptWindow {
            failures: 0,
            window_start: now,
            blocked_until: None,
        });
        if now.duration_since(row.window_start) > self.limit.window {
            *row = AttemptWindow { failures: 0, window_start: now, blocked_until: None };
        }
        row.failures = row.failures.saturating_add(1);
        let armed = row.failures >= self.limit.max_failures;
        row.blocked_until = armed.then(|| now + self.limit.block);
        AttemptVerdict::Refused { armed }
    }

    /// Forgets the failures of `source`.
    pub(super) fn succeeded(&self, source: IpAddr) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let mut sources = self.sources.lock();
        sources.remove(&source);
        self.any.store(!sources.is_empty(), Ordering::Release);
    }

    /// Drops rows that no longer matter.
    pub(super) fn sweep(&self, now: Instant) {
        let mut sources = self.sources.lock();
        sources.retain(|_, row| self.matters(row, now));
    }

    fn matters(&self, row: &AttemptWindow, now: Instant) -> bool {
        row.blocked_until.is_some_and(|until| until > now)
            || now.duration_since(row.window_start) <= self.limit.window
    }

    fn make_room(&self, sources: &mut HashMap<IpAddr, AttemptWindow>, now: Instant) {
        sources.retain(|_, row| self.matters(row, now));
        if sources.len() >= MAX_SOURCES {
            let oldest = sources.iter().min_by_key(|(_, row)| row.window_start).map(|(source, _)| *source);
            oldest.map(|source| sources.remove(&source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter() -> Limiter {
        Limiter::new(RateLimit {
            window: Duration::from_secs(60),
            max_failures: 3,
            block: Duration::from_secs(10),
        })
    }

    #[test]
    fn the_failure_that_arms_a_block_is_still_refused() {
        let (limiter, source, start) = (limiter(), IpAddr::from([1, 2, 3, 4]), Instant::now());
        let at = |ms: u64| limiter.failed(source, start + Duration::from_millis(ms));
        assert_eq!([at(0), at(1)], [AttemptVerdict::Refused { armed: false }; 2]);
        assert_eq!(at(2), AttemptVerdict::Refused { armed: true });
        assert!(limiter.is_blocked(source, start + Duration::from_millis(3)));
        assert!(!limiter.is_blocked(source, start + Duration::from_millis(10_003)));
        assert!(!limiter.is_blocked(IpAddr::from([1, 2, 3, 5]), start));
        assert_eq!(at(3), AttemptVerdict::Blocked(10));
        assert_eq!(at(9_502), AttemptVerdict::Blocked(1));
        // The count outlives a block that is shorter than the window.
        assert_eq!(at(10_003), AttemptVerdict::Refused { armed: true });
        assert_eq!(at(70_000), AttemptVerdict::Refused { armed: false });
        assert_eq!(
            limiter.failed(IpAddr::from([4, 3, 2, 1]), start),
            AttemptVerdict::Refused { armed: false }
        );
    }

    #[test]
    fn success_forgets_and_rows_are_bounded() {
        let (limiter, now) = (limiter(), Instant::now());
        let source = IpAddr::from([9, 9, 9, 9]);
        for _ in 0..3 {
            limiter.failed(source, now);
        }
        limiter.succeeded(source);
        assert_eq!(limiter.failed(source, now), AttemptVerdict::Refused { armed: false });
        for n in 0..(MAX_SOURCES as u32 + 100) {
            limiter.failed(IpAddr::from(n.to_be_bytes()), now);
        }
        assert!(limiter.sources.lock().len() <= MAX_SOURCES);
        limiter.sweep(now + Duration::from_secs(120));
        assert!(limiter.sources.lock().is_empty());
    }
}
