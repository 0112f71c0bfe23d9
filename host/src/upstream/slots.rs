//! The limit on concurrent calls of one upstream, on any transport.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::asking::Holders;
use super::lifecycle::closed;
use super::{Asking, CallFault, CallLimits};
use crate::time;

/// Slots for calls. Callers beyond them wait in the order of their coming.
pub(crate) struct Slots {
    free: Semaphore,
    total: usize,
    /// Where the calls ask that hold slots, if they may ask.
    asking: Arc<Holders>,
}

/// A slot that a call holds.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    _permit: SemaphorePermit<'a>,
    asks: Option<(&'a Holders, Arc<Asking>)>,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        if let Some((holders, asking)) = &self.asks {
            holders.calls().retain(|other| !Arc::ptr_eq(other, asking));
        }
    }
}

impl Slots {
    pub(crate) fn new(total: usize) -> Self {
        let asking = Arc::new(Holders::of(total));
        Self { free: Semaphore::new(total), total, asking }
    }

    /// Calls that hold a slot.
    pub(crate) fn in_flight(&self) -> usize {
        self.total - self.free.available_permits().min(self.total)
    }

    /// Refuses all further calls.
    pub(crate) fn close(&self) {
        self.free.close();
    }

    fn held<'a>(&'a self, permit: SemaphorePermit<'a>, asking: Option<&Arc<Asking>>) -> Slot<'a> {
        let asks = asking.map(|asking| {
            self.asking.calls().push(asking.clone());
            (&*self.asking, asking.clone())
        });
        Slot { _permit: permit, asks }
    }

    /// A slot, and a live connection: the one that `current` gives, or that `connect` makes, with so much patience for
    /// a start that somebody else leads. Nothing of this counts against the call's own time: the program's deadline
    /// bounds it. `asking`: where the call asks, if it may.
    pub(crate) async fn enter<C, F>(
        &self,
        (limits, asking): (&CallLimits, Option<&Arc<Asking>>),
        transport: &str,
        current: impl FnOnce() -> Option<C>,
        connect: impl FnOnce(Option<Duration>) -> F,
    ) -> Result<(C, Slot<'_>), CallFault>
    where
        F: Future<Output = Result<C, CallFault>>,
    {
        if let (Ok(slot), Some(connection)) = (self.free.try_acquire(), current()) {
            return Ok((connection, self.held(slot, asking)));
        }
        // In a box, as most calls do not come here and none should carry the room for it.
        let queue = Box::pin(async {
            let queued = asking.map(|asking| asking.queued(&self.asking));
            let slot = self.free.acquire().await.map_err(|_| closed())?;
            drop(queued);
            let slot = self.held(slot, asking);
            Ok((connect(Some(limits.timeout)).await?, slot))
        });
        time::timeout_at(limits.deadline, queue).await.unwrap_or_else(|_| {
            Err(CallFault::timeout(format!("{transport} call timed out before it could be sent")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
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
        let (_, slot) =
            slots.enter((&limits(1000), None), "x", || Some(1), |_| async { Ok(2) }).await.unwrap();
        assert_eq!(slots.in_flight(), 1);
        let late =
            slots.enter((&limits(1000), None), "x", || Some(1), |_| async { Ok(2) }).await.unwrap_err();
        assert_eq!(late.to_string(), "timeout: x call timed out before it could be sent");
        drop(slot);
        let (connection, _slot) =
            slots.enter((&limits(1), None), "x", || None, |_| async { Ok(2) }).await.unwrap();
        assert_eq!((connection, slots.in_flight()), (2, 1), "no live connection: one is made");
        slots.close();
        let closed = slots.enter((&limits(1), None), "x", || Some(1), |_| async { Ok(2) }).await.unwrap_err();
        assert_eq!(closed.message, "the upstream has been shut down");
    }

    async fn entered<'s>(slots: &'s Slots, asking: &Arc<Asking>) -> Slot<'s> {
        let limits = limits(60_000);
        let entered = slots.enter((&limits, Some(asking)), "x", || Some(()), |_| async { Ok(()) });
        entered.await.unwrap().1
    }

    #[tokio::test]
    async fn a_call_is_stuck_while_all_slots_are_held_by_calls_of_its_run_that_ask() {
        let slots = Slots::new(2);
        let asking = |run| Arc::new(Asking::new(run).0);
        let (first, second, queued) = (asking(1), asking(1), asking(1));
        let (one, two) = (entered(&slots, &first).await, entered(&slots, &second).await);
        let mut waits = Box::pin(entered(&slots, &queued));
        assert!(!queued.is_stuck(), "it has not come to the slots");
        assert!((&mut waits).now_or_never().is_none());
        assert!(!queued.is_stuck(), "the others go on");
        let (a, b) = (first.stopwatch.stop(), second.stopwatch.stop());
        assert!(queued.is_stuck());
        let foreign = asking(2);
        let mut other = Box::pin(entered(&slots, &foreign));
        assert!((&mut other).now_or_never().is_none());
        assert!(!foreign.is_stuck(), "the questions are not its program's");
        drop(a);
        assert!(!queued.is_stuck());
        drop(one);
        let third = waits.await;
        assert!(!queued.is_stuck(), "it has a slot");
        drop((b, two, third));
        drop(other.await);
        assert!(slots.asking.calls().is_empty());
    }
}
