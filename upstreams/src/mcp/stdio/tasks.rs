//! The tasks of a connection, on the owner's runtime: reader, writer, standard error, supervisor.

use super::super::inbound_reply::InboundReply;
use super::super::open_questions::Link;
use super::connection::{ChildStop, DropReason, PipeReply, StdioConnection};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use ptc_mcp::lines::{Frame, LineBuffer};
use ptc_mcp::message::id::{id_of_head, id_of_tail, id_within, number_of_id};
use ptc_mcp::message::lenient::{Message, parse};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::super::protocol;
use super::super::repair::{Nesting, TextPiece, complaint, pieces};
use super::super::result::RawResult;
use crate::child::{ChildProcess, Exit};
use crate::upstream::CallFault;
use crate::upstream::lifecycle::{ConnectionEnd, EndKind, Lifecycle, closed};
use ptc_base::memory::{MemoryBudget, MemoryReservation};
use ptc_base::pace::{Pace, apart};
use ptc_base::time::{self, timeout};

/// How long to wait for the exit of a child whose pipe broke, so that its exit status can be reported.
const EXIT_PATIENCE: Duration = Duration::from_millis(1000);
/// How long the last bytes of a child that is gone may take to arrive.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);
/// How long a child may be silent amid a message.
const QUIET: Duration = Duration::from_millis(500);
/// Most messages in one batch.
const MAX_BATCH: usize = 1024;
/// Lines of standard error that are logged in any second.
const STDERR_LINES_PER_SECOND: u32 = 50;

/// Starts the tasks of a fresh child. They end with it.
pub(super) fn spawn(
    connection: &Arc<StdioConnection>,
    lifecycle: &Arc<Lifecycle<StdioConnection>>,
    child: ChildProcess,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    memory: Option<MemoryBudget>,
) {
    let owner = lifecycle.owner();
    let writer = connection.clone();
    owner.spawn(async move { std::future::poll_fn(|cx| writer.poll_write(cx)).await });
    let reader = owner.spawn(read(connection.clone(), lifecycle.clone(), stdout, memory));
    let errors = owner.spawn(read_errors(connection.clone(), stderr));
    owner.spawn(supervise(connection.clone(), lifecycle.clone(), child, reader, errors));
}

async fn read(
    connection: Arc<StdioConnection>,
    lifecycle: Arc<Lifecycle<StdioConnection>>,
    mut stdout: pipe::Receiver,
    memory: Option<MemoryBudget>,
) {
    let mut lines = LineBuffer::default();
    // A reply is charged to its program when it is whole; until then it counts in what the process may take.
    let reservation = memory.map(MemoryReservation::new);
    let mut oversized = OversizedLine { settled: false, may_be_reply: false, why: DropReason::TooLong };
    let mut pace = Pace::default();
    // A message that goes on on the next line, as pretty-printed ones do; and bytes without an end that were looked at.
    let (mut begun, mut looked_at): (Option<PartialMessage>, usize) = (None, 0);
    loop {
        let is_amid = begun.is_some() || lines.unread() > looked_at;
        let reading = pace.wait(stdout.read_buf(lines.space()));
        let read = match is_amid {
            true => timeout(QUIET, reading).await.ok(),
            false => Some(reading.await),
        };
        match read {
            Some(Ok(0) | Err(_)) => return,
            Some(Ok(n)) => lines.filled(n),
            None => {
                // What has been begun will not be ended: whoever waits for it is told.
                if let Some(begun) = begun.take() {
                    begun.give_up(&connection, &lifecycle);
                }
                looked_at = lines.unread();
                if is_message(lines.unended()) {
                    let line = lines.end_line();
                    let (connection, lifecycle) = (connection.clone(), lifecycle.clone());
                    apart(line.len(), move || dispatch(&connection, &lifecycle, &line, None)).await;
                    looked_at = 0;
                }
                continue;
            }
        }
        looked_at = 0;
        let mut unread = lines.unread();
        while let Some(frame) = lines.next(connection.line_cap()) {
            match frame {
                Frame::Line(line) => {
                    let (connection, lifecycle) = (connection.clone(), lifecycle.clone());
                    let before = begun.take();
                    let length = line.len() + before.as_ref().map_or(0, |before| before.text.len());
                    begun = apart(length, move || dispatch(&connection, &lifecycle, &line, before)).await;
                }
                Frame::Overflow { head } => oversized.begin(&connection, &head, DropReason::TooLong),
                Frame::OverflowEnd { tail, bytes, id } => oversized.end(&connection, id, &tail, bytes),
            }
            pace.worked(unread - lines.unread()).await;
            unread = lines.unread();
        }
        // What was looked at without coming to the end of a line.
        pace.worked(unread).await;
        let kept = lines.unread() + begun.as_ref().map_or(0, |begun| begun.text.len());
        if reservation.as_ref().is_some_and(|reservation| !reservation.resize(kept as u64)) {
            begun = None;
            oversized.begin(&connection, &lines.give_up(), DropReason::NoMemory);
            let fits = reservation.as_ref().is_none_or(|reservation| reservation.resize(0));
            debug_assert!(fits, "a reservation shrinks");
        }
    }
}

/// Finds the request that an oversized line answers: by its id, wherever that stands, because only one request waits, or else
/// the oldest. A line whose id is known but no longer awaited fails no request, and neither does one that is no reply.
struct OversizedLine {
    settled: bool,
    may_be_reply: bool,
    why: DropReason,
}

impl OversizedLine {
    fn begin(&mut self, connection: &StdioConnection, head: &[u8], why: DropReason) {
        let upstream = &*connection.name;
        match why {
            DropReason::TooLong => {
                tracing::warn!(upstream, cap = connection.line_cap(), "upstream_line_too_long: dropped");
            }
            DropReason::NoMemory => tracing::warn!(upstream, "upstream_line_without_memory: dropped"),
        }
        let id = id_of_head(head);
        self.may_be_reply = begins_reply(head);
        if !self.may_be_reply {
            connection.note_noise(head);
        }
        let failed = id
            .or_else(|| connection.only_waiting().filter(|_| self.may_be_reply))
            .is_some_and(|id| connection.fail_dropped(Some(id), connection.line_cap() as u64, why));
        (self.settled, self.why) = (failed || id.is_some(), why);
    }

    fn end(&mut self, connection: &StdioConnection, id: Option<bytes::Bytes>, tail: &[u8], bytes: u64) {
        if std::mem::take(&mut self.settled) {
            return;
        }
        let id = id.and_then(|id| std::str::from_utf8(&id).ok().and_then(number_of_id));
        let id = id.or_else(|| id_of_tail(tail));
        if id.is_some() || self.may_be_reply {
            connection.fail_dropped(id, bytes, self.why);
        }
    }
}

/// Whether a line that begins so may be a reply: an object with one of the members of replies early in it.
fn begins_reply(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let names = ["\"jsonrpc\"", "\"id\"", "\"result\"", "\"error\""];
    head.starts_with(b"{")
        && names.into_iter().any(|name| memchr::memmem::find(head, name.as_bytes()).is_some())
}

/// Whether a text is a message.
#[expect(clippy::disallowed_methods, reason = "entry point: is_message()")]
fn is_message(text: &[u8]) -> bool {
    text.ends_with(b"}") && parse(text, MAX_BATCH).is_ok_and(|messages| messages.iter().any(says_something))
}

/// Whether an object is a message, and not just JSON.
fn says_something(message: &Message<'_>) -> bool {
    message.method.is_some() || message.result.is_some() || message.error.is_some() || message.id.is_some()
}

/// A message that continues on the next line.
struct PartialMessage {
    text: BytesMut,
    nesting: Nesting,
}

impl PartialMessage {
    fn new(text: &[u8]) -> Self {
        let mut nesting = Nesting::default();
        nesting.feed(text);
        Self { text: BytesMut::from(text), nesting }
    }

    /// Appends one more line; returns the rest.
    fn and(
        mut self,
        connection: &Arc<StdioConnection>,
        lifecycle: &Lifecycle<StdioConnection>,
        line: &[u8],
    ) -> Option<PartialMessage> {
        self.text.extend_from_slice(b"\n");
        self.text.extend_from_slice(line);
        self.nesting.feed(line);
        // No string of JSON goes on on another line.
        if self.nesting.in_string || self.text.len() > connection.line_cap() {
            self.give_up(connection, lifecycle);
            return None;
        }
        if self.nesting.depth > 0 {
            return Some(self);
        }
        let text = self.text.freeze();
        if let Some(unended) = dispatch(connection, lifecycle, &text, None) {
            unended.give_up(connection, lifecycle);
        }
        None
    }

    /// It has not become a message: the request that it answers fails, or else it was noise, among which there may be messages.
    fn give_up(self, connection: &Arc<StdioConnection>, lifecycle: &Lifecycle<StdioConnection>) {
        let text = self.text.freeze();
        if fail_broken(connection, &text, text.len()) {
            return;
        }
        connection.note_noise(&text);
        for line in text.split(|byte| *byte == b'\n').skip(1) {
            take_pieces(connection, lifecycle, &text.slice_ref(line));
        }
    }
}

/// Handles one line. `begun`: an unfinished message that may continue with it; returns the one that may continue with the next.
#[expect(clippy::disallowed_methods, reason = "entry point: dispatch()")]
fn dispatch(
    connection: &Arc<StdioConnection>,
    lifecycle: &Lifecycle<StdioConnection>,
    line: &bytes::Bytes,
    begun: Option<PartialMessage>,
) -> Option<PartialMessage> {
    let Ok(messages) = parse(line, MAX_BATCH) else {
        return match begun {
            Some(begun) => begun.and(connection, lifecycle, line),
            None if line.iter().all(u8::is_ascii_whitespace) => None,
            None => take_pieces(connection, lifecycle, line),
        };
    };
    if let Some(begun) = begun {
        // A message at the beginning of a line stands for itself; all else may be a part of what was begun.
        let is_indented = line.first().is_some_and(u8::is_ascii_whitespace);
        if is_indented || !messages.iter().any(says_something) {
            return begun.and(connection, lifecycle, line);
        }
        begun.give_up(connection, lifecycle);
    }
    messages.iter().for_each(|message| dispatch_one(connection, lifecycle, line, message, None));
    None
}

/// Handles a text that is no message as a whole.
#[expect(clippy::disallowed_methods, reason = "entry point: take_pieces()")]
fn take_pieces(
    connection: &Arc<StdioConnection>,
    lifecycle: &Lifecycle<StdioConnection>,
    text: &bytes::Bytes,
) -> Option<PartialMessage> {
    for piece in pieces(text) {
        match piece {
            TextPiece::Json(json, note) => match parse(&json, MAX_BATCH) {
                Ok(messages) => messages
                    .iter()
                    .for_each(|message| dispatch_one(connection, lifecycle, &json, message, note)),
                Err(_) if answer_of_bad_text(connection, &json) => {}
                Err(_) => connection.note_noise(&json),
            },
            TextPiece::Unfinished(text) => return Some(PartialMessage::new(&text)),
            TextPiece::Broken { text, at } => {
                if !fail_broken(connection, &text, at) {
                    connection.note_noise(&text);
                }
            }
            TextPiece::Noise(text) => connection.note_noise(&text),
        }
    }
    None
}

/// Fails the request whose answer is a text that ceases to be JSON at `at`: a text with the id of a request is not noise.
fn fail_broken(connection: &StdioConnection, text: &[u8], at: usize) -> bool {
    let fault = || {
        let what = complaint(text, at);
        CallFault::upstream_error(format!("invalid JSON-RPC response: {what}")).with_bytes(text.len() as u64)
    };
    id_within(text).is_some_and(|id| connection.complete(id, 0, Err(fault())))
}

fn dispatch_one(
    connection: &Arc<StdioConnection>,
    lifecycle: &Lifecycle<StdioConnection>,
    line: &bytes::Bytes,
    message: &Message<'_>,
    note: Option<&'static str>,
) {
    let upstream = &*connection.name;
    match (&message.method, message.id) {
        (Some(method), Some(id)) => {
            let (era, params) = (connection.era(), message.params);
            match connection.inbound.answer(era, method, id, params, Link::Session) {
                Some(InboundReply::Ready(answer)) => connection.control(answer),
                Some(InboundReply::Waiting(answer)) => {
                    let connection = connection.clone();
                    lifecycle.owner().spawn(async move {
                        if let Some(answer) = answer.await {
                            connection.control(answer);
                        }
                    });
                }
                None => tracing::debug!(
                    upstream,
                    method = &**method,
                    "upstream_noise: a request that is open already"
                ),
            }
        }
        (Some(method), None) if method == "notifications/cancelled" => {
            connection.inbound.withdrawn(message.params, Link::Session);
        }
        // Nothing links it to a call.
        (Some(method), None) => {
            if let Some(event) = connection.inbound.notified(method, message.params, None) {
                lifecycle.announce(event);
            }
        }
        (None, id) => {
            let answer = match (message.error, message.result) {
                (Some(error), _) => Ok(PipeReply::Error(line.slice_ref(error.as_bytes()))),
                (None, Some(result)) => {
                    Ok(PipeReply::Result(RawResult::of(line, result, message).noted(note)))
                }
                (None, None) => Err(CallFault::upstream_error(format!(
                    "unexpected JSON-RPC response {}",
                    protocol::render(line)
                ))
                .with_bytes(line.len() as u64)),
            };
            let completed = match id.and_then(number_of_id).filter(|id| *id > 0) {
                Some(id) => connection.complete(id, line.len(), answer),
                // A server that cannot even read the id of what it complains about, or gives an answer another id.
                None if message.error.is_some()
                    || (message.result.is_some() && id.is_some_and(|id| id != "null")) =>
                {
                    connection.only_waiting().is_some_and(|waiting| {
                        let answer = if message.error.is_some() { answer } else { Err(no_request(line)) };
                        connection.complete(waiting, line.len(), answer)
                    })
                }
                None => false,
            };
            if !completed {
                tracing::debug!(upstream, "upstream_noise: a reply to nobody");
                if !says_something(message) {
                    connection.note_noise(line);
                }
            }
        }
    }
}

/// The fault of the only request in flight, where an answer has an id that no request of ours has.
fn no_request(line: &[u8]) -> CallFault {
    let shown = protocol::render(line);
    CallFault::upstream_error(format!("unexpected JSON-RPC response {shown}: its id is that of no request"))
        .with_bytes(line.len() as u64)
}

/// Fails the request of a reply that would be JSON except for bytes that are not UTF-8.
#[expect(clippy::disallowed_methods, reason = "entry point: answer_of_bad_text()")]
fn answer_of_bad_text(connection: &StdioConnection, line: &[u8]) -> bool {
    let Err(error) = std::str::from_utf8(line) else { return false };
    let text = String::from_utf8_lossy(line);
    let Ok(messages) = parse(text.as_bytes(), MAX_BATCH) else { return false };
    let mut found = false;
    for id in messages.iter().filter(|m| m.method.is_none()).filter_map(|m| m.id.and_then(number_of_id)) {
        let at = error.valid_up_to();
        let fault = CallFault::upstream_error(format!("invalid JSON-RPC response: not UTF-8 at byte {at}"))
            .with_bytes(line.len() as u64);
        found |= connection.complete(id, line.len(), Err(fault));
    }
    found
}

async fn read_errors(connection: Arc<StdioConnection>, mut stderr: pipe::Receiver) {
    let upstream = &*connection.name;
    let mut lines = LineBuffer::default();
    let mut second = time::now();
    let mut logged = 0;
    let mut pace = Pace::default();
    loop {
        let buffer = lines.space();
        let old = buffer.len();
        match pace.wait(stderr.read_buf(buffer)).await {
            Ok(0) | Err(_) => return,
            Ok(_) => connection.stderr.push(&buffer[old..]),
        }
        if time::since(second) >= Duration::from_secs(1) {
            (second, logged) = (time::now(), 0);
        }
        let mut unread = lines.unread();
        while let Some(frame) = lines.next(8 * 1024) {
            logged += 1;
            if let Frame::Line(line) = frame
                && logged <= STDERR_LINES_PER_SECOND
            {
                tracing::debug!(upstream, line = %String::from_utf8_lossy(&line), "upstream_stderr");
            }
            pace.worked(unread - lines.unread()).await;
            unread = lines.unread();
        }
        // What was looked at without coming to the end of a line.
        pace.worked(unread).await;
    }
}

/// Watches over the child's life, and says how it ended.
async fn supervise(
    connection: Arc<StdioConnection>,
    lifecycle: Arc<Lifecycle<StdioConnection>>,
    mut child: ChildProcess,
    mut reader: JoinHandle<()>,
    errors: JoinHandle<()>,
) {
    let mut stop = connection.stop.subscribe();
    let asked = async {
        match stop.wait_for(|stop| *stop != ChildStop::No).await.as_deref() {
            Ok(ChildStop::After(grace)) => *grace,
            Ok(ChildStop::No) | Err(_) => Duration::ZERO,
        }
    };
    let mut grace = None;
    let exit = tokio::select! {
        exit = child.wait() => Some(exit),
        _ = &mut reader => timeout(EXIT_PATIENCE, child.wait()).await.ok(),
        () = connection.broken.notified() => timeout(EXIT_PATIENCE, child.wait()).await.ok(),
        asked = asked => {
            grace = Some(asked);
            None
        }
    };
    let upstream = &*connection.name;
    let end = match (&exit, grace) {
        (Some(exit), _) => {
            // Replies that it wrote before its end still count.
            if !reader.is_finished() {
                let _ = timeout(DRAIN_PATIENCE, &mut reader).await;
            }
            let exit = exit.as_ref().ok().copied();
            tracing::info!(upstream, exit = exit.map(|e| e.to_string()), "upstream_exit");
            let fault = CallFault::unavailable(match exit {
                Some(exit) => format!("mcp_stdio process exited with {exit}"),
                None => "mcp_stdio process exited".to_owned(),
            });
            let kind = if exit.is_some_and(Exit::is_clean) { EndKind::Clean } else { EndKind::Crash };
            ConnectionEnd { fault: with_stderr(fault, &connection), kind }
        }
        (None, Some(_)) => ConnectionEnd { fault: closed(), kind: EndKind::Clean },
        (None, None) => {
            tracing::warn!(upstream, "upstream_closed_its_pipes: ending it");
            let fault = CallFault::unavailable("mcp_stdio process closed its pipes");
            ConnectionEnd { fault: with_stderr(fault, &connection), kind: EndKind::Crash }
        }
    };
    connection.close(end);
    if exit.is_none() {
        let _ = match grace {
            Some(grace) => child.wait_or_end(grace).await,
            None => child.end_now().await,
        };
    }
    drop(child);
    reader.abort();
    errors.abort();
    connection.gone.send_replace(true);
    lifecycle.note_end(&connection);
}

fn with_stderr(fault: CallFault, connection: &StdioConnection) -> CallFault {
    fault.with_hint(&connection.stderr_hint())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Backoff, StdioConfig, Transport, UpstreamConfig};
    use crate::mcp::inbound::Inbound;
    use crate::mcp::roots::ClientRoots;
    use ptc_base::pace::PIECE;
    use ptc_base::pace::work::take_work;
    use std::io::Write as _;

    const LINES: usize = 4 << 20;

    /// A connection, and a pipe through which another thread writes lines of nothing.
    fn flooded() -> (Arc<StdioConnection>, pipe::Receiver, std::thread::JoinHandle<()>) {
        let config = UpstreamConfig::new("fake", Transport::Stdio(StdioConfig::for_command("fake")));
        let inbound = Inbound::new(&config, &ClientRoots::default());
        let (stdin, _) = pipe::pipe().unwrap();
        let connection = Arc::new(StdioConnection::new("fake".into(), inbound, stdin, 1 << 20));
        let (sender, receiver) = pipe::pipe().unwrap();
        let mut sender = std::fs::File::from(sender.into_blocking_fd().unwrap());
        let writing = std::thread::spawn(move || sender.write_all(&vec![b'\n'; LINES]).unwrap());
        (connection, receiver, writing)
    }

    #[tokio::test]
    async fn reading_blank_lines_of_a_child_gives_way() {
        let (connection, stdout, writing) = flooded();
        let lifecycle = Arc::new(Lifecycle::new(tokio::runtime::Handle::current(), Backoff::default()));
        take_work();
        read(connection, lifecycle, stdout, None).await;
        let work = take_work();
        assert!(work.most <= PIECE && work.all >= LINES, "{work:?}");
        writing.join().unwrap();
    }

    #[tokio::test]
    async fn reading_what_a_child_says_on_standard_error_gives_way() {
        let (connection, stderr, writing) = flooded();
        take_work();
        read_errors(connection, stderr).await;
        let work = take_work();
        assert!(work.most <= PIECE && work.all >= LINES, "{work:?}");
        writing.join().unwrap();
    }
}
