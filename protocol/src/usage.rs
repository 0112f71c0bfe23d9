//! Counts of the shared resources that a principal uses.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A counter of a resource. Each taker names the limit.
#[derive(Debug, Default)]
pub struct Count(AtomicUsize);

impl Count {
    /// The amount in use.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes `more`; `false` if that would exceed `limit`.
    pub fn try_take(&self, more: usize, limit: usize) -> bool {
        let within = |used: usize| used.checked_add(more).filter(|all| *all <= limit);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, within).is_ok()
    }

    /// Takes `more` regardless of any limit.
    pub fn take(&self, more: usize) {
        self.0.fetch_add(more, Ordering::AcqRel);
    }

    /// Gives `count` back.
    pub fn give_back(&self, count: usize) {
        self.0.fetch_sub(count, Ordering::AcqRel);
    }
}

/// The resources that one principal uses.
#[derive(Debug, Default)]
pub struct PrincipalUsage {
    /// Running calls that hold a permit.
    pub(crate) calls: Count,
    /// Open connections whose last request was its own.
    pub connections: Count,
    /// Bytes of its request bodies in memory, and of answers that it has not read.
    pub buffered_bytes: Count,
}

/// The default limit of one of several principals on `total`: a quarter, so that three greedy principals leave room
/// for a fourth. A principal without others may take everything.
pub fn share(total: usize, principals: usize) -> usize {
    if principals > 1 { (total / 4).max(1) } else { total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_beyond_the_limit() {
        let count = Count::default();
        assert!(count.try_take(2, 3) && !count.try_take(2, 3) && count.try_take(1, 3));
        assert!(!count.try_take(usize::MAX, usize::MAX), "no overflow");
        count.take(4);
        count.give_back(6);
        assert_eq!(count.get(), 1);
    }

    #[test]
    fn a_quarter_for_each_of_several_and_everything_for_one() {
        assert_eq!([0, 1, 2, 9].map(|principals| share(1024, principals)), [1024, 1024, 256, 256]);
        assert_eq!([1, 3, 4, 7].map(|total| share(total, 2)), [1, 1, 1, 1]);
    }
}
