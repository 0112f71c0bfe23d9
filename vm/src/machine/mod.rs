//! The stack machine: resumable, metered, without I/O.
//!
//! [`Machine::resume`] runs a program for a slice of fuel and says why it stopped. Host calls come out with
//! [`Machine::take_calls`], all branches' calls of a `pmap` at once, and their replies go in with
//! [`Machine::complete`] in any order. The result does not depend on that order, and neither it nor the number
//! of steps depends on the size of the slices.

mod absent_names;
mod builtin;
mod call;
mod call_stack;
mod called_program;
mod ctx;
mod env;
mod fiber;
mod fiber_state;
mod fingerprint;
mod fork;
mod frame;
mod fuel;
mod host_call;
mod instructions;
mod interpreter;
mod library;
mod linking;
mod namespace;
mod native;
mod operations;
mod output;
mod program_call;
mod program_catalog;
mod restoring;
mod snapshot;
mod stack;
mod unbound_names;

pub use crate::json::ToolArguments;
pub use builtin::{Arities, Builtin, Example, Examples, FrameFn, Native, PlainFn, Section, SeriesFn};
pub use called_program::{CalledProgram, ProgramChecks};
pub use ctx::{CallNow, Ctx};
pub use fingerprint::fingerprint;
pub use fork::ForkNote;
pub(crate) use frame::FrameRow;
pub use frame::{AnyFrame, Flow, ForkKind, FrameKind, Input, NativeFrame, Reentry};
pub(crate) use host_call::PAGING;
pub use host_call::{
    ArgumentsError, BlockMember, CallId, ContentBlock, Feature, FeatureRequest, HostRequest, MOST_SLEEP_MS,
    Payload, PendingCall, Reply, UpstreamCall,
};
pub(crate) use library::LibraryParts;
pub use library::{Library, NameMeaning};
pub use namespace::{Binding, Namespace};
pub(crate) use operations::keyword_arguments;
pub(crate) use output::Capture;
pub use program_call::ProgramCall;

pub use program_catalog::{ListedProgram, ProgramCatalog, ProgramCatalogSource};
pub use restoring::Restoring;
#[cfg(test)]
pub(crate) use snapshot::testing;
pub use snapshot::{
    CodeDigest, PartReader, PartWriter, Portable, RestoreError, RestoreSetup, RestoredMachine, Snapshot,
    SnapshotError, SnapshotSetup, text_of_snapshot,
};
pub(crate) use snapshot::{described, portable};
pub use stack::{Args, Stack};
pub use unbound_names::qualified_hint;

use crate::code::Program;
use crate::error::{Error, Reason, Result};
use crate::meter::{self, Account, Deadline, MemoryCharge, Reservation};
use crate::value::{
    Blob, Captures, Closure, Layouts, Map, MissedKey, MissedKeys, PaidPatterns, Str, Value, take_missed,
};
use ahash::AHashMap;
use env::Env;
use fiber::{Fiber, FiberId, FiberResumption};
use interpreter::FiberStop;
use output::Output;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::rc::Rc;

/// The resources that a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of live values and stacks.
    pub memory_bytes: u64,
    /// Steps: instructions, plus the work of builtins.
    pub steps: u64,
}

impl Default for Limits {
    /// The defaults of ruling 5: 10 MiB, and the steps of one second.
    fn default() -> Limits {
        Limits { memory_bytes: 10 * 1024 * 1024, steps: 25_000_000 }
    }
}

/// The initial state of a program.
pub struct Setup {
    /// The library, and definitions of earlier programs over it. The machine returns it in its [`Outcome`].
    pub namespace: Namespace,
    /// The granted context: a map, or `nil`.
    pub context: Value,
    /// Whether reading a missing context key is an error.
    pub strict_data: bool,
    /// Results of the last three programs, latest first.
    pub history: [Value; 3],
    /// The value of `budget/remaining`.
    pub budget: Value,
    /// Stored task values, if the host keeps a journal.
    pub journal: Option<Map>,
    /// Bytes of binary content that the program may attach to its reply in all; 0: none at all.
    pub max_attached_bytes: u64,
    /// Names of the tools that `(tool/NAME …)` reaches; empty if there are none.
    pub tools: Vec<Rc<str>>,
    /// Whether `tool/call` and upstream discovery exist.
    pub upstreams: bool,
    /// Whether notes on `pmap` and `pcalls` are kept for [`Machine::take_fork_notes`].
    pub note_forks: bool,
    /// Limits.
    pub limits: Limits,
    /// The lender of memory within the limit; without it nothing is reserved.
    pub reservation: Option<Rc<dyn Reservation>>,
    /// When the program has to end even in the middle of a builtin. Between slices the host looks at its clock by itself.
    pub deadline: Option<Deadline>,
    /// When the program starts, in milliseconds since 1970-01-01T00:00:00Z: the one time that it sees.
    pub started_at: i64,
    /// The call that `(tool/call)` without arguments makes, once: one whose arguments need not become values.
    pub prepared_call: Option<Box<UpstreamCall>>,
}

impl Setup {
    /// The usual, with the functions of `library` and nothing defined.
    pub fn new(library: &'static Library) -> Setup {
        Setup {
            namespace: Namespace::new(library),
            context: Value::Nil,
            strict_data: false,
            history: Default::default(),
            budget: Value::Map(Map::new()),
            journal: None,
            max_attached_bytes: 0,
            tools: Vec::new(),
            upstreams: false,
            note_forks: false,
            limits: Limits::default(),
            reservation: None,
            deadline: None,
            started_at: 0,
            prepared_call: None,
        }
    }
}

/// Why [`Machine::resume`] came back.
#[derive(Debug)]
pub enum Step {
    /// The program has ended; [`Machine::finish`] returns its outcome.
    Done,
    /// Nothing can run until a call completes.
    Wait,
    /// The slice is used up.
    Slice,
}

/// How a program ended.
pub struct Outcome {
    /// Its value, or why it failed.
    pub result: Result<Value>,
    /// The print log, kept for any result (ruling 17).
    pub prints: Vec<Str>,
    /// Its attachments to its reply, in order; within the limit unless it failed for exceeding it.
    pub attached: Vec<Rc<Blob>>,
    /// Notes of builtins on values that they left something out of, and of the compiler on numbers that it reads as others; the
    /// first few.
    pub notes: Vec<Str>,
    /// The namespace: with the program's definitions if it succeeded, as it was before otherwise.
    pub namespace: Namespace,
    /// Names whose value the program changed, sorted.
    pub changed: Vec<Rc<str>>,
    /// The journal, if the host gave one; kept for any result.
    pub journal: Option<Map>,
    /// The notes of `step-done`: id and text.
    pub summaries: Vec<(Str, Value)>,
    /// Steps used.
    pub steps: u64,
    /// Most bytes held at a time.
    pub memory_peak: u64,
    /// Whether `(return …)` ended it, rather than its last form or a failure.
    pub returned: bool,
    /// Keys that it looked for in maps of tools' results, which have others; the first few.
    pub missed_keys: Vec<MissedKey>,
    /// Those of them that it looked for in rows, three times at least, and that no result has. None after a snapshot.
    pub unknown_keys: Vec<MissedKey>,
}

/// A program in execution. Belongs to one thread.
pub struct Machine {
    env: Env,
    /// The program, if it could be linked.
    program: Option<Rc<Program>>,
    /// Slots of the namespace before the program was linked.
    slots_before: usize,
    fibers: Vec<Option<Box<Fiber>>>,
    free_fibers: Vec<FiberId>,
    ready: VecDeque<FiberId>,
    waiting: AHashMap<CallId, FiberId>,
    outgoing: SmallVec<[PendingCall; 1]>,
    next_call: CallId,
    next_fork: u32,
    /// Present if they are kept.
    fork_notes: Option<Vec<ForkNote>>,
    account: Account,
    /// The patterns that the program has paid for, until the machine is gone.
    _paid: PaidPatterns,
    reservation: Option<Rc<dyn Reservation>>,
    deadline: Option<Deadline>,
    limits: Limits,
    steps_used: u64,
    ended: Option<Result<Value>>,
    /// Whether `(return …)` ended it.
    returned: bool,
    missed: MissedKeys,
    output: Output,
}

const ROOT: FiberId = 0;

/// Most bytes that one call sends to the host, unless the host sets another limit ([`Machine::set_max_request_bytes`]).
pub const MAX_REQUEST_BYTES: usize = 4 << 20;

/// Work that comparing old definitions with new ones may cost; beyond it a definition counts as changed.
const CHANGE_DETECTION_STEPS: u64 = 1_000_000;

impl Machine {
    /// A machine that will run `program`. A program that cannot be linked (undefined names, unknown tools)
    /// ends at the first [`resume`](Machine::resume).
    pub fn new(program: Rc<Program>, setup: Setup) -> Machine {
        let mut namespace = setup.namespace;
        let slots_before = namespace.slots();
        let mut account = Account::reserving(setup.limits.memory_bytes);
        let linked = linking::link(program, &mut namespace, &setup.tools);
        let own = linked.as_ref().ok().map(|module| module.program.clone());
        let (fibers, ended) = match linked {
            Ok(module) => {
                let _installed = account.install_with(setup.reservation.clone(), None);
                let main = Closure::new(module, 0, Captures::new(Default::default()));
                let mut fiber = Fiber::new(FiberResumption::Call(Value::Closure(main), Args::new()));
                for note in own.iter().flat_map(|program| &program.notes) {
                    fiber.own.output.note(Str::new(note));
                }
                (vec![Some(Box::new(fiber))], None)
            }
            Err(error) => (vec![None], Some(Err(error))),
        };
        Machine {
            program: own,
            env: Env {
                namespace,
                undo: Vec::new(),
                context: setup.context,
                strict_data: setup.strict_data,
                history: setup.history,
                budget: setup.budget,
                journal: setup.journal,
                summaries: Vec::new(),
                max_attached_bytes: setup.max_attached_bytes,
                tools: setup.tools,
                upstreams: setup.upstreams,
                max_request_bytes: MAX_REQUEST_BYTES,
                layouts: Layouts::default(),
                calls_programs: false,
                program_checks: None,
                program_catalog: None,
                started_at: setup.started_at,
                prepared_call: setup.prepared_call,
            },
            slots_before,
            ready: if ended.is_none() { VecDeque::from([ROOT]) } else { VecDeque::new() },
            fibers,
            free_fibers: Vec::new(),
            waiting: AHashMap::new(),
            outgoing: SmallVec::new(),
            next_call: 0,
            next_fork: 0,
            fork_notes: setup.note_forks.then(Vec::new),
            _paid: PaidPatterns::of(&account),
            account,
            reservation: setup.reservation,
            deadline: setup.deadline,
            limits: setup.limits,
            steps_used: 0,
            ended,
            returned: false,
            missed: MissedKeys::default(),
            output: Output::default(),
        }
    }

    /// Runs until the end, until nothing can run without the host, or until about `fuel` steps are used.
    pub fn resume(&mut self, fuel: u64) -> Step {
        if self.ended.is_some() {
            return Step::Done;
        }
        let mut account = self.account;
        let step = {
            let _installed = account.install_with(self.reservation.clone(), self.deadline);
            self.run_fibers(fuel)
        };
        if let Some(reservation) = &self.reservation {
            account.release_surplus(&**reservation);
        }
        self.account = account;
        take_missed(&mut self.missed);
        step
    }

    /// Whether the program looked for a key that a tool's result does not have.
    pub fn has_missed_keys(&self) -> bool {
        !self.missed.is_empty()
    }

    fn run_fibers(&mut self, fuel: u64) -> Step {
        let mut fuel = i64::try_from(fuel).unwrap_or(i64::MAX);
        while let Some(id) = self.ready.pop_front() {
            let Some(mut fiber) = self.fibers[id as usize].take() else { continue };
            let left = self.limits.steps.saturating_sub(self.steps_used);
            let slice = fuel.min(i64::try_from(left).unwrap_or(i64::MAX));
            let mut meter = fuel::Fuel::new(slice, left);
            let stop = self.run_fiber(id, &mut fiber, &mut meter);
            let used = meter.used();
            self.steps_used = self.steps_used.saturating_add(used);
            fuel = fuel.saturating_sub(i64::try_from(used).unwrap_or(i64::MAX));
            let over_steps = self.steps_used > self.limits.steps;
            if let Some(error) = meter::overdue() {
                return self.end(fiber, Err(error));
            }
            match stop {
                Ok(FiberStop::Slice) if !over_steps && self.steps_used < self.limits.steps => {
                    self.fibers[id as usize] = Some(fiber);
                    self.ready.push_front(id);
                    if fuel <= 0 {
                        return Step::Slice;
                    }
                }
                Ok(FiberStop::Slice) => return self.end(fiber, Err(Error::steps(self.limits.steps))),
                _ if over_steps => return self.end(fiber, Err(Error::steps(self.limits.steps))),
                Ok(FiberStop::Wait) => {
                    fiber.settle();
                    self.fibers[id as usize] = Some(fiber);
                }
                Ok(FiberStop::Forked) => {
                    fiber.settle();
                    self.fibers[id as usize] = Some(fiber);
                    self.start_branch(id);
                }
                Ok(FiberStop::Done(value)) => match fiber.parent {
                    None => return self.end(fiber, Ok(value)),
                    Some((parent, index)) => self.end_branch(id, fiber, parent, index, Ok(value)),
                },
                // `return` in a kept program that was called ends that one.
                Ok(FiberStop::Halt(value)) if self.env.calls_programs && self.unwind_to_call(&mut fiber) => {
                    fiber.next = Some(FiberResumption::Value(value));
                    self.fibers[id as usize] = Some(fiber);
                    self.ready.push_front(id);
                }
                Ok(FiberStop::Halt(value)) => match fiber.parent {
                    None => {
                        self.returned = true;
                        return self.end(fiber, Ok(value));
                    }
                    Some((parent, index)) => {
                        let error = self.exit_in_branch(parent, "return");
                        self.end_branch(id, fiber, parent, index, Err(error));
                    }
                },
                Ok(FiberStop::Fail(error)) => match fiber.parent {
                    None => return self.end(fiber, Err(error)),
                    Some((parent, index)) => {
                        let error = self.exit_in_branch(parent, "fail");
                        self.end_branch(id, fiber, parent, index, Err(error));
                    }
                },
                Err(error) if error.reason() == Reason::StepLimitExceeded => {
                    self.steps_used = self.limits.steps;
                    return self.end(fiber, Err(Error::steps(self.limits.steps)));
                }
                Err(error) => match fiber.parent {
                    Some((parent, index)) if error.reason() != Reason::MemoryExceeded => {
                        self.end_branch(id, fiber, parent, index, Err(error));
                    }
                    _ => return self.end(fiber, Err(error)),
                },
            }
        }
        Step::Wait
    }

    /// Ends the program. Prints of branches that have not ended follow those of the program itself.
    fn end(&mut self, mut fiber: Box<Fiber>, result: Result<Value>) -> Step {
        if fiber.parent.is_none() {
            self.output.append(std::mem::take(&mut fiber.own.output));
        } else {
            let tail = std::mem::take(&mut fiber.own.output);
            if let Some(root) = &mut self.fibers[ROOT as usize] {
                self.output.append(std::mem::take(&mut root.own.output));
            }
            self.output.append(tail);
        }
        drop(fiber);
        self.fibers.clear();
        self.ready.clear();
        self.waiting.clear();
        self.outgoing.clear();
        self.steps_used = self.steps_used.min(self.limits.steps);
        self.ended = Some(result.and_then(self.env.namespace.library().parts.result));
        Step::Done
    }

    /// The output so far. Grows at its end only; the output of branches is added when they are joined.
    pub fn printed(&self) -> &[Str] {
        match self.fibers.first() {
            Some(Some(root)) if self.ended.is_none() => &root.own.output.prints,
            _ => &self.output.prints,
        }
    }

    /// The calls made since the last time.
    pub fn take_calls(&mut self) -> SmallVec<[PendingCall; 1]> {
        std::mem::take(&mut self.outgoing)
    }

    /// Answers a call. The reply is made into a value here and charged to the program. A reply to a call
    /// that is unknown, answered or no longer of interest is dropped.
    pub fn complete(&mut self, call: CallId, reply: Reply) {
        let Some(id) = self.waiting.remove(&call) else { return };
        let mut account = self.account;
        {
            let _installed = account.install_with(self.reservation.clone(), self.deadline);
            let left = self.limits.steps.saturating_sub(self.steps_used);
            meter::set_work_limit(left);
            let value = reply.into_value();
            let value = value.and_then(|value| meter::check_memory().map(|()| value));
            let value = match meter::overdue() {
                Some(error) => Err(error),
                None => value,
            };
            self.steps_used = self.steps_used.saturating_add(meter::take_work());
            if let Some(fiber) = &mut self.fibers[id as usize] {
                fiber.waiting_for = None;
                fiber.asked = MemoryCharge::default();
                fiber.next = Some(match value {
                    Ok(value) => FiberResumption::Value(value),
                    Err(error) => FiberResumption::Raise(error),
                });
                self.ready.push_back(id);
            }
        }
        self.account = account;
        take_missed(&mut self.missed);
    }

    /// Charges steps for work that the host has done for the program. It ends with its next slice if that is more than it has
    /// left.
    pub fn charge(&mut self, steps: u64) {
        self.steps_used = self.steps_used.saturating_add(steps);
    }

    /// Whether this call still waits for its reply; a host stops working on one that does not.
    pub fn is_waiting_for(&self, call: CallId) -> bool {
        self.waiting.contains_key(&call)
    }

    /// Ends the program from outside: a deadline, a cancellation, a refused budget.
    pub fn abort(&mut self, error: Error) {
        if self.ended.is_some() {
            return;
        }
        let mut account = self.account;
        {
            let _installed = account.install_with(self.reservation.clone(), self.deadline);
            let root = self.fibers[ROOT as usize]
                .take()
                .unwrap_or_else(|| Box::new(Fiber::new(FiberResumption::Value(Value::Nil))));
            self.end(root, Err(error));
        }
        self.account = account;
    }

    /// Sets when the program has to end: later than before, if it has waited for people in the meantime.
    pub fn set_deadline(&mut self, deadline: Option<Deadline>) {
        self.deadline = deadline;
    }

    /// The program, unless it could not be linked.
    pub fn program(&self) -> Option<&Rc<Program>> {
        self.program.as_ref()
    }

    /// Has the arguments and values of kept programs that the program calls checked.
    pub fn set_program_checks(&mut self, checks: Rc<dyn ProgramChecks>) {
        self.env.program_checks = Some(checks);
    }

    /// Has discovery show kept programs.
    pub fn set_program_catalog(&mut self, catalog: Rc<ProgramCatalogSource>) {
        self.env.program_catalog = Some(catalog);
    }

    /// Sets how many bytes one call may send to the host: arguments, and the names beside them.
    pub fn set_max_request_bytes(&mut self, bytes: usize) {
        self.env.max_request_bytes = bytes;
    }

    /// Bytes that the program holds now.
    pub fn memory_live(&self) -> u64 {
        u64::try_from(self.account.live).unwrap_or(0)
    }

    /// Steps used so far.
    pub fn steps_used(&self) -> u64 {
        self.steps_used
    }

    /// The value or failure of a program that has ended.
    pub fn result(&self) -> Option<&Result<Value>> {
        self.ended.as_ref()
    }

    /// Looks at the value of a program that has succeeded, under the program's own meters: printing and JSON
    /// end with a named error where the value is too large, an enormous tree by sharing for instance. The work
    /// is not added to the program's steps.
    pub fn inspect<R>(&mut self, look: impl FnOnce(&Value) -> Result<R>) -> Option<Result<R>> {
        let Some(Ok(value)) = &self.ended else { return None };
        let steps = self.limits.steps;
        let mut account = self.account;
        let looked = {
            let _installed = account.install_with(self.reservation.clone(), self.deadline);
            meter::set_work_limit(steps);
            let looked = look(value);
            match (meter::overdue(), looked) {
                (Some(error), _) => Err(error),
                (None, Err(error)) if error.reason() == Reason::StepLimitExceeded => Err(Error::steps(steps)),
                (None, looked) => looked,
            }
        };
        self.account = account;
        Some(looked)
    }

    /// Takes the machine apart once [`resume`](Machine::resume) has said that the program has ended; one that
    /// has not is taken as cancelled. Definitions stay only if `commit` is set and the program succeeded or ended
    /// itself with `(fail …)`.
    pub fn finish(mut self, commit: bool) -> Outcome {
        if self.ended.is_none() {
            self.abort(Error::verbatim(Reason::Cancelled, "the program was cancelled"));
        }
        let result = self.ended.take().unwrap_or(Ok(Value::Nil));
        let mut account = self.account;
        let memory_peak = u64::try_from(account.peak).unwrap_or(0);
        let mut changed = Vec::new();
        let keeps = commit && result.as_ref().map_or_else(|error| error.payload().is_some(), |_| true);
        // Most programs define nothing: then there is nothing to look at and nothing to take back.
        if !keeps || !self.env.undo.is_empty() {
            let _installed = account.install_with(self.reservation.clone(), None);
            if keeps {
                self.forget_definitions_of_programs();
                meter::set_work_limit(CHANGE_DETECTION_STEPS);
                changed = self.env.changed();
                self.env.undo.clear();
            } else {
                self.env.roll_back(self.slots_before);
            }
        }
        let (prints, attached, notes) = self.output.into_parts();
        let (missed_keys, unknown_keys) = self.missed.into_parts();
        Outcome {
            result,
            prints,
            attached,
            notes,
            namespace: self.env.namespace,
            changed,
            journal: self.env.journal,
            summaries: self.env.summaries,
            steps: self.steps_used,
            memory_peak,
            returned: self.returned,
            missed_keys,
            unknown_keys,
        }
    }
}
