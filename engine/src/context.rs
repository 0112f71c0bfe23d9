//! State shared by a program's calls.

use super::asking::{Asker, Board};
use super::call_log::CallLog;
use super::eval_id::EvalId;
use super::outcome::CatalogOp;
use super::reply_slot::ReplySlot;
use crate::audience::Audience;
use ptc_base::memory::{ReplyCharge, ReplyMemory};
use ptc_base::time::{self, Instant};
use ptc_base::trace::Trace;
use ptc_policy::{Authority, Grant};
use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The context of a program's calls: what all of them share, as far as the kept programs within which one is made let it see.
pub struct RunContext {
    state: StateHolder,
    /// The part of the upstreams that the heads of kept programs name: calls see this and no more. `None` outside of such programs.
    pub scope: Option<Arc<Grant>>,
}

/// Who holds the state of a run.
#[expect(
    clippy::large_enum_variant,
    reason = "a run has one, and most have no other: a box would be an allocation more for each"
)]
enum StateHolder {
    Own(RunState),
    /// The context of the whole run.
    Shared(Rc<RunContext>),
}

impl RunContext {
    /// The context of a run. `scope`: what the head of its program names, if it has one.
    pub(super) fn new(state: RunState, scope: Option<Arc<Grant>>) -> RunContext {
        RunContext { state: StateHolder::Own(state), scope }
    }

    /// The context of calls within programs that are called, which see `scope` alone.
    pub(super) fn within(run: &Rc<RunContext>, scope: Arc<Grant>) -> RunContext {
        RunContext { state: StateHolder::Shared(run.clone()), scope: Some(scope) }
    }

    /// Counts a wait as long as the guard lives.
    pub(super) fn sleeps(self: &Rc<Self>) -> Sleeping {
        self.sleeping.set(self.sleeping.get() + 1);
        Sleeping(self.clone())
    }
}

impl Deref for RunContext {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        match &self.state {
            StateHolder::Own(state) => state,
            StateHolder::Shared(run) => run,
        }
    }
}

/// State that all calls of one program share (upstreams.md 1: the run context).
pub struct RunState {
    /// When the program began, later by as long as it has waited for people.
    started: Cell<Instant>,
    /// When the program's time is up.
    deadline: Cell<Instant>,
    /// Which eval it is.
    pub eval: EvalId,
    /// The run that it is part of.
    pub run_id: Option<Arc<str>>,
    /// The principal it runs for.
    pub principal: Option<Arc<str>>,
    /// What the policy permits it; `None` if there is no policy.
    pub authority: Option<Arc<Authority>>,
    /// Receivers of upstreams' messages about its calls.
    pub audience: Option<Arc<Audience>>,
    /// The trace of its request, if there is one: its calls are below it.
    pub trace: Option<Arc<Trace>>,
    /// Gets the reply to its call whole.
    pub reply_slot: Option<Arc<ReplySlot>>,
    /// Calls that the program has made, refused ones included.
    pub calls: Cell<u32>,
    /// Calls of upstreams that the program has asked for, if its head limits them.
    pub(super) kept_calls: Cell<u32>,
    /// Calls that were sent while somebody watched them.
    pub sent_calls: Cell<u32>,
    /// Requests of upstreams that a model was to answer on behalf of the program.
    pub samplings: Cell<u32>,
    /// Discovery operations that took a number of their cap.
    pub discoveries: Cell<u32>,
    /// Milliseconds that the program has asked to wait in all.
    pub(super) slept_ms: Cell<u32>,
    /// Calls of the program that are waits.
    sleeping: Cell<usize>,
    /// Steps that the program had left when it came to wait.
    steps_left: Cell<u64>,
    /// Steps of work that was done for it since.
    owed_steps: Cell<u64>,
    /// Steps of the program that the policy has counted.
    counted_steps: Cell<u64>,
    /// Records of calls.
    pub log: CallLog,
    /// Records of discovery operations, in order of completion.
    pub catalog_ops: RefCell<Vec<CatalogOp>>,
    /// The memory of replies in flight.
    pub memory: Arc<ReplyMemory>,
    /// Charges of replies that are about to become values of the machine.
    pub arrived: RefCell<Vec<ReplyCharge>>,
    extension: OnceCell<Box<dyn Any>>,
    /// Whether a call of the program has waited for people in this process.
    pub(super) has_waited: Cell<bool>,
    /// Whether the program has been suspended, to be resumed elsewhere.
    left: Cell<bool>,
    /// The questions of its calls to people.
    pub(super) board: Board,
}

/// Counts steps at the policy, if that limits them.
pub(super) fn count_steps(authority: &Authority, steps: u64) {
    if let Some((quotas, limits)) = authority.quotas() {
        quotas.spend_steps(steps, limits, time::now());
    }
}

impl RunState {
    /// A fresh state for a program that began at `started`, must end at `deadline`, and whose replies are charged to
    /// `memory`. `asker` answers the questions of its calls.
    pub(super) fn new(
        eval: EvalId,
        started: Instant,
        deadline: Instant,
        memory: Arc<ReplyMemory>,
        asker: Option<Arc<dyn Asker>>,
    ) -> RunState {
        RunState {
            eval,
            started: Cell::new(started),
            deadline: Cell::new(deadline),
            run_id: None,
            principal: None,
            authority: None,
            audience: None,
            trace: None,
            reply_slot: None,
            calls: Cell::new(0),
            kept_calls: Cell::new(0),
            sent_calls: Cell::new(0),
            samplings: Cell::new(0),
            discoveries: Cell::new(0),
            slept_ms: Cell::new(0),
            sleeping: Cell::new(0),
            steps_left: Cell::new(0),
            owed_steps: Cell::new(0),
            counted_steps: Cell::new(0),
            log: CallLog::default(),
            catalog_ops: RefCell::new(Vec::new()),
            memory,
            arrived: RefCell::default(),
            extension: OnceCell::new(),
            has_waited: Cell::new(false),
            left: Cell::new(false),
            board: Board::new(asker),
        }
    }

    /// Whether a call of the program has waited for people in this process: what holds for it may have changed meanwhile.
    pub fn has_waited(&self) -> bool {
        self.has_waited.get()
    }

    /// When the program began. Time spent waiting for people does not count: it moves the moment forward.
    pub fn started(&self) -> Instant {
        self.started.get()
    }

    /// When the program's time is up.
    pub fn deadline(&self) -> Instant {
        self.deadline.get()
    }

    /// Notes how many steps the program has taken in all, for the policy: those since it was noted last are counted.
    pub(super) fn count_steps(&self, taken: u64) {
        let Some(authority) = &self.authority else { return };
        let before = self.counted_steps.replace(taken);
        count_steps(authority, taken.saturating_sub(before));
    }

    /// Notes that the program had taken so many steps when it came back, which were counted where it began.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn has_taken(&self, steps: u64) {
        self.counted_steps.set(steps);
    }

    /// Whether the program has left this process, to be resumed elsewhere: another process waits for the work that its calls
    /// have begun.
    pub fn has_left(&self) -> bool {
        self.left.get()
    }

    /// Notes that.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn leaves(&self) {
        self.left.set(true);
    }

    /// The used part of the program's caps: calls, requests for a model's answer, discoveries, milliseconds of waits.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn taken(&self) -> [&Cell<u32>; 4] {
        [&self.calls, &self.samplings, &self.discoveries, &self.slept_ms]
    }

    /// Whether all of `calls` calls are waits.
    pub(super) fn only_sleeps(&self, calls: usize) -> bool {
        calls > 0 && self.sleeping.get() == calls
    }

    /// Charges the program for work that it causes outside its machine. Whether it has as many steps left; if not, it ends.
    pub fn charge(&self, steps: u64) -> bool {
        let owed = self.owed_steps.get().saturating_add(steps);
        self.owed_steps.set(owed);
        owed <= self.steps_left.get()
    }

    /// Takes the owed steps, to be charged to the machine.
    pub(super) fn take_owed(&self) -> u64 {
        self.owed_steps.take()
    }

    /// Notes how many steps the program has left.
    pub(super) fn note_steps_left(&self, steps: u64) {
        self.steps_left.set(steps);
    }

    /// Takes back time that was not the program's.
    pub(super) fn pause(&self, waited: Duration) {
        self.started.set(self.started.get() + waited);
        self.deadline.set(self.deadline.get() + waited);
    }

    /// State of the code that answers this program's calls, made at first use. Its type is that code's own: the engine stores
    /// it without looking inside.
    ///
    /// # Panics
    /// If another type was asked for before: a program has one answerer.
    pub fn extension<T: Default + 'static>(&self) -> &T {
        let extension = self.extension.get_or_init(|| Box::new(T::default()));
        extension.downcast_ref().expect("one answerer asks, for one type")
    }
}

/// A wait of a program.
pub(super) struct Sleeping(Rc<RunContext>);

impl Drop for Sleeping {
    fn drop(&mut self) {
        self.0.sleeping.set(self.0.sleeping.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_for_a_program_is_charged_up_to_the_steps_that_it_has_left() {
        let now = Instant::now();
        let run = RunState::new(EvalId::new(), now, now, ReplyMemory::new(0, None), None);
        run.note_steps_left(10);
        assert!(run.charge(6) && run.charge(4));
        assert!(!run.charge(1));
        assert_eq!((run.take_owed(), run.take_owed()), (11, 0));
    }

    #[test]
    fn an_extension_lasts_as_long_as_its_run() {
        let now = Instant::now();
        let run = RunState::new(EvalId::new(), now, now, ReplyMemory::new(0, None), None);
        run.extension::<Cell<u32>>().set(7);
        assert_eq!(run.extension::<Cell<u32>>().get(), 7);
    }
}
