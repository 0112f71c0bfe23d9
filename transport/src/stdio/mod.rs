//! MCP over a pair of pipes: one JSON value per line.
//!
//! One future holds the whole conversation: reading, running calls, writing. Calls run concurrently inside it, and all
//! answers since the last write go out in one write. Dropping the future cancels every call.

pub mod frames;
mod outbox;
mod pipes;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, FuturesUnordered, SelectAll};
use futures_util::{FutureExt, StreamExt};
use ptc_host::{engine, time};
use tokio::io::{AsyncRead, AsyncWrite};
use tracing::{error, info, warn};

use frames::{Frame, FrameReader};
use outbox::Outbox;
pub use pipes::standard_streams;
use ptc_mcp::Era;
use ptc_mcp::Revision;
use ptc_mcp::RpcError;
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::strict::{self, Incoming, StrictMessage};

use ptc_protocol::principal::Principal;
use ptc_protocol::reply::{self, Answers};
use ptc_protocol::{
    Call, CallResponse, Connection, HandlerOutcome, MessageContext, Notice, Service, Watching, change,
};

/// Grace period of running calls after `exit` or a signal.
const EXIT_GRACE: Duration = Duration::from_millis(2000);
/// Grace period of running calls after the end of the input, or after another call has ended since: enough for a
/// short program, so that requests piped in from a file are answered.
const EOF_GRACE: Duration = Duration::from_millis(50);
/// How long the client may take to read the last answers.
const FLUSH_GRACE: Duration = Duration::from_millis(2000);
/// Maximum bytes of the answers to messages that arrived together before they are sent.
const BURST_BYTES: usize = 64 << 10;
/// Unread output above which no further input is read, in bytes.
const HIGH_WATER: usize = 4 << 20;

/// Settings of a stdio conversation.
#[derive(Debug, Clone, Copy)]
pub struct StdioOptions {
    /// Longest line in bytes, without its newline.
    pub max_frame_bytes: usize,
}

/// Serves one client until its input ends, it says `exit`, or `stop` completes.
pub async fn run_stdio<R, W>(
    service: Arc<Service>,
    options: StdioOptions,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let max_in_flight = service.limiter.limits().all;
    let mut pipe = Pipe {
        connection: Connection::over_pipe(max_in_flight),
        caller: service.process(),
        service,
        seen_modern: false,
        calls: FuturesUnordered::new(),
        outbox: Outbox::default(),
    };
    let mut frames = FrameReader::new(reader, options.max_frame_bytes);
    let mut writer = writer;
    // What happens seldom is in sets of its own, which poll only what was woken.
    let mut stop = FuturesUnordered::from_iter([stop]);
    let mut changes = pipe.changes();
    let outbox = pipe.outbox.clone();
    let grace = loop {
        // Programs that begin late would wait for turns of their own.
        if engine::gives_way() {
            tokio::task::yield_now().await;
        }
        // While too much output is unread, no input is read until half of it is gone.
        let full = outbox.len() >= HIGH_WATER;
        tokio::select! {
            // Answers are written before more is read, so that those of one burst share a write.
            biased;
            Some(()) = stop.next() => {
                info!(event = "shutdown");
                break EXIT_GRACE;
            }
            written = outbox.drive(&mut writer, full.then_some(HIGH_WATER / 2)) => if let Err(failure) = written {
                // The client cannot read any answer any more.
                error!(event = "stdout_write_error", reason = %failure);
                return;
            },
            Some(finished) = pipe.calls.next() => pipe.finish(finished),
            Some(change) = changes.next(), if !full => pipe.tell_of(&change),
            frame = frames.next(), if !full => {
                let mut next = match frame {
                    Ok(frame) => Some(frame),
                    Err(failure) => {
                        error!(event = "stdin_read_error", reason = %failure);
                        break EOF_GRACE;
                    }
                };
                // Messages that arrived together are processed together, for as long as their programs begin at once.
                let mut over = None;
                while let Some(frame) = next.take() {
                    let running = pipe.connection.running();
                    over = pipe.take(frame, options.max_frame_bytes);
                    // Cancelled calls release their permits before the next request needs one.
                    let cancelled = pipe.connection.running() < running;
                    let go_on = over.is_none() && !cancelled && pipe.outbox.len() < BURST_BYTES && !engine::gives_way();
                    next = if go_on { frames.buffered() } else { None };
                }
                if let Some(grace) = over {
                    break grace;
                }
            }
        }
    };
    pipe.drain(grace, &mut writer).await;
    // Calls that are still running end here, unanswered.
    drop(pipe);
    // A client that reads too late has left.
    if let Ok(Err(failure)) = time::timeout(FLUSH_GRACE, outbox.flush(&mut writer)).await {
        error!(event = "stdout_write_error", reason = %failure);
    }
}

/// A change that the client of a pipe is told of.
enum Change {
    /// Other tools are offered.
    Tools,
    /// Something that it watches has changed.
    Watched(Notice),
}

/// The answer of a finished call, if one must be sent.
type CallAnswer = Option<Vec<u8>>;

struct Pipe {
    service: Arc<Service>,
    connection: Arc<Connection>,
    caller: Principal,
    seen_modern: bool,
    calls: FuturesUnordered<BoxFuture<'static, CallAnswer>>,
    outbox: Outbox,
}

impl Pipe {
    /// The revision that shapes answers to messages that state none.
    fn revision(&self) -> Option<Revision> {
        self.connection.revision().or(self.seen_modern.then_some(Revision::V2026_07_28))
    }

    /// The changes that the client may be told of.
    fn changes(&self) -> SelectAll<BoxStream<'static, Change>> {
        let (service, caller) = (self.service.clone(), self.caller.clone());
        let first = service.tools.changes_for(&service.present(&caller));
        let tools = stream::unfold((first, service, caller), async |(mut changes, service, caller)| {
            changes.next(&service.tools, || service.present(&caller)).await?;
            Some((Change::Tools, (changes, service, caller)))
        });
        let watching = self.service.exposed.as_ref().map(Watching::all_lists);
        if let Some(watching) = &watching {
            self.connection.set_watcher(watching.watch.number());
        }
        let watched = watching.map(|watching| {
            stream::unfold(watching, async |watching| {
                let notice = watching.watch.next().await;
                Some((Change::Watched(notice), watching))
            })
        });
        stream::select_all([tools.boxed()].into_iter().chain(watched.map(StreamExt::boxed)))
    }

    /// Only in the handshake era: in the modern one lists have a time to live, and a client opens a channel for what it watches.
    fn tell_of(&mut self, told: &Change) {
        if self.connection.revision().is_none() {
            return;
        }
        self.outbox.push(match told {
            Change::Tools => br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_vec(),
            Change::Watched(notice) => change(notice, None),
        });
    }

    fn finish(&mut self, answered: CallAnswer) {
        if let Some(body) = answered {
            self.outbox.push(body);
        }
    }

    /// Processes an input item. For the last one, returns the grace period of running calls.
    fn take(&mut self, frame: Frame, max_frame_bytes: usize) -> Option<Duration> {
        match frame {
            Frame::Line(line) => {
                if self.receive(&line).is_continue() {
                    return None;
                }
                info!(event = "exit");
                Some(EXIT_GRACE)
            }
            Frame::TooLong(id) => {
                warn!(event = "frame_too_large", max_frame_bytes);
                let id = id.as_deref().and_then(|id| std::str::from_utf8(id).ok());
                let id = id.and_then(|id| Raw::parse(id).ok()).and_then(RequestId::from_raw);
                let error = match id {
                    Some(_) => RpcError::new(
                        RpcError::INVALID_REQUEST,
                        format!(
                            "Invalid Request: the message has more than {max_frame_bytes} bytes (--max-frame-bytes)"
                        ),
                    ),
                    None => RpcError::parse_error(),
                };
                self.outbox.push(reply::error(Answers::from_id(id.as_ref(), self.revision()), &error));
                None
            }
            Frame::End => {
                info!(event = "stdin_eof");
                Some(EOF_GRACE)
            }
        }
    }

    /// Runs a call: a short program to its end, any other one until it waits.
    fn run(&mut self, call: Box<Call>) {
        let outbox = self.outbox.clone();
        let mut running = answer(call.run(move |note| outbox.push(note))).boxed();
        // A call that still runs is polled by the conversation itself.
        match running.as_mut().now_or_never() {
            Some(answered) => self.finish(answered),
            None => self.calls.push(running),
        }
    }

    /// Processes one line. Breaks on `exit`.
    #[expect(clippy::disallowed_methods, reason = "entry point: Pipe.receive")]
    fn receive(&mut self, line: &[u8]) -> std::ops::ControlFlow<()> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return std::ops::ControlFlow::Continue(());
        }
        match strict::read(line) {
            Err(malformed) => {
                let body = self.service.unparsable(self.revision(), malformed);
                self.outbox.push(body);
            }
            Ok(Incoming::Single(message)) => match self.handle(&message) {
                HandlerOutcome::Exit => return std::ops::ControlFlow::Break(()),
                HandlerOutcome::Silent => {}
                HandlerOutcome::Reply(reply) => self.outbox.push(reply.body),
                HandlerOutcome::Call(call) => self.run(call),
            },
            Ok(Incoming::Batch(messages)) if self.allows_batches() => return self.receive_batch(&messages),
            Ok(Incoming::Batch(_) | Incoming::BatchRefused | Incoming::NotAMessage) => self.refuse(),
        }
        std::ops::ControlFlow::Continue(())
    }

    fn handle(&mut self, message: &StrictMessage<'_>) -> HandlerOutcome {
        let era = Service::era_of(&self.connection, message);
        self.seen_modern |= era == Era::Modern;
        self.service.handle(MessageContext::new(&self.connection, era, &self.caller), message)
    }

    fn allows_batches(&self) -> bool {
        self.connection.revision().is_some_and(Revision::allows_batches)
    }

    fn refuse(&mut self) {
        let body = reply::error(Answers::Unknown(self.revision()), &RpcError::invalid_request());
        self.outbox.push(body);
    }

    /// Processes a batch: one array of answers, sent when the last of them is ready.
    fn receive_batch(&mut self, messages: &[Option<StrictMessage<'_>>]) -> std::ops::ControlFlow<()> {
        let mut replies = Vec::new();
        let mut calls = Vec::new();
        let mut exit = false;
        for message in messages {
            let handled = match message {
                // A handshake has no place in a batch: a batch requires one before it.
                Some(message) if !is_initialize(message) => {
                    let from = MessageContext::new(&self.connection, Era::Handshake, &self.caller);
                    self.service.handle(from, message)
                }
                _ => {
                    let id = message.as_ref().and_then(StrictMessage::answer_id);
                    let answers = Answers::from_id(id, self.revision());
                    replies.push(reply::error(answers, &RpcError::invalid_request()));
                    continue;
                }
            };
            match handled {
                HandlerOutcome::Silent => {}
                HandlerOutcome::Reply(reply) => replies.push(reply.body),
                HandlerOutcome::Call(call) => {
                    let outbox = self.outbox.clone();
                    calls.push(answer(call.run(move |note| outbox.push(note))));
                }
                HandlerOutcome::Exit => exit = true,
            }
        }
        self.calls.push(
            async move {
                replies.extend(futures_util::future::join_all(calls).await.into_iter().flatten());
                (!replies.is_empty()).then(|| reply::batch(&replies))
            }
            .boxed(),
        );
        if exit { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    }

    /// Lets running calls run for `grace`; no more input is read.
    async fn drain<W: AsyncWrite + Unpin>(&mut self, grace: Duration, writer: &mut W) {
        self.connection.drain();
        if self.calls.is_empty() {
            return;
        }
        let begun = time::now();
        let mut deadline = begun + grace;
        let outbox = self.outbox.clone();
        while !self.calls.is_empty() {
            tokio::select! {
                biased;
                Some(finished) = self.calls.next() => {
                    self.finish(finished);
                    // Each call that ends extends the deadline, so that slow machines finish as well.
                    deadline = deadline.max((time::now() + grace).min(begun + EXIT_GRACE));
                }
                // The writer may be closed; then the calls are only awaited.
                Err(_) = outbox.drive(writer, None) => break,
                () = time::sleep_until(deadline) => {
                    warn!(event = "exit_grace_elapsed", remaining = self.calls.len());
                    return;
                }
            }
        }
        info!(event = "exit_drained");
    }
}

/// The output of a finished call on a pipe: a cancelled call sends nothing.
async fn answer(call: impl Future<Output = CallResponse>) -> CallAnswer {
    answered(call.await)
}

fn answered(finished: CallResponse) -> CallAnswer {
    match finished {
        CallResponse::Reply(body) => Some(body),
        CallResponse::Cancelled(..) => None,
    }
}

fn is_initialize(message: &StrictMessage<'_>) -> bool {
    message.method.as_ref().and_then(Option::as_deref) == Some("initialize")
}

#[cfg(test)]
mod tests;
