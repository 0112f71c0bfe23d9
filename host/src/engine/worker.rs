//! The state of one worker thread.

use super::cache::ProgramCache;
use super::outcome::EvalOutcome;
use super::request::EvalRequest;
use super::run::Begun;
use super::scheduler::Scheduler;
use super::session::SessionStore;
use super::work::{Done, Work};
use crate::maybe_ready::MaybeReady;
use crate::memory::MemoryBudget;
use ptc_vm::Value;
use ptc_vm::value::Map;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::time::Instant;

/// The state that the programs of one worker thread share.
pub(super) struct Worker {
    pub(super) cache: RefCell<ProgramCache>,
    pub(super) sessions: SessionStore,
    pub(super) scheduler: Rc<Scheduler>,
    pub(super) memory: Option<MemoryBudget>,
    /// What `budget/remaining` gives: an empty map, which all programs share.
    pub(super) no_budget: Value,
    /// Number of the engine in the process.
    pub(super) engine: usize,
    /// Number of the worker in its engine.
    pub(super) index: usize,
}

impl Worker {
    /// A worker without programs and sessions yet, which keeps `load` up to date.
    pub(super) fn new(
        engine: usize,
        index: usize,
        memory: Option<MemoryBudget>,
        load: Arc<AtomicUsize>,
    ) -> Worker {
        Worker {
            cache: RefCell::default(),
            sessions: SessionStore::default(),
            scheduler: Scheduler::new(memory.clone(), load),
            memory,
            no_budget: Value::Map(Map::new()),
            engine,
            index,
        }
    }

    /// Begins an eval that was asked for when it was `started`.
    pub(super) fn begin(
        self: &Rc<Self>,
        request: Box<EvalRequest>,
        started: Instant,
    ) -> MaybeReady<EvalOutcome, Begun> {
        match self.scheduler.run(Work::Begin(self.clone(), request, started)) {
            MaybeReady::Ready(Done::Outcome(outcome)) => MaybeReady::Ready(outcome),
            MaybeReady::Ready(Done::Waiting(run)) => MaybeReady::Waiting(Begun::Waiting(run)),
            MaybeReady::Ready(Done::Freed) => MaybeReady::Ready(EvalOutcome::lost()),
            MaybeReady::Waiting(ticket) => MaybeReady::Waiting(Begun::Queued(ticket)),
        }
    }
}
