//! The engine: evaluates programs on a few single-threaded runtimes, one a core.
//!
//! [`Engine`] is a `Send + Clone` handle. A program's values never leave the thread that runs it: what goes in
//! is text and JSON ([`EvalRequest`]), what comes out is text and JSON ([`EvalOutcome`]). Sessions live on one
//! driver and their evals are routed there. Dropping the future of an eval cancels the program and its calls.
//!
//! A driver runs a program in slices of [`SLICE_STEPS`] steps and turns to its other work between them, so that
//! a short program behind a long one waits microseconds. An eval that is awaited *on* a driver thread (a server
//! whose connections live there) starts inline, without any hand-over.

mod cache;
mod calls;
mod compile;
mod driver;
mod outcome;
mod request;
mod run;
mod session;
mod tools;

pub use crate::memory::{Loan, MemoryBudget, ReplyCharge, ReplyMemory};
pub use driver::{Engine, EngineError, EngineOptions, EvalFuture};
pub use outcome::{Answer, CallAuth, CallRecord, CallStatus, EvalOutcome, Failure, ResultOverview};
pub use request::{CallsSoFar, EvalId, EvalRequest, Limits, Render, SessionKey};
pub use session::{
    Changed, Exceeded, HistoryNotice, SessionLimits, SessionPlace, SessionReport, SessionRules, SessionState,
    SessionStore, SessionView, measure, measure_binding, measure_history, measure_strings,
};
pub use tools::{AppTools, HostCalls, RunContext};

/// Steps that a program runs before the driver turns to its other work: some 100 µs.
pub const SLICE_STEPS: u64 = 20_000;
