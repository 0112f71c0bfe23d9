//! Giving way in the middle of a builtin.
//!
//! A host that runs its machines on separate stacks may stop one at any depth of calls and run another. It gives [`pausing`]
//! two functions: whether it is time to yield, and how. They are called wherever the clock is read: each [`LOOK`](super::LOOK)
//! steps of one builtin's work, whenever memory is reserved, and in work that costs no steps ([`uncharged`]), such as freeing.
//! Without such a host nothing here has any effect.
//!
//! Other work on the thread must find it as if there were no paused work. So all thread-locals of this crate that last from one
//! charge to the next are put away for the time of a pause ([`PausedState`]). A thread-local must not stay borrowed during a pause:
//! code that borrows one neither charges nor drops values until the borrow ends.

use super::{LOOK, METER, Meter, OVERDRAFT, RESERVATION, Reservation, SavedMeter, has_passed, overdue};
use crate::error::Result;
use crate::value::{DeferredDrop, MissedKeys, replace_missed};
use std::rc::Rc;

/// A host's hooks for taking the thread from running work.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Whether others should have the thread now. Called often, so it should cost no more than reading a clock.
    pub is_due: fn() -> bool,
    /// Comes back when the work has the thread again.
    pub pause: fn() -> PauseAnswer,
}

/// The host's answer to work that has paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseAnswer {
    /// It continues.
    GoOn,
    /// Its result is of no interest any more: everything is refused as if the time was over, so that it ends soon.
    CutShort,
}

/// Uncharged units of work between two questions whether to pause: less than a tenth of a millisecond's.
const UNCHARGED_BETWEEN_LOOKS: u32 = 2_000;

/// Runs `work`, which pauses where `pauses` says so. Nothing else may be charged on this thread when it is called.
pub fn pausing<R>(pauses: Pauses, work: impl FnOnce() -> R) -> R {
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            METER.with(|m| m.pauses.set(None));
        }
    }
    METER.with(|m| {
        m.pauses.set(Some(pauses));
        m.work.set(0);
        m.work_limit.set(LOOK);
    });
    let _ends = Ends;
    work()
}

/// Counts work that costs the program no steps and cannot be refused, such as freeing or measuring so many values, and yields
/// after much of it.
#[inline]
pub fn uncharged(values: usize) {
    METER.with(|m| {
        let uncharged = m.uncharged.get().saturating_add(u32::try_from(values).unwrap_or(u32::MAX));
        m.uncharged.set(uncharged);
        if uncharged >= UNCHARGED_BETWEEN_LOOKS {
            m.uncharged.set(0);
            give_way(m);
        }
    });
}

/// Yields, if the host wants it, in work whose steps have been charged before it; refuses when the program's time is over.
pub(crate) fn pause() -> Result<()> {
    METER.with(|m| {
        if !m.deadline.get().is_some_and(|deadline| has_passed(m, deadline)) {
            give_way(m);
        }
    });
    overdue().map_or(Ok(()), Err)
}

/// Pauses if the host wants it.
#[cold]
#[inline(never)]
pub(super) fn give_way(m: &Meter) {
    let Some(pauses) = m.pauses.get() else { return };
    if !(pauses.is_due)() {
        return;
    }
    let inside = PausedState::put_away(m);
    let resumed = (pauses.pause)();
    inside.put_back(m);
    if resumed == PauseAnswer::CutShort && m.deadline.get().is_some() {
        m.overdue.set(true);
        m.work.set(OVERDRAFT);
    }
}

/// The state of paused work: the thread-locals of this crate that have a meaning between two charges.
struct PausedState {
    meter: SavedMeter,
    pauses: Option<Pauses>,
    reservation: Option<Rc<dyn Reservation>>,
    deferred: DeferredDrop,
    missed: MissedKeys,
}

impl PausedState {
    fn put_away(m: &Meter) -> PausedState {
        PausedState {
            meter: m.replace(SavedMeter::NOTHING),
            pauses: m.pauses.take(),
            reservation: RESERVATION.take(),
            deferred: DeferredDrop::take(),
            missed: replace_missed(MissedKeys::default()),
        }
    }

    fn put_back(self, m: &Meter) {
        m.replace(self.meter);
        m.pauses.set(self.pauses);
        RESERVATION.set(self.reservation);
        self.deferred.put_back();
        replace_missed(self.missed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        Account, charge_memory, charge_steps, exhausted, pending_work, set_work_limit, take_work,
    };
    use super::*;
    use crate::value::Value;
    use std::cell::Cell;

    thread_local! {
        static PAUSED: Cell<u32> = const { Cell::new(0) };
    }

    /// Acts as another machine would meanwhile.
    fn another_machine() -> PauseAnswer {
        PAUSED.set(PAUSED.get() + 1);
        let mut account = Account::new(1000);
        {
            let _installed = account.install();
            set_work_limit(10);
            charge_memory(7);
            assert!(charge_steps(100).is_err());
            drop(deep(100));
        }
        assert_eq!(account.live, 7);
        PauseAnswer::GoOn
    }

    const ALWAYS: Pauses = Pauses { is_due: || true, pause: another_machine };

    fn deep(levels: usize) -> Value {
        (0..levels).fold(Value::Nil, |inner, _| Value::Vector([inner].into_iter().collect()))
    }

    #[test]
    fn work_goes_on_after_a_pause_as_if_there_had_been_none() {
        let mut account = Account::new(100_000);
        pausing(ALWAYS, || {
            let _installed = account.install();
            set_work_limit(100 * LOOK);
            charge_memory(50);
            for _ in 0..100 {
                assert!(charge_steps(LOOK / 2).is_ok());
            }
            assert_eq!(pending_work(), 50 * LOOK);
            assert!(!exhausted());
        });
        assert_eq!(account.live, 50);
        assert!(PAUSED.get() >= 20, "{}", PAUSED.get());
        take_work();
    }

    #[test]
    fn freeing_gives_way_and_frees_everything() {
        let mut account = Account::new(100_000_000);
        {
            let _installed = account.install();
            let wide: Value = Value::Vector((0..10_000).map(|_| deep(40)).collect());
            pausing(ALWAYS, || drop(wide));
        }
        assert_eq!(account.live, 0);
        assert!(PAUSED.get() >= 20, "{}", PAUSED.get());
    }

    #[test]
    fn what_is_shown_of_a_result_gives_way_while_it_is_written_and_counted() {
        let wide = Value::Vector((0..100_000).map(|_| Value::Vector([].into_iter().collect())).collect());
        for most in [100, usize::MAX] {
            PAUSED.set(0);
            pausing(ALWAYS, || crate::print::render_capped(&wide, most, crate::print::Budget::default()));
            assert!(PAUSED.get() >= 40, "{most}: {}", PAUSED.get());
        }
    }

    #[test]
    fn previews_of_shared_trees_give_way() {
        let tree =
            (0..60).fold(Value::Nil, |inner, _| Value::Map([(inner.clone(), inner)].into_iter().collect()));
        pausing(ALWAYS, || crate::print::literal(&tree));
        assert!(PAUSED.get() >= 20, "{}", PAUSED.get());
    }

    #[test]
    fn work_that_nobody_wants_is_cut_short() {
        let over = Pauses { is_due: || true, pause: || PauseAnswer::CutShort };
        let deadline = super::super::Deadline { clock: || 0, at: 1, allowed_ms: 1 };
        let mut account = Account::new(100_000);
        pausing(over, || {
            let _installed = account.install_with(None, Some(deadline));
            set_work_limit(u64::MAX);
            while charge_steps(100).is_ok() {}
            assert!(exhausted());
        });
        let still = Cell::new(0);
        pausing(Pauses { is_due: || false, ..over }, || {
            let _installed = account.install_with(None, Some(deadline));
            (0..1000).for_each(|_| still.set(still.get() + u32::from(charge_steps(1000).is_ok())));
        });
        assert_eq!(still.get(), 1000);
    }
}
