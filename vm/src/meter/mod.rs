//! The meter of the machine that runs on this thread: memory that its values hold, and work that builtins do.
//!
//! A machine lives on one thread and only one runs at a time, so the meter is a thread-local. Values charge it where they are
//! built and credit it where they are dropped, by any owner; a machine *installs* its own account while it runs
//! ([`Account::install`]) and takes it along when it stops.
//!
//! Two ways of refusing, because there are two kinds of callers:
//!
//! * Builtins call [`charge_steps`] and [`reserve`] *before* work or an allocation whose size the program
//!   controls, and stop at the error.
//! * Walks that cannot fail (comparing, hashing, dropping) call [`work`]. When the budget is used up they find
//!   [`exhausted`] and cut themselves short with any answer; the machine sees the overdraft right after the
//!   instruction and ends the program, so that the wrong answer is never observed.
//!
//! A builtin may work for long on little memory (values are shared), and a host sees its clock only between slices. So an
//! account may come with a [`Deadline`], which is looked at each [`LOOK`] steps of one builtin's work, and whenever memory is
//! reserved; once it has passed, every charge is refused and every walk cuts itself short, as if the steps were used up. At the
//! same places a builtin may pause ([`pausing`]).

mod allowance;
mod pausing;
mod pieces;

pub use allowance::{Allowance, ResourceUse};
pub(crate) use pausing::pause;
pub use pausing::{PauseAnswer, Pauses, pausing, uncharged};
pub(crate) use pieces::{
    is_long, is_long_text, overlapping, pieces, pieces_mut, text_pieces, text_pieces_back,
};

use crate::error::{Error, Result};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A machine's reservation from the memory that all machines of a process share. A machine reserves more than it needs at once,
/// so that it asks seldom.
pub trait Reservation {
    /// Reserves `bytes` more; `false`, and no change, if they are not left.
    fn grow(&self, bytes: u64) -> bool;

    /// Releases `bytes`. The rest is released when the reservation is dropped.
    fn shrink(&self, bytes: u64);

    /// The error of a program whose last request for memory was refused.
    fn refusal(&self) -> Error {
        Error::memory_budget()
    }
}

/// When a program has to end, by a clock of its host's.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// Nanoseconds since any moment, never running backwards.
    pub clock: fn() -> u64,
    /// The reading of the clock when the program's time is over.
    pub at: u64,
    /// Milliseconds that the program was given, for the error's text.
    pub allowed_ms: u64,
}

/// Steps of one builtin's work between two looks at the clock: some tenths of a millisecond's.
const LOOK: u64 = 10_000;

/// Smallest amount that a machine reserves.
const SMALLEST_RESERVATION: i64 = 16 << 10;
/// Largest amount that a machine reserves in advance: as much as a builtin builds between two readings of the clock.
const LARGEST_RESERVATION: i64 = 512 << 10;
/// Reserved bytes that are not in use, beyond which a machine that stops for a while releases some.
const IDLE_RESERVATION: i64 = 1 << 20;

/// Whether anything is charged at all. `--cfg ptc_unmetered` leaves the meters out, for `benches/meters`, which measures their
/// cost; it is no feature, so that no dependency can ask for it. Limits do not hold in such a build.
pub(crate) const METERED: bool = !cfg!(ptc_unmetered);

struct Meter {
    /// Number of the installed account, 0 for none.
    account: Cell<u64>,
    /// Bytes held by values of the installed account. Negative when it frees values that another one built.
    live: Cell<i64>,
    /// Largest `live` since the account was opened.
    peak: Cell<i64>,
    /// Bytes that `live` may reach without a reservation.
    memory_limit: Cell<i64>,
    /// Bytes that `live` may reach at all; more than `memory_limit` only while a reservation is installed.
    ceiling: Cell<i64>,
    /// Steps charged by builtins and walks since the machine last collected them with [`take_work`].
    work: Cell<u64>,
    /// Value of `work` at which [`beyond`] has to be asked: the program has no steps left, or the clock is to be looked at.
    work_limit: Cell<u64>,
    /// Value of `work` at which the program has no steps left.
    all_work: Cell<u64>,
    /// When the machine has to end, if there is a deadline.
    deadline: Cell<Option<Deadline>>,
    /// Whether the deadline was found to have passed.
    overdue: Cell<bool>,
    /// The host's hook for taking the thread, if it has one. Belongs to the thread's work and not to an account.
    pauses: Cell<Option<Pauses>>,
    /// Uncharged units of work since the host was last asked whether to pause.
    uncharged: Cell<u32>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            account: Cell::new(0),
            live: Cell::new(0),
            peak: Cell::new(0),
            memory_limit: Cell::new(i64::MAX),
            ceiling: Cell::new(i64::MAX),
            work: Cell::new(0),
            work_limit: Cell::new(u64::MAX),
            all_work: Cell::new(u64::MAX),
            deadline: Cell::new(None),
            overdue: Cell::new(false),
            pauses: Cell::new(None),
            uncharged: Cell::new(0),
        }
    };

    /// Accounts that this thread has opened.
    static ACCOUNTS: Cell<u64> = const { Cell::new(0) };

    static RESERVATION: RefCell<Option<Rc<dyn Reservation>>> = const { RefCell::new(None) };
}

/// Makes room for `wanted` live bytes by reserving them, or says why that cannot be.
#[cold]
fn grow(m: &Meter, wanted: i64) -> Result<()> {
    let (granted, ceiling) = (m.memory_limit.get(), m.ceiling.get());
    if wanted > ceiling {
        return Err(Error::memory(ceiling as u64));
    }
    if let Some(deadline) = m.deadline.get()
        && has_passed(m, deadline)
    {
        return Err(Error::timeout(deadline.allowed_ms));
    }
    pausing::give_way(m);
    let need = wanted - granted;
    let ample =
        (granted / 4).clamp(SMALLEST_RESERVATION, LARGEST_RESERVATION).max(need).min(ceiling - granted);
    // Whoever is asked may free what it keeps, which must not find this borrowed.
    let reservation = RESERVATION.with_borrow(Clone::clone);
    let take = |bytes: i64| {
        reservation.as_ref().is_none_or(|reservation| reservation.grow(bytes as u64)).then_some(bytes)
    };
    let refusal =
        || reservation.as_ref().map_or_else(Error::memory_budget, |reservation| reservation.refusal());
    let bytes = take(ample).or_else(|| take(need)).ok_or_else(refusal)?;
    m.memory_limit.set(granted + bytes);
    Ok(())
}

/// Adds `bytes` to the memory of the running machine. Never refuses; see [`reserve`] for large amounts.
#[inline]
pub(crate) fn charge_memory(bytes: usize) {
    if !METERED {
        return;
    }
    METER.with(|m| {
        let live = m.live.get() + bytes as i64;
        m.live.set(live);
        if live > m.peak.get() {
            m.peak.set(live);
        }
    });
}

/// Subtracts `bytes` from the memory of the running machine.
#[inline]
pub(crate) fn credit_memory(bytes: usize) {
    if !METERED {
        return;
    }
    METER.with(|m| m.live.set(m.live.get() - bytes as i64));
}

/// Refuses when `bytes` more than now would pass the memory limit. Charges nothing: the values do that.
#[inline]
pub fn reserve(bytes: usize) -> Result<()> {
    if !METERED {
        return Ok(());
    }
    METER.with(|m| {
        let wanted = m.live.get().saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
        if wanted > m.memory_limit.get() { grow(m, wanted) } else { Ok(()) }
    })
}

#[cold]
fn no_steps(m: &Meter) -> Error {
    Error::steps(m.all_work.get())
}

/// Whether work has to stop that has passed `work_limit`.
#[cold]
#[inline(never)]
fn beyond(m: &Meter) -> bool {
    let work = m.work.get();
    if work > m.all_work.get() {
        return true;
    }
    if m.deadline.get().is_some_and(|deadline| has_passed(m, deadline)) {
        return true;
    }
    pausing::give_way(m);
    if m.overdue.get() {
        return true;
    }
    let looks = m.deadline.get().is_some() || m.pauses.get().is_some();
    m.work_limit.set(if looks { m.all_work.get().min(work.saturating_add(LOOK)) } else { m.all_work.get() });
    false
}

/// Whether this deadline has passed; if so, makes all further work fail.
fn has_passed(m: &Meter, deadline: Deadline) -> bool {
    let passed = m.overdue.get() || (deadline.clock)() >= deadline.at;
    if passed {
        m.overdue.set(true);
        // More than any slice has, so that the machine stops right after the builtin.
        m.work.set(OVERDRAFT);
    }
    passed
}

/// The charge for a program whose time is over.
const OVERDRAFT: u64 = 1 << 62;

/// The error of a program whose time was over in the middle of a builtin, if it was.
pub(crate) fn overdue() -> Option<Error> {
    METER
        .with(|m| m.deadline.get().filter(|_| m.overdue.get()))
        .map(|deadline| Error::timeout(deadline.allowed_ms))
}

/// Refuses when the memory limit is passed already.
#[inline]
pub fn check_memory() -> Result<()> {
    if !METERED {
        return Ok(());
    }
    METER.with(|m| if m.live.get() > m.memory_limit.get() { grow(m, m.live.get()) } else { Ok(()) })
}

/// Whether [`check_memory`] has something to do: the limit is passed, or more is to be reserved.
#[inline]
pub fn is_over() -> bool {
    METER.with(|m| m.live.get() > m.memory_limit.get())
}

/// Bytes that the installed account holds.
pub fn live() -> i64 {
    METER.with(|m| m.live.get())
}

/// Bytes that may still be built before the limit.
#[cfg(test)]
pub(crate) fn memory_left() -> usize {
    METER.with(|m| usize::try_from(m.ceiling.get().saturating_sub(m.live.get())).unwrap_or(0))
}

/// Bytes held now, and the most so far.
#[cfg(test)]
pub(crate) fn live_and_peak() -> (i64, i64) {
    METER.with(|m| (m.live.get(), m.peak.get()))
}

/// Charges `steps` of work to the running program, and refuses when its steps are used up.
#[inline]
pub fn charge_steps(steps: u64) -> Result<()> {
    if !METERED {
        return Ok(());
    }
    METER.with(|m| {
        let work = m.work.get().saturating_add(steps);
        m.work.set(work);
        // The machine replaces this error by one that names the program's whole limit.
        if work > m.work_limit.get() && beyond(m) { Err(no_steps(m)) } else { Ok(()) }
    })
}

/// Charges `steps` of work where refusing is impossible; see the module's text.
#[inline]
pub fn work(steps: u64) {
    if !METERED {
        return;
    }
    METER.with(|m| m.work.set(m.work.get().saturating_add(steps)));
}

/// Whether the program's steps are used up or its time is over, so that a walk should cut itself short.
#[inline]
pub fn exhausted() -> bool {
    if !METERED {
        return false;
    }
    METER.with(|m| m.work.get() > m.work_limit.get() && beyond(m))
}

/// Number of the account that is installed, which no other one of this thread ever has; 0 when there is none.
#[inline]
pub(crate) fn account() -> u64 {
    METER.with(|m| m.account.get())
}

/// Collects the work charged since the last collection.
#[inline]
pub(crate) fn take_work() -> u64 {
    if !METERED {
        return 0;
    }
    METER.with(|m| m.work.replace(0))
}

/// Work charged and not collected yet.
#[inline]
pub fn pending_work() -> u64 {
    if !METERED {
        return 0;
    }
    METER.with(|m| m.work.get())
}

/// Sets how much work may be charged, counted from the last [`take_work`], before it is refused.
#[inline]
pub(crate) fn set_work_limit(steps: u64) {
    if !METERED {
        return;
    }
    METER.with(|m| {
        m.work_limit.set(steps.min(LOOK));
        m.all_work.set(steps);
    });
}

/// Bytes besides values that are charged as long as this lives.
#[derive(Debug, Default)]
pub struct MemoryCharge(usize);

impl MemoryCharge {
    /// Charges `bytes` that are about to be allocated; refuses beyond the limit.
    pub(crate) fn new(bytes: usize) -> Result<MemoryCharge> {
        reserve(bytes)?;
        Ok(MemoryCharge::taken(bytes))
    }

    /// Charges `bytes` that exist already.
    pub(crate) fn taken(bytes: usize) -> MemoryCharge {
        charge_memory(bytes);
        MemoryCharge(bytes)
    }

    /// How many.
    pub(crate) fn bytes(&self) -> usize {
        self.0
    }

    /// Charges `bytes` in all; refuses an amount beyond the limit, and then keeps the former charge.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        match bytes.checked_sub(self.0) {
            Some(more) => {
                reserve(more)?;
                charge_memory(more);
            }
            None => credit_memory(self.0 - bytes),
        }
        self.0 = bytes;
        Ok(())
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        credit_memory(self.0);
    }
}

/// A machine's use of memory and its limits, while another one (or none) is installed on the thread.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Its number on this thread, from 1.
    number: u64,
    /// Bytes held now.
    pub live: i64,
    /// Largest `live` so far.
    pub peak: i64,
    /// Largest `live` allowed.
    pub limit: i64,
    /// Largest `live` allowed without reserving more; the limit itself where nothing is shared.
    pub granted: i64,
}

impl Account {
    /// An empty account that may hold `limit` bytes.
    pub fn new(limit: u64) -> Account {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let number = ACCOUNTS.get() + 1;
        ACCOUNTS.set(number);
        Account { number, live: 0, peak: 0, limit, granted: limit }
    }

    /// Its number, which no other account of this thread has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// An empty account that may hold `limit` bytes, all of which it has to reserve: see [`Account::install_with`]. Without a
    /// reservation that is granted, and the clock is looked at on the way.
    pub fn reserving(limit: u64) -> Account {
        Account { granted: 0, ..Account::new(limit) }
    }

    /// As [`install`](Account::install), with a lender of memory and a deadline.
    pub fn install_with(
        &mut self,
        reservation: Option<Rc<dyn Reservation>>,
        deadline: Option<Deadline>,
    ) -> AccountGuard<'_> {
        let outer = RESERVATION.replace(reservation);
        let mut installed = self.install();
        installed.reservation = Some(outer);
        METER.with(|m| m.deadline.set(deadline));
        installed
    }

    /// Releases reserved memory that is far from being used.
    pub fn release_surplus(&mut self, reservation: &dyn Reservation) {
        let keep = self.live.max(0).saturating_add(self.live.max(0) / 4).saturating_add(SMALLEST_RESERVATION);
        let surplus = self.granted - keep;
        if surplus > IDLE_RESERVATION {
            self.granted -= surplus;
            reservation.shrink(surplus as u64);
        }
    }

    /// Makes this the account of the thread until the guard is dropped, which writes the account back.
    pub fn install(&mut self) -> AccountGuard<'_> {
        let outer = METER.with(|m| {
            m.replace(SavedMeter {
                account: self.number,
                live: self.live,
                peak: self.peak,
                granted: self.granted,
                ceiling: self.limit,
                ..SavedMeter::NOTHING
            })
        });
        AccountGuard { account: self, outer, reservation: None }
    }
}

/// The meter's state of one account.
#[derive(Clone, Copy)]
struct SavedMeter {
    account: u64,
    live: i64,
    peak: i64,
    granted: i64,
    ceiling: i64,
    work: u64,
    work_limit: u64,
    all_work: u64,
    deadline: Option<Deadline>,
    overdue: bool,
}

impl SavedMeter {
    /// The state of a thread on which nothing is limited. The first look comes as soon as with limits.
    const NOTHING: SavedMeter = SavedMeter {
        account: 0,
        live: 0,
        peak: 0,
        granted: i64::MAX,
        ceiling: i64::MAX,
        work: 0,
        work_limit: LOOK,
        all_work: u64::MAX,
        deadline: None,
        overdue: false,
    };
}

impl Meter {
    /// Makes `state` the meter's, and returns the one of before.
    fn replace(&self, state: SavedMeter) -> SavedMeter {
        SavedMeter {
            account: self.account.replace(state.account),
            live: self.live.replace(state.live),
            peak: self.peak.replace(state.peak),
            granted: self.memory_limit.replace(state.granted),
            ceiling: self.ceiling.replace(state.ceiling),
            work: self.work.replace(state.work),
            work_limit: self.work_limit.replace(state.work_limit),
            all_work: self.all_work.replace(state.all_work),
            deadline: self.deadline.replace(state.deadline),
            overdue: self.overdue.replace(state.overdue),
        }
    }
}

/// Keeps an [`Account`] installed; see [`Account::install`].
pub struct AccountGuard<'a> {
    account: &'a mut Account,
    outer: SavedMeter,
    /// The reservation of before, where this installation brought its own.
    reservation: Option<Option<Rc<dyn Reservation>>>,
}

impl Drop for AccountGuard<'_> {
    fn drop(&mut self) {
        let own = METER.with(|m| m.replace(self.outer));
        self.account.live = own.live;
        self.account.peak = own.peak;
        self.account.granted = own.granted;
        if let Some(outer) = self.reservation.take() {
            RESERVATION.set(outer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_charged_only_while_installed() {
        let mut account = Account::new(100);
        {
            let _installed = account.install();
            charge_memory(60);
            assert!(reserve(40).is_ok());
            assert!(reserve(41).is_err());
            credit_memory(10);
        }
        assert_eq!((account.live, account.peak), (50, 60));
        charge_memory(1000);
        credit_memory(1000);
        assert_eq!(account.live, 50);
    }

    struct Purse(Cell<u64>);

    impl Reservation for Purse {
        fn grow(&self, bytes: u64) -> bool {
            let left = self.0.get().checked_sub(bytes);
            left.map(|left| self.0.set(left)).is_some()
        }

        fn shrink(&self, bytes: u64) {
            self.0.set(self.0.get() + bytes);
        }
    }

    #[test]
    fn memory_is_borrowed_in_pieces_and_refused_when_nobody_lends() {
        let purse = Rc::new(Purse(Cell::new(4 << 20)));
        let mut account = Account::reserving(16 << 20);
        {
            let _installed = account.install_with(Some(purse.clone()), None);
            assert!(reserve(100).is_ok());
            assert_eq!(purse.0.get(), (4 << 20) - (16 << 10), "more than asked for, so that asking is rare");
            charge_memory(3 << 20);
            assert!(check_memory().is_ok());
            let error = reserve(2 << 20).unwrap_err();
            assert_eq!(error.message(), "the server's memory budget is exhausted");
            assert!(reserve((1 << 20) - 1000).is_ok(), "the last bytes are reserved exactly");
            let error = reserve(14 << 20).unwrap_err();
            assert_eq!(error.message(), "heap limit 16777216 bytes exceeded", "its own limit comes first");
            credit_memory(3 << 20);
        }
        account.release_surplus(&*purse);
        assert_eq!((account.granted, purse.0.get()), (16 << 10, (4 << 20) - (16 << 10)));
        let mut own = Account::new(10);
        let _installed = own.install();
        assert!(reserve(11).is_err(), "an account of its own asks nobody");
    }

    #[test]
    fn work_is_refused_at_its_limit() {
        let mut account = Account::new(100);
        let _installed = account.install();
        set_work_limit(10);
        assert!(charge_steps(10).is_ok());
        assert!(!exhausted());
        assert!(charge_steps(1).is_err());
        assert!(exhausted());
        assert_eq!(take_work(), 11);
    }
}
