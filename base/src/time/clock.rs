//! Clocks: the system's, and those that tests set ahead.

use crate::sync::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, SystemTime};

use super::Instant;

/// Whether there has ever been a stepped clock: without one, the clock of a thread is not looked up.
static STEPS: AtomicBool = AtomicBool::new(false);
static OF_PROCESS: OnceLock<Clock> = OnceLock::new();

thread_local! {
    static OF_THREAD: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// The system's clock, or one that runs on with it and can be set ahead. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct Clock(pub(super) Option<Arc<SteppedClock>>);

impl Clock {
    /// A clock that tests set ahead; the system's is [`Clock::default`].
    #[must_use]
    pub fn stepped() -> Self {
        STEPS.store(true, Ordering::Relaxed);
        Self(Some(Arc::default()))
    }

    /// The clock of this thread.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        if STEPS.load(Ordering::Relaxed) { of_thread(Clone::clone) } else { Self::default() }
    }

    /// Makes it the clock of this thread until the guard is dropped. Guards are dropped in the reverse order of their making.
    #[must_use = "it is the clock of the thread as long as the guard lives"]
    pub fn enter(&self) -> Entered {
        let before = OF_THREAD.replace(Some(self.clone()));
        Entered { before, of_thread: PhantomData }
    }

    /// Makes it the clock of all threads that have entered none, once and for all. Returns whether it did: the first one stays.
    pub fn set_for_process(self) -> bool {
        OF_PROCESS.set(self).is_ok()
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Instant {
        real_now() + self.ahead()
    }

    /// The time since `moment`; zero if it is in the future.
    #[must_use]
    pub fn since(&self, moment: Instant) -> Duration {
        self.now().saturating_duration_since(moment)
    }

    /// The time of day.
    #[must_use]
    pub fn time_of_day(&self) -> SystemTime {
        real_time_of_day() + self.ahead()
    }

    /// Sets it ahead, and wakes the waits that are due then.
    ///
    /// # Panics
    /// The system's clock cannot be set.
    pub fn advance(&self, by: Duration) {
        let stepped = self.0.as_ref().expect("a stepped clock");
        let woken = {
            let mut state = stepped.state();
            state.ahead += by;
            std::mem::take(&mut state.wakers)
        };
        stepped.steps.notify_all();
        // Whose time has not come waits again.
        woken.into_values().for_each(Waker::wake);
    }

    /// Blocks this thread for `duration`.
    #[expect(clippy::disallowed_methods, reason = "this is what is to be used instead")]
    pub fn block(&self, duration: Duration) {
        let Some(stepped) = &self.0 else { return std::thread::sleep(duration) };
        let end = after(self.now(), duration);
        let mut state = stepped.state();
        loop {
            let left = end.saturating_duration_since(real_now() + state.ahead);
            if left.is_zero() {
                return;
            }
            state = stepped.steps.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn ahead(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |stepped| stepped.ahead())
    }
}

/// Restores the previous clock of a thread when dropped.
#[derive(Debug)]
pub struct Entered {
    before: Option<Clock>,
    /// It belongs to the thread on which it was made.
    of_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        OF_THREAD.set(self.before.take());
    }
}

/// By how much the clock of this thread is ahead of the system's; `None` if it is the system's.
#[inline]
pub(super) fn ahead() -> Option<Duration> {
    if !STEPS.load(Ordering::Relaxed) {
        return None;
    }
    of_thread(|clock| clock.0.as_ref().map(|stepped| stepped.ahead()))
}

fn of_thread<T>(read: impl FnOnce(&Clock) -> T) -> T {
    OF_THREAD.with_borrow(|entered| match entered.as_ref().or_else(|| OF_PROCESS.get()) {
        Some(clock) => read(clock),
        None => read(&Clock::default()),
    })
}

#[inline]
#[expect(clippy::disallowed_methods, reason = "this is what is to be used instead")]
pub(super) fn real_now() -> Instant {
    Instant::now()
}

#[inline]
#[expect(clippy::disallowed_methods, reason = "this is what is to be used instead")]
pub(super) fn real_time_of_day() -> SystemTime {
    SystemTime::now()
}

/// A time beyond the range of instants is as good as never.
pub(super) fn after(now: Instant, duration: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    now.checked_add(duration).unwrap_or_else(|| now + NEVER)
}

/// A clock that is ahead of the system's.
#[derive(Debug, Default)]
pub(super) struct SteppedClock {
    state: Mutex<ClockState>,
    /// Told of steps, for threads that are blocked.
    steps: Condvar,
}

#[derive(Debug, Default)]
struct ClockState {
    ahead: Duration,
    /// The wakers for a step, by their number.
    wakers: HashMap<u64, Waker>,
    /// The number of the next one.
    next: u64,
}

impl SteppedClock {
    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock()
    }

    pub(super) fn ahead(&self) -> Duration {
        self.state().ahead
    }

    /// A number for a waiter.
    pub(super) fn number(&self) -> u64 {
        let mut state = self.state();
        state.next += 1;
        state.next
    }

    /// By how much it is ahead, and has the next step wake `waker`.
    pub(super) fn watch(&self, number: u64, waker: &Waker) -> Duration {
        let mut state = self.state();
        state.wakers.insert(number, waker.clone());
        state.ahead
    }

    pub(super) fn forget(&self, number: u64) {
        self.state().wakers.remove(&number);
    }
}
