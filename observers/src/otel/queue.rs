//! The spans that wait for being sent.

use std::sync::atomic::{AtomicU64, Ordering};

use ptc_host::sync::Mutex;
use ptc_host::trace::{Span, SpanSink};
use ptc_mcp::trace_context::{SpanId, TraceId};
use tokio::sync::Notify;

use super::ids::Ids;
use super::spans;
use crate::metrics::{Exposition, MetricKind};

/// A bounded queue: a span for which there is no room is dropped, and counted.
#[derive(Debug)]
pub(super) struct SpanQueue {
    /// `Span` messages.
    waiting: Mutex<Vec<Vec<u8>>>,
    /// Most spans that wait.
    capacity: usize,
    /// So many are worth a request before the time is up.
    batch: usize,
    /// Told when there are.
    pub(super) is_worth_it: Notify,
    ids: Ids,
    pub(super) exported: AtomicU64,
    /// There was no room for them.
    pub(super) dropped: AtomicU64,
    /// The collector did not take them.
    pub(super) failed: AtomicU64,
}

impl SpanQueue {
    pub(super) fn new(capacity: usize, batch: usize, ids: Ids) -> SpanQueue {
        SpanQueue {
            waiting: Mutex::default(),
            capacity,
            batch,
            is_worth_it: Notify::new(),
            ids,
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    pub(super) fn new_trace_id(&self) -> TraceId {
        self.ids.trace()
    }

    /// Adds a span.
    pub(super) fn push(&self, span: Vec<u8>) {
        let waiting = {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= self.capacity {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
            waiting.push(span);
            waiting.len()
        };
        if waiting == self.batch {
            self.is_worth_it.notify_one();
        }
    }

    /// Takes the oldest spans, at most one batch; empty if none wait.
    pub(super) fn take_batch(&self) -> Vec<Vec<u8>> {
        let mut waiting = self.waiting.lock();
        let taken = waiting.len().min(self.batch);
        let rest = waiting.split_off(taken);
        std::mem::replace(&mut waiting, rest)
    }

    /// Spans that were lost so far.
    pub(super) fn lost(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed)
    }

    /// Writes the family of spans by outcome.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        let help = "Spans for the OpenTelemetry collector by outcome.";
        let mut family = to.family("ptc_otlp_spans", help, MetricKind::Counter);
        for (outcome, count) in
            [("exported", &self.exported), ("dropped", &self.dropped), ("failed", &self.failed)]
        {
            family.sample(&[("outcome", outcome)], count.load(Ordering::Relaxed));
        }
    }
}

impl SpanSink for SpanQueue {
    fn new_span_id(&self) -> SpanId {
        self.ids.span()
    }

    fn take(&self, span: Span<'_>) {
        self.push(spans::of_part(&span));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts() {
        let queue = SpanQueue::new(3, 2, Ids::new().unwrap());
        ["a", "b", "c", "d", "e"].into_iter().for_each(|name| queue.push(name.as_bytes().to_vec()));
        let names = |batch: Vec<Vec<u8>>| {
            batch.into_iter().map(|span| String::from_utf8(span).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(queue.take_batch()), ["a", "b"]);
        assert_eq!(names(queue.take_batch()), ["c"]);
        assert_eq!((queue.take_batch().len(), queue.lost()), (0, 2));
    }
}
