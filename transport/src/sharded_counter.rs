//! Counters that many threads change and few read.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Shards of a counter. Further threads share them.
const PARTS: usize = 8;

/// A counter in which each thread changes a shard of its own, so that threads do not contend for a cache line with
/// every request. Reading adds up the shards.
#[derive(Debug, Default)]
pub(crate) struct ShardedCounter([Shard; PARTS]);

/// One part of the counter, as large as what processors' caches transfer.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(AtomicI64);

impl ShardedCounter {
    /// Adds `by` to this thread's shard.
    pub(crate) fn add(&self, by: i64) {
        // Sequentially consistent with the flag of a task that waits for the sum.
        self.0[part()].0.fetch_add(by, Ordering::SeqCst);
    }

    /// The sum of all shards. During changes, it may be a value that the counter never had.
    pub(crate) fn sum(&self) -> i64 {
        self.0.iter().map(|part| part.0.load(Ordering::SeqCst)).sum()
    }

    /// The sum, for counts that are never negative.
    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.sum()).unwrap_or(0)
    }
}

/// This thread's shard.
fn part() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PART: usize = THREADS.fetch_add(1, Ordering::Relaxed) % PARTS;
    }
    PART.with(|part| *part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_thread_adds_another_may_take_away() {
        let counter = ShardedCounter::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * PARTS {
                scope.spawn(|| (0..1000).for_each(|_| counter.add(3)));
            }
        });
        assert_eq!(counter.sum(), 2 * PARTS as i64 * 3000);
        counter.add(-counter.sum());
        assert_eq!(counter.count(), 0);
    }
}
