//! What the work on one input may take of memory and of processor time.
//!
//! The rule is that every byte and every cycle is on an account before it is taken. So a piece of work is bounded by what
//! it has charged, and by the length of its text, which is there before any account:
//!
//! * the bytes that the process holds at most while the work is done, beyond those of before, are at most
//!   the bytes that the work may hold, [`BYTES_OF_A_BYTE`] for each byte of text, and [`SPARE_BYTES`];
//! * the processor time of the process meanwhile is at most [`RUNAWAY`] times that of the steps charged, of
//!   [`STEPS_OF_A_BYTE`] for each byte of text, and of [`SPARE_STEPS`].
//! * the processor time of the thread between two places where a host can take it from the work is at most that of
//!   [`STEPS_AT_ONCE`].
//!
//! What a step takes is measured when the process starts, as it is built and where it runs: instrumentation makes both sides
//! slower. A step of the library may do as much as fifty of the loop that is measured, so [`RUNAWAY`] is ten times that:
//! it is no measure of speed, it finds work that nobody has charged.

use nix::time::{ClockId, clock_gettime};
use peak_alloc::PeakAlloc;
use ptc_vm::machine::{Limits, Setup};
use ptc_vm::meter::{PauseAnswer, Pauses, pausing};
use ptc_vm::{Machine, Step};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes that may be held for each byte of text without an account.
pub const BYTES_OF_A_BYTE: u64 = 64;
/// Bytes that any piece of work may hold beyond its account: what a worker keeps of patterns (4 MiB) and of the scratch memory of
/// searches (twice 2 MiB), as docs/reliability.md has it under "Accounts", tables that are made once, and the old block of one
/// that grows.
pub const SPARE_BYTES: u64 = 9 << 20;
/// Steps whose time each byte of text may take.
pub const STEPS_OF_A_BYTE: u64 = 4;
/// Steps whose time any piece of work may take.
pub const SPARE_STEPS: u64 = 5_000;
/// How many times the time of its steps a piece of work may take.
pub const RUNAWAY: u32 = 500;

/// Steps of the measured loop whose time the work may take without giving way: some ten milliseconds without instrumentation.
pub const STEPS_AT_ONCE: u64 = 2_500_000;

/// One measurement at a time: they measure the process.
static ALONE: Mutex<()> = Mutex::new(());

/// What a piece of work has charged to its accounts, or may charge.
#[derive(Clone, Copy, Debug, Default)]
pub struct Charged {
    /// Bytes held at once.
    pub bytes: u64,
    /// Steps.
    pub steps: u64,
    /// Whether it was to do all of it in one turn, so that it need not give way.
    pub in_one_turn: bool,
}

/// What a piece of work took of the process.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Most bytes held at once, beyond those of before.
    pub bytes: u64,
    /// Processor time of all threads.
    pub time: Duration,
    /// The longest processor time of the thread between two places where it can be taken.
    pub at_once: Duration,
}

/// What the thread has done since it could last be taken.
#[derive(Clone, Copy)]
struct Held {
    since: Duration,
    longest: Duration,
}

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { since: Duration::ZERO, longest: Duration::ZERO }) };
}

/// Notes that the thread could be taken here; it is not.
pub fn could_be_taken() -> bool {
    let (before, now) = (HELD.get(), clock(ClockId::CLOCK_THREAD_CPUTIME_ID));
    HELD.set(Held { since: now, longest: before.longest.max(now.saturating_sub(before.since)) });
    false
}

const PROBING: Pauses = Pauses { is_due: could_be_taken, pause: || PauseAnswer::GoOn };

/// Does `work` on `length` bytes of text, and sees that it takes what it says it has charged.
///
/// # Panics
/// If it takes more.
pub fn bounded<R>(what: &str, length: usize, work: impl FnOnce() -> (R, Charged)) -> R {
    LazyLock::force(&STEP);
    let ((result, charged), taken) = measured(work);
    if let Err(excess) = check(length, charged, taken) {
        panic!("{what} took {excess}");
    }
    result
}

/// Whether what was taken is within the bounds; else what is not.
///
/// # Errors
/// The figure and its bound.
pub fn check(length: usize, charged: Charged, taken: Taken) -> Result<(), String> {
    let length = length as u64;
    let bytes = charged.bytes + BYTES_OF_A_BYTE * length + SPARE_BYTES;
    if taken.bytes > bytes {
        return Err(format!(
            "{} bytes of memory, and should {bytes} at most: {length} bytes of text, {charged:?}",
            taken.bytes
        ));
    }
    let steps = charged.steps + STEPS_OF_A_BYTE * length + SPARE_STEPS;
    let time = time_of(steps) * RUNAWAY;
    if taken.time > time {
        return Err(format!(
            "{:?} of processor time, and should {time:?} at most: {length} bytes of text, {charged:?}",
            taken.time
        ));
    }
    let at_once = time_of(STEPS_AT_ONCE);
    if taken.at_once > at_once && !charged.in_one_turn {
        return Err(format!(
            "{:?} of processor time without giving way, and should {at_once:?} at most: {length} bytes of text, {charged:?}",
            taken.at_once
        ));
    }
    Ok(())
}

/// Does `work` and measures what it takes, alone.
pub fn measured<R>(work: impl FnOnce() -> R) -> (R, Taken) {
    // A broken promise is told by who found it; others go on.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (before, began) = (ALLOCATOR.current_usage(), processor_time());
    ALLOCATOR.reset_peak_usage();
    HELD.set(Held { since: clock(ClockId::CLOCK_THREAD_CPUTIME_ID), longest: Duration::ZERO });
    let result = pausing(PROBING, work);
    could_be_taken();
    let time = processor_time().saturating_sub(began);
    let bytes = ALLOCATOR.peak_usage().saturating_sub(before) as u64;
    (result, Taken { bytes, time, at_once: HELD.get().longest })
}

fn processor_time() -> Duration {
    clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn clock(clock: ClockId) -> Duration {
    clock_gettime(clock).expect("the clock of a process or a thread is there").into()
}

/// Processor time of so many steps of a plain loop.
fn time_of(steps: u64) -> Duration {
    Duration::from_secs_f64(*STEP * steps as f64)
}

/// Seconds of one step: shorter than a [`Duration`] can tell.
static STEP: LazyLock<f64> = LazyLock::new(|| {
    const LOOP: &str = "(loop [i 0 sum 0] (if (< i 5000) (recur (inc i) (+ sum i)) sum))";
    let options = ptc_compiler::CompileOptions::default();
    let library = ptc_vm::builtins::library();
    let program = Rc::new(ptc_compiler::compile(LOOP, library, &options).expect("it compiles"));
    let round = || {
        let setup = Setup { limits: Limits { steps: u64::MAX, ..Limits::default() }, ..Setup::new(library) };
        let (steps, taken) = measured(|| {
            let mut machine = Machine::new(program.clone(), setup);
            while !matches!(machine.resume(u64::MAX), Step::Done) {}
            machine.finish(true).steps
        });
        taken.time.as_secs_f64() / steps as f64
    };
    (0..5).map(|_| round()).fold(f64::INFINITY, f64::min)
});

/// One test at a time: what another one allocates would count.
#[cfg(test)]
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::panic::catch_unwind;

    /// Keeps the processor busy for `steps` steps of the loop.
    fn busy(steps: u64) {
        let end = processor_time() + time_of(steps);
        while processor_time() < end {
            black_box((0..1_000_u64).sum::<u64>());
        }
    }

    /// The same, with places where the thread could be taken.
    fn busy_in_turns(steps: u64) {
        for _ in 0..16 {
            busy(steps / 16);
            could_be_taken();
        }
    }

    fn says<R>(work: impl FnOnce() -> R + std::panic::UnwindSafe) -> String {
        let panic = catch_unwind(work).err().expect("it is greedy");
        panic.downcast_ref::<String>().expect("a text").clone()
    }

    #[test]
    fn who_takes_memory_without_an_account_is_found() {
        let _alone = alone();
        let greedy = || {
            bounded("greed", 100, || {
                (black_box(vec![0_u8; SPARE_BYTES as usize + (1 << 20)]).len(), Charged::default())
            })
        };
        assert!(says(greedy).contains("bytes of memory"));
        let honest = || {
            let bytes = SPARE_BYTES as usize + (1 << 20);
            (black_box(vec![0_u8; bytes]).len(), Charged { bytes: bytes as u64, ..Charged::default() })
        };
        assert_eq!(bounded("honesty", 100, honest) as u64, SPARE_BYTES + (1 << 20));
    }

    #[test]
    fn who_gives_back_at_once_is_found_as_well() {
        let _alone = alone();
        let greedy = || {
            (0..3).for_each(|_| drop(black_box(vec![0_u8; SPARE_BYTES as usize + (1 << 20)])));
            ((), Charged::default())
        };
        assert!(says(|| bounded("greed", 0, greedy)).contains("bytes of memory"));
    }

    #[test]
    fn who_works_without_charging_steps_is_found() {
        let _alone = alone();
        let most = u64::from(RUNAWAY) * (SPARE_STEPS + STEPS_OF_A_BYTE * 100);
        let greedy = || bounded("greed", 100, || (busy(most * 2), Charged::default()));
        assert!(says(greedy).contains("processor time"));
        let steps = 3 * SPARE_STEPS;
        bounded("honesty", 100, || (busy_in_turns(most * 2), Charged { steps, ..Charged::default() }));
    }

    #[test]
    fn who_does_not_give_way_is_found() {
        let _alone = alone();
        let charged = Charged { steps: 4 * STEPS_AT_ONCE, ..Charged::default() };
        let greedy = || bounded("greed", 0, || (busy(2 * STEPS_AT_ONCE), charged));
        assert!(says(greedy).contains("without giving way"));
        bounded("honesty", 0, || (busy_in_turns(2 * STEPS_AT_ONCE), charged));
    }

    #[test]
    fn who_has_others_work_is_found() {
        let _alone = alone();
        let most = u64::from(RUNAWAY) * SPARE_STEPS;
        let greedy = || {
            std::thread::spawn(move || busy(most * 2)).join().expect("it ends");
            ((), Charged::default())
        };
        assert!(says(|| bounded("greed", 0, greedy)).contains("processor time"));
    }
}
