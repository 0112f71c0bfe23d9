//! What runs on a program's stack: everything that costs time in proportion to what a program is, holds or returns.

use super::begin::begin;
use super::outcome::{EvalOutcome, Failure};
use super::request::EvalRequest;
use super::run::Run;
use super::session::Discarded;
use super::worker::Worker;
use crate::time::Instant;
use ptc_vm::Error;
use std::rc::Rc;
use std::sync::Arc;

/// Whose turn it is: the principal of a request, or nobody's in particular.
pub(super) type Principal = Option<Arc<str>>;

/// One piece of work of a program.
pub(super) enum Work {
    /// Compile it, and run it until it ends or waits.
    Begin(Rc<Worker>, Box<EvalRequest>, Instant),
    /// Run it on.
    GoOn(Box<Run>),
    /// Write it, so that it goes on elsewhere.
    Leave(Box<Run>),
    /// Free it, and leave its session as it was.
    Free(Box<Run>),
    /// Free what sessions no longer hold.
    Discard(Discarded),
    /// Something else, on somebody's behalf, which tells its result itself and is done whether or not somebody waits for that.
    #[cfg(feature = "saved-sessions")]
    Task(Principal, Box<dyn FnOnce()>),
}

/// What a piece of work has come to.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every program ends in its first turn, and its outcome goes on by value"
)]
pub(super) enum Done {
    /// The end of the program.
    Outcome(EvalOutcome),
    /// The program waits, for replies or its next turn.
    Waiting(Box<Run>),
    /// Nothing is left of it.
    Freed,
}

impl Work {
    /// Does it.
    pub(super) fn run(self) -> Done {
        match self {
            Work::Begin(worker, request, started) => begin(&worker, request, started),
            Work::GoOn(run) => run.go_on(),
            Work::Leave(run) => run.leave(),
            Work::Free(run) => {
                drop(run);
                Done::Freed
            }
            Work::Discard(values) => {
                drop(values);
                Done::Freed
            }
            #[cfg(feature = "saved-sessions")]
            Work::Task(_, task) => {
                task();
                Done::Freed
            }
        }
    }

    /// Who it is for.
    pub(super) fn principal(&self) -> &Principal {
        match self {
            Work::Begin(_, request, _) => &request.principal,
            Work::GoOn(run) | Work::Leave(run) | Work::Free(run) => run.principal(),
            Work::Discard(_) => &None,
            #[cfg(feature = "saved-sessions")]
            Work::Task(principal, _) => principal,
        }
    }

    /// What the program has had of the thread already, in nanoseconds.
    pub(super) fn served(&self) -> u64 {
        match self {
            Work::Begin(..) | Work::Discard(_) => 0,
            #[cfg(feature = "saved-sessions")]
            Work::Task(..) => 0,
            Work::GoOn(run) | Work::Leave(run) | Work::Free(run) => run.served,
        }
    }

    /// The same work, told that its program's time is over if it is: waiting for a turn counts.
    pub(super) fn on_time(self, now: Instant) -> Result<Work, Box<Done>> {
        match self {
            Work::Begin(_, request, started) if now >= started + request.limits.timeout => {
                let failure = Failure::from(&Error::timeout(request.limits.timeout_ms()));
                Err(Box::new(Done::Outcome(EvalOutcome::not_run(failure, now - started))))
            }
            Work::GoOn(mut run) => {
                run.note_time(now);
                Ok(Work::GoOn(run))
            }
            work => Ok(work),
        }
    }

    /// What is left to do when nobody waits for the result any more.
    pub(super) fn unwanted(self) -> Option<Work> {
        match self {
            Work::Begin(..) => None,
            Work::GoOn(run) | Work::Leave(run) | Work::Free(run) => Some(Work::Free(run)),
            Work::Discard(_) => Some(self),
            #[cfg(feature = "saved-sessions")]
            Work::Task(..) => Some(self),
        }
    }
}
