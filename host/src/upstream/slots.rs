//! The limit on concurrent calls of one upstream, on any transport.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::lifecycle::closed;
use super::{CallFault, CallLimits};

/// Slots for calls. Callers beyond them wait in the order of their coming.
pub(crate) struct Slots {
    free: Semaphore,
    total: usize,
}

impl Slots {
    pub(crate) fn new(total: usize) -> Self {
        Self { free: Semaphore::new(total), total }
    }

    /// Calls that hold a slot.
    pub(crate) fn in_flight(&self) -> usize {
        self.total - self.free.available_permits().min(self.total)
    }

    /// Refuses all further calls.
    pub(crate) fn close(&self) {
        self.free.close();
    }

    /// A slot, and a live connection: the one that `current` gives, or that `connect` makes, with so much patience for
    /// a start that somebody else leads. Nothing of this counts against the call's own time: the program's deadline
    /// bounds it.
    pub(crate) async fn enter<C, F>(
        &self,
        limits: &CallLimits,
        transport: &str,
        current: impl FnOnce() -> Option<C>,
        connect: impl FnOnce(Option<Duration>) -> F,
    ) -> Result<(C, SemaphorePermit<'_>), CallFault>
    where
        F: Future<Output = Result<C, CallFault>>,
    {
        if let (Ok(slot), Some(connection)) = (self.free.try_acquire(), current()) {
            return Ok((connection, slot));
        }
        // In a box, as most calls do not come here and none should carry the room for it.
        let queue = Box::pin(async {
            let slot = self.free.acquire().await.map_err(|_| closed())?;
            Ok((connect(Some(limits.timeout)).await?, slot))
        });
        tokio::time::timeout_at(limits.deadline, queue).await.unwrap_or_else(|_| {
            Err(CallFault::timeout(format!("{transport} call timed out before it could be sent")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    fn limits(ms: u64) -> CallLimits {
        let timeout = Duration::from_secs(5);
        CallLimits {
            timeout,
            deadline: Instant::now() + Duration::from_millis(ms),
            max_bytes: 1,
            binary_bytes: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_house_is_waited_for_until_the_deadline() {
        let slots = Slots::new(1);
        let (_, slot) = slots.enter(&limits(1000), "x", || Some(1), |_| async { Ok(2) }).await.unwrap();
        assert_eq!(slots.in_flight(), 1);
        let late = slots.enter(&limits(1000), "x", || Some(1), |_| async { Ok(2) }).await.unwrap_err();
        assert_eq!(late.to_string(), "timeout: x call timed out before it could be sent");
        drop(slot);
        let (connection, _slot) = slots.enter(&limits(1), "x", || None, |_| async { Ok(2) }).await.unwrap();
        assert_eq!((connection, slots.in_flight()), (2, 1), "no live connection: one is made");
        slots.close();
        let closed = slots.enter(&limits(1), "x", || Some(1), |_| async { Ok(2) }).await.unwrap_err();
        assert_eq!(closed.message, "the upstream has been shut down");
    }
}
