//! Execution of a program: runs its slices and answers its calls.

use super::calls::Calls;
use super::conclude::conclude;
use super::context::RunContext;
use super::outcome::EvalOutcome;
use super::request::{CallsSoFar, EvalRequest};
use super::session::SessionLock;
use crate::memory::MemoryReservation;
use futures_util::future::LocalBoxFuture;
use ptc_vm::machine::{HostRequest, Payload, Reply};
use ptc_vm::{Error, Machine, Reason, Step};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use tokio::time::{Instant, Sleep, sleep_until};

/// Steps that a program runs before its worker turns to its other work: some 100 µs.
pub(super) const SLICE_STEPS: u64 = 20_000;

/// A program in execution.
pub(super) struct Run {
    /// Present until the end.
    machine: Option<Machine>,
    request: Box<EvalRequest>,
    context: Rc<RunContext>,
    session: Option<SessionLock>,
    calls: Calls,
    /// What the context's values have taken of the process's memory.
    _granted: Option<Rc<MemoryReservation>>,
    /// Runs out at the deadline; made when there is something to wait for.
    alarm: Option<Pin<Box<Sleep>>>,
    /// How many prints went to the request's sink.
    shown: usize,
}

impl Drop for Run {
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
        let _ = sink.send(print.as_str().to_owned());
    }
    *shown = printed.len().max(*shown);
}

impl Run {
    /// A program that continues after its first slice.
    pub(super) fn new(
        machine: Machine,
        request: Box<EvalRequest>,
        context: RunContext,
        session: Option<SessionLock>,
        granted: Option<Rc<MemoryReservation>>,
        shown: usize,
    ) -> Run {
        Run {
            machine: Some(machine),
            request,
            context: Rc::new(context),
            session,
            calls: Calls::default(),
            _granted: granted,
            alarm: None,
            shown,
        }
    }

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

    /// Reports the progress of the calls to its listener.
    fn tell_progress(&self) {
        let Some(progress) = &self.request.progress else { return };
        let made = self.context.calls.get();
        let ended = u32::try_from(self.context.log.len()).unwrap_or(u32::MAX);
        let now = CallsSoFar { made: made.max(ended), ended };
        progress.send_if_modified(|so_far| std::mem::replace(so_far, now) != now);
    }

    fn time_out(mut self: Box<Self>) -> EvalOutcome {
        let error = Error::timeout(self.request.limits.timeout_ms());
        if let Some(machine) = &mut self.machine {
            machine.abort(error);
        }
        self.finish()
    }

    /// Ends what still runs, and returns the program's outcome.
    fn finish(mut self: Box<Self>) -> EvalOutcome {
        self.calls.clear();
        let machine = self.machine.take().expect("a run finishes once");
        show_prints(&self.request, &machine, &mut self.shown);
        let lock = self.session.take();
        let mut outcome = conclude(machine, &self.request, lock, &self.context.log, self.context.started);
        outcome.catalog_ops = self.context.catalog_ops.take();
        outcome
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
