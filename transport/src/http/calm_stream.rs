//! Reads the bytes of one connection in bounded turns, and bounds the frames by which a client asks for nothing.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::body::HeadReservation;
use super::connection_registry::ConnectionRegistry;
use super::frames::{Frames, Preface};
use super::patience::Patience;
use ptc_host::time::{self, Sleep, sleep_until};

/// Bytes read before the other connections of the thread have their turn: fewer than four thousand of the smallest
/// frames.
const TURN_BYTES: usize = 32 << 10;
/// Most bytes that are buffered of requests whose heads are incomplete.
pub(super) const MAX_BUFFER_BYTES: usize = 64 << 10;
/// The part of them that is not charged, as any connection costs that much.
const FREE_HEAD_BYTES: usize = 4 << 10;
/// The last frame to a client that has exhausted its allowance: `GOAWAY` with `ENHANCE_YOUR_CALM` (RFC 9113, 6.8 and
/// 7) for any stream.
const GOAWAY_HEAD: [u8; 17] =
    [0, 0, WHY.len() as u8 + 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0xb];
/// Its debug data.
const WHY: &[u8] = TEXT.as_bytes();
const TEXT: &str = "too many frames that ask for nothing";
/// How long and how much is still read after it, so that the client finds the last frame and not a reset connection.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);
const LEAVE_BYTES: usize = 1 << 20;

/// State that the byte stream of a connection shares with its requests.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// Requests that are not answered yet.
    active: Cell<usize>,
    /// Bytes that do not form a complete request yet.
    unfinished: Cell<usize>,
    /// The account of these bytes.
    head: RefCell<HeadReservation>,
    sent_away: Cell<bool>,
}

impl ConnectionState {
    /// A new connection, whose incomplete heads are charged to `head`.
    pub(super) fn new(head: HeadReservation) -> Rc<Self> {
        let (active, unfinished, sent_away) = Default::default();
        Rc::new(ConnectionState { active, unfinished, head: RefCell::new(head), sent_away })
    }

    /// Notes that the head of a request has arrived.
    pub(super) fn begin(&self) {
        self.active.set(self.active.get() + 1);
        self.unfinished.set(0);
        self.head.borrow_mut().release();
    }

    /// Charges the bytes of an incomplete head; `false` if there is no room for them. While a request is being
    /// answered, further bytes belong to its body, which has an account of its own.
    fn charge(&self, read: usize) -> bool {
        if self.active.get() > 0 {
            return true;
        }
        let unfinished = self.unfinished.get() + read;
        self.unfinished.set(unfinished);
        unfinished <= FREE_HEAD_BYTES || self.head.borrow_mut().grow_to(unfinished.min(MAX_BUFFER_BYTES))
    }

    /// Notes that a request has been answered.
    pub(super) fn end(&self) {
        self.active.set(self.active.get() - 1);
    }

    /// True if the client was sent the last frame.
    pub(super) fn is_sent_away(&self) -> bool {
        self.sent_away.get()
    }
}

/// A stream between a client and the server that serves it.
pub(super) struct CalmStream<S> {
    stream: S,
    /// Bytes read in this turn.
    in_turn: usize,
    protocol: Protocol,
    here: Rc<ConnectionState>,
    registry: Arc<ConnectionRegistry>,
}

enum Protocol {
    /// Too few bytes have arrived to tell the protocol.
    Unknown(Preface),
    Http1,
    Http2(Box<Http2>),
    /// The client was sent the last frame, and has until then to leave.
    Leaving {
        until: Pin<Box<Sleep>>,
        left: usize,
    },
}

struct Http2 {
    incoming: Frames,
    outgoing: Frames,
    patience: Patience,
}

impl Http2 {
    /// True if these bytes may be processed.
    fn admits(&mut self, bytes: &[u8]) -> bool {
        let patience = &mut self.patience;
        self.incoming.walk(bytes, |frame| patience.received(frame));
        patience.is_left()
    }

    fn note_sent(&mut self, bytes: &[u8]) {
        let patience = &mut self.patience;
        self.outgoing.walk(bytes, |frame| patience.sent(frame));
    }
}

impl<S> CalmStream<S> {
    /// A new connection over `stream`, one of `registry`.
    pub(super) fn new(stream: S, here: Rc<ConnectionState>, registry: Arc<ConnectionRegistry>) -> Self {
        let protocol = Protocol::Unknown(Preface::default());
        CalmStream { stream, in_turn: 0, protocol, here, registry }
    }

    /// True if these bytes may be processed.
    fn admits(&mut self, bytes: &[u8]) -> bool {
        match &mut self.protocol {
            Protocol::Unknown(preface) => match preface.read(bytes) {
                None => true,
                Some((false, _)) => {
                    self.protocol = Protocol::Http1;
                    true
                }
                Some((true, rest)) => {
                    let (incoming, outgoing) = (Frames::new(), Frames::new());
                    let mut http2 = Box::new(Http2 { incoming, outgoing, patience: Patience::new() });
                    let admits = http2.admits(rest);
                    self.protocol = Protocol::Http2(http2);
                    admits
                }
            },
            Protocol::Http1 | Protocol::Leaving { .. } => true,
            Protocol::Http2(http2) => http2.admits(bytes),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> CalmStream<S> {
    /// Sends the last frame, as far as it can be written at once.
    fn send_away(&mut self, context: &mut Context<'_>) {
        self.here.sent_away.set(true);
        if let Protocol::Http2(http2) = &self.protocol
            && http2.outgoing.is_between()
        {
            let last = [&GOAWAY_HEAD, WHY].concat();
            // A client that does not read gets no last frame.
            let _ = Pin::new(&mut self.stream).poll_write(context, &last);
        }
        let _ = Pin::new(&mut self.stream).poll_flush(context);
        let _ = Pin::new(&mut self.stream).poll_shutdown(context);
        let until = Box::pin(sleep_until(time::now() + LEAVE_WITHIN));
        self.protocol = Protocol::Leaving { until, left: LEAVE_BYTES };
    }

    /// Reads and discards further bytes until the client has left or its time is over.
    fn poll_leave(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let Protocol::Leaving { until, left } = &mut self.protocol else {
            return Poll::Ready(io::ErrorKind::ConnectionAborted.into());
        };
        let is_late = until.as_mut().poll(context).is_ready();
        let mut scratch = [0; 4096];
        let mut buffer = ReadBuf::new(&mut scratch);
        let read = match (is_late, Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
            (false, Poll::Pending) => return Poll::Pending,
            (false, Poll::Ready(Ok(()))) => buffer.filled().len(),
            _ => 0,
        };
        *left = left.saturating_sub(read);
        if read == 0 || *left == 0 {
            return Poll::Ready(io::Error::new(io::ErrorKind::ConnectionAborted, TEXT));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn note_sent(&mut self, bytes: &[u8]) {
        if let Protocol::Http2(http2) = &mut self.protocol {
            http2.note_sent(bytes);
        }
    }

    fn is_leaving(&self) -> bool {
        matches!(self.protocol, Protocol::Leaving { .. })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for CalmStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.is_leaving() {
            return this.poll_leave(context).map(Err);
        }
        if this.in_turn >= TURN_BYTES {
            this.in_turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        this.in_turn += read;
        // Other connections that have waited for longer are evicted; this one is charged for the rest at the next
        // read.
        if !this.here.charge(read)
            && this.registry.make_room_at_once() == 0
            && !this.registry.is_making_room()
        {
            buffer.set_filled(before);
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        if this.admits(&buffer.filled()[before..]) {
            return Poll::Ready(Ok(()));
        }
        buffer.set_filled(before);
        this.send_away(context);
        this.poll_leave(context).map(Err)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for CalmStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_leaving() {
            // Further output is discarded; the reading side ends the connection.
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.note_sent(&bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.is_leaving() {
            return Poll::Ready(Ok(pieces.iter().map(|piece| piece.len()).sum()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, pieces))?;
        let mut left = written;
        for piece in pieces {
            let part = left.min(piece.len());
            self.note_sent(&piece[..part]);
            left -= part;
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_leaving() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_leaving() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
