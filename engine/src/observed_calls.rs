//! Upstreams whose calls are observed.

use super::asking::Desk;
use super::context::RunContext;
use super::tools::HostCalls;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use ptc_vm::machine::{HostRequest, Reply};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

/// Observes the requests of a program to its upstreams.
pub trait CallObserver: Send + Sync + 'static {
    /// What the observer keeps of a request until its reply.
    type Call: 'static;

    /// What to await before a request goes out; `None` if it may go at once.
    fn gate(self: &Arc<Self>) -> Option<LocalBoxFuture<'static, ()>> {
        None
    }

    /// A request was made, and is about to go out. `None`: its reply is not reported.
    fn before(&self, request: &HostRequest) -> Option<Self::Call>;

    /// A request has gone out, and may have its reply already.
    fn sent(&self, run: &RunContext, is_answered: bool) {
        let _ = (run, is_answered);
    }

    /// The request has its reply.
    fn after(&self, call: Self::Call, run: &RunContext, reply: &Reply) {
        let _ = (call, run, reply);
    }
}

/// Upstreams and the observer of their calls.
pub struct ObservedCalls<O> {
    calls: Arc<dyn HostCalls>,
    observer: Arc<O>,
}

impl<O: CallObserver> ObservedCalls<O> {
    /// These upstreams, observed.
    pub fn new(calls: Arc<dyn HostCalls>, observer: Arc<O>) -> ObservedCalls<O> {
        ObservedCalls { calls, observer }
    }
}

impl<O: CallObserver> HostCalls for ObservedCalls<O> {
    fn max_request_bytes(&self) -> usize {
        self.calls.max_request_bytes()
    }

    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let call = self.observer.before(&request);
        async move {
            if let Some(gate) = self.observer.gate() {
                gate.await;
            }
            let mut answer = self.calls.clone().answer(run.clone(), request, desk);
            let mut is_sent = false;
            let reply = poll_fn(|context| {
                let polled = answer.poll_unpin(context);
                if !is_sent {
                    is_sent = true;
                    self.observer.sent(&run, polled.is_ready());
                }
                polled
            })
            .await;
            if let Some(call) = call {
                self.observer.after(call, &run, &reply);
            }
            reply
        }
        .boxed_local()
    }

    fn refused(&self, run: &RunContext, request: &HostRequest) {
        self.calls.refused(run, request);
    }
}
