//! The latest calls of the process, bounded in number and in bytes.

use ptc_host::sync::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard};

use smallvec::SmallVec;

use super::RecentCall;
use ptc_protocol::principal::Principal;

/// Bytes of all records together. This limit matters if whole programs and contexts are stored.
const MAX_BYTES: usize = 64 << 20;

/// Stores the latest calls of all callers; each caller sees its own.
pub struct Ring {
    capacity: usize,
    inner: Mutex<RingState>,
}

#[derive(Default)]
struct RingState {
    records: VecDeque<RingEntry>,
    /// How many records each caller has, by its number, and how many it has had since it had none.
    counts: HashMap<usize, CallerCount>,
    bytes: usize,
    /// How many records there have been.
    pushed: u64,
}

#[derive(Default)]
struct CallerCount {
    kept: usize,
    pushed: u64,
}

impl RingState {
    fn push(&mut self, size: usize, record: Arc<RecentCall>) {
        self.bytes += size;
        let caller = self.counts.entry(record.principal.number()).or_default();
        let (number, own_number) = (self.pushed, caller.pushed);
        self.pushed += 1;
        caller.kept += 1;
        caller.pushed += 1;
        self.records.push_back(RingEntry { number, own_number, size, record });
    }

    /// Takes the oldest record of a caller that has most, so that nobody pushes out the few records of another.
    fn evict(&mut self) -> Option<RingEntry> {
        let most = self.counts.values().map(|count| count.kept).max()?;
        let has_most = |kept: &RingEntry| {
            self.counts.get(&kept.record.principal.number()).is_some_and(|count| count.kept == most)
        };
        let evicted = self.records.remove(self.records.iter().position(has_most)?)?;
        self.bytes -= evicted.size;
        let caller = evicted.record.principal.number();
        if let Some(count) = self.counts.get_mut(&caller) {
            count.kept -= 1;
            if count.kept == 0 {
                self.counts.remove(&caller);
            }
        }
        Some(evicted)
    }
}

struct RingEntry {
    /// Its number: how many records came before it.
    number: u64,
    /// The same among those of its caller, who learns nothing of others by it.
    own_number: u64,
    size: usize,
    record: Arc<RecentCall>,
}

impl Ring {
    /// A ring for `capacity` calls.
    pub fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Ring { capacity, inner: Mutex::default() })
    }

    /// The maximum number of remembered calls.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Adds a call, and drops old ones to make room: those of the callers that have most.
    pub fn push(&self, record: RecentCall) {
        // All callers share the lock: the work that does not need it is done before.
        let (size, record) = (record.size(), Arc::new(record));
        let mut evicted = SmallVec::<[RingEntry; 1]>::new();
        let mut inner = self.lock();
        inner.push(size, record);
        while inner.records.len() > self.capacity || inner.bytes > MAX_BYTES && inner.records.len() > 1 {
            let Some(old) = inner.evict() else { break };
            evicted.push(old);
        }
        // Records are dropped outside the lock.
        drop(inner);
    }

    /// The calls of `principal`, the newest first.
    pub fn of(&self, principal: &Principal) -> Vec<Arc<RecentCall>> {
        let inner = self.lock();
        let all = inner.records.iter().rev().map(|kept| &kept.record);
        all.filter(|record| record.principal == *principal).cloned().collect()
    }

    /// The latest `most` calls whose number is below `before`, the newest first, with their numbers: of all callers, or among those
    /// of `principal`.
    pub fn before(
        &self,
        principal: Option<&Principal>,
        before: u64,
        most: usize,
    ) -> Vec<(u64, Arc<RecentCall>)> {
        let inner = self.lock();
        let Some(principal) = principal else {
            let end = inner.records.partition_point(|kept| kept.number < before);
            let older = inner.records.range(..end).rev().take(most);
            return older.map(|kept| (kept.number, kept.record.clone())).collect();
        };
        let is_own = |kept: &&RingEntry| kept.own_number < before && kept.record.principal == *principal;
        let own = inner.records.iter().rev().filter(is_own).take(most);
        own.map(|kept| (kept.own_number, kept.record.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RingState> {
        // Every critical section leaves the ring consistent.
        self.inner.lock()
    }
}
