//! Request bodies of bounded size, and the two kinds of response bodies.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use ptc_host::engine::MemoryBudget;
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

/// Bounds of request bodies.
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

/// A body in memory.
#[derive(Debug)]
pub(super) struct Received {
    bytes: BytesMut,
    bodies: Arc<Bodies>,
}

impl Received {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.bodies.held.fetch_sub(self.bytes.len(), Ordering::Relaxed);
        self.bodies.memory.give_back(self.bytes.len() as u64);
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

    /// Reads a body to its end.
    pub(super) async fn receive(self: &Arc<Self>, mut body: Incoming) -> Result<Received, Unread> {
        if body.size_hint().lower() > self.max_bytes as u64 {
            return Err(Unread::TooLarge);
        }
        let mut received = Received { bytes: BytesMut::new(), bodies: self.clone() };
        let last = Instant::now() + self.timeout * PATIENCE;
        loop {
            let deadline = last.min(Instant::now() + self.timeout);
            let frame = match timeout_at(deadline, body.frame()).await {
                Err(_) => return Err(Unread::TooSlow),
                Ok(None) => return Ok(received),
                Ok(Some(Err(_))) => return Err(Unread::Broken),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            if received.bytes.len() + data.len() > self.max_bytes {
                return Err(Unread::TooLarge);
            }
            if !self.memory.try_take(data.len() as u64) {
                return Err(Unread::NoRoom);
            }
            // Counted before it is kept; `received` gives it back whatever happens.
            let held = self.held.fetch_add(data.len(), Ordering::Relaxed) + data.len();
            if received.bytes.is_empty() {
                // The usual small body comes in one piece, which needs no copy.
                received.bytes = BytesMut::from(data);
            } else {
                received.bytes.extend_from_slice(&data);
            }
            if held > self.max_held {
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
}

enum Kind {
    Full(Option<Bytes>),
    Events(Events),
}

/// Events that wait to be sent on a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl Notes {
    /// Adds a message.
    pub(super) fn push(&self, note: Vec<u8>) {
        self.add(event(&note));
    }

    /// Adds a comment, which clients ignore.
    pub(super) fn keep_alive(&self) {
        self.add(b":\n\n".to_vec());
    }

    fn add(&self, event: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
    }

    fn pop(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// A call whose notifications and response go out as events. Dropping it, which a disconnect does, cancels the call.
struct Events {
    call: Option<BoxFuture<'static, Finished>>,
    notes: Notes,
}

impl Body {
    /// Nothing.
    pub(super) fn empty() -> Self {
        Body { kind: Kind::Full(None), request: None }
    }

    /// These bytes.
    pub(super) fn full(bytes: Bytes) -> Self {
        Body { kind: Kind::Full((!bytes.is_empty()).then_some(bytes)), request: None }
    }

    /// The events of a call that puts its notifications into `notes`.
    pub(super) fn events(call: BoxFuture<'static, Finished>, notes: Notes) -> Self {
        Body { kind: Kind::Events(Events { call: Some(call), notes }), request: None }
    }

    /// Keeps `request` in progress until the body is sent.
    pub(super) fn hold(&mut self, request: InProgress) {
        self.request = Some(request);
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
        let finished = call.as_mut().poll(context);
        if let Some(note) = self.notes.pop() {
            if finished.is_ready() {
                // The call cannot be polled again: what is left goes out in one piece.
                let mut bytes = note;
                while let Some(note) = self.notes.pop() {
                    bytes.extend_from_slice(&note);
                }
                return self.end(bytes, finished);
            }
            return Poll::Ready(Some(note.into()));
        }
        self.end(Vec::new(), finished)
    }

    fn end(&mut self, mut bytes: Vec<u8>, finished: Poll<Finished>) -> Poll<Option<Bytes>> {
        finished.map(|finished| {
            self.call = None;
            bytes.extend_from_slice(&event(&finished.into_reply()));
            Some(bytes.into())
        })
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
