//! The pending calls of a program.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use ptc_vm::machine::{CallId, Reply};

/// Calls in flight, of which the first to be answered comes first. Most programs make one call at a time, which needs no
/// queue and no waker of its own.
#[derive(Default)]
pub(super) enum Calls {
    /// Nothing to wait for.
    #[default]
    None,
    One(InFlightCall),
    Many(FuturesUnordered<InFlightCall>),
}

/// One call and its pending answer.
pub(super) struct InFlightCall {
    id: CallId,
    answer: LocalBoxFuture<'static, Reply>,
}

impl Future for InFlightCall {
    type Output = (CallId, Reply);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let id = self.id;
        self.answer.as_mut().poll(cx).map(|reply| (id, reply))
    }
}

impl Calls {
    /// Adds a call.
    pub(super) fn push(&mut self, id: CallId, answer: LocalBoxFuture<'static, Reply>) {
        let call = InFlightCall { id, answer };
        *self = match std::mem::take(self) {
            Self::None => Self::One(call),
            Self::One(first) => Self::Many([first, call].into_iter().collect()),
            Self::Many(calls) => {
                calls.push(call);
                Self::Many(calls)
            }
        };
    }

    /// Whether there is nothing to wait for.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::None => true,
            Self::One(_) => false,
            Self::Many(calls) => calls.is_empty(),
        }
    }

    /// How many are in flight.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Many(calls) => calls.len(),
        }
    }

    /// The next answer; `None` when there is nothing to wait for.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(CallId, Reply)>> {
        let answered = match self {
            Self::None => return Poll::Ready(None),
            Self::One(call) => Pin::new(call).poll(cx).map(Some),
            Self::Many(calls) => calls.poll_next_unpin(cx),
        };
        if answered.is_ready() && matches!(self, Self::One(_)) {
            *self = Self::None;
        }
        answered
    }

    /// Cancels all of them.
    pub(super) fn clear(&mut self) {
        *self = Self::None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use std::future::{pending, poll_fn};
    use tokio::sync::oneshot;

    fn answered(answer: oneshot::Receiver<()>) -> LocalBoxFuture<'static, Reply> {
        answer.map(|_| Reply::Value(ptc_vm::machine::Payload::None)).boxed_local()
    }

    async fn next(calls: &mut Calls) -> Option<CallId> {
        poll_fn(|cx| calls.poll_next(cx)).await.map(|(id, _)| id)
    }

    #[tokio::test]
    async fn the_first_answer_comes_first_however_many_are_asked() {
        let mut calls = Calls::default();
        assert!(calls.is_empty());
        assert_eq!(next(&mut calls).await, None);
        let (tell, told): (Vec<_>, Vec<_>) = (0..3).map(|_| oneshot::channel()).unzip();
        let mut tell: Vec<Option<oneshot::Sender<()>>> = tell.into_iter().map(Some).collect();
        let mut told = told.into_iter();
        calls.push(0, answered(told.next().unwrap()));
        assert!(next(&mut calls).now_or_never().is_none());
        tell[0].take().unwrap().send(()).unwrap();
        assert_eq!(next(&mut calls).await, Some(0));
        assert!(calls.is_empty());
        calls.push(1, answered(told.next().unwrap()));
        calls.push(2, answered(told.next().unwrap()));
        calls.push(3, pending().boxed_local());
        tell[2].take().unwrap().send(()).unwrap();
        assert_eq!(next(&mut calls).await, Some(2));
        tell[1].take().unwrap().send(()).unwrap();
        assert_eq!(next(&mut calls).await, Some(1));
        assert!(next(&mut calls).now_or_never().is_none());
        calls.clear();
        assert_eq!(next(&mut calls).await, None);
    }
}
