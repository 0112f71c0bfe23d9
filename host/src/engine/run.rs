//! One eval: compile, run in slices, answer calls, render.

use super::SLICE_STEPS;
use super::calls::Calls;
use super::driver::Driver;
use super::outcome::{Answer, CallRecord, EvalOutcome, Failure};
use super::request::{CallsSoFar, EvalRequest};
use super::session::Lease;
use super::tools::RunContext;
use crate::memory::{Loan, MemoryBudget, ReplyMemory};
use crate::text::clip;
use futures_util::future::LocalBoxFuture;
use ptc_vm::machine::{HostRequest, Limits as VmLimits, Namespace, Payload, Reply, Setup};
use ptc_vm::meter::{Account, Deadline, Lender};
use ptc_vm::{Error, Machine, Reason, Step, Value, json, meter, print};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::OnceLock;
use std::task::Poll;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, Sleep, sleep_until};

/// How far an eval got at once.
#[expect(
    clippy::large_enum_variant,
    reason = "handed on at once; the common case should not cost an allocation"
)]
pub(super) enum Begun {
    /// It is done.
    Done(EvalOutcome),
    /// It goes on.
    Running(Box<Run>),
}

/// A program in execution.
pub(super) struct Run {
    /// Present until the end.
    machine: Option<Machine>,
    request: Box<EvalRequest>,
    context: Rc<RunContext>,
    started: Instant,
    session: Option<Lease>,
    calls: Calls,
    /// What the context's values have taken of the process's memory.
    _granted: Option<Rc<Loan>>,
    /// Runs out at the deadline; made when there is something to wait for.
    alarm: Option<Pin<Box<Sleep>>>,
    /// How many prints went to the request's sink.
    shown: usize,
}

impl Drop for Run {
    /// A program that is dropped before its end leaves its session as it was.
    fn drop(&mut self) {
        if let (Some(machine), Some(mut lease)) = (self.machine.take(), self.session.take()) {
            let outcome = machine.finish(false);
            lease.note(outcome.journal, outcome.summaries);
            lease.roll_back(outcome.namespace);
        }
    }
}

fn clock() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Nanoseconds since the first call of this function in the process.
fn monotonic() -> u64 {
    static FIRST: OnceLock<std::time::Instant> = OnceLock::new();
    let first = FIRST.get_or_init(std::time::Instant::now);
    u64::try_from(first.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The context as a value, and what it has taken of the memory that all programs share. It is granted data: the limit of
/// the program's own memory does not count it (language.md 11).
fn read_context(text: &str, budget: Option<&MemoryBudget>) -> Result<(Value, Option<Rc<Loan>>), Failure> {
    let loan = budget.map(|budget| Rc::new(Loan::new(budget.clone())));
    let mut account = if loan.is_some() { Account::borrowing(u64::MAX) } else { Account::new(u64::MAX) };
    let value = {
        let lender = loan.clone().map(|loan| loan as Rc<dyn Lender>);
        let _installed = account.install_with(lender, None);
        // What it asked for last may not have been large enough to ask first.
        json::parse(text.as_bytes()).and_then(|value| meter::check_memory().map(|()| value))
    };
    match value {
        Ok(Some(value @ Value::Map(_))) => {
            let held = u64::try_from(account.live).unwrap_or(0);
            // It has at least as much: this gives back what was borrowed in advance.
            let fits = loan.as_ref().is_none_or(|loan| loan.resize(held));
            debug_assert!(fits, "a loan shrinks");
            Ok((value, loan))
        }
        Ok(_) => Err(Failure::new(Reason::InvalidConfig, "the context must be a JSON object")),
        Err(error) => Err(Failure::from(&error)),
    }
}

/// Starts an eval and runs its first slice.
pub(super) fn begin(driver: &Rc<Driver>, request: Box<EvalRequest>) -> Begun {
    let started = Instant::now();
    let limits = request.limits;
    let refused = |failure: Failure| {
        Begun::Done(EvalOutcome {
            result: Err(failure),
            prints: Vec::new(),
            steps: 0,
            memory_peak_bytes: 0,
            upstream_calls: Vec::new(),
            changed: Vec::new(),
            returned: false,
            session: None,
            duration: started.elapsed(),
        })
    };
    if request.program.len() > limits.program_bytes {
        let text =
            format!("program size {} bytes exceeds limit of {}", request.program.len(), limits.program_bytes);
        return refused(Failure::new(Reason::ProgramTooLarge, text));
    }
    let program = match driver.cache.borrow_mut().get(&request.program) {
        Ok(program) => program,
        Err(error) => return refused(Failure::from(&error)),
    };
    let (context, granted) = match request.context.as_deref() {
        None => (Value::Nil, None),
        Some(text) => match read_context(text, driver.memory.as_ref()) {
            Ok(read) => read,
            Err(failure) => return refused(failure),
        },
    };
    // All members are named: a default would make an empty map of its own for each program.
    let mut setup = Setup {
        namespace: Namespace::new(),
        context,
        strict_data: request.strict_data,
        upstreams: request.upstreams.is_some(),
        tools: request
            .tools
            .as_ref()
            .map(|tools| tools.names().into_iter().map(Rc::from).collect())
            .unwrap_or_default(),
        limits: VmLimits { memory_bytes: limits.memory_bytes, steps: limits.steps },
        lender: driver.memory.clone().map(|budget| Rc::new(Loan::new(budget)) as Rc<dyn Lender>),
        deadline: Some(Deadline {
            clock: monotonic,
            at: monotonic().saturating_add(u64::try_from(limits.timeout.as_nanos()).unwrap_or(u64::MAX)),
            allowed_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
        }),
        note_forks: request.tools.as_ref().is_some_and(|tools| tools.watches_forks()),
        clock,
        history: Default::default(),
        budget: driver.no_budget.clone(),
        journal: None,
    };
    let mut session = None;
    if let Some(key) = &request.session {
        let place = driver.sessions.open(key);
        let Some((lease, namespace)) =
            Lease::take(place, request.session_rules.clone(), driver.memory.as_ref())
        else {
            return refused(Failure::new(
                Reason::InvalidConfig,
                "an eval is already running for this session",
            ));
        };
        setup.namespace = namespace;
        setup.history = lease.history();
        setup.journal = lease.journal();
        session = Some(lease);
    }
    let mut machine = Machine::new(program, setup);
    let step = machine.resume(SLICE_STEPS);
    let mut shown = 0;
    show_progress(&request, &mut machine, &mut shown);
    if matches!(step, Step::Done) {
        // The usual short program never waits: nothing is set up for that.
        return Begun::Done(conclude(machine, &request, session, Vec::new(), started));
    }
    let memory = ReplyMemory::new(limits.memory_bytes, driver.memory.clone());
    Begun::Running(Box::new(Run {
        machine: Some(machine),
        context: Rc::new(RunContext::new(started, started + limits.timeout, memory)),
        request,
        started,
        session,
        calls: Calls::default(),
        _granted: granted,
        alarm: None,
        shown,
    }))
}

/// Tells whoever wants to know at once of prints and forks since the last time. `shown` prints have been told.
fn show_progress(request: &EvalRequest, machine: &mut Machine, shown: &mut usize) {
    show_prints(request, machine, shown);
    if let Some(tools) = &request.tools {
        machine.take_fork_notes().into_iter().for_each(|note| tools.forked(note));
    }
}

/// Sends the prints since the last time to whoever wants them at once.
fn show_prints(request: &EvalRequest, machine: &Machine, shown: &mut usize) {
    let Some(sink) = &request.print_sink else { return };
    let printed = machine.printed();
    for print in printed.iter().skip(*shown) {
        let _ = sink.send(print.as_str().to_owned());
    }
    *shown = printed.len().max(*shown);
}

/// Renders the value of a program that has ended, checks it, and commits to the session.
fn conclude(
    mut machine: Machine,
    request: &EvalRequest,
    mut lease: Option<Lease>,
    upstream_calls: Vec<CallRecord>,
    started: Instant,
) -> EvalOutcome {
    let answer = match machine.inspect(|value| Ok(render(value, request))) {
        Some(rendered) => rendered.and_then(|answer| answer),
        None => match machine.result() {
            Some(Err(error)) => Err(error.clone()),
            _ => Err(Error::verbatim(Reason::Cancelled, "the program was cancelled")),
        },
    };
    let mut answer = answer.map_err(|error| Failure::from(&error));
    let gave_up = answer.as_ref().is_err_and(|failure| failure.payload.is_some());
    let keeps = gave_up && lease.as_ref().is_some_and(Lease::keeps_after_fail);
    let outcome = machine.finish(answer.is_ok() || keeps);
    let prints: Vec<String> = outcome.prints.iter().map(|print| print.as_str().to_owned()).collect();
    let mut session = None;
    if let Some(lease) = &mut lease {
        lease.note(outcome.journal, outcome.summaries);
    }
    match (lease, outcome.result) {
        (Some(lease), result) if answer.is_ok() || keeps => {
            let value = result.ok().filter(|_| lease.remembers(outcome.returned));
            match lease.commit(outcome.namespace, &outcome.changed, value, &prints, &upstream_calls) {
                Ok(report) => session = report,
                Err(refused) => {
                    let (failure, report) = *refused;
                    answer = Err(failure);
                    session = Some(Box::new(report));
                }
            }
        }
        (Some(lease), _) => lease.roll_back(outcome.namespace),
        (None, _) => {}
    }
    EvalOutcome {
        result: answer,
        prints,
        steps: outcome.steps,
        memory_peak_bytes: outcome.memory_peak,
        returned: outcome.returned,
        upstream_calls,
        changed: outcome.changed.iter().map(|name| name.to_string()).collect(),
        session,
        duration: started.elapsed(),
    }
}

impl Run {
    /// Runs to the end.
    pub(super) async fn drive(mut self: Box<Self>) -> EvalOutcome {
        let deadline = self.context.deadline;
        // The first slice has run already.
        let mut step = Step::Wait;
        loop {
            let Some(machine) = &mut self.machine else { return self.finish() };
            self.context.memory.note_machine(machine.memory_live());
            for call in machine.take_calls() {
                self.calls.push(call.id, answer(&self.request, &self.context, call.request));
            }
            match step {
                Step::Done => return self.finish(),
                Step::Slice => {
                    if Instant::now() >= deadline {
                        return self.time_out();
                    }
                    tokio::task::yield_now().await;
                }
                // Nothing to wait for right after the first slice, if that used all its steps.
                Step::Wait if self.calls.is_empty() => {}
                Step::Wait => {
                    let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
                    let calls = &mut self.calls;
                    let reply = poll_fn(|cx| match calls.poll_next(cx) {
                        Poll::Ready(reply) => Poll::Ready(Ok(reply)),
                        Poll::Pending => alarm.as_mut().poll(cx).map(Err),
                    });
                    match reply.await {
                        Ok(Some((id, reply))) => {
                            if let Some(error) = self.context.memory.refusal() {
                                machine.abort(error);
                                return self.finish();
                            }
                            machine.complete(id, reply);
                        }
                        Ok(None) => {}
                        Err(()) => return self.time_out(),
                    }
                }
            }
            let Some(machine) = &mut self.machine else { return self.finish() };
            // Replies that came in the meantime need no slice of their own.
            while let Poll::Ready(Some((id, reply))) =
                poll_fn(|cx| Poll::Ready(self.calls.poll_next(cx))).await
            {
                machine.complete(id, reply);
            }
            if let Some(error) = self.context.memory.refusal() {
                machine.abort(error);
                return self.finish();
            }
            self.context.arrived.borrow_mut().clear();
            step = machine.resume(SLICE_STEPS);
            show_progress(&self.request, machine, &mut self.shown);
            self.tell_progress();
        }
    }

    /// Says how far the calls have come, to whoever wants to know.
    fn tell_progress(&self) {
        let Some(progress) = &self.request.progress else { return };
        let made = self.context.calls.get();
        let ended = u32::try_from(self.context.records.borrow().len()).unwrap_or(u32::MAX);
        let now = CallsSoFar { made: made.max(ended), ended };
        progress.send_if_modified(|so_far| std::mem::replace(so_far, now) != now);
    }

    fn time_out(mut self: Box<Self>) -> EvalOutcome {
        let allowed_ms = u64::try_from(self.request.limits.timeout.as_millis()).unwrap_or(u64::MAX);
        if let Some(machine) = &mut self.machine {
            machine.abort(Error::timeout(allowed_ms));
        }
        self.finish()
    }

    /// Ends what still runs, and says what came of the program.
    fn finish(mut self: Box<Self>) -> EvalOutcome {
        self.calls.clear();
        let machine = self.machine.take().expect("a run finishes once");
        show_prints(&self.request, &machine, &mut self.shown);
        let lease = self.session.take();
        conclude(machine, &self.request, lease, self.context.records.take(), self.started)
    }
}

/// The future that answers one call of a program.
fn answer(request: &EvalRequest, run: &Rc<RunContext>, call: HostRequest) -> LocalBoxFuture<'static, Reply> {
    let unknown = |name: &str| {
        let text = format!("Unknown tool: {name}. No tools available.");
        Reply::Raise(Error::verbatim(Reason::UnknownTool, text))
    };
    let ready = |reply| -> LocalBoxFuture<'static, Reply> { Box::pin(std::future::ready(reply)) };
    match (call, &request.upstreams, &request.tools) {
        (HostRequest::Tool { name, arguments }, _, Some(tools)) => tools.call(&name, arguments),
        (HostRequest::Tool { name, .. }, _, None) => ready(unknown(&name)),
        (call, Some(upstreams), _) => upstreams.answer(run.clone(), call),
        (HostRequest::Discovery { .. }, None, _) => ready(Reply::Value(Payload::None)),
        (HostRequest::Upstream(_), None, _) => ready(unknown("call")),
    }
}

/// The value as text and JSON, as far as it is wanted.
fn render(value: &Value, request: &EvalRequest) -> ptc_vm::Result<Answer> {
    let (text, cut) = match request.render.max_text_bytes {
        max_bytes if request.shown_items.is_some() => {
            let items = request.shown_items.unwrap_or(usize::MAX);
            let text = print::preview(value, print::Preview { items, characters: None, counts: true });
            let shown = max_bytes.map_or(text.as_str(), |max| clip(&text, max));
            (shown.to_owned(), None)
        }
        None => (print::readable(value)?, None),
        Some(max_bytes) => {
            let rendered = print::render_capped(value, max_bytes, print::Budget::default());
            (rendered.text, rendered.truncated)
        }
    };
    let json = request.render.json.then(|| {
        let mut out = Vec::new();
        match json::write(value, &mut out) {
            Ok(()) => String::from_utf8(out).map_err(|_| "not UTF-8".to_owned()),
            Err(error) => Err(error.message().to_owned()),
        }
    });
    let validated = match &request.output_schema {
        Some(schema) => {
            let checked = schema.validate(value);
            Some(checked.map_err(|text| Error::verbatim(Reason::ValidationError, text))?)
        }
        None => None,
    };
    Ok(Answer { text, cut, is_nil: value.is_nil(), json, validated })
}
