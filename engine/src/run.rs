//! Execution of a program: its turns, and the answers to its calls.

#[cfg(feature = "saved-sessions")]
use super::asking::leave;
use super::asking::{Desk, Gate, Verdict, ask};
use super::calls::Calls;
use super::context::RunContext;
use super::eval_end::conclude;
use super::kept::{KeptCall, KeptScopes, scoped, scopes};
use super::outcome::{EvalOutcome, Failure};
use super::request::{CallsSoFar, EvalRequest};
use super::running_turn::{is_wanted, turn_is_over};
use super::scheduler::Scheduler;
use super::session::SessionLock;
use super::sleeping::{LentPermit, sleep};
use super::work::{Principal, Work, WorkResult};
use crate::questions::{Answer, QuestionId};
use futures_util::future::LocalBoxFuture;
use ptc_base::memory::MemoryReservation;
use ptc_base::time::{self, Instant, Sleep, sleep_until};
use ptc_vm::machine::{CallId, HostRequest, Payload, PendingCall, Reply};
use ptc_vm::{Error, Machine, Reason, Step};
use smallvec::SmallVec;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Steps that a program runs before it looks whether its turn is over: some 100 µs.
pub(super) const SLICE_STEPS: u64 = 20_000;

/// A program in execution.
pub(super) struct ProgramRun {
    /// Present until the end.
    machine: Option<Machine>,
    request: Box<EvalRequest>,
    context: Rc<RunContext>,
    session: Option<SessionLock>,
    calls: Calls,
    /// The process memory that the context's values use.
    _granted: Option<Rc<MemoryReservation>>,
    /// Runs out at the deadline; made when there is something to wait for.
    alarm: Option<Pin<Box<Sleep>>>,
    /// How many prints went to the request's sink.
    shown: usize,
    /// Calls that the program has made in its last turn.
    made: SmallVec<[PendingCall; 1]>,
    /// Replies for its next turn.
    arrived: SmallVec<[(CallId, Reply); 1]>,
    /// Whether it can continue without a reply.
    is_ready: bool,
    /// Whether its time is over.
    is_late: bool,
    /// Asked before anything of a program runs that has begun elsewhere.
    gate: Option<Arc<dyn Gate>>,
    /// What the heads in its text say, if it is made of kept programs.
    kept: Option<Rc<KeptScopes>>,
    /// Whether the calls of its last turn were made elsewhere.
    is_resumed: bool,
    /// Why it cannot leave its process as it waits now.
    pinned: Option<String>,
    /// Nanoseconds that it has had the thread.
    pub(super) served: u64,
}

impl Drop for ProgramRun {
    /// A program that is dropped before its end leaves its session as it was.
    fn drop(&mut self) {
        if let (Some(machine), Some(mut lock)) = (self.machine.take(), self.session.take()) {
            let outcome = machine.finish(false);
            lock.note(outcome.journal, outcome.summaries);
            lock.roll_back(outcome.namespace);
        }
    }
}

/// Reports new prints and forks to their listeners. `shown` prints have been reported already.
pub(super) fn show_progress(request: &EvalRequest, machine: &mut Machine, shown: &mut usize) {
    show_prints(request, machine, shown);
    if let Some(tools) = &request.tools {
        machine.take_fork_notes().into_iter().for_each(|note| tools.forked(note));
    }
}

/// Sends new prints to the print sink.
fn show_prints(request: &EvalRequest, machine: &Machine, shown: &mut usize) {
    let Some(sink) = &request.print_sink else { return };
    let printed = machine.printed();
    for print in printed.iter().skip(*shown) {
        sink.print(print.as_str());
    }
    *shown = printed.len().max(*shown);
}

impl ProgramRun {
    /// A program after its first slice.
    pub(super) fn new(
        machine: Machine,
        request: Box<EvalRequest>,
        context: RunContext,
        session: Option<SessionLock>,
        granted: Option<Rc<MemoryReservation>>,
    ) -> ProgramRun {
        let kept = machine.program().and_then(|program| scopes(program));
        ProgramRun {
            kept,
            is_resumed: false,
            machine: Some(machine),
            request,
            context: Rc::new(context),
            session,
            calls: Calls::default(),
            _granted: granted,
            alarm: None,
            shown: 0,
            made: SmallVec::new(),
            arrived: SmallVec::new(),
            is_ready: false,
            is_late: false,
            gate: None,
            pinned: None,
            served: 0,
        }
    }

    /// A program that has begun elsewhere and waits for answers to `pending`.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn returned(
        machine: Machine,
        request: Box<EvalRequest>,
        context: RunContext,
        pending: Vec<PendingCall>,
        gate: Option<Arc<dyn Gate>>,
        granted: Option<Rc<MemoryReservation>>,
    ) -> ProgramRun {
        // Its prints have been shown.
        let shown = machine.printed().len();
        context.has_taken(machine.steps_used());
        let mut run = ProgramRun::new(machine, request, context, None, granted);
        (run.made, run.gate, run.shown) = (pending.into(), gate, shown);
        run.is_resumed = true;
        run
    }

    /// Serializes the program, which waits for answers, and ends its eval; or reports that it stays resident.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn leave(mut self: Box<Self>) -> WorkResult {
        let Some(machine) = &self.machine else { return WorkResult::Freed };
        if self.session.is_some() {
            self.pinned = Some("the program belongs to a session".to_owned());
            return WorkResult::Waiting(self);
        }
        match leave(machine, &self.request, &self.context) {
            Ok(outcome) => WorkResult::Outcome(Box::new(outcome)),
            Err(why) => {
                self.pinned = Some(why);
                WorkResult::Waiting(self)
            }
        }
    }

    /// The same without a way to write it.
    #[cfg(not(feature = "saved-sessions"))]
    pub(super) fn leave(mut self: Box<Self>) -> WorkResult {
        self.pinned = Some("programs are not written here".to_owned());
        WorkResult::Waiting(self)
    }

    /// Its parts, until it has ended.
    #[cfg(feature = "measuring")]
    pub(super) fn parts(&self) -> Option<(&Machine, &EvalRequest, &RunContext)> {
        Some((self.machine.as_ref()?, &self.request, &self.context))
    }

    /// The principal of the program.
    pub(super) fn principal(&self) -> &Principal {
        &self.request.principal
    }

    /// Notes that it is `now`.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.is_late |= now >= self.context.deadline();
    }

    /// One turn of the program: takes over the replies that have arrived, and runs until it ends, waits or has had its time.
    /// Runs on a stack of its own.
    pub(super) fn go_on(mut self: Box<Self>) -> WorkResult {
        let Some(machine) = &mut self.machine else { return WorkResult::Freed };
        let late = self.is_late.then(|| Error::timeout(self.request.limits.timeout_ms()));
        if let Some(error) = late.or_else(|| self.context.memory.refusal()) {
            machine.abort(error);
            return self.finish();
        }
        for (id, reply) in self.arrived.drain(..) {
            machine.complete(id, reply);
        }
        self.context.arrived.borrow_mut().clear();
        machine.charge(self.context.take_owed());
        let step = machine.resume(SLICE_STEPS);
        self.run_on(step)
    }

    /// The rest of a turn, whose first slice ended with `step`.
    pub(super) fn run_on(mut self: Box<Self>, mut step: Step) -> WorkResult {
        loop {
            let Some(machine) = &mut self.machine else { return WorkResult::Freed };
            show_progress(&self.request, machine, &mut self.shown);
            self.made = machine.take_calls();
            self.context.memory.note_machine(machine.memory_live());
            let taken = machine.steps_used();
            self.context.note_steps_left(self.request.limits.steps.saturating_sub(taken));
            self.context.count_steps(taken);
            self.tell_progress();
            match step {
                Step::Done => return self.finish(),
                Step::Wait => {
                    self.is_ready = false;
                    return WorkResult::Waiting(self);
                }
                Step::Slice if !is_wanted() => return WorkResult::Freed,
                Step::Slice if turn_is_over() || !self.made.is_empty() => {
                    self.is_ready = true;
                    self.note_time(time::now());
                    if !self.is_late {
                        return WorkResult::Waiting(self);
                    }
                    return self.go_on();
                }
                Step::Slice => {}
            }
            let Some(machine) = &mut self.machine else { return WorkResult::Freed };
            step = machine.resume(SLICE_STEPS);
        }
    }

    /// Begins the calls that the program has made, and waits until it can continue: for a reply, or for its deadline.
    async fn wait(&mut self) -> WakeAction {
        if let Some(gate) = self.gate.take() {
            let began = time::now();
            if let Err(failure) = gate.pass().await {
                return WakeAction::Refused(failure);
            }
            self.pause(time::since(began));
        }
        let is_new = !std::mem::take(&mut self.is_resumed);
        for mut call in std::mem::take(&mut self.made) {
            let id = call.id;
            let reply = match scoped(&self.context, self.kept.as_deref(), &call, is_new) {
                Ok(run) => {
                    let kept = KeptCall::of(self.request.programs.as_ref(), self.kept.as_ref(), &mut call);
                    let looked_at = match (&kept, &call.request) {
                        (Some(kept), HostRequest::Upstream(wanted)) => kept.looked_at(&run, wanted),
                        _ => None,
                    };
                    let reply = answer(&self.request, &run, call, kept);
                    match looked_at {
                        None => reply,
                        Some(looked_at) => Box::pin(async move {
                            match looked_at.await {
                                Ok(()) => reply.await,
                                Err(refused) => refused.reply(),
                            }
                        }),
                    }
                }
                Err(refused) => {
                    if let Some(upstreams) = &self.request.upstreams {
                        upstreams.refused(&self.context, &call.request);
                    }
                    ready(refused.reply())
                }
            };
            self.calls.push(id, reply);
        }
        let mut lent = None;
        while !self.is_ready && !self.calls.is_empty() {
            let deadline = self.context.deadline();
            let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            let (calls, context, permit) = (&mut self.calls, &self.context, &self.request.permit);
            let event = poll_fn(|cx| match calls.poll_next(cx) {
                Poll::Ready(reply) => Poll::Ready(Event::Reply(reply)),
                // Nothing goes on without people.
                Poll::Pending if context.board.is_quiescent(calls.len()) => Poll::Ready(Event::Asks),
                Poll::Pending => {
                    if lent.is_none() && context.only_sleeps(calls.len()) {
                        lent = permit.clone().map(LentPermit::new);
                    }
                    alarm.as_mut().poll(cx).map(|()| Event::Late)
                }
            });
            match event.await {
                Event::Reply(reply) => {
                    self.arrived.extend(reply);
                    break;
                }
                Event::Late => {
                    self.is_late = true;
                    break;
                }
                Event::Asks => {
                    if self.ask().await {
                        return WakeAction::Leave;
                    }
                }
            }
        }
        drop(lent);
        // Replies that came in the meantime need no turn of their own.
        while let Poll::Ready(Some(reply)) = poll_fn(|cx| Poll::Ready(self.calls.poll_next(cx))).await {
            self.arrived.push(reply);
        }
        WakeAction::GoOn
    }

    /// Has the open questions answered. Whether the program is to be written instead.
    async fn ask(&mut self) -> bool {
        let board = &self.context.board;
        let Some(asker) = board.asker().cloned() else { return false };
        let open = board.open();
        if open.is_empty() {
            // Calls that asked too much were told so.
            return false;
        }
        let ids: Vec<QuestionId> = open.iter().map(|open| open.id).collect();
        let began = time::now();
        let verdict = match self.pinned.take() {
            Some(why) => Verdict::Answered(asker.hold(open, why).await),
            None => asker.ask(open).await,
        };
        self.pause(time::since(began));
        let Verdict::Answered(answers) = verdict else { return true };
        let board = &self.context.board;
        if !board.answer(answers) {
            // An asker that answers nothing would be asked for ever.
            board.answer(ids.into_iter().map(|id| (id, Answer::cancelled())).collect());
        }
        false
    }

    /// Takes back time that was not the program's.
    fn pause(&mut self, waited: Duration) {
        self.context.pause(waited);
        self.alarm = None;
        if let Some(machine) = &mut self.machine {
            machine.set_deadline(Some(self.request.deadline(self.context.started())));
        }
    }

    /// Reports the progress of the calls to its listener.
    fn tell_progress(&self) {
        let Some(progress) = &self.request.progress else { return };
        let made = self.context.calls.get();
        let ended = u32::try_from(self.context.log.len()).unwrap_or(u32::MAX);
        let now = CallsSoFar { made: made.max(ended), ended };
        progress.send_if_modified(|so_far| std::mem::replace(so_far, now) != now);
    }

    /// Ends the calls that still run, and returns the program's outcome.
    fn finish(mut self: Box<Self>) -> WorkResult {
        self.calls.clear();
        let Some(machine) = self.machine.take() else { return WorkResult::Freed };
        show_prints(&self.request, &machine, &mut self.shown);
        let lock = self.session.take();
        let (log, budget) = (&self.context.log, self.context.memory.budget());
        let mut outcome = conclude(machine, &self.request, lock, log, budget, self.context.started());
        outcome.catalog_ops = self.context.catalog_ops.take();
        WorkResult::Outcome(Box::new(outcome))
    }
}

/// The next step of a program that has waited.
enum WakeAction {
    /// It runs on.
    GoOn,
    /// It is written.
    Leave,
    /// It is not admitted.
    Refused(Failure),
}

/// An event that wakes a waiting program.
enum Event {
    Reply(Option<(CallId, Reply)>),
    Late,
    Asks,
}

/// Runs a program that has begun to its end. Dropping this ends it and leaves its session as it was.
pub(super) async fn drive(scheduler: Rc<Scheduler>, mut done: WorkResult) -> EvalOutcome {
    loop {
        let run = match done {
            WorkResult::Outcome(outcome) => return *outcome,
            WorkResult::Waiting(run) => run,
            WorkResult::Queued(ticket) => {
                done = ticket.await;
                continue;
            }
            WorkResult::Freed => return EvalOutcome::lost(),
        };
        let started = run.context.started();
        let mut held = RunGuard { scheduler: &scheduler, run: Some(run) };
        let next = match &mut held.run {
            Some(run) => run.wait().await,
            None => WakeAction::GoOn,
        };
        if let WakeAction::Refused(failure) = next {
            return EvalOutcome::not_run(failure, time::since(started));
        }
        let Some(run) = held.run.take() else { return EvalOutcome::lost() };
        let work = if matches!(next, WakeAction::Leave) { Work::Leave(run) } else { Work::GoOn(run) };
        done = scheduler.finish(work).await;
    }
}

/// Runs a program until its asker has it leave. Otherwise: its outcome.
#[cfg(feature = "measuring")]
pub(super) async fn until_it_leaves(
    scheduler: &Rc<Scheduler>,
    mut done: WorkResult,
) -> Result<Box<ProgramRun>, Box<EvalOutcome>> {
    loop {
        let mut run = match done {
            WorkResult::Outcome(outcome) => return Err(outcome),
            WorkResult::Waiting(run) => run,
            WorkResult::Queued(ticket) => {
                done = ticket.await;
                continue;
            }
            WorkResult::Freed => return Err(Box::new(EvalOutcome::lost())),
        };
        match run.wait().await {
            WakeAction::GoOn => done = scheduler.finish(Work::GoOn(run)).await,
            WakeAction::Leave => return Ok(run),
            WakeAction::Refused(failure) => {
                return Err(Box::new(EvalOutcome::not_run(failure, Duration::ZERO)));
            }
        }
    }
}

/// Frees a waiting program in turns when dropped.
struct RunGuard<'s> {
    scheduler: &'s Rc<Scheduler>,
    run: Option<Box<ProgramRun>>,
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.run.take().into_iter().for_each(|run| self.scheduler.discard(Work::Free(run)));
    }
}

/// The future that answers one call of a program.
fn answer(
    request: &EvalRequest,
    run: &Rc<RunContext>,
    call: PendingCall,
    kept: Option<Rc<KeptCall>>,
) -> LocalBoxFuture<'static, Reply> {
    let unknown = |name: &str| {
        let text = format!("Unknown tool: {name}. No tools available.");
        Reply::Raise(Error::verbatim(Reason::UnknownTool, text))
    };
    let desk = || Desk::new(run.clone(), call.id, kept);
    match (call.request, &request.upstreams, &request.tools) {
        (HostRequest::Tool { name, arguments }, _, Some(tools)) => tools.call(&name, arguments),
        (HostRequest::Tool { name, .. }, _, None) => ready(unknown(&name)),
        (HostRequest::Sleep { millis }, _, _) => sleep(run, millis),
        (HostRequest::Ask { message, schema }, _, _) => Box::pin(ask(desk(), message, schema)),
        (call, Some(upstreams), _) => Arc::clone(upstreams).answer(run.clone(), call, desk()),
        (HostRequest::Discovery { .. } | HostRequest::Feature(_), None, _) => {
            ready(Reply::Value(Payload::None))
        }
        (HostRequest::Upstream(_), None, _) => ready(unknown("call")),
    }
}

fn ready(reply: Reply) -> LocalBoxFuture<'static, Reply> {
    Box::pin(std::future::ready(reply))
}
