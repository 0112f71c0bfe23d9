//! One request and its response on one connection.
//!
//! An HTTP/1.1 connection has no separate task: its user polls it, and an idle connection needs no polling. This saves two task
//! switches and a channel per request. Dropping an exchange closes its connection at once, which tells the server that the
//! client is gone.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::ThreadId;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};

use super::HttpError;
use super::shared::H2;
use super::socket::{Peek, Socket};
use super::stream::{Outgoing, SendError, Stream, send_error};
use ptc_base::time::{self, Instant, Sleep, sleep_until};

/// The timer that ends an exchange that takes too long.
pub(super) type Timer = Pin<Box<Sleep>>;

/// A connection that is not in use.
pub(super) enum IdleConnection {
    H1(Box<H1>),
    H2(H2),
}

/// A kept-alive HTTP/1.1 connection.
pub(super) struct H1 {
    sender: http1::SendRequest<Outgoing>,
    driver: Pin<Box<http1::Connection<Stream, Outgoing>>>,
    socket: Socket,
    /// The timer of the exchanges that it has carried, kept because most need one and few ever let it run out: setting
    /// it anew costs less than making one.
    timer: Option<Timer>,
    /// The driver has ended and must not be polled again.
    over: bool,
    /// The thread whose reactor watches its socket.
    pub(super) thread: ThreadId,
    /// Whether it has carried a request before.
    pub(super) used: bool,
    pub(super) idle_since: Instant,
}

/// Drives the rest of the answer.
pub(super) enum Rest {
    H1(Box<H1>),
    H2,
}

impl H1 {
    pub(super) fn new(
        sender: http1::SendRequest<Outgoing>,
        driver: http1::Connection<Stream, Outgoing>,
        socket: Socket,
    ) -> Self {
        Self {
            sender,
            driver: Box::pin(driver),
            socket,
            timer: None,
            over: false,
            thread: std::thread::current().id(),
            used: false,
            idle_since: time::now(),
        }
    }

    /// Polls the connection. `false` when it has ended.
    pub(super) fn drive(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.over && self.driver.as_mut().poll(cx).is_ready() {
            self.over = true;
        }
        !self.over
    }

    /// Whether it can carry a request now: the last exchange is done and the server has not hung up.
    pub(super) fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        // When the last exchange was done as soon as its end was read, as most are, there is nothing to drive.
        (!self.over && self.sender.is_ready()) || (self.drive(cx) && self.sender.is_ready())
    }

    /// Whether it can carry a request although it has waited since it was ready.
    pub(super) fn is_still_ready(&mut self, cx: &mut Context<'_>) -> bool {
        match self.socket.peek() {
            Peek::Quiet => true,
            // Nothing was asked for, but TLS may have something to say.
            Peek::Bytes => self.drive(cx) && self.sender.is_ready(),
            Peek::End => false,
        }
    }

    /// Whether a request that its server has not read, since it had hung up before, is known as such afterwards.
    pub(super) fn tells_refusals(&self) -> bool {
        !self.over && !self.socket.is_proxy()
    }

    /// Moves the socket to this thread's reactor, so that arrivals wake no other thread. `false` if the system refuses.
    /// `thread` is the calling one.
    pub(super) fn move_to(&mut self, thread: ThreadId) -> bool {
        if self.thread == thread {
            return true;
        }
        self.thread = thread;
        // A timer belongs to the runtime that made it.
        self.timer = None;
        self.socket.move_here().is_ok()
    }

    /// Keeps the timer of an exchange that is done.
    pub(super) fn keep_timer(&mut self, timer: Timer) {
        self.timer = Some(timer);
    }

    async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, SendError> {
        let reused = std::mem::replace(&mut self.used, true);
        self.socket.forget_arrivals();
        match self.exchange(request).await {
            // The server hung up while the request was on its way to it, as it may with a connection that waited. On a
            // fresh connection the same end is the server's answer to the request.
            Err(SendError::Failed(HttpError::Closed)) if reused && self.socket.was_refused().await => {
                Err(SendError::Unsent)
            }
            outcome => outcome,
        }
    }

    async fn exchange(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, SendError> {
        let mut answer = std::pin::pin!(self.sender.try_send_request(request));
        let (driver, over) = (&mut self.driver, &mut self.over);
        poll_fn(|cx| {
            if !*over && driver.as_mut().poll(cx).is_ready() {
                *over = true;
            }
            match answer.as_mut().poll(cx) {
                Poll::Ready(answer) => Poll::Ready(answer.map_err(send_error)),
                Poll::Pending if *over => Poll::Ready(Err(SendError::Failed(HttpError::Closed))),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

impl IdleConnection {
    /// Whether a request that it could not carry may be sent once more: it has carried one before, so that the server may
    /// have closed it meanwhile, or it is shared, and the server may refuse single requests.
    pub(super) fn may_fail_unread(&self) -> bool {
        match self {
            Self::H1(h1) => h1.used,
            Self::H2(_) => true,
        }
    }

    /// A timer that runs out at `end`.
    pub(super) fn timer(&mut self, end: Instant) -> Timer {
        match self {
            Self::H1(h1) => match h1.timer.take() {
                Some(mut timer) => {
                    timer.as_mut().reset(end);
                    timer
                }
                None => Box::pin(sleep_until(end)),
            },
            Self::H2(_) => Box::pin(sleep_until(end)),
        }
    }

    pub(super) fn is_h2(&self) -> bool {
        matches!(self, Self::H2(_))
    }

    /// A handle to it, if it is shared.
    pub(super) fn shared(&self) -> Option<H2> {
        match self {
            Self::H1(_) => None,
            Self::H2(h2) => Some(h2.clone()),
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        self,
        request: Request<Outgoing>,
    ) -> Result<(Response<Incoming>, Rest), SendError> {
        match self {
            Self::H1(mut h1) => {
                let response = h1.send(request).await?;
                Ok((response, Rest::H1(h1)))
            }
            Self::H2(mut h2) => Ok((h2.send(request).await?, Rest::H2)),
        }
    }
}

/// The next data of a body whose connection `drive` lets work; trailers are skipped.
pub(super) fn poll_data(
    incoming: &mut Incoming,
    mut drive: Option<impl FnMut(&mut Context<'_>) -> bool>,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, HttpError>>> {
    let mut alive = true;
    let mut driven = false;
    loop {
        match Pin::new(&mut *incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                }
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(HttpError::of_hyper(&error)))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending if !alive => return Poll::Ready(Some(Err(HttpError::Closed))),
            Poll::Pending => match &mut drive {
                Some(drive) if !driven => {
                    driven = true;
                    alive = drive(cx);
                }
                _ => return Poll::Pending,
            },
        }
    }
}
