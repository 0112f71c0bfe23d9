//! Request bodies of bounded size, and the two kinds of response bodies.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use ptc_host::engine::MemoryBudget;
use ptc_mcp::sse::message_event;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::connection::InProgress;
use crate::protocol::Finished;

/// The total time for a body, as a multiple of the time for one read.
const PATIENCE: u32 = 4;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is larger than allowed.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke.
    Broken,
    /// All request bodies together would take too much memory.
    NoRoom,
}

/// Limits on request bodies, and the account of all bodies in memory.
#[derive(Debug)]
pub(super) struct Bodies {
    max_bytes: usize,
    timeout: Duration,
    /// Bytes of all bodies held now, and their maximum.
    held: AtomicUsize,
    max_held: usize,
    /// The memory that bodies share with everything else.
    memory: MemoryBudget,
}

/// Bytes counted as held, until dropped.
#[derive(Debug)]
pub(super) struct Held {
    bodies: Arc<Bodies>,
    count: usize,
    /// The part of them taken from the shared memory.
    taken: u64,
}

impl Held {
    /// Counts `count` more bytes; `false` if the shared memory does not have them.
    fn more(&mut self, count: usize) -> bool {
        self.count += count;
        self.bodies.held.fetch_add(count, Ordering::Relaxed);
        let taken = self.bodies.memory.try_take(count as u64);
        if taken {
            self.taken += count as u64;
        }
        taken
    }

    /// Counts `count` bytes from now on, instead of the previous number.
    fn become_of(&mut self, count: usize) {
        let more = count.saturating_sub(self.count);
        if more > 0 {
            // What has been computed is sent in any case.
            self.more(more);
            return;
        }
        self.bodies.held.fetch_sub(self.count - count, Ordering::Relaxed);
        self.count = count;
        let surplus = self.taken.saturating_sub(count as u64);
        self.bodies.memory.give_back(surplus);
        self.taken -= surplus;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.bodies.held.fetch_sub(self.count, Ordering::Relaxed);
        self.bodies.memory.give_back(self.taken);
    }
}

/// A body in memory.
#[derive(Debug)]
pub(super) struct Received {
    bytes: Bytes,
    held: Held,
}

impl Received {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Frees the bytes, which stay counted until an answer is counted in their place.
    pub(super) fn into_held(self) -> Held {
        self.held
    }
}

/// A body that is being received.
#[derive(Debug)]
pub(super) struct Reception {
    body: Incoming,
    received: Received,
}

impl Reception {
    /// Takes the next piece, if it has arrived; `true` once the body is complete.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, Unread>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            None => return Poll::Ready(Ok(true)),
            Some(Err(_)) => return Poll::Ready(Err(Unread::Broken)),
            Some(Ok(frame)) => frame,
        };
        let taken = frame.into_data().map_or(Ok(()), |data| self.received.take(data));
        Poll::Ready(taken.map(|()| self.body.is_end_stream()))
    }

    /// Takes the rest. Each read has a time limit, and so have all of them together.
    pub(super) async fn rest(mut self) -> Result<Received, Unread> {
        let timeout = self.received.held.bodies.timeout;
        let last = Instant::now() + timeout * PATIENCE;
        loop {
            let next = poll_fn(|context| self.poll(context));
            match timeout_at(last.min(Instant::now() + timeout), next).await {
                Err(_) => return Err(Unread::TooSlow),
                Ok(Err(unread)) => return Err(unread),
                Ok(Ok(true)) => return Ok(self.received),
                Ok(Ok(false)) => {}
            }
        }
    }

    /// The bytes received.
    pub(super) fn into_received(self) -> Received {
        self.received
    }
}

impl Received {
    fn take(&mut self, data: Bytes) -> Result<(), Unread> {
        let bodies = self.held.bodies.clone();
        if self.bytes.len() + data.len() > bodies.max_bytes {
            return Err(Unread::TooLarge);
        }
        // Counted before it is kept; `held` gives it back whatever happens.
        if !self.held.more(data.len()) {
            return Err(Unread::NoRoom);
        }
        if self.bytes.is_empty() {
            // The usual small body comes in one piece, which needs no copy.
            self.bytes = data;
        } else {
            let mut bytes = BytesMut::from(std::mem::take(&mut self.bytes));
            bytes.extend_from_slice(&data);
            self.bytes = bytes.freeze();
        }
        if bodies.held() > bodies.max_held {
            return Err(Unread::NoRoom);
        }
        Ok(())
    }
}

impl Bodies {
    /// Bodies of at most `max_bytes` each and a quarter of `memory` together, or one of them; each read may take
    /// `timeout`.
    pub(super) fn new(max_bytes: usize, memory: MemoryBudget, timeout: Duration) -> Arc<Self> {
        let quarter = usize::try_from(memory.limit() / 4).unwrap_or(usize::MAX);
        Arc::new(Bodies {
            max_bytes,
            timeout,
            held: AtomicUsize::new(0),
            max_held: quarter.max(max_bytes),
            memory,
        })
    }

    /// Bytes of all bodies held now.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts an answer of `count` bytes as held. A computed answer is always sent; while too much is held, further
    /// requests are refused instead.
    pub(super) fn hold(self: &Arc<Self>, count: usize) -> Held {
        let mut held = Held { bodies: self.clone(), count: 0, taken: 0 };
        held.become_of(count);
        held
    }

    /// Begins to receive a body.
    pub(super) fn receive(self: &Arc<Self>, body: Incoming) -> Result<Reception, Unread> {
        if body.size_hint().lower() > self.max_bytes as u64 {
            return Err(Unread::TooLarge);
        }
        let held = Held { bodies: self.clone(), count: 0, taken: 0 };
        Ok(Reception { body, received: Received { bytes: Bytes::new(), held } })
    }
}

/// A response body.
pub(super) struct Body {
    source: Source,
    /// The request that it answers; it lasts as long as the body.
    request: Option<InProgress>,
    /// The account of an answer that its client has not read yet.
    held: Option<Held>,
}

enum Source {
    Full(Option<Bytes>),
    Events(Events),
}

/// Events that wait to be sent on a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Vec<u8>>,
    sender: Option<Waker>,
}

impl Notes {
    /// Adds a message.
    pub(super) fn push(&self, note: Vec<u8>) {
        let mut waiting = self.lock();
        waiting.events.push_back(message_event(&note));
        waiting.sender.take().into_iter().for_each(Waker::wake);
    }

    /// Adds a comment, which clients ignore. A client with unread events gets none.
    pub(super) fn keep_alive(&self) {
        let mut waiting = self.lock();
        if waiting.events.is_empty() {
            waiting.events.push_back(b":\n\n".to_vec());
            waiting.sender.take().into_iter().for_each(Waker::wake);
        }
    }

    /// The next event; if there is none, the task of `context` is woken when there is one.
    fn poll(&self, context: &mut Context<'_>) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        let event = waiting.events.pop_front();
        if event.is_none() {
            waiting.sender = Some(context.waker().clone());
        }
        event
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call whose notifications and response go out as events. It runs whether its client reads or not, so that a client
/// that does not read cannot hold a running call's resources. Dropping it, as a disconnect does, cancels the call.
struct Events {
    call: Option<JoinHandle<(Vec<u8>, Held)>>,
    notes: Notes,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.call.iter().for_each(JoinHandle::abort);
    }
}

impl Body {
    /// Nothing.
    pub(super) fn empty() -> Self {
        Self::of(Source::Full(None))
    }

    /// These bytes.
    pub(super) fn full(bytes: Bytes) -> Self {
        Self::of(Source::Full((!bytes.is_empty()).then_some(bytes)))
    }

    /// The events of a call that puts its notifications into `notes`. The call starts at once, on this thread.
    pub(super) fn events(
        call: impl Future<Output = Finished> + 'static,
        notes: Notes,
        bodies: &Arc<Bodies>,
    ) -> Self {
        let bodies = bodies.clone();
        let call = tokio::task::spawn_local(async move {
            let reply = call.await.into_reply();
            let held = bodies.hold(reply.len());
            (reply, held)
        });
        Self::of(Source::Events(Events { call: Some(call), notes }))
    }

    fn of(source: Source) -> Self {
        Body { source, request: None, held: None }
    }

    /// Keeps `request` in progress until the body is sent.
    pub(super) fn hold(&mut self, request: InProgress) {
        self.request = Some(request);
    }

    /// Counts the body as held until it is sent, in place of the bytes that `held` counts, if it is given.
    pub(super) fn account(&mut self, bodies: &Arc<Bodies>, held: Option<Held>) {
        if let Source::Full(Some(bytes)) = &self.source {
            let mut held = held.unwrap_or_else(|| bodies.hold(0));
            held.become_of(bytes.len());
            self.held = Some(held);
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.source {
            Source::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Source::Events(events) => {
                events.poll(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Full(bytes) => bytes.is_none(),
            Source::Events(events) => events.call.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Source::Events(_) => SizeHint::default(),
        }
    }
}

impl Events {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(call) = &mut self.call else { return Poll::Ready(None) };
        // Asked before the notes are: the last note comes before the end.
        let finished = Pin::new(call).poll(context);
        let Poll::Ready(finished) = finished else {
            return self.notes.poll(context).map_or(Poll::Pending, |note| Poll::Ready(Some(note.into())));
        };
        self.call = None;
        let mut bytes = Vec::new();
        while let Some(note) = self.notes.poll(context) {
            bytes.extend_from_slice(&note);
        }
        if let Ok((reply, _held)) = finished {
            bytes.extend_from_slice(&message_event(&reply));
        }
        Poll::Ready((!bytes.is_empty()).then(|| bytes.into()))
    }
}
