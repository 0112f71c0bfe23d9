//! Work on a program's stack: everything whose cost is proportional to a program's size, its data or its result.

use super::eval_start::begin;
use super::outcome::{EvalOutcome, Failure};
use super::request::EvalRequest;
use super::run::ProgramRun;
use super::scheduler::Ticket;
use super::session::Discarded;
use super::worker::Worker;
use ptc_base::time::Instant;
use ptc_vm::Error;
use std::rc::Rc;
use std::sync::Arc;

/// The principal whose turn it is; `None` for unnamed ones.
pub(super) type Principal = Option<Arc<str>>;

/// One piece of work of a program.
pub(super) enum Work {
    /// Compile it, and run it until it ends or waits.
    Begin(Rc<Worker>, Box<EvalRequest>, Instant),
    /// Run it on.
    GoOn(Box<ProgramRun>),
    /// Serialize it, to be resumed elsewhere.
    Leave(Box<ProgramRun>),
    /// Free it, and leave its session as it was.
    Free(Box<ProgramRun>),
    /// Free values that sessions have discarded.
    Discard(Discarded),
    /// Another task of a principal, which reports its result itself and is done even if nothing waits for that.
    #[cfg(feature = "saved-sessions")]
    Task(Principal, Box<dyn FnOnce()>),
}

/// The result of a piece of work.
pub(super) enum WorkResult {
    /// The end of the program. Boxed: it passes through a dozen hands.
    Outcome(Box<EvalOutcome>),
    /// The program waits for replies.
    Waiting(Box<ProgramRun>),
    /// It has its turns.
    Queued(Ticket),
    /// Nothing is left of it.
    Freed,
}

impl Work {
    /// Does it.
    pub(super) fn run(self) -> WorkResult {
        match self {
            Work::Begin(worker, request, started) => begin(&worker, request, started),
            Work::GoOn(run) => run.go_on(),
            Work::Leave(run) => run.leave(),
            Work::Free(run) => {
                drop(run);
                WorkResult::Freed
            }
            Work::Discard(values) => {
                drop(values);
                WorkResult::Freed
            }
            #[cfg(feature = "saved-sessions")]
            Work::Task(_, task) => {
                task();
                WorkResult::Freed
            }
        }
    }

    /// The principal it is for.
    pub(super) fn principal(&self) -> &Principal {
        match self {
            Work::Begin(_, request, _) => &request.principal,
            Work::GoOn(run) | Work::Leave(run) | Work::Free(run) => run.principal(),
            Work::Discard(_) => &None,
            #[cfg(feature = "saved-sessions")]
            Work::Task(principal, _) => principal,
        }
    }

    /// The thread time that the program has had already, in nanoseconds.
    pub(super) fn served(&self) -> u64 {
        match self {
            Work::Begin(..) | Work::Discard(_) => 0,
            #[cfg(feature = "saved-sessions")]
            Work::Task(..) => 0,
            Work::GoOn(run) | Work::Leave(run) | Work::Free(run) => run.served,
        }
    }

    /// The same work, or its timeout if the program's time is over: waiting for a turn counts.
    pub(super) fn on_time(self, now: Instant) -> Result<Work, Box<WorkResult>> {
        match self {
            Work::Begin(_, request, started) if now >= started + request.limits.timeout => {
                let failure = Failure::from(&Error::timeout(request.limits.timeout_ms()));
                Err(Box::new(WorkResult::Outcome(Box::new(EvalOutcome::not_run(failure, now - started)))))
            }
            Work::GoOn(mut run) => {
                run.note_time(now);
                Ok(Work::GoOn(run))
            }
            work => Ok(work),
        }
    }

    /// The remaining work when the result is no longer wanted.
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
