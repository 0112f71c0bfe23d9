//! The time of stores within one process, and of everything else that is dated for other processes.

use super::lease::millis;
use super::shared_time::{millis_of_day, store_time_by};
use ptc_base::time::{Clock, Instant};

/// The time of the store that processes share ([`store_time`](super::store_time)). Without one: the time of day when this was
/// made, and the monotonic time of the clock from then on, so that nothing expires because the machine's clock is set.
#[derive(Clone, Debug)]
pub struct StoreClock {
    clock: Clock,
    made: u64,
    since: Instant,
}

impl StoreClock {
    /// By the clock of this thread, whichever thread asks.
    #[must_use]
    pub fn start() -> Self {
        let clock = Clock::current();
        let (made, since) = (millis_of_day(&clock), clock.now());
        Self { clock, made, since }
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> u64 {
        let own = || self.made.saturating_add(millis(self.clock.since(self.since)));
        store_time_by(&self.clock).unwrap_or_else(own)
    }
}
