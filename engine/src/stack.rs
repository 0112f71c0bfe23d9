//! A stack for the work of a program, so that the program can pause at any depth of calls.
//!
//! A [`Stack`] is a coroutine that takes one piece of [`Work`] after the other. Paused work keeps its stack with its whole
//! state; finished work leaves a warm one to the next. The switch to a stack and back costs some 60 ns.
//!
//! The machine itself needs no native stack beyond a small bound (docs/design.md explains why), and the tests of `.ci/run` hold
//! it, the compiler and the library against threads of [`STACK_BYTES`]. Below each stack lies a guard page, so an overflow ends
//! the process, as it does on a thread.

use super::limits::whole_nanos;
use super::work::{Work, WorkResult};
use generator::{Generator, Gn, co_get_yield, co_yield_with};
use ptc_base::time::{self, Clock, Instant};
use ptc_vm::meter::{self, PauseAnswer, Pauses};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::Duration;

/// Bytes of one stack; the system allocates only touched pages.
pub(super) const STACK_BYTES: usize = 256 << 10;

/// How long a program has the thread before others have their turn.
pub(super) const TURN: Duration = Duration::from_micros(500);

/// How a turn ended.
pub(super) enum TurnEnd {
    /// The work is done.
    Done(WorkResult),
    /// It continues in its next turn.
    Paused,
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
}

/// The input of a stack: work to begin. Continued work, and a stack that is to end, get none.
type StackInput = Work;

/// A stack, idle or with work in the middle.
pub(super) struct Stack {
    coroutine: Generator<'static, StackInput, TurnEnd>,
    has_paused: bool,
}

thread_local! {
    /// When the turn of the work that has the thread is over, in nanoseconds of [`nanoseconds`]; 0 before its first look at the
    /// clock.
    static TURN_ENDS: Cell<u64> = const { Cell::new(0) };
    /// Whether the result of the work that has the thread is still of interest.
    static WANTED: Cell<bool> = const { Cell::new(true) };
    /// Whether some work has the thread, on a stack of its own.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
}

impl Stack {
    /// A new one; `None` if the system has no memory for it.
    pub(super) fn new() -> Option<Stack> {
        // A stack that cannot be had is a panic of the crate.
        let made = catch_unwind(|| Gn::<StackInput>::new_opt(STACK_BYTES / size_of::<usize>(), take_work));
        let mut coroutine = made.ok()?;
        // Any address will do: it makes the generator one whose work finds it by itself.
        coroutine.set_local_data(std::ptr::dangling_mut());
        Some(Stack { coroutine, has_paused: false })
    }

    /// Begins `work`, for one turn. The stack must be idle.
    pub(super) fn begin(&mut self, work: Work) -> TurnEnd {
        debug_assert!(!self.has_paused, "one piece of work at a time");
        self.turn(Some(work), true)
    }

    /// Continues paused work for one turn. If its result is not `wanted`, it ends as soon as it can.
    pub(super) fn go_on(&mut self, wanted: bool) -> TurnEnd {
        debug_assert!(self.has_paused, "there is something to go on with");
        self.turn(None, wanted)
    }

    /// Lets paused work run to its end, which is soon.
    pub(super) fn end(&mut self) {
        while self.has_paused {
            let _ = self.go_on(false);
        }
    }

    fn turn(&mut self, work: Option<Work>, wanted: bool) -> TurnEnd {
        TURN_ENDS.set(0);
        WANTED.set(wanted);
        RUNNING.set(true);
        let ended = self.coroutine.raw_send(work);
        RUNNING.set(false);
        WANTED.set(true);
        // Only an overflow ends a stack without a word, and nothing that lay on it has been dropped.
        let Some(ended) = ended else { std::process::abort() };
        self.has_paused = matches!(ended, TurnEnd::Paused);
        ended
    }
}

impl Drop for Stack {
    /// Leaves nothing on the stack.
    fn drop(&mut self) {
        self.end();
        let _ = self.coroutine.raw_send(None);
    }
}

/// The life of a stack: one piece of work after the other, until it is sent nothing.
fn take_work() -> TurnEnd {
    while let Some(work) = co_get_yield::<StackInput>() {
        let done = catch_unwind(AssertUnwindSafe(|| meter::pausing(PAUSES, || work.run())));
        co_yield_with(done.map_or_else(TurnEnd::Panicked, TurnEnd::Done));
    }
    TurnEnd::Paused
}

const PAUSES: Pauses = Pauses { is_due: turn_is_over, pause };

fn pause() -> PauseAnswer {
    co_yield_with(TurnEnd::Paused);
    if WANTED.get() { PauseAnswer::GoOn } else { PauseAnswer::CutShort }
}

/// Whether the work that has the thread should leave it to others. The turn begins with the first question: work that ends
/// before it asks needs no clock.
pub(super) fn turn_is_over() -> bool {
    if !RUNNING.get() {
        return true;
    }
    // What unwinds is not interrupted: the thread would count as panicking for everyone.
    if std::thread::panicking() {
        return false;
    }
    let (now, ends) = (nanoseconds(), TURN_ENDS.get());
    if ends == 0 {
        TURN_ENDS.set(now + TURN.as_nanos() as u64);
    }
    ends != 0 && now >= ends
}

/// Whether some work has this thread, on a stack of its own: other work cannot begin before it pauses.
pub(super) fn is_running() -> bool {
    RUNNING.get()
}

/// Whether the result of the work that has the thread is still of interest.
pub(super) fn is_wanted() -> bool {
    WANTED.get()
}

/// Nanoseconds since the first call of this function in the process.
pub(super) fn nanoseconds() -> u64 {
    nanoseconds_at(time::now())
}

/// The same clock at another moment.
pub(super) fn nanoseconds_at(moment: Instant) -> u64 {
    whole_nanos(moment.saturating_duration_since(first()))
}

/// By the system's clock: threads may have others.
fn first() -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    *FIRST.get_or_init(|| Clock::default().now())
}
