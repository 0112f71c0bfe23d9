//! Waiting by a clock.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::task::coop;

use super::Instant;
use super::clock::{Clock, SteppedClock, after, real_now};

pin_project_lite::pin_project! {
    /// Waits until a moment of the clock under which it was made.
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct Sleep {
        // Until that moment by the system's clock, as far as steps have been looked at.
        #[pin]
        timer: tokio::time::Sleep,
        stepped: Option<Box<SleepState>>,
    }
}

/// The state of a wait by a clock that can be set ahead meanwhile.
#[derive(Debug)]
struct SleepState {
    clock: Arc<SteppedClock>,
    number: u64,
    deadline: Instant,
}

impl Drop for SleepState {
    fn drop(&mut self) {
        self.clock.forget(self.number);
    }
}

impl Sleep {
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is what is to be used instead")]
    pub(super) fn new(clock: Option<Arc<SteppedClock>>, deadline: Instant) -> Self {
        let Some(clock) = clock else {
            return Self { timer: tokio::time::sleep_until(deadline), stepped: None };
        };
        let timer = tokio::time::sleep_until(by_system(deadline, &clock));
        let number = clock.number();
        Self { timer, stepped: Some(Box::new(SleepState { clock, number, deadline })) }
    }

    /// When it ends.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.stepped.as_ref().map_or_else(|| self.timer.deadline(), |waiting| waiting.deadline)
    }

    /// Has it end at another time of the same clock, whether it has ended or not.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        match this.stepped {
            None => this.timer.reset(deadline),
            Some(waiting) => {
                waiting.deadline = deadline;
                this.timer.reset(by_system(deadline, &waiting.clock));
            }
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if let Some(waiting) = this.stepped {
            let ahead = waiting.clock.watch(waiting.number, cx.waker());
            if waiting.deadline <= real_now() + ahead {
                waiting.clock.forget(waiting.number);
                return Poll::Ready(());
            }
            let deadline = waiting.deadline - ahead;
            if this.timer.deadline() != deadline {
                this.timer.as_mut().reset(deadline);
            }
        }
        this.timer.poll(cx)
    }
}

/// When that is by the system's clock, unless it is long past.
fn by_system(deadline: Instant, clock: &SteppedClock) -> Instant {
    deadline.checked_sub(clock.ahead()).unwrap_or(deadline)
}

pin_project_lite::pin_project! {
    /// A future that has so much time.
    #[must_use = "futures do nothing unless they are polled"]
    #[derive(Debug)]
    pub struct Timeout<F> {
        #[pin]
        future: F,
        #[pin]
        sleep: Sleep,
    }
}

impl<F> Timeout<F> {
    pub(super) fn new(future: F, sleep: Sleep) -> Self {
        Self { future, sleep }
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = this.future.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if had_budget && !coop::has_budget_remaining() {
            // A future that always uses up the task's budget must not keep time from passing.
            let sleep = poll_fn(|cx| this.sleep.as_mut().poll(cx));
            ready!(pin!(coop::unconstrained(sleep)).poll(cx));
        } else {
            ready!(this.sleep.poll(cx));
        }
        Poll::Ready(Err(Elapsed(())))
    }
}

/// Time was up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deadline has elapsed")]
pub struct Elapsed(());

impl Clock {
    /// Waits for `duration`.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let deadline = after(self.now(), duration);
        Sleep::new(self.0.clone(), deadline)
    }

    /// Waits until `deadline`.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep::new(self.0.clone(), deadline)
    }

    /// The output of `future`, unless it takes longer than `duration`.
    pub fn timeout<F: IntoFuture>(&self, duration: Duration, future: F) -> Timeout<F::IntoFuture> {
        Timeout::new(future.into_future(), self.sleep(duration))
    }

    /// The output of `future`, unless `deadline` passes first.
    pub fn timeout_at<F: IntoFuture>(&self, deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
        Timeout::new(future.into_future(), self.sleep_until(deadline))
    }
}
