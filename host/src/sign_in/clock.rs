//! The time by which tokens end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use ptc_oauth::timestamp::Timestamp;

use crate::state::time_of_day;

/// The clock of this machine, or of the store that replicas share. Clones are the same clock; one of a test may be set ahead.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// The time of day.
    pub fn now(&self) -> Timestamp {
        let now = UNIX_EPOCH + Duration::from_millis(time_of_day());
        Timestamp::from(now) + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    /// Sets it ahead.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}
