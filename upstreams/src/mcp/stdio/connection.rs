//! State shared by callers and pipe tasks: requests in flight by id, lines to be written, and the end.

use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use ptc_mcp::Era;
use ptc_mcp::encode;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};

use super::super::inbound::Inbound;
use super::super::repair;
use super::super::result::RawResult;
use super::outbox::{FlushStop, Outbox};
use crate::child::StderrRing;
use crate::upstream::lifecycle::{ConnectionEnd, EndKind, TransportConnection};
use crate::upstream::{CallFault, CallLimits, FaultReason, Stopwatch, no_memory};
use ptc_base::time::{self, Instant};

/// How much of a text is remembered that is no message.
const NOISE_KEPT: usize = 320;
/// How much of a child's standard error is remembered.
const STDERR_KEPT: usize = 4096;

/// The time that a child gets for each step of its shutdown: standard input closed, `SIGTERM`, `SIGKILL`.
pub(super) const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// One child's connection. Handles are shared by callers on any thread and by the tasks on the owner's runtime.
#[derive(Debug)]
pub(crate) struct StdioConnection {
    /// The upstream's name, for logs.
    pub(super) name: Arc<str>,
    /// Handles the child's unsolicited messages.
    pub(super) inbound: Arc<Inbound>,
    next_id: AtomicU64,
    state: Mutex<PipeState>,
    /// The longest line worth keeping: the largest cap among the requests in flight, and at least the handshake's.
    line_cap: AtomicUsize,
    base_cap: usize,
    /// Whether requests carry modern `_meta`.
    pub(super) modern: AtomicBool,
    /// Whether the server lists its capabilities, without tools.
    pub(super) leaves_out_tools: AtomicBool,
    /// The pipe to the child broke.
    pub(super) broken: Notify,
    /// How the supervisor is asked to end the child.
    pub(super) stop: watch::Sender<ChildStop>,
    /// Whether the child is gone.
    pub(super) gone: watch::Sender<bool>,
    pub(super) stderr: StderrRing,
}

/// How the child is to be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildStop {
    /// Not at all.
    No,
    /// Standard input is closed; signals follow after each grace.
    After(Duration),
}

#[derive(Debug, Default)]
struct PipeState {
    pending: HashMap<u64, Pending, ahash::RandomState>,
    outbox: Outbox,
    stdin: Option<pipe::Sender>,
    writer: Option<Waker>,
    end: Option<ConnectionEnd>,
    /// The beginning of the latest text on the child's standard output that was no message, and when it came.
    noise: (Option<Instant>, Vec<u8>),
}

#[derive(Debug)]
struct Pending {
    /// The most bytes of an answer, for messages.
    max_bytes: usize,
    /// The longest line that is taken, binary content included.
    max_line: usize,
    /// When its first byte was written.
    written: Option<Instant>,
    waker: Option<Waker>,
    answer: Option<Result<PipeReply, CallFault>>,
}

/// The payload of a reply, still as raw JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PipeReply {
    /// Its `result`.
    Result(RawResult),
    /// Its `error`.
    Error(Bytes),
}

impl TransportConnection for StdioConnection {
    fn ended(&self) -> Option<ConnectionEnd> {
        self.lock().end.clone()
    }

    fn abandon(&self) {
        self.stop(SHUTDOWN_GRACE);
    }
}

impl StdioConnection {
    pub(super) fn new(name: Arc<str>, inbound: Arc<Inbound>, stdin: pipe::Sender, base_cap: usize) -> Self {
        Self {
            name,
            inbound,
            next_id: AtomicU64::new(1),
            state: Mutex::new(PipeState { stdin: Some(stdin), ..PipeState::default() }),
            line_cap: AtomicUsize::new(base_cap),
            base_cap,
            modern: AtomicBool::new(false),
            leaves_out_tools: AtomicBool::new(false),
            broken: Notify::new(),
            stop: watch::Sender::new(ChildStop::No),
            gone: watch::Sender::new(false),
            stderr: StderrRing::new(STDERR_KEPT),
        }
    }

    /// The era that was agreed on.
    pub(super) fn era(&self) -> Era {
        if self.modern.load(Ordering::Relaxed) { Era::Modern } else { Era::Handshake }
    }

    /// Sends the request that `encode` builds from its id, and waits for the answer.
    ///
    /// The call's own time starts when its first byte is written, and stands still while `stopwatch` does, as does the
    /// deadline. Dropping the future cancels the request; if it was written and may be cancelled, the child gets a
    /// notification.
    pub(super) async fn request(
        &self,
        encode: impl FnOnce(u64) -> Vec<u8>,
        limits: &CallLimits,
        cancellable: bool,
        stopwatch: Option<&Stopwatch>,
    ) -> Result<PipeReply, CallFault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.enqueue(id, encode(id), limits)?;
        let in_flight = InFlight { connection: self, id, cancellable };
        let first = (time::now() + limits.timeout).min(limits.deadline);
        let timer = time::sleep_until(first);
        tokio::pin!(timer);
        let answer = std::future::poll_fn(|cx| {
            loop {
                let written = match self.poll_answer(id, cx) {
                    ControlFlow::Break(answer) => return Poll::Ready(answer),
                    ControlFlow::Continue(written) => written,
                };
                if stopwatch.is_some_and(|stopwatch| stopwatch.stands(cx))
                    || timer.as_mut().poll(cx).is_pending()
                {
                    return Poll::Pending;
                }
                let now = time::now();
                let stood = stopwatch.map_or(Duration::ZERO, Stopwatch::stood);
                let end = limits.deadline.min(written.unwrap_or(now) + limits.timeout) + stood;
                if now >= end {
                    return Poll::Ready(Err(self.timed_out(written)));
                }
                timer.as_mut().reset(end);
            }
        })
        .await;
        drop(in_flight);
        answer
    }

    fn enqueue(&self, id: u64, line: Vec<u8>, limits: &CallLimits) -> Result<(), CallFault> {
        let max_line = limits.max_bytes.saturating_add(limits.binary_bytes);
        let mut state = self.lock();
        if let Some(end) = &state.end {
            return Err(end.fault.clone().never_sent());
        }
        let cap = if state.pending.is_empty() { self.base_cap } else { self.line_cap() };
        self.line_cap.store(cap.max(max_line), Ordering::Relaxed);
        let max_bytes = limits.max_bytes;
        let pending = Pending { max_bytes, max_line, written: None, waker: None, answer: None };
        state.pending.insert(id, pending);
        let alone = state.outbox.is_empty() && state.pending.len() == 1;
        state.outbox.request(id, line);
        if alone {
            // Nobody's bytes could join these: writing here saves a turn of the writer's task.
            if let FlushStop::Empty = state.flush() {
                return Ok(());
            }
        }
        state.wake_writer();
        Ok(())
    }

    /// Sends a notification or a reply, as far as there is room for such.
    pub(super) fn control(&self, line: Vec<u8>) {
        let mut state = self.lock();
        if state.end.is_none() {
            state.outbox.control(line);
            state.wake_writer();
        }
    }

    /// Sends a request without waiting for its answer. Only its notifications matter.
    pub(super) fn request_unanswered(&self, method: &str, params: &[u8]) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.control(encode::request(id, method, params));
    }

    /// The answer, or when the first byte of the request was written.
    fn poll_answer(
        &self,
        id: u64,
        cx: &Context<'_>,
    ) -> ControlFlow<Result<PipeReply, CallFault>, Option<Instant>> {
        let mut state = self.lock();
        let Some(pending) = state.pending.get_mut(&id) else {
            return ControlFlow::Break(Err(CallFault::unavailable("the request was lost")));
        };
        if pending.answer.is_some() {
            let answer = state.pending.remove(&id).and_then(|p| p.answer);
            return answer.map_or(ControlFlow::Continue(None), ControlFlow::Break);
        }
        match &mut pending.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        ControlFlow::Continue(pending.written)
    }

    /// The longest line worth keeping right now.
    pub(super) fn line_cap(&self) -> usize {
        self.line_cap.load(Ordering::Relaxed)
    }

    /// Hands an answer of `wire_bytes` to the request that waits for it; `false` if there is none (any more).
    pub(super) fn complete(&self, id: u64, wire_bytes: usize, answer: Result<PipeReply, CallFault>) -> bool {
        let mut state = self.lock();
        let Some(pending) = state.pending.get_mut(&id).filter(|p| p.answer.is_none()) else { return false };
        let answer = if wire_bytes > pending.max_line && answer.is_ok() {
            Err(too_large(pending.max_bytes, wire_bytes as u64))
        } else {
            answer
        };
        pending.answer = Some(answer);
        let waker = pending.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Fails the request `id`, or if that is `None` the oldest one, because its answer of `bytes` was dropped.
    pub(super) fn fail_dropped(&self, id: Option<u64>, bytes: u64, why: DropReason) -> bool {
        let target = {
            let state = self.lock();
            let waiting = state.pending.iter().filter(|(_, p)| p.answer.is_none());
            let target = match id {
                Some(id) => waiting.map(|(known, _)| *known).find(|known| *known == id),
                None => waiting.map(|(known, _)| *known).min(),
            };
            target.and_then(|id| state.pending.get(&id).map(|p| (id, p.max_bytes)))
        };
        let Some((id, max_bytes)) = target else { return false };
        let fault = match why {
            DropReason::TooLong => too_large(max_bytes, bytes),
            DropReason::NoMemory => no_memory(bytes),
        };
        self.complete(id, 0, Err(fault))
    }

    /// The request in flight, if there is exactly one.
    pub(super) fn only_waiting(&self) -> Option<u64> {
        let state = self.lock();
        let mut waiting = state.pending.iter().filter(|(_, p)| p.answer.is_none());
        match (waiting.next(), waiting.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// The writer's loop: writes pending lines and waits for more. Ready when there will be no more.
    pub(super) fn poll_write(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        loop {
            match state.flush() {
                FlushStop::Empty if state.stdin.is_none() => return Poll::Ready(()),
                FlushStop::Empty => {
                    state.writer = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                FlushStop::Full => {
                    let Some(stdin) = &state.stdin else { return Poll::Ready(()) };
                    match stdin.poll_write_ready(cx) {
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(_)) => break,
                        Poll::Pending => {
                            state.writer = Some(cx.waker().clone());
                            return Poll::Pending;
                        }
                    }
                }
                FlushStop::Broken => break,
            }
        }
        state.stdin = None;
        drop(state);
        self.broken.notify_one();
        Poll::Ready(())
    }

    /// Closes the child's standard input and fails the requests in flight. The first end counts.
    pub(super) fn close(&self, mut end: ConnectionEnd) {
        let mut state = self.lock();
        if state.end.is_some() {
            return;
        }
        if end.kind == EndKind::Crash && state.pending.is_empty() {
            end.kind = EndKind::CrashAtRest;
        }
        let mut wakers: Vec<Waker> = state.writer.take().into_iter().collect();
        for pending in state.pending.values_mut().filter(|p| p.answer.is_none()) {
            let fault = end.fault.clone();
            pending.answer = Some(Err(if pending.written.is_some() { fault } else { fault.never_sent() }));
            wakers.extend(pending.waker.take());
        }
        state.end = Some(end);
        state.stdin = None;
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Asks the supervisor to end the child: standard input closed, a grace for each further step.
    pub(super) fn stop(&self, grace: Duration) {
        self.stop.send_replace(ChildStop::After(grace));
    }

    /// Resolves when the child is gone.
    pub(super) async fn gone(&self) {
        let mut gone = self.gone.subscribe();
        let _ = gone.wait_for(|gone| *gone).await;
    }

    /// A hint with the last that the child said on standard error; empty if it said nothing.
    pub(super) fn stderr_hint(&self) -> String {
        match self.stderr.tail(500) {
            tail if tail.is_empty() => tail,
            tail => format!("standard error: {tail}"),
        }
    }

    /// Remembers a text on the child's standard output that is no message. There may be a flood of them.
    pub(super) fn note_noise(&self, text: &[u8]) {
        let beginning = &text[..text.len().min(NOISE_KEPT)];
        tracing::debug!(upstream = &*self.name, line = %repair::shown(beginning), "upstream_noise: not a message");
        if beginning.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let now = time::now();
        let (at, kept) = &mut self.lock().noise;
        *at = Some(now);
        kept.clear();
        kept.extend_from_slice(beginning);
    }

    /// A hint with the latest such text since then; empty if there was none.
    fn noise_hint(&self, since: Instant) -> String {
        match &self.lock().noise {
            (Some(at), text) if *at >= since => {
                format!("It wrote {:?} to its standard output, which is no MCP.", repair::shown(text))
            }
            _ => String::new(),
        }
    }

    fn timed_out(&self, written: Option<Instant>) -> CallFault {
        let fault = CallFault::timeout("mcp_stdio request timed out");
        match written {
            Some(written) => fault.with_hint(&self.noise_hint(written)),
            None => fault.with_hint("It was never sent: the server does not read its input.").never_sent(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.state.lock()
    }
}

impl PipeState {
    fn flush(&mut self) -> FlushStop {
        let Some(stdin) = &self.stdin else { return FlushStop::Empty };
        let pending = std::cell::RefCell::new(&mut self.pending);
        self.outbox.flush(
            stdin,
            |id| pending.borrow().contains_key(&id),
            |id| {
                if let Some(pending) = pending.borrow_mut().get_mut(&id) {
                    pending.written = Some(time::now());
                }
            },
        )
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

/// A request in flight; dropped early, it is taken back.
struct InFlight<'a> {
    connection: &'a StdioConnection,
    id: u64,
    cancellable: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let pending = self.connection.lock().pending.remove(&self.id);
        let unanswered = pending.is_some_and(|p| p.written.is_some() && p.answer.is_none());
        if unanswered && self.cancellable {
            let params = format!("{{\"requestId\":{},\"reason\":\"no longer wanted\"}}", self.id);
            self.connection.control(encode::notification("notifications/cancelled", params.as_bytes()));
        }
    }
}

fn too_large(max_bytes: usize, bytes: u64) -> CallFault {
    let message = format!("mcp_stdio response exceeded {max_bytes} bytes");
    CallFault::new(FaultReason::ResponseTooLarge, message).with_bytes(bytes)
}

/// Why a line is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropReason {
    /// It is longer than any reply may be that is waited for.
    TooLong,
    /// The process may not take as much memory.
    NoMemory,
}
