//! The stacks of one worker.

use super::stack::{STACK_BYTES, Stack};
use ptc_base::memory::MemoryBudget;

/// Most stacks of one worker. If all are in use, paused work runs before new work begins.
const MOST_STACKS: usize = 256;

/// Most stacks of one principal's programs on a worker.
pub(super) const STACKS_OF_ONE: usize = MOST_STACKS / 4;

/// Stacks that a worker keeps when idle. They are part of a worker's cost, as its thread's own; only further ones are charged
/// to the process's memory.
const KEPT: usize = 2;

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
