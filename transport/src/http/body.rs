//! Request bodies of bounded size, and the two kinds of response bodies.

use ptc_host::sync::Mutex;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use ptc_host::engine::MemoryBudget;
use ptc_host::time::{self, timeout_at};
use ptc_mcp::sse::message_event;
use tokio::task::JoinHandle;

use ptc_protocol::CallResponse;
use ptc_protocol::principal::Principal;
use ptc_protocol::usage::Count;

/// The total time for a body that keeps coming, as a multiple of the time for one read.
const PATIENCE: u32 = 4;
/// Bytes a second that a body must bring beyond the time for one read.
const LEAST_RATE: f64 = 32_768.0;

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is larger than allowed.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke.
    Broken,
    /// The buffers would take too much memory.
    NoRoom(BodyCapacityError),
}

/// The limit on buffered bytes that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyCapacityError {
    /// The limit of one principal, in bytes.
    Own(usize),
    /// The limit of all principals together, in bytes.
    All(usize),
    /// The memory budget that bodies share with everything else.
    Memory,
}

impl fmt::Display for BodyCapacityError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyCapacityError::Own(limit) => write!(
                out,
                "request bodies and unread answers of this caller may hold {limit} bytes \
                 (--http-max-buffered-bytes-per-owner)"
            ),
            BodyCapacityError::All(limit) => write!(
                out,
                "request bodies and unread answers may hold {limit} bytes (--http-max-buffered-bytes)"
            ),
            BodyCapacityError::Memory => {
                out.write_str("the memory budget is exhausted (--max-total-memory-bytes)")
            }
        }
    }
}

/// Limits on buffered bytes: request bodies, and answers that their clients have not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyLimits {
    /// The size of one request body.
    pub(super) one: usize,
    /// Everything that is buffered for one principal.
    pub(super) per_owner: usize,
    /// Everything that is buffered.
    pub(super) all: usize,
    /// The longest wait for a part of a body.
    pub(super) timeout: Duration,
}

/// The account of all bodies in memory.
#[derive(Debug)]
pub(super) struct Bodies {
    limits: BodyLimits,
    /// Bytes of all bodies held now.
    held: Count,
    /// Bytes of heads that are not complete.
    heads: Count,
    /// The memory that bodies share with everything else.
    memory: MemoryBudget,
}

/// The account of the bytes of one connection's incomplete head, until dropped. All of them together may hold a
/// quarter of the memory for bodies.
#[derive(Debug)]
pub(super) struct HeadReservation {
    bodies: Arc<Bodies>,
    count: usize,
}

impl HeadReservation {
    /// Raises the count to `count` bytes, unless there is no room for them.
    pub(super) fn grow_to(&mut self, count: usize) -> bool {
        let more = count.saturating_sub(self.count);
        if !self.bodies.heads.try_take(more, self.bodies.limits.all / 4) {
            return false;
        }
        if !self.bodies.memory.try_take(more as u64) {
            self.bodies.heads.give_back(more);
            return false;
        }
        self.count += more;
        true
    }

    /// Resets the count to zero.
    pub(super) fn release(&mut self) {
        let count = std::mem::take(&mut self.count);
        if count > 0 {
            self.bodies.heads.give_back(count);
            self.bodies.memory.give_back(count as u64);
        }
    }
}

impl Drop for HeadReservation {
    fn drop(&mut self) {
        self.release();
    }
}

/// Bytes counted as held, until dropped.
#[derive(Debug)]
pub(super) struct BodyReservation {
    bodies: Arc<Bodies>,
    /// The principal that is charged, besides the process.
    principal: Option<Principal>,
    count: usize,
    /// The part of them taken from the shared memory.
    taken: u64,
}

impl BodyReservation {
    fn own(&self) -> Option<&Count> {
        self.principal.as_ref().map(|principal| &principal.usage().buffered_bytes)
    }

    /// Counts `count` more bytes, unless there is no room for them.
    fn try_more(&mut self, count: usize) -> Result<(), BodyCapacityError> {
        let BodyLimits { all, per_owner, .. } = self.bodies.limits;
        if self.own().is_some_and(|own| !own.try_take(count, per_owner)) {
            return Err(BodyCapacityError::Own(per_owner));
        }
        let refused = if !self.bodies.held.try_take(count, all) {
            BodyCapacityError::All(all)
        } else if !self.bodies.memory.try_take(count as u64) {
            self.bodies.held.give_back(count);
            BodyCapacityError::Memory
        } else {
            self.count += count;
            self.taken += count as u64;
            return Ok(());
        };
        self.own().into_iter().for_each(|own| own.give_back(count));
        Err(refused)
    }

    /// Counts `count` bytes from now on, instead of the previous number. A computed answer is sent in any case; while
    /// too much is held, further requests are refused instead.
    pub(super) fn become_of(&mut self, count: usize) {
        let more = count.saturating_sub(self.count);
        if more > 0 {
            self.bodies.held.take(more);
            self.own().into_iter().for_each(|own| own.take(more));
            self.count = count;
            if self.bodies.memory.try_take(more as u64) {
                self.taken += more as u64;
            }
            return;
        }
        self.give_back(self.count - count);
        self.count = count;
        let surplus = self.taken.saturating_sub(count as u64);
        self.bodies.memory.give_back(surplus);
        self.taken -= surplus;
    }

    fn give_back(&self, count: usize) {
        self.bodies.held.give_back(count);
        self.own().into_iter().for_each(|own| own.give_back(count));
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.give_back(self.count);
        self.bodies.memory.give_back(self.taken);
    }
}

/// A body in memory.
#[derive(Debug)]
pub(super) struct ReceivedBody {
    bytes: Bytes,
    held: BodyReservation,
}

impl ReceivedBody {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Drops the bytes but keeps their count, until an answer is counted in their place.
    pub(super) fn into_held(self) -> BodyReservation {
        self.held
    }
}

/// A body that is being received.
#[derive(Debug)]
pub(super) struct Reception {
    body: Incoming,
    received: ReceivedBody,
}

impl Reception {
    /// Takes all pieces that have arrived; ready once the body is complete.
    pub(super) fn poll_all(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        loop {
            if ready!(self.poll(context))? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Takes the next piece, if it has arrived; `true` once the body is complete.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<bool, BodyError>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            None => return Poll::Ready(Ok(true)),
            Some(Err(_)) => return Poll::Ready(Err(BodyError::Broken)),
            Some(Ok(frame)) => frame,
        };
        let taken = frame.into_data().map_or(Ok(()), |data| self.received.take(data));
        Poll::Ready(taken.map(|()| self.body.is_end_stream()))
    }

    /// Reads the rest. Each part has a time limit. All parts together have the same limit, which is extended only
    /// while they arrive at the least rate.
    pub(super) async fn rest(mut self) -> Result<ReceivedBody, BodyError> {
        let timeout = self.received.held.bodies.limits.timeout;
        let begun = time::now();
        loop {
            let earned = Duration::from_secs_f64(self.received.bytes.len() as f64 / LEAST_RATE);
            let last = begun + (timeout + earned).min(timeout * PATIENCE);
            let next = poll_fn(|context| self.poll(context));
            match timeout_at(last.min(time::now() + timeout), next).await {
                Err(_) => return Err(BodyError::TooSlow),
                Ok(Err(unread)) => return Err(unread),
                Ok(Ok(true)) => return Ok(self.received),
                Ok(Ok(false)) => {}
            }
        }
    }

    /// The bytes received.
    pub(super) fn into_received(self) -> ReceivedBody {
        self.received
    }
}

impl ReceivedBody {
    fn take(&mut self, data: Bytes) -> Result<(), BodyError> {
        if self.bytes.len() + data.len() > self.held.bodies.limits.one {
            return Err(BodyError::TooLarge);
        }
        // Counted before it is stored; dropping `held` releases it in any case.
        self.held.try_more(data.len()).map_err(BodyError::NoRoom)?;
        if self.bytes.is_empty() {
            // A small body usually arrives in one piece, which needs no copy.
            self.bytes = data;
        } else {
            let mut bytes = BytesMut::from(std::mem::take(&mut self.bytes));
            bytes.extend_from_slice(&data);
            self.bytes = bytes.freeze();
        }
        Ok(())
    }
}

impl Bodies {
    /// An account without bodies.
    pub(super) fn new(limits: BodyLimits, memory: MemoryBudget) -> Arc<Self> {
        Arc::new(Bodies { limits, held: Count::default(), heads: Count::default(), memory })
    }

    /// Bytes of all bodies held now, and the limit.
    pub(super) fn held(&self) -> (usize, usize) {
        (self.held.get(), self.limits.all)
    }

    /// Bytes of all heads that are not complete.
    pub(super) fn heads(&self) -> usize {
        self.heads.get()
    }

    /// An empty account for the heads of one connection.
    pub(super) fn head(self: &Arc<Self>) -> HeadReservation {
        HeadReservation { bodies: self.clone(), count: 0 }
    }

    /// An empty account for the body of an answer to `principal`.
    pub(super) fn nothing(self: &Arc<Self>, principal: Option<&Principal>) -> BodyReservation {
        BodyReservation { bodies: self.clone(), principal: principal.cloned(), count: 0, taken: 0 }
    }

    /// Begins to receive a body of `principal`.
    pub(super) fn receive(
        self: &Arc<Self>,
        body: Incoming,
        principal: &Principal,
    ) -> Result<Reception, BodyError> {
        if body.size_hint().lower() > self.limits.one as u64 {
            return Err(BodyError::TooLarge);
        }
        let held = self.nothing(Some(principal));
        Ok(Reception { body, received: ReceivedBody { bytes: Bytes::new(), held } })
    }
}

/// A response body.
pub(super) struct Body {
    source: BodySource,
    /// The account of an answer that its client has not read yet.
    held: Option<BodyReservation>,
}

enum BodySource {
    Full(Option<Bytes>),
    Events(Events),
}

/// Events that wait to be sent on a stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes(Arc<Mutex<NoteQueue>>);

#[derive(Debug, Default)]
struct NoteQueue {
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

    /// Completes once there is a message.
    pub(super) async fn filled(&self) {
        poll_fn(|context| {
            let mut waiting = self.lock();
            if !waiting.events.is_empty() {
                return Poll::Ready(());
            }
            waiting.sender = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
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

    fn lock(&self) -> MutexGuard<'_, NoteQueue> {
        self.0.lock()
    }
}

/// A call whose notifications and response are sent as events. It runs whether its client reads or not, so that a
/// client that does not read cannot hold a running call's resources. Dropping it, as a disconnect does, cancels the
/// call.
struct Events {
    /// Its answer, if it has one.
    call: Option<JoinHandle<(Option<Vec<u8>>, BodyReservation)>>,
    notes: Notes,
}

impl Drop for Events {
    fn drop(&mut self) {
        self.call.iter().for_each(JoinHandle::abort);
    }
}

impl Body {
    /// An empty body.
    pub(super) fn empty() -> Self {
        Self::of(BodySource::Full(None))
    }

    /// A body of these bytes.
    pub(super) fn full(bytes: Bytes) -> Self {
        Self::of(BodySource::Full((!bytes.is_empty()).then_some(bytes)))
    }

    /// The events of a call that adds its notifications to `notes` and whose answer is accounted in `held`. The call
    /// starts at once, on this thread.
    pub(super) fn events(
        call: impl Future<Output = CallResponse> + 'static,
        notes: Notes,
        mut held: BodyReservation,
    ) -> Self {
        let call = tokio::task::spawn_local(async move {
            let reply = call.await.into_reply();
            held.become_of(reply.as_ref().map_or(0, Vec::len));
            (reply, held)
        });
        Self::of(BodySource::Events(Events { call: Some(call), notes }))
    }

    fn of(source: BodySource) -> Self {
        Body { source, held: None }
    }

    /// Counts the body as held for `principal` until it is sent, in place of the bytes that `held` counts, if it is given.
    pub(super) fn account(
        &mut self,
        bodies: &Arc<Bodies>,
        held: Option<BodyReservation>,
        principal: Option<&Principal>,
    ) {
        if let BodySource::Full(Some(bytes)) = &self.source {
            let mut held = held.unwrap_or_else(|| bodies.nothing(principal));
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
            BodySource::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            BodySource::Events(events) => {
                events.poll(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            BodySource::Full(bytes) => bytes.is_none(),
            BodySource::Events(events) => events.call.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            BodySource::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            BodySource::Events(_) => SizeHint::default(),
        }
    }
}

impl Events {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(call) = &mut self.call else { return Poll::Ready(None) };
        // Polled before the notes: the last note comes before the end.
        let finished = Pin::new(call).poll(context);
        let Poll::Ready(finished) = finished else {
            return self.notes.poll(context).map_or(Poll::Pending, |note| Poll::Ready(Some(note.into())));
        };
        self.call = None;
        let mut bytes = Vec::new();
        while let Some(note) = self.notes.poll(context) {
            bytes.extend_from_slice(&note);
        }
        if let Ok((Some(reply), _held)) = finished {
            bytes.extend_from_slice(&message_event(&reply));
        }
        Poll::Ready((!bytes.is_empty()).then(|| bytes.into()))
    }
}
