//! Starting an upstream for a call (upstreams.md 6.2).

use super::caller::caller_of;
use super::runtime::Aggregator;
use super::usage::ProgramUsage;
use ptc_base::time::timeout_at;
use ptc_engine::RunContext;
use ptc_upstreams::upstream::CallFault;

/// Why an upstream did not start.
pub(super) struct UpstreamStartError {
    pub(super) fault: CallFault,
    /// Whether a start was tried for this call.
    pub(super) tried: bool,
}

/// Starts a cold upstream, unless that has failed in this program already.
pub(super) async fn start(
    aggregator: &Aggregator,
    run: &RunContext,
    server: &str,
) -> Result<(), UpstreamStartError> {
    let usage = ProgramUsage::of(run);
    if let Some(fault) = usage.take_untold_start(server) {
        return Err(UpstreamStartError { fault, tried: true });
    }
    if let Some(fault) = usage.failed_start(server) {
        return Err(UpstreamStartError { fault: CallFault::unavailable(fault).never_sent(), tried: false });
    }
    let view = aggregator.view_of(run);
    let Some(member) = view.member(server) else { return Ok(()) };
    let caller = caller_of(&view, run, member);
    // In a box, as most calls need no start and none should carry the room for it.
    let loaded = Box::pin(timeout_at(run.deadline(), aggregator.load_for(server, caller))).await;
    let loaded = loaded.unwrap_or_else(|_| Err(CallFault::timeout("the upstream did not start in time")));
    loaded.map_err(|fault| {
        // Whether somebody has signed in meanwhile costs next to nothing to look at.
        if !fault.uncounted && fault.sign_in_after.is_none() {
            usage.note_failed_start(server, fault.message.clone());
        }
        UpstreamStartError { tried: !fault.uncounted, fault: fault.never_sent() }
    })
}

impl Aggregator {
    /// Starts and lists an upstream as the call of a program would that is about to be made. If that fails, the call says so, and
    /// tries it no more.
    pub async fn start_for_call(&self, run: &RunContext, server: &str) {
        if let Err(UpstreamStartError { fault, tried: true }) = start(self, run, server).await
            && fault.sign_in_after.is_none()
        {
            ProgramUsage::of(run).note_untold_start(server, fault);
        }
    }
}
