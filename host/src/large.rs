//! Work on large texts, which leaves the thread that serves others.
//!
//! What takes a time in proportion to a text that came from outside, and is no program's work, holds the thread of everybody as long
//! as it lasts. Up to [`LARGE`] bytes that is as long as a pause may be apart from the next; beyond, the work has a thread of its own.

use std::future::pending;
use std::panic::resume_unwind;

use tokio::sync::Semaphore;

use crate::time::spawn_blocking;

/// Bytes of a text beyond which work on it leaves its thread.
pub const LARGE: usize = 256 << 10;

/// Threads for such work at a time. Few: the workers shall keep their share of the processor, and what the work needs besides its
/// text is there so often only.
const THREADS: usize = 2;

static ROOM: Semaphore = Semaphore::const_new(THREADS);

/// The result of `work`, whose time is in proportion to `bytes`: done at once, or on a thread of its own.
pub async fn aside<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= LARGE {
        return work();
    }
    // The semaphore is never closed.
    let permit = ROOM.acquire().await.ok();
    let done = spawn_blocking(move || {
        let _permit = permit;
        work()
    });
    match done.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime ends, and with it whoever waits here.
            Err(_) => pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn large_work_leaves_its_thread_and_small_work_does_not() {
        let here = thread::current().id();
        assert_eq!(aside(LARGE, || thread::current().id()).await, here);
        assert_ne!(aside(LARGE + 1, || thread::current().id()).await, here);
    }

    #[tokio::test]
    async fn so_many_have_a_thread_at_a_time() {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // They come in pairs, so that two of them are there at the same time.
        let pair = Arc::new(Barrier::new(THREADS));
        let all = (0..4 * THREADS).map(|_| {
            let (running, most, pair) = (running.clone(), most.clone(), pair.clone());
            aside(LARGE + 1, move || {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                pair.wait();
                running.fetch_sub(1, Ordering::SeqCst);
            })
        });
        join_all(all).await;
        assert_eq!(most.load(Ordering::SeqCst), THREADS);
    }
}
