//! The memory that all programs of a process share (ruling 25).
//!
//! [`MemoryBudget`] is one counter, not updated for single values; each principal may have a part of it with a separate counter
//! (ruling 66). A machine reserves in pieces that grow with its contents ([`MemoryReservation`]); upstream replies reserve
//! bytes as they arrive ([`ReplyMemory`]).

use crate::sync::Mutex;
use ahash::AHashMap;
use ptc_vm::meter::Reservation;
use ptc_vm::{Error, Reason};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

/// Memory that must be free for another program to begin: enough for a small one to run.
const ROOM_FOR_ONE: u64 = 64 << 10;

/// Principals whose parts are kept though they hold nothing.
const MOST_AT_REST: usize = 256;

/// How much memory the programs, sessions and messages of a process may take together. Clones share the count.
#[derive(Clone, Debug)]
pub struct MemoryBudget(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    /// That of a part changes with the policy.
    limit: AtomicU64,
    /// Whether the policy sets the limit.
    by_policy: AtomicBool,
    used: AtomicU64,
    /// The budget that this one is a part of.
    whole: Option<MemoryBudget>,
    /// The share of one principal, if that is limited.
    share: Option<u64>,
    /// The parts of principals.
    parts: Mutex<AHashMap<Arc<str>, MemoryBudget>>,
    /// Whether there have ever been parts.
    has_parts: AtomicBool,
}

/// Which budget had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryShortage {
    /// That of a principal, which may have so many bytes.
    Part(u64),
    /// The same, and the policy says so.
    Quota(u64),
    /// That of all.
    Whole,
}

impl MemoryShortage {
    /// How a program ends for which there was no room.
    pub fn error(self) -> Error {
        match self {
            MemoryShortage::Whole => Error::memory_budget(),
            MemoryShortage::Part(limit) => of_caller(limit, "--max-total-memory-bytes-per-owner"),
            MemoryShortage::Quota(limit) => of_caller(limit, "memory_bytes of the policy"),
        }
    }
}

fn of_caller(limit: u64, set_by: &str) -> Error {
    Error::verbatim(
        Reason::MemoryExceeded,
        format!(
            "the memory budget of this caller is exhausted: its programs and sessions may hold {limit} bytes together ({set_by})"
        ),
    )
}

impl MemoryBudget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> MemoryBudget {
        MemoryBudget::made(limit, None, None)
    }

    /// A budget of `limit` bytes of which one principal may have `share`.
    pub fn shared(limit: u64, share: u64) -> MemoryBudget {
        MemoryBudget::made(limit, None, (share < limit).then_some(share))
    }

    fn made(limit: u64, whole: Option<MemoryBudget>, share: Option<u64>) -> MemoryBudget {
        MemoryBudget(Arc::new(Budget {
            limit: AtomicU64::new(limit),
            by_policy: AtomicBool::new(false),
            used: AtomicU64::new(0),
            whole,
            share,
            parts: Mutex::default(),
            has_parts: AtomicBool::new(false),
        }))
    }

    /// The part of a principal: its reservations count in this budget as well. This budget itself without a principal, and
    /// where principals have no shares.
    pub fn of(&self, principal: Option<&Arc<str>>) -> MemoryBudget {
        let has_parts = self.0.share.is_some() || self.0.has_parts.load(Ordering::Relaxed);
        let Some(principal) = principal.filter(|_| has_parts) else { return self.clone() };
        let mut parts = self.parts();
        match (parts.get(principal), self.0.share) {
            (Some(part), _) => part.clone(),
            (None, Some(share)) => self.new_part(&mut parts, principal, share),
            (None, None) => self.clone(),
        }
    }

    /// The part of a principal to which the policy gives `quota` bytes, or less if its share is less. Without a quota, that of
    /// [`of`](Self::of).
    pub fn of_quota(&self, principal: Option<&Arc<str>>, quota: Option<u64>) -> MemoryBudget {
        let share = self.0.share.unwrap_or_else(|| self.limit());
        let (Some(principal), Some(quota)) = (principal, quota.filter(|quota| *quota < share)) else {
            let part = self.of(principal);
            // The policy may have given it less before.
            if part.is_by_policy() {
                part.0.by_policy.store(false, Ordering::Relaxed);
                part.0.limit.store(share, Ordering::Relaxed);
            }
            return part;
        };
        self.0.has_parts.store(true, Ordering::Relaxed);
        let mut parts = self.parts();
        let known = parts.get(principal).cloned();
        let part = known.unwrap_or_else(|| self.new_part(&mut parts, principal, quota));
        part.0.limit.store(quota, Ordering::Relaxed);
        part.0.by_policy.store(true, Ordering::Relaxed);
        part
    }

    fn new_part(
        &self,
        parts: &mut AHashMap<Arc<str>, MemoryBudget>,
        principal: &Arc<str>,
        limit: u64,
    ) -> MemoryBudget {
        if parts.len() >= MOST_AT_REST {
            // Whoever has a part in hand, or holds some of it, keeps it.
            parts.retain(|_, part| part.used() > 0 || Arc::strong_count(&part.0) > 1);
        }
        let part = MemoryBudget::made(limit, Some(self.clone()), None);
        parts.insert(principal.clone(), part.clone());
        part
    }

    /// The share of one principal, if that is limited.
    pub fn share(&self) -> Option<u64> {
        self.0.share
    }

    /// The principals that have used a part of it, and the bytes that each uses now, by their names.
    pub fn taken_by(&self) -> Vec<(Arc<str>, u64)> {
        let mut taken: Vec<_> = self.parts().iter().map(|(name, part)| (name.clone(), part.used())).collect();
        taken.sort();
        taken
    }

    fn parts(&self) -> MutexGuard<'_, AHashMap<Arc<str>, MemoryBudget>> {
        self.0.parts.lock()
    }

    /// Bytes that may be taken in all.
    pub fn limit(&self) -> u64 {
        self.0.limit.load(Ordering::Relaxed)
    }

    /// What is said if this budget has no room.
    fn shortage(&self) -> MemoryShortage {
        match (&self.0.whole, self.0.by_policy.load(Ordering::Relaxed)) {
            (None, _) => MemoryShortage::Whole,
            (Some(_), false) => MemoryShortage::Part(self.limit()),
            (Some(_), true) => MemoryShortage::Quota(self.limit()),
        }
    }

    /// Whether the policy sets its limit.
    pub fn is_by_policy(&self) -> bool {
        self.0.by_policy.load(Ordering::Relaxed)
    }

    /// Bytes that are taken now.
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Whether another program may be let in.
    pub fn has_room(&self) -> bool {
        self.used().saturating_add(ROOM_FOR_ONE) <= self.limit()
            && self.0.whole.as_ref().is_none_or(MemoryBudget::has_room)
    }

    /// Takes `bytes`, if there are as many left.
    #[must_use]
    pub fn try_take(&self, bytes: u64) -> bool {
        self.take(bytes).is_ok()
    }

    /// As [`try_take`](Self::try_take), and says which budget has no room.
    pub fn take(&self, bytes: u64) -> Result<(), MemoryShortage> {
        let limit = self.limit();
        let taken = self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|used| *used <= limit)
        });
        match (&self.0.whole, taken) {
            (None, Ok(_)) => Ok(()),
            (_, Err(_)) => Err(self.shortage()),
            (Some(whole), Ok(_)) => whole.take(bytes).inspect_err(|_| {
                self.0.used.fetch_sub(bytes, Ordering::Relaxed);
            }),
        }
    }

    /// Releases `bytes`.
    pub fn give_back(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.0.whole {
            whole.give_back(bytes);
        }
    }
}

/// The part of the budget that one machine, or one session's state, has reserved. Dropping this returns it.
#[derive(Debug)]
pub struct MemoryReservation {
    budget: MemoryBudget,
    bytes: Cell<u64>,
    /// Which budget had no room when it was asked for more last.
    refused: Cell<MemoryShortage>,
}

impl MemoryReservation {
    /// A reservation of nothing yet.
    pub fn new(budget: MemoryBudget) -> MemoryReservation {
        MemoryReservation { budget, bytes: Cell::new(0), refused: Cell::new(MemoryShortage::Whole) }
    }

    /// The budget it reserves from.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Bytes that are reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Makes it a reservation of `bytes`; `false`, and no change, if the budget does not have as many.
    #[must_use]
    pub fn resize(&self, bytes: u64) -> bool {
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

/// Sets the function by which this thread frees its caches when a program needs more than is left.
pub fn on_shortage(shed: fn()) {
    ON_SHORTAGE.set(Some(shed));
}

/// Makes this thread free its caches.
fn shed() {
    // What is done about it does not lead here again.
    if let Some(shed) = ON_SHORTAGE.take() {
        shed();
        ON_SHORTAGE.set(Some(shed));
    }
}

impl Reservation for MemoryReservation {
    fn grow(&self, bytes: u64) -> bool {
        let taken = self.budget.take(bytes).or_else(|_| {
            shed();
            self.budget.take(bytes)
        });
        match taken {
            Ok(()) => self.bytes.set(self.bytes.get() + bytes),
            Err(refused) => self.refused.set(refused),
        }
        taken.is_ok()
    }

    fn refusal(&self) -> Error {
        self.refused.get().error()
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

/// Memory that data takes once its program has ended. Dropping this returns it.
#[derive(Debug)]
pub struct HeldMemory {
    budget: MemoryBudget,
    bytes: u64,
}

impl HeldMemory {
    /// Takes `bytes` of the budget.
    ///
    /// # Errors
    /// There are not as many.
    pub fn take(budget: &MemoryBudget, bytes: u64) -> Result<HeldMemory, Error> {
        budget.take(bytes).map_err(MemoryShortage::error)?;
        Ok(HeldMemory { budget: budget.clone(), bytes })
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// The memory of replies on their way to one program: charged to the program as they arrive, until they have become values of
/// its machine.
#[derive(Debug)]
pub struct ReplyMemory {
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
const PART: u8 = 3;

impl ReplyMemory {
    /// For a program that may hold `limit` bytes, within `budget` if there is one.
    pub fn new(limit: u64, budget: Option<MemoryBudget>) -> Arc<ReplyMemory> {
        Arc::new(ReplyMemory {
            budget,
            limit,
            machine: AtomicU64::new(0),
            replies: AtomicU64::new(0),
            refusal: AtomicU8::new(0),
        })
    }

    /// The memory that all programs share, if it is bounded.
    pub fn budget(&self) -> Option<&MemoryBudget> {
        self.budget.as_ref()
    }

    /// Notes the machine's own memory.
    pub fn note_machine(&self, bytes: u64) {
        self.machine.store(bytes, Ordering::Relaxed);
    }

    /// Why the program has to end, if a reply did not fit.
    pub fn refusal(&self) -> Option<Error> {
        match self.refusal.load(Ordering::Relaxed) {
            OWN_LIMIT => Some(Error::memory(self.limit)),
            BUDGET => Some(MemoryShortage::Whole.error()),
            PART => self.budget.as_ref().map(|part| part.shortage().error()),
            _ => None,
        }
    }

    fn take(&self, bytes: u64) -> bool {
        let replies = self.replies.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let refusal = if replies.saturating_add(self.machine.load(Ordering::Relaxed)) > self.limit {
            OWN_LIMIT
        } else {
            match self.budget.as_ref().map_or(Ok(()), |budget| budget.take(bytes)) {
                Ok(()) => return true,
                Err(MemoryShortage::Whole) => BUDGET,
                Err(MemoryShortage::Part(_) | MemoryShortage::Quota(_)) => PART,
            }
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
pub struct ReplyCharge {
    memory: Arc<ReplyMemory>,
    bytes: AtomicU64,
}

impl ReplyCharge {
    /// A charge of nothing yet.
    pub fn new(memory: Arc<ReplyMemory>) -> ReplyCharge {
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
    fn a_principal_has_its_part_and_leaves_the_rest_to_others() {
        let budget = MemoryBudget::shared(1 << 20, 1 << 18);
        let [alice, bob] = ["alice", "bob"].map(Arc::<str>::from);
        let greedy = MemoryReservation::new(budget.of(Some(&alice)));
        assert!(greedy.grow(1 << 18) && !greedy.grow(1));
        assert!(greedy.refusal().message().contains("may hold 262144 bytes together"));
        assert!(!budget.of(Some(&alice)).has_room() && budget.of(Some(&bob)).has_room());
        assert_eq!(budget.used(), 1 << 18, "what was refused was not taken of the whole either");
        assert_eq!(budget.taken_by(), [(alice.clone(), 1 << 18), (bob.clone(), 0)]);
        assert!(budget.try_take(3 << 18));
        let other = MemoryReservation::new(budget.of(Some(&bob)));
        assert!(!other.grow(1) && budget.of(Some(&bob)).used() == 0);
        assert_eq!(other.refusal().message(), "the server's memory budget is exhausted");
        drop(greedy);
        assert!(other.grow(1 << 18), "what one principal gives back is there for another");
        let replies = ReplyMemory::new(u64::MAX, Some(budget.of(Some(&bob))));
        assert!(!ReplyCharge::new(replies.clone()).arrived(1));
        assert!(replies.refusal().unwrap().message().contains("of this caller"));
        assert_eq!(budget.of(None).limit(), 1 << 20, "nobody in particular has no part");
    }

    #[test]
    fn the_policy_gives_a_principal_less_than_its_share() {
        for budget in [MemoryBudget::shared(1 << 20, 1 << 18), MemoryBudget::new(1 << 20)] {
            let share = budget.share().unwrap_or(1 << 20);
            let [alice, bob] = ["alice", "bob"].map(Arc::<str>::from);
            let greedy = MemoryReservation::new(budget.of_quota(Some(&alice), Some(1 << 16)));
            assert!(greedy.grow(1 << 16) && !greedy.grow(1));
            assert_eq!(
                greedy.refusal().message(),
                "the memory budget of this caller is exhausted: its programs and sessions may hold 65536 bytes together \
                 (memory_bytes of the policy)"
            );
            assert_eq!(budget.used(), 1 << 16, "it counts for all");
            assert!(!budget.of(Some(&alice)).try_take(1), "it is the same part without the policy at hand");
            let replies = ReplyMemory::new(u64::MAX, Some(budget.of(Some(&alice))));
            assert!(!ReplyCharge::new(replies.clone()).arrived(1));
            assert!(replies.refusal().unwrap().message().contains("of the policy"));
            assert!(budget.of(Some(&bob)).try_take(1 << 17), "others have theirs");
            assert!(!budget.of_quota(Some(&bob), Some(u64::MAX)).is_by_policy(), "a share may be less");
            // A policy that changes, and one that has no limit any more.
            assert!(budget.of_quota(Some(&alice), Some(1 << 17)).try_take(1));
            let part = budget.of_quota(Some(&alice), None);
            assert_eq!((part.limit(), part.is_by_policy()), (share, false));
        }
    }

    #[test]
    fn parts_of_those_who_hold_nothing_do_not_add_up() {
        let budget = MemoryBudget::shared(1 << 20, 1 << 18);
        let held = MemoryReservation::new(budget.of(Some(&"held".into())));
        assert!(held.grow(1));
        for number in 0..10 * MOST_AT_REST {
            let _part = budget.of(Some(&number.to_string().into()));
        }
        assert!(budget.taken_by().len() <= MOST_AT_REST);
        assert_eq!(budget.of(Some(&"held".into())).used(), 1);
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
