//! The engine: evaluates programs on a few single-threaded runtimes, one per core.
//!
//! [`Engine`] is a `Send + Clone` handle. A program's values never leave its thread: the input ([`EvalRequest`]) and
//! the output ([`EvalOutcome`]) are text and JSON. A session lives on one worker, and its evals are routed there.
//! Dropping the future of an eval cancels the program and its calls.
//!
//! A worker's programs run in turns of half a millisecond, fairly by principal, and the worker does its other work between
//! them. Each program runs on its own stack, so that a turn can end in the middle of a builtin. An eval awaited *on* a worker
//! thread (by a server whose connections live there) starts inline, without a thread switch.

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod asking;
pub mod audience;
mod cache;
mod call_log;
mod calls;
mod compile;
mod context;
mod eval_end;
mod eval_id;
mod eval_span;
mod eval_start;
mod explain;
mod handle;
pub mod kept;
mod limits;
#[cfg(feature = "measuring")]
pub mod measuring;
mod observed_calls;
mod outcome;
pub mod questions;
mod reply_slot;
mod request;
#[cfg(feature = "saved-sessions")]
mod restore;
mod run;
mod running_turn;
#[cfg(feature = "saved-sessions")]
mod saved_sessions;
mod scheduler;
mod session;
mod sleeping;
mod stack;
mod tools;
mod turns;
mod work;
mod worker;

#[cfg(feature = "saved-sessions")]
pub use asking::travelling_text;
pub use asking::{Asker, Desk, Gate, MOST_OPEN, MOST_QUESTIONS, Resume, SavedCall, Verdict};
pub use call_log::CallLog;
pub use context::RunContext;
pub use eval_id::EvalId;
pub use handle::{Cached, Engine, EngineError, EngineOptions, EvalFuture, gives_way};
pub use limits::whole_millis;
pub use limits::{ChosenLimits, Limits};
pub use observed_calls::{CallObserver, ObservedCalls};
pub use outcome::{
    AnswerBlocks, Attachments, CallAuth, CallRecord, CallStatus, CatalogOp, Changed, EvalOutcome, Exceeded,
    FailedDefinition, Failure, FinalValue, HistoryNotice, PageRecord, ResultOverview, ResumeFault,
    SavedSession, SessionDraft, SessionFault, SessionReport, Suspended, ValueSource,
};
pub use ptc_base::memory::{MemoryBudget, MemoryReservation};
pub use ptc_policy::Authority;
pub use reply_slot::{ReplySlot, WholeReply};
pub use request::{CallsSoFar, EvalRequest, PrintSink, Render};
#[cfg(feature = "saved-sessions")]
pub use saved_sessions::SavedFailure;
pub use scheduler::Turn;
#[cfg(feature = "saved-sessions")]
pub use session::saved;
pub use session::{
    SessionKey, SessionLimits, SessionPlace, SessionRules, SessionState, SessionStore, SessionView, measure,
    measure_history, measure_strings,
};
pub use sleeping::RunPermit;
pub use tools::{AppTools, HostCalls, pinned};
