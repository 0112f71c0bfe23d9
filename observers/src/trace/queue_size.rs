//! The queue of the thread that writes traces, and the counts of traces by outcome.

use std::sync::atomic::{AtomicU64, Ordering};

use ptc_host::engine::MemoryBudget;

use crate::metrics::{Exposition, MetricKind};
use ptc_protocol::usage::Count;

/// Capacity of the queue in calls; further calls are not traced.
const MAX_CALLS: usize = 1000;
/// Capacity of the queue in bytes of programs and payloads; further ones are omitted.
const MAX_BYTES: usize = 64 << 20;

/// Commands and bytes in the queue. The bytes are part of the memory that all programs share.
#[derive(Debug)]
pub(super) struct QueueSize {
    commands: Count,
    bytes: Count,
    memory: Option<MemoryBudget>,
    /// Bytes of the files in the folder.
    pub(super) file_bytes: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) dropped: AtomicU64,
    /// Files evicted for others.
    pub(super) evicted: AtomicU64,
}

impl QueueSize {
    pub(super) fn new(memory: Option<MemoryBudget>) -> QueueSize {
        QueueSize {
            commands: Count::default(),
            bytes: Count::default(),
            memory,
            file_bytes: AtomicU64::new(0),
            written: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    /// True if the writer is too far behind to be sent more calls.
    pub(super) fn is_full(&self) -> bool {
        self.commands.get() >= MAX_CALLS
    }

    /// Adds a command to the count.
    pub(super) fn push(&self) {
        self.commands.take(1);
    }

    /// Removes a command from the count.
    pub(super) fn pop(&self) {
        self.commands.give_back(1);
    }

    /// Charges the bytes of a command, if there is room for them.
    #[must_use]
    pub(super) fn try_hold(&self, bytes: usize) -> bool {
        if !self.bytes.try_take(bytes, MAX_BYTES) {
            return false;
        }
        let fits = self.memory.as_ref().is_none_or(|memory| memory.try_take(bytes as u64));
        if !fits {
            self.bytes.give_back(bytes);
        }
        fits
    }

    /// Releases the bytes of a command.
    pub(super) fn release(&self, bytes: usize) {
        self.bytes.give_back(bytes);
        if let Some(memory) = &self.memory {
            memory.give_back(bytes as u64);
        }
    }

    /// Writes the metric families of traces.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        let mut family = to.family("ptc_traces", "Calls by what became of their trace.", MetricKind::Counter);
        for (outcome, count) in
            [("written", &self.written), ("failed", &self.failed), ("dropped", &self.dropped)]
        {
            family.sample(&[("outcome", outcome)], count.load(Ordering::Relaxed));
        }
        to.family(
            "ptc_traces_evicted",
            "Trace files deleted because others needed their place.",
            MetricKind::Counter,
        )
        .sample(&[], self.evicted.load(Ordering::Relaxed));
        to.family("ptc_trace_bytes", "Size of the trace files.", MetricKind::Gauge)
            .sample(&[], self.file_bytes.load(Ordering::Relaxed));
        to.family(
            "ptc_trace_waiting_bytes",
            "Programs and payloads that wait to be written to traces.",
            MetricKind::Gauge,
        )
        .sample(&[], self.bytes.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_part_of_the_memory_of_all_and_bounded_by_itself() {
        let memory = MemoryBudget::new(1000);
        let waiting = QueueSize::new(Some(memory.clone()));
        assert!(waiting.try_hold(600) && !waiting.try_hold(401), "there is no more memory");
        assert_eq!(memory.used(), 600);
        waiting.release(600);
        assert_eq!((memory.used(), waiting.bytes.get()), (0, 0));

        let waiting = QueueSize::new(None);
        assert!(waiting.try_hold(MAX_BYTES) && !waiting.try_hold(1));
        (0..MAX_CALLS).for_each(|_| waiting.push());
        assert!(waiting.is_full());
        waiting.pop();
        assert!(!waiting.is_full());
    }
}
