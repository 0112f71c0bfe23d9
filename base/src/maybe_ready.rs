//! Operations that either finish at once or have to wait.
//!
//! Nearly every request, call and program ends in the poll that starts it. The usual type for an operation that may have to
//! wait is a boxed future. It costs an allocation, an indirect call per poll, and state for a wait that never comes: a large
//! part of the cost of a program of a few microseconds.
//!
//! [`MaybeReady`] avoids that cost. [`MaybeReady::Ready`] holds the result itself. [`MaybeReady::Waiting`] holds the
//! continuation (a boxed future, a channel, a machine), which is created only then.
//!
//! `Poll` does not fit, because its `Pending` holds nothing: it describes a future that exists already. `Either` of a
//! ready future and another one can only be awaited, and not every continuation is a future.
//!
//! [`Eager`] is the future of such an operation. It starts at its first poll, and sets nothing up if it ends in that
//! poll.

use std::pin::Pin;
use std::task::{Context, Poll};

/// The outcome of a first poll.
#[derive(Debug)]
pub enum MaybeReady<T, W> {
    /// The result.
    Ready(T),
    /// The pending rest.
    Waiting(W),
}

/// Something to be started by the first poll of an [`Eager`] future.
pub trait Start {
    /// The result.
    type Output;
    /// The continuation, if it does not end at once.
    type Rest: Future<Output = Self::Output> + Unpin;

    /// Goes as far as it can without waiting.
    fn start(self, cx: &mut Context<'_>) -> MaybeReady<Self::Output, Self::Rest>;
}

/// The future of something that starts with the first poll.
pub struct Eager<S: Start>(Stage<S>);

enum Stage<S: Start> {
    /// `None` after an end at once.
    NotStarted(Option<S>),
    Waiting(S::Rest),
}

impl<S: Start> Eager<S> {
    /// Starts `start` when it is polled.
    pub fn new(start: S) -> Self {
        Eager(Stage::NotStarted(Some(start)))
    }
}

/// The starter is moved, never pinned.
impl<S: Start> Unpin for Eager<S> {}

impl<S: Start> Future for Eager<S> {
    type Output = S::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<S::Output> {
        if let Stage::NotStarted(start) = &mut self.0 {
            let start = start.take().expect("no future is polled after its end");
            match start.start(cx) {
                MaybeReady::Ready(output) => return Poll::Ready(output),
                MaybeReady::Waiting(rest) => self.0 = Stage::Waiting(rest),
            }
        }
        match &mut self.0 {
            Stage::Waiting(rest) => Pin::new(rest).poll(cx),
            Stage::NotStarted(_) => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;

    /// Ends at once unless there is something to wait for.
    struct Number(Option<oneshot::Receiver<u8>>);

    impl Start for Number {
        type Output = Result<u8, oneshot::error::RecvError>;
        type Rest = oneshot::Receiver<u8>;

        fn start(self, _: &mut Context<'_>) -> MaybeReady<Self::Output, Self::Rest> {
            self.0.map_or(MaybeReady::Ready(Ok(1)), MaybeReady::Waiting)
        }
    }

    #[test]
    fn what_ends_at_once_keeps_nothing_and_the_rest_goes_on() {
        assert_eq!(Eager::new(Number(None)).now_or_never(), Some(Ok(1)));
        let (tell, told) = oneshot::channel();
        let mut waiting = Eager::new(Number(Some(told)));
        assert_eq!((&mut waiting).now_or_never(), None);
        tell.send(2).unwrap();
        assert_eq!(waiting.now_or_never(), Some(Ok(2)));
    }
}
