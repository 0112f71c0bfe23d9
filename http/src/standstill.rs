//! Time of an exchange that is suspended while the delay is not the other side's.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::exchange::Timer;
use ptc_base::time::{Instant, sleep_until};

/// Says when the time of an exchange stands still.
pub trait Standstill: Send + Sync {
    /// Whether it does. If so, `cx` is woken when time resumes.
    fn stands(&self, cx: &Context<'_>) -> bool;

    /// How long it has in all.
    fn stood(&self) -> Duration;
}

/// Time that an exchange is given back for standstills.
#[derive(Default)]
pub(super) struct GrantedTime {
    standstill: Option<Arc<dyn Standstill>>,
    /// Time given back already.
    granted: Duration,
}

impl GrantedTime {
    /// A standstill before the exchange begins does not count.
    pub(super) fn new(standstill: Option<Arc<dyn Standstill>>) -> Self {
        let granted = standstill.as_ref().map_or(Duration::ZERO, |standstill| standstill.stood());
        Self { standstill, granted }
    }

    /// Ready when the timer has run out, and the time has not stood still since it was set.
    pub(super) fn poll(&mut self, timer: &mut Timer, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(timer.as_mut().poll(cx));
            let Some(standstill) = &self.standstill else { return Poll::Ready(()) };
            if standstill.stands(cx) {
                return Poll::Pending;
            }
            let stood = standstill.stood();
            let more = stood.saturating_sub(self.granted);
            if more.is_zero() {
                return Poll::Ready(());
            }
            self.granted = stood;
            let end = timer.deadline() + more;
            timer.as_mut().reset(end);
        }
    }
}

/// The outcome of `future`, or `None` when `end` comes first, which is later by the time that has stood still.
pub async fn timeout_at<F: Future>(
    end: Instant,
    standstill: Option<Arc<dyn Standstill>>,
    future: F,
) -> Option<F::Output> {
    let (mut future, mut timer) = (pin!(future), Box::pin(sleep_until(end)));
    let mut granted = GrantedTime::new(standstill);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => granted.poll(&mut timer, cx).map(|()| None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::sync::Mutex;
    use std::task::Waker;

    /// Stands still once, from the first second to the fifth.
    struct Once {
        began: Instant,
        waker: Mutex<Option<Waker>>,
    }

    const FROM: Duration = Duration::from_secs(1);
    const TO: Duration = Duration::from_secs(5);

    impl Standstill for Once {
        fn stands(&self, cx: &Context<'_>) -> bool {
            *self.waker.lock() = Some(cx.waker().clone());
            (FROM..TO).contains(&self.began.elapsed())
        }

        fn stood(&self) -> Duration {
            self.began.elapsed().clamp(FROM, TO) - FROM
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_stood_still_is_given_back_once() {
        let began = Instant::now();
        let once = Arc::new(Once { began, waker: Mutex::default() });
        let woken = once.clone();
        tokio::spawn(async move {
            tokio::time::sleep(TO).await;
            woken.waker.lock().take().unwrap().wake();
        });
        let end = began + Duration::from_secs(2);
        let never = std::future::pending::<()>();
        assert_eq!(timeout_at(end, Some(once.clone()), never).await, None);
        assert_eq!(began.elapsed(), Duration::from_secs(6), "two seconds, and four that stood still");
        let late = Instant::now() + Duration::from_secs(2);
        assert_eq!(timeout_at(late, Some(once), std::future::pending::<()>()).await, None);
        assert_eq!(began.elapsed(), Duration::from_secs(8), "what stood still before is nothing to it");
        assert_eq!(timeout_at(late, None, std::future::ready(7)).await, Some(7));
    }
}
