//! A future that is polled only after its own wake-up.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// A future that is polled only when it was woken itself, and not each time its task does something else. A connection
/// has timers that hardly ever expire, and polling them with each request costs more than checking its headers.
pub(super) struct GatedFuture<F> {
    future: F,
    own: Arc<GatedWaker>,
    waker: Waker,
    /// The task that the waker wakes.
    task: Option<Waker>,
}

struct GatedWaker {
    woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for GatedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F: Future + Unpin> GatedFuture<F> {
    pub(super) fn new(future: F) -> Self {
        // It has not been polled yet.
        let own = Arc::new(GatedWaker { woken: AtomicBool::new(true), task: AtomicWaker::new() });
        GatedFuture { future, waker: own.clone().into(), own, task: None }
    }
}

impl<F: Future + Unpin> Future for GatedFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        if !this.task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
            this.own.task.register(context.waker());
            this.task = Some(context.waker().clone());
        }
        // The task is registered first, so that no later wake-up is lost.
        if !this.own.woken.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        this.own.woken.store(false, Ordering::Release);
        Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_is_looked_at_when_it_asks_to_be_by_whichever_task_has_it() {
        let looks = Cell::new(0);
        let kept = Cell::new(None);
        let mut gated = GatedFuture::new(poll_fn(|context: &mut Context<'_>| {
            looks.set(looks.get() + 1);
            kept.set(Some(context.waker().clone()));
            if looks.get() < 3 { Poll::Pending } else { Poll::Ready(()) }
        }));
        let tasks: [Arc<Count>; 2] = Default::default();
        let mut look = |task: &Arc<Count>| {
            let waker = Waker::from(task.clone());
            Pin::new(&mut gated).poll(&mut Context::from_waker(&waker)).is_ready()
        };
        assert!(!look(&tasks[0]) && !look(&tasks[0]));
        assert_eq!(looks.get(), 1);
        // Moved to another task before the wake-up.
        assert!(!look(&tasks[1]));
        kept.take().unwrap().wake();
        assert_eq!([0, 1].map(|at| tasks[at].0.load(Ordering::Relaxed)), [0, 1]);
        assert!(!look(&tasks[1]) && !look(&tasks[1]));
        assert_eq!(looks.get(), 2);
        kept.take().unwrap().wake();
        assert!(look(&tasks[1]));
    }
}
