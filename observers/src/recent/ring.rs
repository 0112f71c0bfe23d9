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
    /// How many records each caller has, by its number.
    counts: HashMap<usize, usize>,
    bytes: usize,
}

impl RingState {
    fn push(&mut self, entry: RingEntry) {
        self.bytes += entry.size;
        *self.counts.entry(entry.record.principal.number()).or_default() += 1;
        self.records.push_back(entry);
    }

    /// Takes the oldest record of a caller that has most, so that nobody pushes out the few records of another.
    fn evict(&mut self) -> Option<RingEntry> {
        let most = self.counts.values().max()?;
        let has_most = |kept: &RingEntry| self.counts.get(&kept.record.principal.number()) == Some(most);
        let evicted = self.records.remove(self.records.iter().position(has_most)?)?;
        self.bytes -= evicted.size;
        let caller = evicted.record.principal.number();
        if let Some(count) = self.counts.get_mut(&caller) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&caller);
            }
        }
        Some(evicted)
    }
}

struct RingEntry {
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
        inner.push(RingEntry { size, record });
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

    fn lock(&self) -> MutexGuard<'_, RingState> {
        // Every critical section leaves the ring consistent.
        self.inner.lock()
    }
}
