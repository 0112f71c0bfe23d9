//! Gates the upstream calls of a run on a live lease, so that no call is made after another replica may have recorded
//! its end (state.md 6).

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use ptc_host::engine::{CallsSoFar, Desk, HostCalls, RunContext};
use ptc_host::time::{self, Instant};
use ptc_vm::machine::{HostRequest, Reply};
use tokio::sync::watch;

/// How long a holder may continue without an acknowledgement of its store, by its own clock: less than the lease
/// lasts.
pub(super) const UNHEARD: Duration = Duration::from_secs(25);

/// Makes the upstream calls of a program that may become a run.
pub(super) struct Lawful {
    pub(super) upstreams: Arc<dyn HostCalls>,
    /// When the store last acknowledged the lease of the run; `None` as long as it has no lease and needs none.
    pub(super) acknowledged: watch::Receiver<Option<Instant>>,
    /// Counts each call when it is made: the program itself reports calls only at its next turn.
    pub(super) calls: CallCount,
    /// Reports progress to the client, if it asked for it.
    pub(super) progress: Option<watch::Sender<CallsSoFar>>,
}

/// The number of upstream calls that a program has made. Clones share one count.
#[derive(Debug, Clone, Default)]
pub(super) struct CallCount(Arc<AtomicU32>);

impl CallCount {
    /// Raises the count to at least `made`.
    pub(super) fn note(&self, made: u32) {
        self.0.fetch_max(made, Ordering::Relaxed);
    }

    /// The count.
    pub(super) fn made(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// True if the lease may have expired.
pub(super) fn is_overdue(acknowledged: Option<Instant>) -> bool {
    acknowledged.is_some_and(|at| time::since(at) >= UNHEARD)
}

impl HostCalls for Lawful {
    fn max_request_bytes(&self) -> usize {
        self.upstreams.max_request_bytes()
    }

    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let (upstreams, calls, progress) =
            (self.upstreams.clone(), self.calls.clone(), self.progress.clone());
        let mut acknowledged = self.acknowledged.clone();
        async move {
            // A process that was paused, or cannot reach its store, renews the lease first. If it has lost the lease,
            // the program is dropped.
            let is_late = is_overdue(*acknowledged.borrow());
            if is_late && acknowledged.wait_for(|at| !is_overdue(*at)).await.is_err() {
                return std::future::pending().await;
            }
            let mut answer = upstreams.answer(run.clone(), request, desk);
            let mut is_told = false;
            poll_fn(move |context| {
                let polled = answer.poll_unpin(context);
                if !is_told {
                    is_told = true;
                    tell(run.calls.get(), &calls, progress.as_ref().filter(|_| polled.is_pending()));
                }
                polled
            })
            .await
        }
        .boxed_local()
    }
}

/// Reports the number of calls made.
fn tell(made: u32, calls: &CallCount, progress: Option<&watch::Sender<CallsSoFar>>) {
    calls.note(made);
    let Some(progress) = progress else { return };
    progress.send_if_modified(|so_far| {
        let is_news = made > so_far.made;
        so_far.made = so_far.made.max(made);
        is_news
    });
}
