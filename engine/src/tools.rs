//! Handlers of a program's calls.

use super::asking::Desk;
use super::context::RunContext;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_vm::machine::{ForkNote, HostRequest, MAX_REQUEST_BYTES, Reply};
use std::rc::Rc;
use std::sync::Arc;

/// Tools that `(tool/NAME …)` reaches: those of an embedding program or an agent.
pub trait AppTools: Send + Sync {
    /// The names, in any order.
    fn names(&self) -> Vec<String>;

    /// Calls one. `arguments` is a JSON object. A failure is the text after `Tool 'NAME' failed: `.
    fn call(&self, name: &str, arguments: Vec<u8>) -> BoxFuture<'static, Reply>;

    /// Whether it wants notifications of `pmap` and `pcalls`.
    fn watches_forks(&self) -> bool {
        false
    }

    /// A `pmap` or `pcalls` of the program began or ended. Told between slices, in order; one that the program's end cuts
    /// short has no end of its own.
    fn forked(&self, note: ForkNote) {
        let _ = note;
    }
}

/// Answers `tool/call` and the discovery forms over upstreams.
pub trait HostCalls: Send + Sync {
    /// Most bytes that one call of a program may send. More is the program's fault, and is not written out.
    fn max_request_bytes(&self) -> usize {
        MAX_REQUEST_BYTES
    }

    /// What answers a program that begins now, until it ends; `None`: this. A server's upstreams may be exchanged while it runs.
    fn pinned(&self) -> Option<Arc<dyn HostCalls>> {
        None
    }

    /// Answers one request of a program. Runs on the program's worker thread; dropping it cancels the call. Questions to people
    /// are asked at `desk`.
    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply>;

    /// The head of a kept program has refused a request, which is not made. By default nobody is told.
    fn refused(&self, run: &RunContext, request: &HostRequest) {
        let _ = (run, request);
    }
}

/// What answers a program that begins now, until it ends.
#[must_use]
pub fn pinned(calls: &Arc<dyn HostCalls>) -> Arc<dyn HostCalls> {
    calls.pinned().unwrap_or_else(|| calls.clone())
}
