//! The clock of stores within one process, and of whatever else is dated for another one.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::lease::millis;
use super::shared_time::store_time;

/// The clock of the store that processes share ([`store_time`]). Where none is shared: the time of day when it was made, and a monotonic clock
/// from then on, so that nothing expires because the machine's clock jumps.
#[derive(Clone, Copy, Debug)]
pub struct StoreClock {
    made: u64,
    since: Instant,
}

impl StoreClock {
    /// Reads the time of day.
    #[must_use]
    pub fn start() -> Self {
        let made = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis);
        Self { made, since: Instant::now() }
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn now(&self) -> u64 {
        store_time().unwrap_or_else(|| self.made.saturating_add(millis(self.since.elapsed())))
    }
}
