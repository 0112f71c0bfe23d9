//! A stack for the work of a program, so that the program can pause at any depth of calls.
//!
//! A [`Stack`] is a coroutine that takes one piece of [`Work`] after the other. Paused work keeps its stack with its whole
//! state; finished work leaves a warm one to the next. The switch to a stack and back costs some 60 ns.
//!
//! The machine itself needs no native stack beyond a small bound (docs/design.md explains why), and the tests of `.ci/run` hold
//! it, the compiler and the library against threads of [`STACK_BYTES`]. Below each stack lies a guard page, so an overflow ends
//! the process, as it does on a thread. A worker keeps its stacks in a [`Pool`].

use super::running_turn::{self, is_wanted, turn_is_over};
use super::work::{Work, WorkResult};
use generator::{Generator, Gn, co_get_yield, co_yield_with};
use ptc_base::memory::MemoryBudget;
use ptc_vm::meter::{self, PauseAnswer, Pauses};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes of one stack; the system allocates only touched pages.
const STACK_BYTES: usize = 256 << 10;

/// Most stacks of one worker. If all are in use, paused work runs before new work begins.
const MOST_STACKS: usize = 256;

/// Most stacks of one principal's programs on a worker.
pub(super) const STACKS_OF_ONE: usize = MOST_STACKS / 4;

/// Stacks that a worker keeps when idle. They are part of a worker's cost, as its thread's own; only further ones are charged
/// to the process's memory.
const KEPT: usize = 2;

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
        running_turn::begin(wanted);
        let ended = self.coroutine.raw_send(work);
        running_turn::end();
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
    if is_wanted() { PauseAnswer::GoOn } else { PauseAnswer::CutShort }
}

/// Stacks that are idle, and the count of all.
pub(super) struct Pool {
    idle: Vec<Stack>,
    made: usize,
    memory: Option<MemoryBudget>,
}

impl Pool {
    /// No stacks yet.
    pub(super) fn new(memory: Option<MemoryBudget>) -> Pool {
        Pool { idle: Vec::new(), made: 0, memory }
    }

    /// An idle stack; `None` if all are in use and there is no memory for another.
    pub(super) fn take(&mut self) -> Option<Stack> {
        self.has_room().then(|| self.idle.pop()).flatten()
    }

    /// Whether there is an idle stack, which is made if need be.
    pub(super) fn has_room(&mut self) -> bool {
        if !self.idle.is_empty() {
            return true;
        }
        let charged = self.made >= KEPT;
        if self.made >= MOST_STACKS || (charged && !self.try_charge()) {
            return false;
        }
        let made = Stack::new();
        match made {
            Some(stack) => {
                self.made += 1;
                self.idle.push(stack);
                true
            }
            None => {
                if charged {
                    self.give_back();
                }
                false
            }
        }
    }

    /// Whether something is on a stack.
    pub(super) fn is_in_use(&self) -> bool {
        self.made > self.idle.len()
    }

    /// Takes back a stack that nothing is on.
    pub(super) fn put(&mut self, stack: Stack) {
        self.idle.push(stack);
        if self.idle.len() > KEPT {
            self.idle.pop();
            self.made -= 1;
            if self.made >= KEPT {
                self.give_back();
            }
        }
    }

    /// Frees those that are idle.
    pub(super) fn close(&mut self) {
        while self.idle.pop().is_some() {
            self.made -= 1;
            if self.made >= KEPT {
                self.give_back();
            }
        }
    }

    fn try_charge(&self) -> bool {
        self.memory.as_ref().is_none_or(|memory| memory.try_take(STACK_BYTES as u64))
    }

    fn give_back(&self) {
        if let Some(memory) = &self.memory {
            memory.give_back(STACK_BYTES as u64);
        }
    }
}
