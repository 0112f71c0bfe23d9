//! The process-wide limit on tool calls that run at the same time. It never queues: a call either gets a permit at
//! once or is told that the server is busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts running calls up to a limit.
#[derive(Debug)]
pub struct Gate {
    limit: usize,
    running: AtomicUsize,
}

/// The right to run one call; given back when dropped.
#[derive(Debug)]
pub struct Permit(Arc<Gate>);

impl Gate {
    /// A gate for `limit` calls at a time.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Gate { limit, running: AtomicUsize::new(0) })
    }

    /// How many calls may run at a time.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many calls run now.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// A permit, unless all are taken.
    pub fn try_enter(self: &Arc<Self>) -> Option<Permit> {
        self.running
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |running| {
                (running < self.limit).then_some(running + 1)
            })
            .ok()
            .map(|_| Permit(self.clone()))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_come_back_when_dropped() {
        let gate = Gate::new(2);
        let first = gate.try_enter();
        let second = gate.try_enter();
        assert!(first.is_some() && second.is_some() && gate.try_enter().is_none());
        drop(first);
        assert_eq!(gate.running(), 1);
        assert!(gate.try_enter().is_some());
    }
}
