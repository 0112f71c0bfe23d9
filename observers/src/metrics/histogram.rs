//! A histogram of atomics, with one evaluation as the exemplar of each bucket.

use std::sync::atomic::{AtomicU64, Ordering};

use ptc_host::engine::EvalId;

/// Upper bounds of buckets in base units, and the number of base units per unit shown.
#[derive(Debug)]
pub(super) struct Scale {
    bounds: &'static [u64],
    base_units: u64,
}

/// Microseconds shown as seconds.
const SECONDS: Scale = Scale {
    bounds: &[
        50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
        2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
    ],
    base_units: 1_000_000,
};
/// Steps.
pub(super) const STEPS: Scale = Scale {
    bounds: &[10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000],
    base_units: 1,
};
/// Bytes.
pub(super) const BYTES: Scale = Scale {
    bounds: &[
        1 << 10,
        4 << 10,
        16 << 10,
        64 << 10,
        256 << 10,
        1 << 20,
        4 << 20,
        16 << 20,
        64 << 20,
        256 << 20,
    ],
    base_units: 1,
};

/// A distribution.
#[derive(Debug)]
pub struct Histogram {
    scale: &'static Scale,
    /// One for each bound and one for everything above.
    buckets: Vec<Bucket>,
    /// In base units.
    sum: AtomicU64,
}

#[derive(Debug, Default)]
struct Bucket {
    count: AtomicU64,
    example: Example,
}

/// The latest evaluation that fell into a bucket. A writer makes the version odd while it writes and gives up if
/// another one is writing. A reader gives up if the version was odd or has changed. So the parts always belong
/// together, without a lock.
#[derive(Debug, Default)]
struct Example {
    version: AtomicU64,
    eval_id: AtomicU64,
    value: AtomicU64,
}

impl Example {
    fn set(&self, eval_id: EvalId, value: u64) {
        let version = self.version.load(Ordering::Relaxed);
        let free = version.is_multiple_of(2);
        if !free
            || self
                .version
                .compare_exchange(version, version + 1, Ordering::SeqCst, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        self.eval_id.store(eval_id.number(), Ordering::SeqCst);
        self.value.store(value, Ordering::SeqCst);
        self.version.store(version + 2, Ordering::SeqCst);
    }

    fn get(&self) -> Option<(EvalId, u64)> {
        let before = self.version.load(Ordering::SeqCst);
        let found = (self.eval_id.load(Ordering::SeqCst), self.value.load(Ordering::SeqCst));
        let after = self.version.load(Ordering::SeqCst);
        (before == after && before.is_multiple_of(2) && before > 0)
            .then_some((EvalId::from_number(found.0), found.1))
    }
}

/// One bucket as shown.
#[derive(Debug, PartialEq)]
pub(super) struct DisplayedBucket {
    /// `None` for everything.
    pub(super) bound: Option<f64>,
    /// Values up to the bound, those of smaller buckets included.
    pub(super) cumulative: u64,
    pub(super) example: Option<(EvalId, f64)>,
}

impl Histogram {
    /// One of durations, which are observed in microseconds and shown in seconds.
    pub fn of_durations() -> Self {
        Histogram::new(&SECONDS)
    }

    pub(super) fn new(scale: &'static Scale) -> Self {
        let buckets = (0..=scale.bounds.len()).map(|_| Bucket::default()).collect();
        Histogram { scale, buckets, sum: AtomicU64::new(0) }
    }

    /// Counts a value, in base units.
    pub fn observe(&self, value: u64, eval_id: Option<EvalId>) {
        let at = self.scale.bounds.partition_point(|bound| *bound < value);
        let bucket = &self.buckets[at];
        bucket.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        if let Some(eval_id) = eval_id {
            bucket.example.set(eval_id, value);
        }
    }

    /// The sum of all values.
    pub(super) fn sum(&self) -> f64 {
        self.display(self.sum.load(Ordering::Relaxed))
    }

    /// The buckets; the count of the last is the count of all.
    pub(super) fn buckets(&self) -> Vec<DisplayedBucket> {
        let bounds = self.scale.bounds.iter().map(|bound| Some(self.display(*bound))).chain([None]);
        let mut cumulative = 0;
        let show = |(bucket, bound): (&Bucket, Option<f64>)| {
            cumulative += bucket.count.load(Ordering::Relaxed);
            let example = bucket.example.get().map(|(eval_id, value)| (eval_id, self.display(value)));
            DisplayedBucket { bound, cumulative, example }
        };
        self.buckets.iter().zip(bounds).map(show).collect()
    }

    fn display(&self, value: u64) -> f64 {
        value as f64 / self.scale.base_units as f64
    }
}
