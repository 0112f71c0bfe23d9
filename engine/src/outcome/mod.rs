//! The outcome of an eval: plain data that may leave the program's thread.

mod attachments;
mod call_record;
mod catalog_op;
mod failure;
mod saved_session;
mod session_report;
mod suspended;

pub use attachments::Attachments;
pub use call_record::{
    AnswerBlocks, CallAuth, CallRecord, CallStatus, PageRecord, ResultOverview, ValueSource,
};
pub use catalog_op::CatalogOp;
pub use failure::{FailedDefinition, Failure};
pub use saved_session::{SavedSession, SessionDraft, SessionFault};
pub use session_report::{Changed, Exceeded, HistoryNotice, SessionReport};
pub use suspended::{ResumeFault, Suspended};

use ptc_vm::Reason;
use ptc_vm::value::MissedKey;
use std::time::Duration;

/// How an eval ended.
#[derive(Clone, Debug)]
pub struct EvalOutcome {
    /// The value, or the failure.
    pub result: Result<FinalValue, Failure>,
    /// The print log, kept for any result.
    pub prints: Vec<String>,
    /// Its attachments to its reply; empty if it failed.
    pub attachments: Attachments,
    /// Steps used.
    pub steps: u64,
    /// Most bytes held at a time.
    pub memory_peak_bytes: u64,
    /// Calls of upstream tools, in order of completion.
    pub upstream_calls: Vec<CallRecord>,
    /// Its requests to the catalog, in order of the answers.
    pub catalog_ops: Vec<CatalogOp>,
    /// Names that the program defined or changed in its session, sorted; empty without one.
    pub changed: Vec<String>,
    /// Whether `(return …)` ended the program, rather than its last form or a failure.
    pub returned: bool,
    /// The current content of its session, or why nothing was stored; only for sessions under rules.
    pub session: Option<Box<SessionReport>>,
    /// Why its session could not be used, so that it never ran.
    pub session_fault: Option<SessionFault>,
    /// The program has not ended: it waits for answers, and this is all that is left of it here. There is no result then.
    pub suspended: Option<Box<Suspended>>,
    /// Why the bytes of a suspended program could not be read, so that it never ran.
    pub resume_fault: Option<ResumeFault>,
    /// Keys that it looked up in vain in maps of tools' results, if it ended with an error or without a value; if it has a
    /// value, those that it looked up in rows and that no map has.
    pub missed_keys: Vec<MissedKey>,
    /// Notes of builtins on values that they left something out of, and of the compiler on numbers that it reads as others, if
    /// it came to a value.
    pub notes: Vec<String>,
    /// From the program's first step to its end.
    pub duration: Duration,
}

impl EvalOutcome {
    /// The outcome of a program whose worker is gone.
    pub(super) fn lost() -> EvalOutcome {
        let failure = Failure::new(Reason::Cancelled, "the engine was shut down");
        EvalOutcome::not_run(failure, Duration::ZERO)
    }

    /// The outcome of a program that never ran.
    pub(super) fn not_run(failure: Failure, duration: Duration) -> EvalOutcome {
        EvalOutcome {
            result: Err(failure),
            prints: Vec::new(),
            attachments: Attachments::default(),
            steps: 0,
            memory_peak_bytes: 0,
            upstream_calls: Vec::new(),
            catalog_ops: Vec::new(),
            changed: Vec::new(),
            returned: false,
            session: None,
            session_fault: None,
            suspended: None,
            resume_fault: None,
            missed_keys: Vec::new(),
            notes: Vec::new(),
            duration,
        }
    }
}

/// The value of a program that succeeded.
#[derive(Clone, Debug, Default)]
pub struct FinalValue {
    /// The readable form, as far as it was asked for.
    pub text: String,
    /// The parts that `text` leaves out, if any.
    pub cut: Option<ptc_vm::print::Cut>,
    /// The text itself, without quotes and escapes, where the value is a string with line breaks: as much of it as `text`
    /// shows. Only where bytes were asked for.
    pub lines: Option<String>,
    /// Whether the value is `nil`.
    pub is_nil: bool,
    /// The value as JSON, if it was asked for; the error names the path that has no JSON form.
    pub json: Option<Result<String, String>>,
    /// The value as JSON by the request's signature, if there was one.
    pub validated: Option<String>,
}
