//! The upstream usage of one program.

use ahash::AHashMap;
use ptc_base::time;
use ptc_engine::RunContext;
use ptc_policy::{Authority, CallInFlight};
use ptc_upstreams::upstream::{CallFault, FaultReason};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

/// The usage of one program. The engine carries it with the program without knowing its type.
#[derive(Default)]
pub(super) struct ProgramUsage {
    /// Upstreams whose start failed in this program: not tried again within it.
    failed_starts: RefCell<AHashMap<String, FailedStart>>,
}

/// A start that failed.
struct FailedStart {
    text: String,
    /// The fault, if the call for which it was tried has not been told.
    untold: Option<CallFault>,
}

impl ProgramUsage {
    /// The usage of this program.
    pub(super) fn of(run: &RunContext) -> &ProgramUsage {
        run.extension()
    }

    /// The text of the fault with which the start of `server` failed in this program, if it did.
    pub(super) fn failed_start(&self, server: &str) -> Option<String> {
        self.failed_starts.borrow().get(server).map(|failed| failed.text.clone())
    }

    /// Notes that the start of `server` failed.
    pub(super) fn note_failed_start(&self, server: &str, text: String) {
        self.failed_starts.borrow_mut().insert(server.to_owned(), FailedStart { text, untold: None });
    }

    /// Notes that the start failed which was tried for a call that is about to be made.
    pub(super) fn note_untold_start(&self, server: &str, fault: CallFault) {
        let failed = FailedStart { text: fault.message.clone(), untold: Some(fault) };
        self.failed_starts.borrow_mut().insert(server.to_owned(), failed);
    }

    /// The fault of such a start, for the first call that asks.
    pub(super) fn take_untold_start(&self, server: &str) -> Option<CallFault> {
        self.failed_starts.borrow_mut().get_mut(server)?.untold.take()
    }
}

/// Takes one of `cap` discovery operations; `false` when none is left.
pub(super) fn take_discovery(run: &RunContext, cap: u32) -> bool {
    take(&run.discoveries, cap)
}

/// Takes one of `cap` tool calls; `false` when none is left.
pub(super) fn take_call(run: &RunContext, cap: u32) -> bool {
    take(&run.calls, cap)
}

fn take(counter: &Cell<u32>, cap: u32) -> bool {
    let taken = counter.get();
    counter.set(taken.saturating_add(1));
    taken < cap
}

/// Counts a call of a program as [`count_call`] does. One that `goes_on` was counted before its program waited.
///
/// # Errors
/// As [`count_call`]; the call takes no number of the cap.
pub(super) fn begin_call(run: &RunContext, goes_on: bool) -> Result<Option<CallInFlight>, CallFault> {
    let authority = run.authority.as_ref();
    match authority.and_then(|authority| authority.quotas()) {
        Some((quotas, _)) if goes_on => Ok(Some(quotas.resume_call())),
        _ => count_call(authority),
    }
}

/// Counts a call of an upstream at the policy, until what this gives is dropped. `None`: the policy has no limits for the caller.
///
/// # Errors
/// The limit of the policy that is reached: nothing has been sent.
pub fn count_call(authority: Option<&Arc<Authority>>) -> Result<Option<CallInFlight>, CallFault> {
    let Some((quotas, limits)) = authority.and_then(|authority| authority.quotas()) else { return Ok(None) };
    quotas.begin_call(limits, time::now()).map(Some).map_err(|quota| {
        let wait = quota.seconds().map(Duration::from_secs);
        CallFault::new(FaultReason::RateLimited, quota.to_string()).with_retry_after(wait).before_sending()
    })
}

/// A call returns its number to the cap.
pub(super) fn give_back(run: &RunContext) {
    run.calls.set(run.calls.get().saturating_sub(1));
}

/// A call that was refused before it was tried takes no number of the cap.
pub(super) fn give_back_uncounted(run: &RunContext, fault: &CallFault) {
    if fault.uncounted {
        give_back(run);
    }
}

/// A discovery operation returns its number to the cap.
pub(super) fn give_back_discovery(run: &RunContext) {
    run.discoveries.set(run.discoveries.get().saturating_sub(1));
}

/// The fault of a call beyond the cap, which was not sent (ruling 53).
pub(super) fn cap_exhausted(run: &RunContext, cap: u32) -> CallFault {
    // The number that it took.
    let (call, plural) = (run.calls.get(), if cap == 1 { "" } else { "s" });
    CallFault::new(
        FaultReason::CapExhausted,
        format!(
            "cap_exhausted: this program may make {cap} upstream call{plural} (flag \
             `--max-upstream-calls-per-program`); call {call} was not sent"
        ),
    )
}
