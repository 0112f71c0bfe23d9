//! The process-wide limits on concurrent tool calls: their number, and the memory that another one requires. Nothing
//! queues: a call gets a permit at once or is told that the server is busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_host::engine::MemoryBudget;

/// Counts running calls up to a limit.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    limit: usize,
    running: AtomicUsize,
    memory: Option<MemoryBudget>,
}

/// Why a call is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// This many calls are running already.
    Calls(usize),
    /// Running calls hold nearly all of the allowed memory.
    Memory,
}

/// The right to run one call, returned on drop.
#[derive(Debug)]
pub(crate) struct Permit(Arc<ConcurrencyLimiter>);

impl ConcurrencyLimiter {
    /// A limiter for `limit` concurrent calls.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(ConcurrencyLimiter { limit, running: AtomicUsize::new(0), memory: None })
    }

    /// The same limit, and no further calls while `memory` is exhausted.
    pub fn within(limit: usize, memory: MemoryBudget) -> Arc<Self> {
        Arc::new(ConcurrencyLimiter { limit, running: AtomicUsize::new(0), memory: Some(memory) })
    }

    /// How many calls may run at a time.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// How many calls run now.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// A permit, unless all are taken or memory is short.
    ///
    /// # Errors
    /// The resource that is exhausted.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Result<Permit, Full> {
        if self.memory.as_ref().is_some_and(|memory| !memory.has_room()) {
            return Err(Full::Memory);
        }
        self.running
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |running| {
                (running < self.limit).then_some(running + 1)
            })
            .map(|_| Permit(self.clone()))
            .map_err(|_| Full::Calls(self.limit))
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
        let limiter = ConcurrencyLimiter::new(2);
        let first = limiter.try_enter();
        let second = limiter.try_enter();
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(limiter.try_enter().unwrap_err(), Full::Calls(2));
        drop(first);
        assert_eq!(limiter.running(), 1);
        assert!(limiter.try_enter().is_ok());
    }

    #[test]
    fn nobody_is_let_in_while_memory_is_short() {
        let memory = MemoryBudget::new(1 << 20);
        let limiter = ConcurrencyLimiter::within(9, memory.clone());
        assert!(memory.try_take(1 << 20));
        assert_eq!(limiter.try_enter().unwrap_err(), Full::Memory);
        memory.give_back(1 << 20);
        assert!(limiter.try_enter().is_ok());
    }
}
