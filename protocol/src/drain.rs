//! A one-way state: no new work is accepted.

use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_host::time::{self, Instant};
use tokio::sync::Notify;

/// A flag that something is draining, with a way to wait for it.
#[derive(Debug, Default)]
pub struct Drain {
    begun: AtomicBool,
    at: OnceLock<Instant>,
    news: Notify,
}

impl Drain {
    /// Starts draining. Repeating it changes nothing.
    pub fn begin(&self) {
        self.at.get_or_init(time::now);
        self.begun.store(true, Ordering::Release);
        self.news.notify_waiters();
    }

    /// True if draining has started.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// The time since it started; zero if it has not.
    pub(crate) fn elapsed(&self) -> Duration {
        self.at.get().map_or(Duration::ZERO, |at| time::since(*at))
    }

    /// Completes once draining has started.
    pub async fn begun(&self) {
        let mut news = pin!(self.news.notified());
        // Register before checking: a start in between would otherwise be missed.
        news.as_mut().enable();
        if !self.has_begun() {
            news.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn waiting_ends_with_the_beginning() {
        let drain = Drain::default();
        let mut waiting = Box::pin(drain.begun());
        assert!((&mut waiting).now_or_never().is_none() && !drain.has_begun());
        drain.begin();
        assert!(waiting.now_or_never().is_some() && drain.has_begun());
        assert!(drain.begun().now_or_never().is_some());
    }
}
