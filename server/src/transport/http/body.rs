//! Request bodies of bounded size, and the two kinds of response bodies.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use ptc_host::engine::MemoryBudget;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::connection::InProgress;
use crate::protocol::Finished;

/// Times the wait for one read that a whole body may take.
const PATIENCE: u32 = 4;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is larger than allowed.
    TooLarge,
    /// It did not come in time.
    TooSlow,
    /// The connection broke.
    Broken,
    /// The bodies of all requests together would take too much memory.
    NoRoom,
}

/// Bounds of request bodies, and the account of all bodies in memory.
#[derive(Debug)]
pub(super) struct Bodies {
    max_bytes: usize,
    timeout: Duration,
    /// Bytes of all bodies held now, and how many there may be.
    held: AtomicUsize,
    max_held: usize,
    /// What bodies share with everything else.
    memory: MemoryBudget,
}

/// Bytes counted as held, until dropped.
#[derive(Debug)]
pub(super) struct Held {
    bodies: Arc<Bodies>,
    count: usize,
    /// Those of them that the shared memory had.
    taken: u64,
}

impl Held {
    /// Counts `count` bytes more; `false` if the shared memory does not have them.
    fn more(&mut self, count: usize) -> bool {
        self.count += count;
        self.bodies.held.fetch_add(count, Ordering::Relaxed);
        let taken = self.bodies.memory.try_take(count as u64);
        if taken {
            self.taken += count as u64;
        }
        taken
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
    bytes: BytesMut,
    held: Held,
}

impl Received {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
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

    /// Counts an answer of `count` bytes as held. One that has been computed is sent in any case; while too much is
    /// held, it is further requests that are refused.
    pub(super) fn hold(self: &Arc<Self>, count: usize) -> Held {
        let mut held = Held { bodies: self.clone(), count: 0, taken: 0 };
        held.more(count);
        held
    }

    /// Reads a body to its end.
    pub(super) async fn receive(self: &Arc<Self>, mut body: Incoming) -> Result<Received, Unread> {
        if body.size_hint().lower() > self.max_bytes as u64 {
            return Err(Unread::TooLarge);
        }
        let mut received = Received { bytes: BytesMut::new(), held: self.hold(0) };
        let mut last = None;
        loop {
            let frame = match body.frame().now_or_never() {
                // Usually the whole body is there, and no clock is asked.
                Some(frame) => frame,
                None => {
                    let now = Instant::now();
                    let last = *last.get_or_insert(now + self.timeout * PATIENCE);
                    match timeout_at(last.min(now + self.timeout), body.frame()).await {
                        Ok(frame) => frame,
                        Err(_) => return Err(Unread::TooSlow),
                    }
                }
            };
            let frame = match frame {
                None => return Ok(received),
                Some(Err(_)) => return Err(Unread::Broken),
                Some(Ok(frame)) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            if received.bytes.len() + data.len() > self.max_bytes {
                return Err(Unread::TooLarge);
            }
            // Counted before it is kept; `received` gives it back whatever happens.
            if !received.held.more(data.len()) {
                return Err(Unread::NoRoom);
            }
            if received.bytes.is_empty() {
                // The usual small body comes in one piece, which needs no copy.
                received.bytes = BytesMut::from(data);
            } else {
                received.bytes.extend_from_slice(&data);
            }
            if self.held.load(Ordering::Relaxed) > self.max_held {
                return Err(Unread::NoRoom);
            }
        }
    }
}

/// A response body.
pub(super) struct Body {
    kind: Kind,
    /// The request that it answers, which lasts as long as the body.
    request: Option<InProgress>,
    /// The account of an answer that waits for its client to take it.
    held: Option<Held>,
}

enum Kind {
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
        waiting.events.push_back(event(&note));
        waiting.sender.take().into_iter().for_each(Waker::wake);
    }

    /// Adds a comment, which clients ignore; not to a client that leaves other events unread.
    pub(super) fn keep_alive(&self) {
        let mut waiting = self.lock();
        if waiting.events.is_empty() {
            waiting.events.push_back(b":\n\n".to_vec());
            waiting.sender.take().into_iter().for_each(Waker::wake);
        }
    }

    /// The next event; without one, the task of `context` is woken when there is.
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
/// that does not cannot keep what a running call has. Dropping it, which a disconnect does, cancels the call.
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
        Self::of(Kind::Full(None))
    }

    /// These bytes.
    pub(super) fn full(bytes: Bytes) -> Self {
        Self::of(Kind::Full((!bytes.is_empty()).then_some(bytes)))
    }

    /// The events of a call that puts its notifications into `notes`. It begins at once, on this thread.
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
        Self::of(Kind::Events(Events { call: Some(call), notes }))
    }

    fn of(kind: Kind) -> Self {
        Body { kind, request: None, held: None }
    }

    /// Keeps `request` in progress until the body is sent.
    pub(super) fn hold(&mut self, request: InProgress) {
        self.request = Some(request);
    }

    /// Counts the body as held until it is sent.
    pub(super) fn account(&mut self, bodies: &Arc<Bodies>) {
        if let Kind::Full(Some(bytes)) = &self.kind {
            self.held = Some(bodies.hold(bytes.len()));
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
        match &mut self.kind {
            Kind::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Events(events) => {
                events.poll(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Full(bytes) => bytes.is_none(),
            Kind::Events(events) => events.call.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Events(_) => SizeHint::default(),
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
            bytes.extend_from_slice(&event(&reply));
        }
        Poll::Ready((!bytes.is_empty()).then(|| bytes.into()))
    }
}

/// A message as an event. Messages are JSON without newlines, so one `data` line holds them.
fn event(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 24);
    out.extend_from_slice(b"event: message\ndata: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
    out
}
