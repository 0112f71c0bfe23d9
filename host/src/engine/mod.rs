//! The engine: evaluates programs on a few single-threaded runtimes, one a core.
//!
//! [`Engine`] is a `Send + Clone` handle. A program's values never leave the thread that runs it: what goes in
//! is text and JSON ([`EvalRequest`]), what comes out is text and JSON ([`EvalOutcome`]). Sessions live on one
//! worker and their evals are routed there. Dropping the future of an eval cancels the program and its calls.
//!
//! A worker runs a program in slices of some 100 µs and turns to its other work between them, so that
//! a short program behind a long one waits microseconds. An eval that is awaited *on* a worker thread (a server
//! whose connections live there) starts inline, without any hand-over.

mod begin;
mod cache;
mod calls;
mod conclude;
mod context;
mod handle;
mod limits;
mod outcome;
mod request;
mod run;
mod session;
mod tools;
mod worker;

pub use crate::memory::MemoryBudget;
pub use context::RunContext;
pub use handle::{Engine, EngineError, EngineOptions, EvalFuture};
pub(crate) use limits::whole_millis;
pub use limits::{ChosenLimits, Limits};
pub use outcome::{
    Answer, CallAuth, CallRecord, CallStatus, Changed, EvalOutcome, Exceeded, Failure, HistoryNotice,
    ResultOverview, SessionReport,
};
pub use request::{CallsSoFar, EvalId, EvalRequest, Render};
pub use session::{
    SessionKey, SessionLimits, SessionPlace, SessionRules, SessionState, SessionStore, SessionView, measure,
    measure_binding, measure_history, measure_strings,
};
pub use tools::{AppTools, HostCalls};
