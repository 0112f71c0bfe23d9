//! Upstream calls of a run, which are made only as long as nobody else may have recorded its end (state.md 6).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use ptc_host::engine::{HostCalls, RunContext};
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
}

/// Whether the lease may have run out.
pub(super) fn is_overdue(acknowledged: Acknowledged) -> bool {
    acknowledged.is_some_and(|at| at.elapsed() >= UNHEARD)
}

impl HostCalls for Lawful {
    fn answer(&self, run: Rc<RunContext>, request: HostRequest) -> LocalBoxFuture<'static, Reply> {
        if !is_overdue(*self.acknowledged.borrow()) {
            return self.upstreams.answer(run, request);
        }
        // A process that was stopped, or cannot reach its store: it asks first. If the run is not its own any more the program is dropped.
        let (upstreams, mut acknowledged) = (self.upstreams.clone(), self.acknowledged.clone());
        async move {
            if acknowledged.wait_for(|at| !is_overdue(*at)).await.is_err() {
                return std::future::pending().await;
            }
            upstreams.answer(run, request).await
        }
        .boxed_local()
    }
}
