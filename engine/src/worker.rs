//! The state of one worker thread.

use super::cache::KnownPrograms;
use super::request::EvalRequest;
use super::scheduler::Scheduler;
use super::session::SessionStore;
use super::work::{Work, WorkResult};
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_base::time::Instant;
use ptc_vm::Value;
use ptc_vm::value::{Map, forget_patterns, pattern_bytes};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Most bytes that the caches of all workers together may take of each kind.
const CACHES_BYTES: u64 = 64 << 20;
/// Caches never take more than this part of the memory of all programs.
const CACHES_PART: u64 = 8;

/// Most bytes that the caches of all workers together take of each kind, unless another number was given.
pub(super) fn default_cache_bytes(memory: Option<&MemoryBudget>) -> u64 {
    memory.map_or(CACHES_BYTES, |budget| CACHES_BYTES.min(budget.limit() / CACHES_PART))
}

/// The size of all workers' caches of an engine.
#[derive(Debug, Default)]
pub(super) struct CacheBytes {
    pub(super) programs: AtomicU64,
    pub(super) patterns: AtomicU64,
}

/// The state that the programs of one worker thread share.
pub(super) struct Worker {
    pub(super) programs: KnownPrograms,
    pub(super) sessions: SessionStore,
    pub(super) scheduler: Rc<Scheduler>,
    pub(super) memory: Option<MemoryBudget>,
    /// The value of `budget/remaining`: an empty map, which all programs share.
    pub(super) no_budget: Value,
    /// Number of the engine in the process.
    pub(super) engine: usize,
    /// Number of the worker in its engine.
    pub(super) index: usize,
    /// Most bytes of its compiled patterns.
    patterns_limit: u64,
    /// The memory reserved for patterns.
    patterns: Option<MemoryReservation>,
    /// The sizes reported to `caches`: bytes of programs, of patterns.
    reported: Cell<(u64, u64)>,
    caches: Arc<CacheBytes>,
}

impl Worker {
    /// A worker without programs and sessions yet, which keeps `load` and `caches` up to date, and at most `share` bytes between
    /// programs of each kind.
    pub(super) fn new(
        engine: usize,
        index: usize,
        share: u64,
        memory: Option<MemoryBudget>,
        load: Arc<AtomicUsize>,
        caches: Arc<CacheBytes>,
    ) -> Worker {
        Worker {
            programs: KnownPrograms::new(usize::try_from(share).unwrap_or(usize::MAX)),
            sessions: SessionStore::default(),
            scheduler: Scheduler::new(memory.clone(), load),
            patterns_limit: share,
            patterns: memory.clone().map(MemoryReservation::new),
            memory,
            no_budget: Value::Map(Map::new()),
            engine,
            index,
            reported: Cell::default(),
            caches,
        }
    }

    /// Counts the data kept between programs and trims it to its bounds.
    pub(super) fn settle(&self) {
        let limit = self.patterns_limit;
        if pattern_bytes() as u64 > limit {
            forget_patterns();
            if pattern_bytes() as u64 > limit {
                // Those that are left belong to constants, most of them of programs that are only remembered.
                self.programs.forget();
            }
        }
        let fits = |bytes: usize| self.patterns.as_ref().is_none_or(|held| held.resize(bytes as u64));
        if !fits(pattern_bytes()) {
            self.shed();
            // Those that are in use may not fit at all; their programs have been charged for them.
            let _counted = fits(pattern_bytes());
        }
        self.report();
    }

    /// Drops everything cached for future programs, because there is no memory for running ones.
    pub(super) fn shed(&self) {
        self.programs.forget();
        forget_patterns();
        if let Some(patterns) = &self.patterns {
            let left = patterns.bytes().min(pattern_bytes() as u64);
            let fits = patterns.resize(left);
            debug_assert!(fits, "a reservation shrinks");
        }
        self.report();
    }

    fn report(&self) {
        let programs = self.programs.bytes().map_or(self.reported.get().0, |bytes| bytes as u64);
        let patterns = pattern_bytes() as u64;
        let before = self.reported.replace((programs, patterns));
        if before != (programs, patterns) {
            // Together they are never less than nothing, so wrapping differences add up.
            self.caches.programs.fetch_add(programs.wrapping_sub(before.0), Ordering::Relaxed);
            self.caches.patterns.fetch_add(patterns.wrapping_sub(before.1), Ordering::Relaxed);
        }
    }

    /// Begins an eval that was asked for when it was `started`.
    pub(super) fn begin(self: &Rc<Self>, request: Box<EvalRequest>, started: Instant) -> WorkResult {
        let done = self.scheduler.run(Work::Begin(self.clone(), request, started));
        if matches!(done, WorkResult::Outcome(_)) {
            self.settle();
        }
        done
    }
}
