//! Branches of `pmap` and `pcalls`: started in order, waiting together, collected in order.

use super::fiber::{Branch, Fiber, FiberId, FiberResumption, Fork};
use super::frame::ForkKind;
use super::stack::Args;
use super::{Machine, meter};
use crate::error::{Error, Reason, Result};
use crate::meter::MemoryCharge;
use crate::value::{Value, Vector};
use ahash::AHashSet;

/// The note on `pmap` and `pcalls` for a host that watches them; see [`Setup::note_forks`](super::Setup::note_forks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkNote {
    /// Which of the program's forks, from 0.
    pub number: u32,
    /// Which form.
    pub kind: ForkKind,
    /// Its branches.
    pub count: usize,
    /// Branches without a value, because they failed or were stopped; `None` while it begins.
    pub errors: Option<usize>,
}

impl ForkKind {
    /// The form's name.
    pub fn name(self) -> &'static str {
        match self {
            ForkKind::Pmap => "pmap",
            ForkKind::Pcalls => "pcalls",
        }
    }
}

impl Machine {
    /// Prepares a fork in `fiber`; the branches start when the scheduler comes to it.
    pub(super) fn fork(&mut self, fiber: &mut Fiber, kind: ForkKind, mut branches: Vec<(Value, Args)>) {
        branches.reverse();
        let (number, count) = (self.next_fork, branches.len());
        self.next_fork = number.wrapping_add(1);
        self.note_fork(ForkNote { number, kind, count, errors: None });
        let held = MemoryCharge::taken(branches.len() * Fork::BRANCH_BYTES);
        fiber.fork = Some(Box::new(Fork {
            number,
            kind,
            count,
            waiting: branches,
            branches: Vec::new(),
            running: 0,
            _held: held,
        }));
    }

    fn note_fork(&mut self, note: ForkNote) {
        if let Some(notes) = &mut self.fork_notes {
            notes.push(note);
        }
    }

    /// The notes on forks since the last time, if they are kept.
    pub fn take_fork_notes(&mut self) -> Vec<ForkNote> {
        self.fork_notes.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Starts the next branch of a forked fiber, or resumes the fiber when all have ended.
    ///
    /// A branch runs until it ends or waits before the next one starts, so that a fork holds fibers only for
    /// branches that wait.
    pub(super) fn start_branch(&mut self, parent: FiberId) {
        let Some(fiber) = &mut self.fibers[parent as usize] else { return };
        let Some(fork) = &mut fiber.fork else { return };
        let Some((callee, args)) = fork.waiting.pop() else {
            if fork.running == 0 {
                self.join(parent);
            }
            return;
        };
        let index = fork.branches.len() as u32;
        let mut branch = Fiber::new(FiberResumption::Call(callee, args));
        branch.parent = Some((parent, index));
        branch.own.remembered = fiber.own.remembered.clone();
        if fiber.own.output.is_captured() {
            branch.own.output.begin_capture();
        }
        branch.overlay = Some(fiber.overlay.clone().unwrap_or_default());
        fork.running += 1;
        let id = self.free_fibers.pop().unwrap_or_else(|| {
            self.fibers.push(None);
            (self.fibers.len() - 1) as FiberId
        });
        self.fibers[id as usize] = Some(Box::new(branch));
        if let Some(fork) = self.fibers[parent as usize].as_mut().and_then(|fiber| fiber.fork.as_mut()) {
            fork.branches.push(Branch::Running(id));
            if !fork.waiting.is_empty() {
                // Behind its branch, to start the next one once this one ends or waits.
                self.ready.push_front(parent);
            }
        }
        self.ready.push_front(id);
    }

    /// Keeps a branch's result. A failure stops the branches after it.
    pub(super) fn end_branch(
        &mut self,
        id: FiberId,
        mut fiber: Box<Fiber>,
        parent: FiberId,
        index: u32,
        result: Result<Value>,
    ) {
        let output = std::mem::take(&mut fiber.own.output);
        drop(fiber);
        self.free_fibers.push(id);
        let Some(parent_fiber) = &mut self.fibers[parent as usize] else { return };
        let Some(fork) = &mut parent_fiber.fork else { return };
        let failed = result.is_err();
        fork.branches[index as usize] = Branch::Done(result, output);
        fork.running -= 1;
        let mut cancelled = Vec::new();
        if failed {
            fork.waiting.clear();
            for branch in &mut fork.branches[index as usize + 1..] {
                if let Branch::Running(id) = *branch {
                    fork.running -= 1;
                    cancelled.push(id);
                }
                *branch = Branch::Cancelled;
            }
        }
        let done = fork.running == 0 && fork.waiting.is_empty();
        if !cancelled.is_empty() {
            self.cancel_fibers(cancelled);
        }
        if done {
            self.join(parent);
        }
    }

    /// Drops fibers and everything below them: their calls are no longer of interest.
    fn cancel_fibers(&mut self, mut doomed: Vec<FiberId>) {
        let mut gone = AHashSet::new();
        while let Some(id) = doomed.pop() {
            if let Some(fiber) = self.fibers[id as usize].take() {
                if let Some(call) = fiber.waiting_for {
                    self.waiting.remove(&call);
                }
                if let Some(fork) = &fiber.fork {
                    self.note_fork(fork.ended());
                    doomed.extend(fork.branches.iter().filter_map(|branch| match branch {
                        Branch::Running(id) => Some(*id),
                        _ => None,
                    }));
                }
            }
            gone.insert(id);
        }
        self.ready.retain(|ready| !gone.contains(ready));
        self.free_fibers.extend(gone);
        let waiting = &self.waiting;
        self.outgoing.retain(|call| waiting.contains_key(&call.id));
    }

    /// All branches have ended: the parent continues with their results, or with the first failure in order.
    fn join(&mut self, parent: FiberId) {
        let Some(fiber) = &mut self.fibers[parent as usize] else { return };
        let Some(fork) = fiber.fork.take() else { return };
        let kind = fork.kind;
        let note = fork.ended();
        let mut values = Vec::with_capacity(fork.branches.len());
        let mut failure = None;
        for (index, branch) in fork.branches.into_iter().enumerate() {
            let Branch::Done(result, output) = branch else { continue };
            fiber.own.output.append(output);
            match result {
                Ok(value) => values.push(value),
                Err(error) => {
                    failure = Some(branch_error(kind, index, error));
                    break;
                }
            }
        }
        meter::work(values.len() as u64);
        let failure = failure.or_else(|| fiber.own.output.check_attached(self.env.max_attached_bytes).err());
        fiber.next = Some(match failure {
            Some(error) => FiberResumption::Raise(error),
            None => FiberResumption::Value(Value::Vector(Vector::from_vec(values))),
        });
        self.note_fork(note);
        // A parent that is queued to start branches has none left to start.
        if !self.ready.contains(&parent) {
            self.ready.push_front(parent);
        }
    }

    /// `return` or `fail` in a branch (language.md 3.12).
    pub(super) fn exit_in_branch(&self, parent: FiberId, form: &str) -> Error {
        let kind = self.fibers[parent as usize]
            .as_ref()
            .and_then(|f| f.fork.as_ref())
            .map_or(ForkKind::Pmap, |f| f.kind);
        Error::verbatim(Reason::RuntimeError, format!("{form} called inside {}", kind.name()))
    }
}

fn branch_error(kind: ForkKind, index: usize, error: Error) -> Error {
    let position = error.position();
    // Faults of `tool/call` and of discovery are told by their text alone (upstreams.md 8.3).
    let message = error.message().strip_prefix("runtime_error: ").unwrap_or(error.message());
    match kind {
        ForkKind::Pmap => Error::new(Reason::PmapError, message),
        ForkKind::Pcalls => Error::new(Reason::PcallsError, format!("function {index}: {message}")),
    }
    .at(position)
}
