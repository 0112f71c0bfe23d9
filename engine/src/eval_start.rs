//! The start of an eval: the machine is built from the request and has its first turn.

#[cfg(feature = "saved-sessions")]
use super::asking::{NotRestored, Resume, ResumedProgram, restore as restore_program};
use super::call_log::CallLog;
use super::compile::checked;
use super::context::{RunContext, RunState, count_steps};
use super::eval_end::conclude;
use super::kept::{KeptChecks, ProgramSchema, main_scope, show_programs};
use super::outcome::{EvalOutcome, Failure, SessionFault};
use super::request::EvalRequest;
#[cfg(feature = "saved-sessions")]
use super::restore::restore;
use super::run::{ProgramRun, SLICE_STEPS, show_progress};
#[cfg(feature = "saved-sessions")]
use super::session::saved::Trouble;
use super::session::{SessionKey, SessionLock};
use super::work::WorkResult;
use super::worker::Worker;
use ptc_base::memory::{MemoryBudget, MemoryReservation, ReplyMemory};
use ptc_base::time::{self, Instant};
use ptc_vm::builtins::library;
use ptc_vm::machine::{Limits as VmLimits, Namespace, Setup};
use ptc_vm::meter::{Account, Deadline, Reservation};
use ptc_vm::{Machine, Program, Reason, Step, Value, json, meter};
use std::rc::Rc;
use std::time::UNIX_EPOCH;

/// The first turn of an eval that was asked for when it was `started`. Runs on a stack of its own.
pub(super) fn begin(worker: &Worker, request: Box<EvalRequest>, started: Instant) -> WorkResult {
    let memory = worker.memory.as_ref().map(|memory| match &request.authority {
        Some(authority) => memory.of_quota(request.principal.as_ref(), authority.grant.limits().memory_bytes),
        None => memory.of(request.principal.as_ref()),
    });
    #[cfg(feature = "saved-sessions")]
    if let Some(resume) = request.resume.clone() {
        return go_on(worker, request, &resume, memory, started);
    }
    let ReadyMachine { mut machine, session, granted } =
        match prepare(worker, &request, memory.as_ref(), started) {
            Ok(prepared) => prepared,
            Err(refused) => {
                let BeginError { failure, fault } = *refused;
                let outcome = EvalOutcome::not_run(failure, time::since(started));
                return WorkResult::Outcome(Box::new(EvalOutcome { session_fault: fault, ..outcome }));
            }
        };
    let step = machine.resume(SLICE_STEPS);
    if matches!(step, Step::Done) {
        // The usual short program never waits: nothing is set up for that.
        show_progress(&request, &mut machine, &mut 0);
        if let Some(authority) = &request.authority {
            count_steps(authority, machine.steps_used());
        }
        let (log, budget) = (CallLog::default(), worker.memory.as_ref());
        let outcome = conclude(machine, &request, session, &log, budget, started);
        return WorkResult::Outcome(Box::new(outcome));
    }
    will_wait(ReadyMachine { machine, session, granted }, request, memory, started, step)
}

/// A program that waits for something at the end of its first turn. Apart from [`begin`], whose frame lies below that of the
/// compiler.
fn will_wait(
    prepared: ReadyMachine,
    request: Box<EvalRequest>,
    memory: Option<MemoryBudget>,
    started: Instant,
    step: Step,
) -> WorkResult {
    let ReadyMachine { machine, session, granted } = prepared;
    let memory = ReplyMemory::new(request.limits.memory_bytes, memory);
    let mut context =
        RunState::new(request.id, started, started + request.limits.timeout, memory, request.asker.clone());
    context.principal = request.principal.clone();
    context.authority = request.authority.clone();
    context.run_id = request.run_id.clone();
    context.audience = request.audience.clone();
    context.trace = request.trace.clone();
    context.reply_slot = request.reply_slot.clone();
    let context = RunContext::new(context, main_scope(machine.program()));
    Box::new(ProgramRun::new(machine, request, context, session, granted)).run_on(step)
}

/// The first turn of an eval whose program has begun elsewhere.
#[cfg(feature = "saved-sessions")]
fn go_on(
    worker: &Worker,
    request: Box<EvalRequest>,
    resume: &Resume,
    memory: Option<MemoryBudget>,
    started: Instant,
) -> WorkResult {
    match restore_program(&worker.programs, &request, resume, memory, started) {
        Ok(ResumedProgram { machine, context, pending, granted }) => {
            let gate = resume.gate.clone();
            WorkResult::Waiting(Box::new(ProgramRun::returned(
                machine, request, context, pending, gate, granted,
            )))
        }
        Err(NotRestored { failure, fault }) => {
            let outcome = EvalOutcome::not_run(failure, time::since(started));
            WorkResult::Outcome(Box::new(EvalOutcome { resume_fault: fault, ..outcome }))
        }
    }
}

/// A machine before its first step, and the data that belongs to it.
struct ReadyMachine {
    machine: Machine,
    session: Option<SessionLock>,
    granted: Option<Rc<MemoryReservation>>,
}

/// Why a program does not begin.
struct BeginError {
    failure: Failure,
    /// The fault of its session, if that is the cause.
    fault: Option<SessionFault>,
}

impl From<Failure> for Box<BeginError> {
    fn from(failure: Failure) -> Box<BeginError> {
        Box::new(BeginError { failure, fault: None })
    }
}

/// Checks and compiles the program, reads its context and takes its session. `memory` is the budget that all programs of its
/// principal share.
fn prepare(
    worker: &Worker,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    started: Instant,
) -> Result<ReadyMachine, Box<BeginError>> {
    let deadline = request.deadline(started);
    let program = checked(&worker.programs, request, memory, deadline)?;
    ready(worker, request, memory, deadline, program)
}

/// The machine of a program that is compiled. Apart from [`prepare`], whose frame lies below that of the compiler.
fn ready(
    worker: &Worker,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    deadline: Deadline,
    program: Rc<Program>,
) -> Result<ReadyMachine, Box<BeginError>> {
    let (context, granted) = match request.context.as_deref() {
        None => (Value::Nil, None),
        Some(text) => granted_context(text, request.input.as_deref(), memory)?,
    };
    let mut setup = setup(worker, request, memory, context, deadline);
    let session = match &request.session {
        None => None,
        Some(key) => Some(take_session(worker, request, key, memory, &mut setup)?),
    };
    // A session may have functions that call kept programs.
    let may_call_programs = !program.parts.is_empty() || session.is_some();
    let mut machine = Machine::new(program, setup);
    if may_call_programs {
        machine.set_program_checks(Rc::new(KeptChecks));
    }
    show_programs(&mut machine, request);
    if let Some(upstreams) = &request.upstreams {
        machine.set_max_request_bytes(upstreams.max_request_bytes());
    }
    Ok(ReadyMachine { machine, session, granted })
}

/// How the message about a context begins that does not fit.
const MISFIT: &str = "arguments do not fit the input schema";

/// The context as a value, and its share of the memory of all programs. It is granted data: the limit of the program's own
/// memory does not count it (language.md 11).
fn granted_context(
    text: &str,
    input: Option<&ProgramSchema>,
    budget: Option<&MemoryBudget>,
) -> Result<(Value, Option<Rc<MemoryReservation>>), Failure> {
    let reservation = budget.map(|budget| Rc::new(MemoryReservation::new(budget.clone())));
    let mut account =
        if reservation.is_some() { Account::reserving(u64::MAX) } else { Account::new(u64::MAX) };
    let value = {
        let shared = reservation.clone().map(|reservation| reservation as Rc<dyn Reservation>);
        let _installed = account.install_with(shared, None);
        // What it asked for last may not have been large enough to ask first.
        let value = json::parse(text.as_bytes()).and_then(|value| meter::check_memory().map(|()| value));
        match (value, input) {
            (Ok(Some(value @ Value::Map(_))), Some(input)) => {
                input
                    .check(&value)
                    .map_err(|why| Failure::new(Reason::InvalidToolArgs, format!("{MISFIT}: {why}")))?;
                input.completed(value, |name| Value::str(name)).map(Some)
            }
            (value, _) => value,
        }
    };
    match value {
        Ok(Some(value @ Value::Map(_))) => {
            let held = u64::try_from(account.live).unwrap_or(0);
            // It has at least as much: this releases what was reserved in advance.
            let fits = reservation.as_ref().is_none_or(|reservation| reservation.resize(held));
            debug_assert!(fits, "a reservation shrinks");
            Ok((value, reservation))
        }
        Ok(_) => Err(Failure::new(Reason::InvalidConfig, "the context must be a JSON object")),
        Err(error) => Err(Failure::from(&error)),
    }
}

/// The machine's initial state, without its session.
fn setup(
    worker: &Worker,
    request: &EvalRequest,
    memory: Option<&MemoryBudget>,
    context: Value,
    deadline: Deadline,
) -> Setup {
    let limits = &request.limits;
    let tools = request.tools.as_deref();
    // All members are named: a default would make an empty map of its own for each program.
    Setup {
        namespace: Namespace::new(library()),
        context,
        strict_data: request.strict_data,
        upstreams: request.upstreams.is_some(),
        tools: tools.map(|tools| tools.names().into_iter().map(Rc::from).collect()).unwrap_or_default(),
        limits: VmLimits { memory_bytes: limits.memory_bytes, steps: limits.steps },
        reservation: memory
            .cloned()
            .map(|budget| Rc::new(MemoryReservation::new(budget)) as Rc<dyn Reservation>),
        deadline: Some(deadline),
        max_attached_bytes: request.max_attached_bytes,
        note_forks: tools.is_some_and(|tools| tools.watches_forks()),
        started_at: request.instant_ms.unwrap_or_else(millis_of_day),
        history: Default::default(),
        budget: worker.no_budget.clone(),
        journal: None,
        prepared_call: request.prepared_call.as_deref().cloned().map(Box::new),
    }
}

/// Takes the session's state for the program, and puts the machine's part of it into `setup`.
fn take_session(
    worker: &Worker,
    request: &EvalRequest,
    key: &SessionKey,
    memory: Option<&MemoryBudget>,
    setup: &mut Setup,
) -> Result<SessionLock, Box<BeginError>> {
    #[cfg(feature = "saved-sessions")]
    let place = match (&request.saved_session, setup.deadline) {
        (Some(saved), Some(deadline)) => {
            restore(&worker.sessions, &worker.programs, key, saved, memory, deadline).map_err(|trouble| {
                match trouble {
                    Trouble::Refused(error) => Box::from(Failure::from(&error)),
                    Trouble::Fault(fault) => {
                        let failure = Failure::new(Reason::InvalidConfig, fault.to_string());
                        Box::new(BeginError { failure, fault: Some(fault) })
                    }
                }
            })?
        }
        _ => worker.sessions.open(key),
    };
    #[cfg(not(feature = "saved-sessions"))]
    let place = worker.sessions.open(key);
    let taken = SessionLock::take(place, request.session_rules.clone(), memory);
    let (lock, namespace) = taken
        .ok_or_else(|| Failure::new(Reason::InvalidConfig, "an eval is already running for this session"))?;
    setup.namespace = namespace;
    setup.history = lock.history();
    setup.journal = lock.journal();
    Ok(lock)
}

/// Milliseconds since 1970-01-01T00:00:00Z.
fn millis_of_day() -> i64 {
    time::time_of_day()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
