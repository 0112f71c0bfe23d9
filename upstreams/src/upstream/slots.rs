//! The limit on concurrent calls of one upstream, on any transport.
//!
//! An upstream starts with a window of [`FIRST`] calls in flight, which grows while the upstream keeps up: each call that it
//! answers while the window is full makes room for one more, so that the window doubles with each round, and it also doubles
//! after a full window has lasted for [`PATIENCE`] without a refusal. A refusal for being busy halves it (upstreams.md 6.5).

use ptc_base::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::asking::Holders;
use super::lifecycle::closed;
use super::{CallFault, CallLimits, FaultReason, Health, QuestionSink};
use ptc_base::time::{self, Instant};

/// Calls in flight to an upstream of which nothing is known.
const FIRST: usize = 16;
/// How long a full window stands before it grows without an answer: calls may just be slow.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long a window that was halved grows by answers only.
const CAUTION: Duration = Duration::from_secs(5);

/// Slots for calls. Callers beyond them wait in the order of their coming.
pub(crate) struct Slots {
    free: Semaphore,
    in_flight: AtomicUsize,
    waiting: AtomicUsize,
    window: Mutex<Window>,
    /// Where the calls ask that hold slots, if they may ask.
    asking: Arc<Holders>,
}

/// How many slots there are.
#[derive(Debug)]
struct Window {
    size: usize,
    /// The most that there may be.
    total: usize,
    /// Slots that are gone as soon as their calls have ended.
    owed: usize,
    /// How often it was halved: a call that began before the last time says nothing new.
    halved: u64,
    /// When it changed last, and whether it shrank then.
    changed: Option<(Instant, bool)>,
}

/// A slot that a call holds.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    slots: &'a Slots,
    permit: Option<SemaphorePermit<'a>>,
    asks: Option<(&'a Holders, Arc<QuestionSink>)>,
    /// How often the window had been halved when it was taken.
    halved: u64,
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slots").field("window", &self.window).finish_non_exhaustive()
    }
}

impl Slot<'_> {
    /// Notes the outcome of its call: the window follows that.
    pub(crate) fn note<T>(&self, outcome: &Result<T, CallFault>) {
        match outcome {
            Err(fault) if is_overrun(fault) => self.slots.shrink(self.halved),
            // Where nothing came, or nothing was sent, nothing is shown.
            Err(fault) if !fault.sent || fault.reason == FaultReason::Timeout => {}
            _ => self.slots.show_answer(),
        }
    }
}

/// Whether a fault says that the upstream has too much to do.
fn is_overrun(fault: &CallFault) -> bool {
    fault.reason == FaultReason::RateLimited
        || fault.http_status == Some(503)
        || (fault.http_status.is_none()
            && fault.reason == FaultReason::UpstreamUnavailable
            && fault.message.lines().next() == Some("connection refused"))
}

/// A call that waits for a slot, while it does.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn in_line(line: &'a AtomicUsize) -> Self {
        line.fetch_add(1, Ordering::Relaxed);
        Waiting(line)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        if let Some((holders, asking)) = &self.asks {
            holders.calls().retain(|other| !Arc::ptr_eq(other, asking));
        }
        self.slots.in_flight.fetch_sub(1, Ordering::Relaxed);
        let mut window = self.slots.window();
        if window.owed > 0
            && let Some(permit) = self.permit.take()
        {
            window.owed -= 1;
            permit.forget();
        }
    }
}

impl Slots {
    pub(crate) fn new(total: usize) -> Self {
        let size = total.min(FIRST);
        Self {
            free: Semaphore::new(size),
            in_flight: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            window: Mutex::new(Window { size, total, owed: 0, halved: 0, changed: None }),
            asking: Arc::new(Holders::of(total)),
        }
    }

    /// Calls that hold a slot.
    fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Calls that wait for a slot.
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The state of an upstream, with its calls.
    pub(crate) fn health(&self, health: Health) -> Health {
        Health { in_flight: self.in_flight(), waiting: self.waiting(), ..health }
    }

    /// Refuses all further calls.
    pub(crate) fn close(&self) {
        self.free.close();
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock()
    }

    /// A call was answered: if the window is all but full, there is room for one more.
    fn show_answer(&self) {
        let mut window = self.window();
        if window.size < window.total && self.in_flight() * 2 > window.size {
            self.grow(&mut window, 1);
        }
    }

    /// The window is full, and no call was refused for a while: there is room for as many again.
    fn grow_by_patience(&self, now: Instant) {
        let mut window = self.window();
        let quiet = match window.changed {
            Some((at, shrank)) => {
                now.saturating_duration_since(at) >= if shrank { CAUTION } else { PATIENCE }
            }
            None => true,
        };
        if quiet && window.size < window.total && self.in_flight() >= window.size {
            let more = window.size;
            self.grow(&mut window, more);
            window.changed = Some((now, false));
        }
    }

    fn grow(&self, window: &mut Window, more: usize) {
        let more = more.min(window.total - window.size);
        window.size += more;
        let kept = more.min(window.owed);
        window.owed -= kept;
        self.free.add_permits(more - kept);
    }

    /// The upstream had too much to do when there were so many calls in flight as may be now.
    fn shrink(&self, halved: u64) {
        let mut window = self.window();
        if window.halved != halved || window.size == 1 {
            return;
        }
        let less = window.size - window.size / 2;
        window.size -= less;
        window.halved += 1;
        window.changed = Some((time::now(), true));
        window.owed += less - self.free.forget_permits(less);
    }

    fn held<'a>(&'a self, permit: SemaphorePermit<'a>, asking: Option<&Arc<QuestionSink>>) -> Slot<'a> {
        let asks = asking.map(|asking| {
            self.asking.calls().push(asking.clone());
            (&*self.asking, asking.clone())
        });
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Slot { slots: self, permit: Some(permit), asks, halved: self.window().halved }
    }

    /// Waits for a slot. Calls that wait for people hold theirs without giving the upstream anything to do.
    async fn free_slot(&self) -> Result<SemaphorePermit<'_>, CallFault> {
        let _waits = Waiting::in_line(&self.waiting);
        let mut acquiring = std::pin::pin!(self.free.acquire());
        if self.asking.all_stand(self.window().size) {
            let mut window = self.window();
            if window.size < window.total {
                self.grow(&mut window, 1);
            }
        }
        loop {
            tokio::select! {
                biased;
                permit = &mut acquiring => return permit.map_err(|_| closed().never_sent()),
                () = time::sleep(PATIENCE) => self.grow_by_patience(time::now()),
            }
        }
    }

    /// A slot, and a live connection: the one that `current` gives, or that `connect` makes, with this much patience for a
    /// start led by another caller. Nothing of this counts against the call's own time: the program's deadline bounds it.
    /// `asking`: where the call asks, if it may.
    pub(crate) async fn enter<C, F>(
        &self,
        limits: &CallLimits,
        asking: Option<&Arc<QuestionSink>>,
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
            let slot = self.free_slot().await?;
            drop(queued);
            let slot = self.held(slot, asking);
            Ok((connect(Some(limits.timeout)).await?, slot))
        });
        time::timeout_at(limits.deadline, queue).await.unwrap_or_else(|_| {
            let text = format!("{transport} call timed out before it could be sent");
            Err(CallFault::timeout(text).never_sent())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

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
        let (_, slot) = slots.enter(&limits(1000), None, "x", || Some(1), |_| async { Ok(2) }).await.unwrap();
        assert_eq!((slots.in_flight(), slots.waiting()), (1, 0));
        let late = slots.enter(&limits(1000), None, "x", || Some(1), |_| async { Ok(2) }).await.unwrap_err();
        assert_eq!(late.to_string(), "timeout: x call timed out before it could be sent");
        drop(slot);
        let (connection, _slot) =
            slots.enter(&limits(1), None, "x", || None, |_| async { Ok(2) }).await.unwrap();
        assert_eq!((connection, slots.in_flight()), (2, 1), "no live connection: one is made");
        slots.close();
        let closed = slots.enter(&limits(1), None, "x", || Some(1), |_| async { Ok(2) }).await.unwrap_err();
        assert_eq!(closed.message, "the upstream has been shut down");
    }

    async fn entered<'s>(slots: &'s Slots, asking: &Arc<QuestionSink>) -> Slot<'s> {
        let limits = limits(60_000);
        let entered = slots.enter(&limits, Some(asking), "x", || Some(()), |_| async { Ok(()) });
        entered.await.unwrap().1
    }

    #[tokio::test]
    async fn a_call_is_stuck_while_all_slots_are_held_by_calls_of_its_run_that_ask() {
        let slots = Slots::new(2);
        let asking = |run| Arc::new(QuestionSink::new(run).0);
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

    fn slot(slots: &Slots) -> Option<Slot<'_>> {
        slots.free.try_acquire().ok().map(|permit| slots.held(permit, None))
    }

    /// All slots that there are.
    fn all(slots: &Slots) -> Vec<Slot<'_>> {
        std::iter::from_fn(|| slot(slots)).collect()
    }

    #[test]
    fn an_upstream_that_answers_has_twice_the_calls_with_each_round() {
        let slots = Slots::new(64);
        for size in [16, 32, 64, 64] {
            let round = all(&slots);
            assert_eq!(round.len(), size);
            round.iter().for_each(|slot| slot.note(&Ok(())));
        }
        // Calls one after the other show nothing of calls at once.
        let slots = Slots::new(64);
        for _ in 0..100 {
            slot(&slots).unwrap().note(&Ok(()));
        }
        assert_eq!(all(&slots).len(), 16);
        assert_eq!(all(&Slots::new(3)).len(), 3);
    }

    #[test]
    fn an_upstream_that_refuses_for_being_busy_has_half_of_them() {
        let slots = Slots::new(64);
        let refusals: [CallFault; 3] = [
            CallFault::new(FaultReason::RateLimited, "rate_limited").with_status(429),
            CallFault::unavailable("http 503").with_status(503),
            CallFault::unavailable("connection refused").never_sent(),
        ];
        for (refusal, left) in refusals.into_iter().zip([8, 4, 2]) {
            let round = all(&slots);
            round.iter().for_each(|slot| slot.note(&Err::<(), _>(refusal.clone())));
            drop(round);
            assert_eq!(all(&slots).len(), left, "one round halves it once");
        }
        for outcome in
            [CallFault::timeout("http read timeout"), CallFault::unavailable("http 500").with_status(500)]
        {
            let round = all(&slots);
            round.iter().for_each(|slot| slot.note(&Err::<(), _>(outcome.clone())));
        }
        assert!(all(&slots).len() >= 2);
        for _ in 0..10 {
            all(&slots).iter().for_each(|slot| slot.note(&Ok(())));
        }
        assert_eq!(all(&slots).len(), 64, "it recovers");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_calls_that_nobody_refuses_leave_room_for_others() {
        let slots = Slots::new(64);
        let first = all(&slots);
        let began = Instant::now();
        let wait = async || slots.held(slots.free_slot().await.unwrap(), None);
        let more = futures_util::future::join_all((0..48).map(|_| wait())).await;
        assert_eq!(slots.in_flight(), 64);
        let took = Instant::now() - began;
        assert!(took >= PATIENCE && took <= PATIENCE * 4, "{took:?}");
        drop((first, more));
        // One that has just refused is not tried so.
        let slots = Slots::new(64);
        let first = all(&slots);
        first[0].note(&Err::<(), _>(CallFault::new(FaultReason::RateLimited, "rate_limited")));
        drop(first);
        let _all = all(&slots);
        assert!(tokio::time::timeout(CAUTION / 2, slots.free_slot()).await.is_err());
    }
}
