//! Cooperative yielding of host code that processes untrusted bytes: after [`PIECE`] bytes or half a millisecond, whichever
//! comes first, the thread polls its sockets and runs other waiting tasks.
//!
//! A loop that reads from a peer which is always faster than its reader never finds nothing to read, and so would never leave
//! its thread. Such loops have a [`Pace`]: they report the bytes that they have processed, and wait when it says so. An
//! operation that reads a text in one go, such as a parser of JSON, runs [`apart`] if the text is long.

#![expect(clippy::disallowed_methods, reason = "threads share out what they really have of time")]

#[cfg(any(test, feature = "work-counts"))]
pub mod work;

use std::future::{pending, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The most bytes that are worked on between two pauses.
pub const PIECE: usize = 64 * 1024;
/// The most bytes between two readings of the clock, where processing costs more than copying.
pub const STEP: usize = 4096;
/// Bytes of a text that is read in one go on the caller's thread. A longer one has a thread of its own.
pub const AT_ONCE: usize = 256 * 1024;
/// How long work may run without a pause.
const SLICE: Duration = Duration::from_micros(500);

/// How many long texts are processed at a time. Few: the workers keep their share of the processor, and memory besides the
/// texts is needed only this often.
const THREADS: usize = 2;

static THREADS_APART: Semaphore = Semaphore::const_new(THREADS);

/// The work of a loop since its last pause.
#[derive(Debug, Default)]
pub struct Pace {
    bytes: usize,
    began: Option<Instant>,
}

impl Pace {
    /// Notes work on `bytes`. Whether the others are to have a turn now; if so, the count begins anew.
    pub fn is_due(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        #[cfg(any(test, feature = "work-counts"))]
        work::note(bytes, self.bytes);
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        let is_due = self.bytes >= PIECE || now.saturating_duration_since(began) >= SLICE;
        if is_due {
            self.restart();
        }
        is_due
    }

    /// Notes that other tasks have run.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Notes work on `bytes`, and yields if that is due.
    pub async fn worked(&mut self, bytes: usize) {
        if self.is_due(bytes) {
            tokio::task::yield_now().await;
        }
    }

    /// The output of `future`. If it has to be waited for, the pace restarts.
    pub async fn wait<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|cx| {
            let polled = future.as_mut().poll(cx);
            if polled.is_pending() {
                self.restart();
            }
            polled
        })
        .await
    }
}

/// Yields in a function that is polled: pending, and woken when other tasks have run.
pub fn poll_pause<T>(cx: &mut Context<'_>) -> Poll<T> {
    // Its first poll asks to be woken after the next look at the sockets; it is not needed for more.
    let _ = pin!(tokio::task::yield_now()).poll(cx);
    Poll::Pending
}

/// The result of `work` on a text of so many bytes, which cannot yield: it runs at once, or on a thread for such work if the
/// text is longer than [`AT_ONCE`].
pub async fn apart<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= AT_ONCE {
        return work();
    }
    // Many at once would take the processor from the workers' threads instead.
    let permit = THREADS_APART.acquire().await;
    let work = move || {
        let output = work();
        drop(permit);
        output
    };
    match crate::time::spawn_blocking(work).await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(output) => output,
        Err(Ok(panic)) => resume_unwind(panic),
        // The process ends.
        Err(Err(_)) => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::work::{ReportedBytes, take_work};
    use super::*;
    use futures_util::future::join_all;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    #[tokio::test]
    async fn a_loop_that_is_never_kept_waiting_gives_way_after_each_piece() {
        let turns = Rc::new(Cell::new(0));
        let set = tokio::task::LocalSet::new();
        let others = turns.clone();
        set.spawn_local(async move {
            loop {
                others.set(others.get() + 1);
                tokio::task::yield_now().await;
            }
        });
        let work = async {
            let mut pace = Pace::default();
            for _ in 0..100 {
                pace.wait(std::future::ready(())).await;
                pace.worked(PIECE / 2).await;
            }
        };
        take_work();
        set.run_until(work).await;
        let ReportedBytes { most, all } = take_work();
        assert!(most <= PIECE && all == 50 * PIECE, "{most} of {all}");
        assert!(turns.get() >= 49, "{} turns of others", turns.get());
    }

    #[tokio::test]
    async fn what_was_waited_for_needs_no_pause() {
        let mut pace = Pace::default();
        pace.is_due(PIECE - 1);
        pace.wait(tokio::task::yield_now()).await;
        assert!(!pace.is_due(PIECE - 1));
        assert!(pace.is_due(1));
    }

    #[tokio::test]
    async fn long_texts_are_read_on_another_thread() {
        let here = std::thread::current().id();
        let thread = || std::thread::current().id();
        assert_eq!(apart(AT_ONCE, thread).await, here);
        assert_ne!(apart(AT_ONCE + 1, thread).await, here);
        let panics = tokio::spawn(apart(AT_ONCE + 1, || panic!("told")));
        assert!(panics.await.unwrap_err().is_panic(), "a panic comes back");
    }

    #[tokio::test]
    async fn few_long_texts_have_a_thread_at_a_time() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // They come in pairs, so that two of them are there at the same time.
        let pair = Arc::new(Barrier::new(THREADS));
        let all = (0..4 * THREADS).map(|_| {
            let (running, most, pair) = (running.clone(), most.clone(), pair.clone());
            apart(AT_ONCE + 1, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                pair.wait();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        join_all(all).await;
        assert_eq!(most.load(Ordering::SeqCst), THREADS);
    }

    #[tokio::test]
    async fn a_pause_of_a_polled_function_is_woken() {
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            if polls < 3 { poll_pause(cx) } else { Poll::Ready(()) }
        })
        .await;
        assert_eq!(polls, 3);
    }
}
