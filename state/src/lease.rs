//! Leases as stores within one process keep them.

use std::sync::Arc;
use std::time::Duration;

use super::{Lease, StateError};

/// The last lease of a record: its holder and its end. Times are milliseconds of the store's clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    fence: u64,
    until: u64,
    holder: Option<Arc<str>>,
}

impl Taken {
    /// The fence of the last lease; 0 if there was none.
    pub(super) fn fence(&self) -> u64 {
        self.fence
    }

    /// The lease, if it has not run out.
    pub(super) fn lease(&self, now: u64) -> Option<Lease> {
        let left = self.until.checked_sub(now).filter(|left| *left > 0)?;
        Some(Lease { holder: self.holder.clone()?, left: Duration::from_millis(left) })
    }

    /// Gives it to `holder`. A fence is the time in microseconds, or one more than the one before: it grows also where the
    /// record was forgotten in between.
    pub(super) fn give(&mut self, holder: &Arc<str>, lease: Duration, now: u64) {
        self.fence = (self.fence + 1).max(now.saturating_mul(1000));
        self.until = now.saturating_add(millis(lease));
        self.holder = Some(holder.clone());
    }

    /// Lets the holder of `fence` have it for so long from now; nothing ends it.
    pub(super) fn renew(&mut self, fence: u64, lease: Duration, now: u64) -> Result<(), StateError> {
        if self.fence != fence {
            return Err(StateError::Fenced);
        }
        self.until = now.saturating_add(millis(lease));
        Ok(())
    }

    /// Whether it ended an hour ago.
    #[cfg(feature = "stores")]
    pub(super) fn is_long_over(&self, now: u64) -> bool {
        const LONG: u64 = 3_600_000;
        now.saturating_sub(self.until) > LONG && now.saturating_sub(self.fence / 1000) > LONG
    }

    /// Ends the lease; the fence stays.
    pub(super) fn end(&mut self) {
        self.until = 0;
    }
}

/// Milliseconds of a time.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
