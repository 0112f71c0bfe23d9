//! Upstream calls of a run, which are made only as long as nobody else may have recorded its end (state.md 6).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use ptc_host::engine::{CallsSoFar, Desk, HostCalls, RunContext};
use ptc_vm::machine::{HostRequest, Reply};
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a holder that hears nothing of its store may go on, by its own clock: less than its lease lasts.
pub(super) const UNHEARD: Duration = Duration::from_secs(25);

/// When the store last acknowledged the lease of a run; `None` as long as it has none and needs none.
pub(super) type Acknowledged = Option<Instant>;

/// Calls upstreams for a program that may become a run.
pub(super) struct Lawful {
    pub(super) upstreams: Arc<dyn HostCalls>,
    pub(super) acknowledged: watch::Receiver<Acknowledged>,
    /// Told of each call when it is made: the program itself only tells when it has its next turn.
    pub(super) progress: watch::Sender<CallsSoFar>,
}

/// Whether the lease may have run out.
pub(super) fn is_overdue(acknowledged: Acknowledged) -> bool {
    acknowledged.is_some_and(|at| at.elapsed() >= UNHEARD)
}

impl HostCalls for Lawful {
    fn answer(
        &self,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let (upstreams, progress) = (self.upstreams.clone(), self.progress.clone());
        let mut acknowledged = self.acknowledged.clone();
        async move {
            // A process that was stopped, or cannot reach its store, asks first. If the run is not its own any more the program is dropped.
            if acknowledged.wait_for(|at| !is_overdue(*at)).await.is_err() {
                return std::future::pending().await;
            }
            let mut answer = upstreams.answer(run.clone(), request, desk);
            if let Some(reply) = (&mut answer).now_or_never() {
                return reply;
            }
            let made = run.calls.get();
            progress.send_if_modified(|so_far| {
                let is_news = made > so_far.made;
                so_far.made = so_far.made.max(made);
                is_news
            });
            answer.await
        }
        .boxed_local()
    }
}
