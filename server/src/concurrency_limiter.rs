//! The process-wide limits on concurrent tool calls: their number, how many of them one principal may have, and the
//! memory that another one requires. Nothing queues: a call gets a permit at once or is told that the server is busy, so
//! no call waits behind those of others, and none is kept for a client that has gone.

use std::fmt;
use std::sync::Arc;

use ptc_host::engine::MemoryBudget;

use crate::principal::Principal;
use crate::usage::Count;

/// How many calls may run at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Of all principals together.
    pub all: usize,
    /// Of one principal.
    pub per_owner: usize,
}

impl CallLimits {
    /// `all` calls, whoever makes them.
    pub(crate) fn shared(all: usize) -> Self {
        CallLimits { all, per_owner: all }
    }
}

/// Counts running calls up to their limits.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    limits: CallLimits,
    running: Count,
    memory: Option<MemoryBudget>,
}

/// Why a call is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// This many calls are running already.
    Calls(usize),
    /// This many calls of the caller's principal are running already.
    OwnerCalls(usize),
    /// This many calls of the caller's conversation are running already.
    SessionCalls(usize),
    /// Running calls hold nearly all of the allowed memory.
    Memory,
    /// Programs and sessions of the caller's principal hold nearly all of the memory that it may have, in bytes.
    OwnerMemory(u64),
}

impl Full {
    /// The limit's name in metrics.
    pub(crate) fn limit(self) -> &'static str {
        match self {
            Full::Calls(_) => "global_concurrency",
            Full::OwnerCalls(_) => "per_owner_concurrency",
            Full::SessionCalls(_) => "in_flight",
            Full::Memory => "max_total_memory_bytes",
            Full::OwnerMemory(_) => "max_total_memory_bytes_per_owner",
        }
    }
}

impl fmt::Display for Full {
    /// The limit that is reached, its value and its flag.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Full::Calls(limit) => write!(out, "{limit} calls run (--max-concurrent-calls)"),
            Full::OwnerCalls(limit) => {
                write!(out, "{limit} calls of this caller run (--max-concurrent-calls-per-owner)")
            }
            Full::SessionCalls(limit) => {
                write!(out, "{limit} calls of this session run (--http-max-in-flight-per-session)")
            }
            Full::Memory => out.write_str("the memory budget is exhausted (--max-total-memory-bytes)"),
            Full::OwnerMemory(limit) => write!(
                out,
                "programs and sessions of this caller hold {limit} bytes (--max-total-memory-bytes-per-owner)"
            ),
        }
    }
}

/// The right to run one call, returned on drop.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<ConcurrencyLimiter>,
    principal: Principal,
}

impl ConcurrencyLimiter {
    /// A limiter of the number of concurrent calls.
    pub(crate) fn new(limits: CallLimits) -> Arc<Self> {
        Arc::new(ConcurrencyLimiter { limits, running: Count::default(), memory: None })
    }

    /// The same limits, and no further calls while `memory` is exhausted.
    pub(crate) fn within(limits: CallLimits, memory: MemoryBudget) -> Arc<Self> {
        Arc::new(ConcurrencyLimiter { limits, running: Count::default(), memory: Some(memory) })
    }

    /// How many calls may run at a time.
    pub fn limits(&self) -> CallLimits {
        self.limits
    }

    /// How many calls run now.
    pub fn running(&self) -> usize {
        self.running.get()
    }

    /// A permit for a call of `principal`, unless it has all that it may have, all are taken or memory is short.
    ///
    /// # Errors
    /// The resource that is exhausted.
    pub(crate) fn try_enter(self: &Arc<Self>, principal: &Principal) -> Result<Permit, Full> {
        if let Some(memory) = &self.memory {
            if !memory.has_room() {
                return Err(Full::Memory);
            }
            let own = memory.of(Some(principal.known_name()));
            if !own.has_room() {
                return Err(Full::OwnerMemory(own.limit()));
            }
        }
        let CallLimits { all, per_owner } = self.limits;
        if !self.running.try_take(1, all) {
            return Err(Full::Calls(all));
        }
        if !principal.usage().calls.try_take(1, per_owner) {
            self.running.give_back(1);
            return Err(Full::OwnerCalls(per_owner));
        }
        Ok(Permit { limiter: self.clone(), principal: principal.clone() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.running.give_back(1);
        self.principal.usage().calls.give_back(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_come_back_when_dropped() {
        let limiter = ConcurrencyLimiter::new(CallLimits::shared(2));
        let me = Principal::named("me");
        let first = limiter.try_enter(&me);
        let second = limiter.try_enter(&me);
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(limiter.try_enter(&me).unwrap_err(), Full::Calls(2));
        drop(first);
        assert_eq!((limiter.running(), me.usage().calls.get()), (1, 1));
        assert!(limiter.try_enter(&me).is_ok());
    }

    #[test]
    fn nobody_takes_more_than_their_share() {
        let limiter = ConcurrencyLimiter::new(CallLimits { all: 8, per_owner: 2 });
        let (greedy, other) = (Principal::named("greedy"), Principal::named("other"));
        let _held = [0, 1].map(|_| limiter.try_enter(&greedy).unwrap());
        for _ in 0..100 {
            assert_eq!(limiter.try_enter(&greedy.clone()).unwrap_err(), Full::OwnerCalls(2));
        }
        assert_eq!(limiter.running(), 2, "what was refused holds nothing");
        assert!(limiter.try_enter(&other).is_ok());
    }

    #[test]
    fn a_principal_without_memory_of_its_own_keeps_out_nobody_else() {
        let memory = MemoryBudget::shared(1 << 20, 1 << 18);
        let limiter = ConcurrencyLimiter::within(CallLimits::shared(9), memory.clone());
        let (greedy, other) = (Principal::named("greedy"), Principal::named("other"));
        assert!(memory.of(Some(greedy.known_name())).try_take(1 << 18));
        assert_eq!(limiter.try_enter(&greedy).unwrap_err(), Full::OwnerMemory(1 << 18));
        assert!(limiter.try_enter(&other).is_ok());
    }

    #[test]
    fn nobody_is_let_in_while_memory_is_short() {
        let memory = MemoryBudget::new(1 << 20);
        let limiter = ConcurrencyLimiter::within(CallLimits::shared(9), memory.clone());
        let me = Principal::named("me");
        assert!(memory.try_take(1 << 20));
        assert_eq!(limiter.try_enter(&me).unwrap_err(), Full::Memory);
        memory.give_back(1 << 20);
        assert!(limiter.try_enter(&me).is_ok());
    }
}
