//! The memory that all programs of a process share (ruling 25).
//!
//! [`MemoryBudget`] is one counter, not updated for single values. A machine reserves in pieces that grow with its
//! contents ([`MemoryReservation`]); upstream replies reserve bytes as they arrive ([`ReplyMemory`]).

use ptc_vm::Error;
use ptc_vm::meter::Reservation;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What must be left for another program to be let in: enough for a small one to run.
const ROOM_FOR_ONE: u64 = 64 << 10;

/// How much memory the programs, sessions and messages of a process may take together. Clones share the count.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> MemoryBudget {
        MemoryBudget(Arc::new(Budget { limit, used: AtomicU64::new(0) }))
    }

    /// Bytes that may be taken in all.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Bytes that are taken now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Whether another program may be let in.
    pub fn has_room(&self) -> bool {
        self.used().saturating_add(ROOM_FOR_ONE) <= self.0.limit
    }

    /// Takes `bytes`, if there are as many left.
    #[must_use]
    pub fn try_take(&self, bytes: u64) -> bool {
        let taken = self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|used| *used <= self.0.limit)
        });
        taken.is_ok()
    }

    /// Gives back `bytes` that were taken.
    pub fn give_back(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The part of the budget that one machine, or one session's state, has reserved. Dropping this returns it.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    budget: MemoryBudget,
    bytes: Cell<u64>,
}

impl MemoryReservation {
    /// A reservation of nothing yet.
    pub(crate) fn new(budget: MemoryBudget) -> MemoryReservation {
        MemoryReservation { budget, bytes: Cell::new(0) }
    }

    /// Bytes that are reserved.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Makes it a reservation of `bytes`; `false`, and no change, if the budget does not have as many.
    #[must_use]
    pub(crate) fn resize(&self, bytes: u64) -> bool {
        let before = self.bytes.get();
        if bytes > before {
            return self.grow(bytes - before);
        }
        self.shrink(before - bytes);
        true
    }
}

thread_local! {
    static ON_SHORTAGE: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Says what this thread does when a program asks for more than is left: it gives up what it only keeps.
pub(crate) fn on_shortage(shed: fn()) {
    ON_SHORTAGE.set(Some(shed));
}

/// Has this thread give up what it only keeps.
fn shed() {
    // What is done about it does not lead here again.
    if let Some(shed) = ON_SHORTAGE.take() {
        shed();
        ON_SHORTAGE.set(Some(shed));
    }
}

impl Reservation for MemoryReservation {
    fn grow(&self, bytes: u64) -> bool {
        let taken = self.budget.try_take(bytes) || {
            shed();
            self.budget.try_take(bytes)
        };
        if taken {
            self.bytes.set(self.bytes.get() + bytes);
        }
        taken
    }

    fn shrink(&self, bytes: u64) {
        self.bytes.set(self.bytes.get() - bytes);
        self.budget.give_back(bytes);
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes.get());
    }
}

/// What the replies on their way to one program hold: charged to the program as they arrive, until they have become
/// values of its machine.
#[derive(Debug)]
pub(crate) struct ReplyMemory {
    budget: Option<MemoryBudget>,
    /// The program's memory limit.
    limit: u64,
    /// Bytes that its machine held when it last stopped.
    machine: AtomicU64,
    /// Bytes of replies.
    replies: AtomicU64,
    refusal: AtomicU8,
}

const OWN_LIMIT: u8 = 1;
const BUDGET: u8 = 2;

impl ReplyMemory {
    /// For a program that may hold `limit` bytes, within `budget` if there is one.
    pub(crate) fn new(limit: u64, budget: Option<MemoryBudget>) -> Arc<ReplyMemory> {
        Arc::new(ReplyMemory {
            budget,
            limit,
            machine: AtomicU64::new(0),
            replies: AtomicU64::new(0),
            refusal: AtomicU8::new(0),
        })
    }

    /// The memory that all programs share, if it is bounded.
    pub(crate) fn budget(&self) -> Option<&MemoryBudget> {
        self.budget.as_ref()
    }

    /// Notes what the machine holds by itself.
    pub(crate) fn note_machine(&self, bytes: u64) {
        self.machine.store(bytes, Ordering::Relaxed);
    }

    /// Why the program has to end, if a reply did not fit.
    pub(crate) fn refusal(&self) -> Option<Error> {
        match self.refusal.load(Ordering::Relaxed) {
            OWN_LIMIT => Some(Error::memory(self.limit)),
            BUDGET => Some(Error::memory_budget()),
            _ => None,
        }
    }

    fn take(&self, bytes: u64) -> bool {
        let replies = self.replies.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let refusal = if replies.saturating_add(self.machine.load(Ordering::Relaxed)) > self.limit {
            OWN_LIMIT
        } else if self.budget.as_ref().is_some_and(|budget| !budget.try_take(bytes)) {
            BUDGET
        } else {
            return true;
        };
        self.replies.fetch_sub(bytes, Ordering::Relaxed);
        self.refusal.store(refusal, Ordering::Relaxed);
        false
    }

    fn give_back(&self, bytes: u64) {
        self.replies.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(budget) = &self.budget {
            budget.give_back(bytes);
        }
    }
}

/// Receives the count of a reply's bytes as they arrive, and may refuse them.
pub trait Arrivals: std::fmt::Debug + Send + Sync {
    /// `bytes` more have arrived; `false` ends the call with a fault, because there is no room for them.
    fn arrived(&self, bytes: usize) -> bool;
}

/// The part of a program's memory that one reply holds. Dropping this returns it.
#[derive(Debug)]
pub(crate) struct ReplyCharge {
    memory: Arc<ReplyMemory>,
    bytes: AtomicU64,
}

impl ReplyCharge {
    /// A charge of nothing yet.
    pub(crate) fn new(memory: Arc<ReplyMemory>) -> ReplyCharge {
        ReplyCharge { memory, bytes: AtomicU64::new(0) }
    }
}

impl Arrivals for ReplyCharge {
    fn arrived(&self, bytes: usize) -> bool {
        let fits = self.memory.take(bytes as u64);
        if fits {
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        fits
    }
}

impl Drop for ReplyCharge {
    fn drop(&mut self) {
        self.memory.give_back(*self.bytes.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_comes_back() {
        let budget = MemoryBudget::new(1 << 20);
        assert!(budget.has_room());
        let reservation = MemoryReservation::new(budget.clone());
        assert!(reservation.grow(1 << 19) && !reservation.grow((1 << 19) + 1) && reservation.grow(1 << 19));
        assert!(!budget.has_room());
        reservation.shrink(1 << 19);
        assert!(reservation.resize(100) && !reservation.resize((1 << 20) + 1));
        assert_eq!(budget.used(), 100);
        drop(reservation);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn replies_are_charged_to_their_program_and_to_all() {
        let budget = MemoryBudget::new(1000);
        let memory = ReplyMemory::new(600, Some(budget.clone()));
        memory.note_machine(100);
        let (first, second) = (ReplyCharge::new(memory.clone()), ReplyCharge::new(memory.clone()));
        assert!(first.arrived(300) && second.arrived(200));
        assert_eq!(budget.used(), 500);
        assert!(memory.refusal().is_none());
        assert!(!second.arrived(1));
        assert_eq!(memory.refusal().unwrap().message(), "heap limit 600 bytes exceeded");
        drop(first);
        assert_eq!(budget.used(), 200);

        assert!(budget.try_take(700));
        let memory = ReplyMemory::new(600, Some(budget.clone()));
        assert!(!ReplyCharge::new(memory.clone()).arrived(101));
        assert_eq!(memory.refusal().unwrap().message(), "the server's memory budget is exhausted");
        drop(second);
        assert_eq!(budget.used(), 700, "what was refused was not kept");
    }
}
