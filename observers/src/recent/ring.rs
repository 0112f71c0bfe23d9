//! The latest calls of the process, bounded in number and in bytes.

use ptc_host::sync::Mutex;
use std::collections::VecDeque;
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
    bytes: usize,
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

    /// Adds a call, and drops the oldest ones to make room.
    pub fn push(&self, record: RecentCall) {
        // All callers share the lock: the work that does not need it is done before.
        let (size, record) = (record.size(), Arc::new(record));
        let mut evicted = SmallVec::<[RingEntry; 1]>::new();
        let mut inner = self.lock();
        inner.bytes += size;
        inner.records.push_back(RingEntry { size, record });
        while inner.records.len() > self.capacity || inner.bytes > MAX_BYTES && inner.records.len() > 1 {
            let Some(oldest) = inner.records.pop_front() else { break };
            inner.bytes -= oldest.size;
            evicted.push(oldest);
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
