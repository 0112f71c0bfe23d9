//! One eval: compile, run in slices, answer calls, render.

use super::driver::Driver;
use super::outcome::{Answer, EvalOutcome, Failure};
use super::request::EvalRequest;
use super::session::SessionState;
use super::tools::RunContext;
use super::SLICE_STEPS;
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use ptc_vm::machine::{CallId, HostRequest, Limits as VmLimits, Outcome, Payload, Reply, Setup};
use ptc_vm::{Error, Machine, Reason, Step, Value, json, print};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// How far an eval got at once.
pub(super) enum Begun {
    /// It is done.
    Done(EvalOutcome),
    /// It goes on.
    Running(Box<Run>),
}

/// A program in execution.
pub(super) struct Run {
    machine: Machine,
    request: Box<EvalRequest>,
    context: Rc<RunContext>,
    started: Instant,
    session: Option<Lease>,
    calls: FuturesUnordered<LocalBoxFuture<'static, (CallId, Reply)>>,
}

/// A session's place, empty while its state is with the program. Puts a fresh copy of what was there back if
/// the program is dropped before its end.
struct Lease {
    place: Rc<RefCell<Option<SessionState>>>,
    history: [Value; 3],
    turn: u64,
}

fn clock() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
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
            duration: started.elapsed(),
        })
    };
    if request.program.len() > limits.program_bytes {
        let text = format!("program size {} bytes exceeds limit of {}", request.program.len(), limits.program_bytes);
        return refused(Failure::new(Reason::ProgramTooLarge, text));
    }
    let program = match driver.cache.borrow_mut().get(&request.program) {
        Ok(program) => program,
        Err(error) => return refused(Failure::from(&error)),
    };
    let context = match request.context.as_deref().map(|text| json::parse(text.as_bytes())) {
        None => Value::Nil,
        Some(Ok(Some(value @ Value::Map(_)))) => value,
        Some(Ok(_)) => return refused(Failure::new(Reason::InvalidConfig, "the context must be a JSON object")),
        Some(Err(error)) => return refused(Failure::from(&error)),
    };
    let mut setup = Setup {
        context,
        strict_data: request.strict_data,
        upstreams: request.upstreams.is_some(),
        tools: request
            .tools
            .as_ref()
            .map(|tools| tools.names().into_iter().map(Rc::from).collect())
            .unwrap_or_default(),
        limits: VmLimits { memory_bytes: limits.memory_bytes, steps: limits.steps },
        clock,
        ..Setup::default()
    };
    let mut session = None;
    if let Some(key) = &request.session {
        let place = driver.sessions.open(key);
        let taken = place.borrow_mut().take();
        let Some(state) = taken else {
            return refused(Failure::new(Reason::InvalidConfig, "an eval is already running for this session"));
        };
        setup.namespace = state.namespace;
        setup.history = state.history.clone();
        session = Some(Lease { place, history: state.history, turn: state.turn });
    }
    let deadline = started + limits.timeout;
    let mut run = Box::new(Run {
        machine: Machine::new(program, setup),
        context: Rc::new(RunContext::new(deadline)),
        request,
        started,
        session,
        calls: FuturesUnordered::new(),
    });
    match run.machine.resume(SLICE_STEPS) {
        Step::Done => Begun::Done(run.finish()),
        Step::Wait | Step::Slice => Begun::Running(run),
    }
}

impl Run {
    /// Runs to the end.
    pub(super) async fn drive(mut self: Box<Self>) -> EvalOutcome {
        let deadline = self.context.deadline;
        loop {
            for call in self.machine.take_calls() {
                let answer = self.answer(call.request);
                self.calls.push(Box::pin(async move { (call.id, answer.await) }));
            }
            match self.machine.resume(SLICE_STEPS) {
                Step::Done => return self.finish(),
                Step::Slice => {
                    if Instant::now() >= deadline {
                        return self.time_out();
                    }
                    tokio::task::yield_now().await;
                }
                Step::Wait => {
                    for call in self.machine.take_calls() {
                        let answer = self.answer(call.request);
                        self.calls.push(Box::pin(async move { (call.id, answer.await) }));
                    }
                    match tokio::time::timeout_at(deadline, self.calls.next()).await {
                        Ok(Some((id, reply))) => self.machine.complete(id, reply),
                        Ok(None) => {
                            let text = "the program waits for a call that nobody answers";
                            self.machine.abort(Error::verbatim(Reason::RuntimeError, text));
                        }
                        Err(_) => return self.time_out(),
                    }
                }
            }
        }
    }

    fn time_out(mut self: Box<Self>) -> EvalOutcome {
        let text = format!("execution exceeded {}ms limit", self.request.limits.timeout.as_millis());
        self.machine.abort(Error::verbatim(Reason::Timeout, text));
        self.finish()
    }

    /// The future that answers one call of the program.
    fn answer(&self, request: HostRequest) -> LocalBoxFuture<'static, Reply> {
        match (request, &self.request.upstreams, &self.request.tools) {
            (HostRequest::Tool { name, arguments }, _, Some(tools)) => tools.call(&name, arguments),
            (HostRequest::Tool { name, .. }, _, None) => {
                let text = format!("Unknown tool: {name}. No tools available.");
                Box::pin(std::future::ready(Reply::Raise(Error::verbatim(Reason::UnknownTool, text))))
            }
            (request, Some(upstreams), _) => upstreams.answer(self.context.clone(), request),
            (HostRequest::Discovery { .. }, None, _) => Box::pin(std::future::ready(Reply::Value(Payload::None))),
            (HostRequest::Upstream(_), None, _) => {
                let text = "Unknown tool: call. No tools available.";
                Box::pin(std::future::ready(Reply::Raise(Error::verbatim(Reason::UnknownTool, text))))
            }
        }
    }

    /// Renders the value, checks it, and commits to the session.
    fn finish(self: Box<Self>) -> EvalOutcome {
        let Run { machine, request, context, started, session, calls } = *self;
        drop(calls);
        let Outcome { result, prints, namespace, steps, memory_peak, .. } = machine.finish();
        let mut changed = Vec::new();
        let answer = result.as_ref().map_err(Failure::from).and_then(|value| render(value, &request));
        if let Some(lease) = session {
            let mut state = SessionState { namespace, history: lease.history, turn: lease.turn };
            if let (Ok(_), Ok(value)) = (&answer, result) {
                state.remember(value);
            }
            changed = state.namespace.take_changed();
            *lease.place.borrow_mut() = Some(state);
        }
        EvalOutcome {
            result: answer,
            prints: prints.iter().map(|print| print.as_str().to_owned()).collect(),
            steps,
            memory_peak_bytes: memory_peak,
            upstream_calls: context.records.take(),
            changed,
            duration: started.elapsed(),
        }
    }
}

/// The value as text and JSON, as far as it is wanted.
fn render(value: &Value, request: &EvalRequest) -> Result<Answer, Failure> {
    let validated = match &request.signature {
        Some(signature) => Some(signature.validate(value)?),
        None => None,
    };
    let rendered = match request.render.max_text_bytes {
        Some(cap) => print::capped(value, cap),
        None => print::whole(value),
    }
    .map_err(|error| Failure::from(&error))?;
    let json = request.render.json.then(|| {
        let mut out = Vec::new();
        match json::write(value, &mut out) {
            Ok(()) => String::from_utf8(out).map_err(|_| "not UTF-8".to_owned()),
            Err(error) => Err(error.message().to_owned()),
        }
    });
    Ok(Answer { text: rendered.text, truncated: rendered.truncated, is_nil: value.is_nil(), json, validated })
}
