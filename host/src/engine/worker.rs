//! The state of one worker thread.

use super::cache::ProgramCache;
use super::session::SessionStore;
use crate::memory::MemoryBudget;
use ptc_vm::Value;
use ptc_vm::value::Map;
use std::cell::RefCell;

/// The state that the programs of one worker thread share.
pub(super) struct Worker {
    pub(super) cache: RefCell<ProgramCache>,
    pub(super) sessions: SessionStore,
    pub(super) memory: Option<MemoryBudget>,
    /// What `budget/remaining` gives: an empty map, which all programs share.
    pub(super) no_budget: Value,
    /// Number of the engine in the process.
    pub(super) engine: usize,
    /// Number of the worker in its engine.
    pub(super) index: usize,
}

impl Worker {
    /// A worker without programs and sessions yet.
    pub(super) fn new(engine: usize, index: usize, memory: Option<MemoryBudget>) -> Worker {
        Worker {
            cache: RefCell::default(),
            sessions: SessionStore::default(),
            memory,
            no_budget: Value::Map(Map::new()),
            engine,
            index,
        }
    }
}
