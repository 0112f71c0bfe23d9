//! Response bodies, read as they arrive.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as _, Incoming};

use super::HttpError;
#[cfg(feature = "upstreams")]
use super::encoding::{DecodeStep, Decoder};
use super::exchange::{Rest, Timer, poll_data};
#[cfg(not(feature = "upstreams"))]
use super::identity::{DecodeStep, Decoder};
use super::pool::Pool;
use super::standstill::GrantedTime;
use ptc_base::memory::Arrivals;
use ptc_base::pace::{Pace, poll_pause};
use ptc_base::time;

/// How long a body whose time stands still may take all the same.
const STANDSTILL: Duration = Duration::from_secs(30 * 24 * 3600);

/// A response body, as it arrives. Dropping it before its end closes the exchange, so that the server stops sending.
pub struct Body {
    incoming: Option<Incoming>,
    rest: Option<Rest>,
    pool: Arc<Pool>,
    /// Until the end has come.
    timer: Option<Timer>,
    granted: GrantedTime,
    /// The rest of its time when that was stopped.
    left: Option<Duration>,
    max_bytes: usize,
    /// Bytes that are read beyond that.
    allowance: usize,
    received: u64,
    /// Its decoder, if it is encoded. The caps then apply to the decoded body.
    decoder: Option<Box<Decoder>>,
    /// Bytes that have arrived of an encoded one.
    encoded: u64,
    pace: Pace,
    /// The length of the piece that was handed out last, as long as its reader works on it.
    handed: Option<usize>,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("received", &self.received).finish_non_exhaustive()
    }
}

impl Body {
    pub(super) fn new(
        incoming: Incoming,
        rest: Rest,
        pool: Arc<Pool>,
        timer: Timer,
        granted: GrantedTime,
        max_bytes: usize,
        allowance: usize,
    ) -> Self {
        Self {
            incoming: Some(incoming),
            rest: Some(rest),
            pool,
            timer: Some(timer),
            granted,
            left: None,
            max_bytes,
            allowance,
            received: 0,
            decoder: None,
            encoded: 0,
            pace: Pace::default(),
            handed: None,
        }
    }

    pub(super) fn decoded_by(self, decoder: Option<Decoder>) -> Self {
        Self { decoder: decoder.map(Box::new), ..self }
    }

    /// The most bytes that are read.
    fn cap(&self) -> usize {
        self.max_bytes.saturating_add(self.allowance)
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// The connection failed, the deadline has passed, or the cap is exceeded. After an error there are no further chunks.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, HttpError>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// Stops its time: it is not the server that keeps it waiting.
    pub fn pause(&mut self) {
        if let (None, Some(timer)) = (self.left, &mut self.timer) {
            let now = time::now();
            self.left = Some(timer.deadline().saturating_duration_since(now));
            timer.as_mut().reset(now + STANDSTILL);
        }
    }

    /// Restarts its time, if it was stopped.
    pub fn resume(&mut self) {
        if let (Some(left), Some(timer)) = (self.left.take(), &mut self.timer) {
            timer.as_mut().reset(time::now() + left);
        }
    }

    /// Waits for the end of its time, for a caller that does something else within it.
    #[cfg(feature = "upstreams")]
    pub async fn end_of_time(&mut self) {
        poll_fn(|cx| self.poll_end_of_time(cx)).await;
    }

    /// Bytes that have arrived; of an encoded body, those that they became.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The whole body.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    #[expect(clippy::disallowed_methods, reason = "entry point: Body.collect")]
    pub async fn collect(self) -> Result<Bytes, HttpError> {
        self.collect_for(None).await
    }

    /// The whole body. `arrivals` is charged for each piece before it is kept.
    ///
    /// # Errors
    /// As [`Body::chunk`], and [`HttpError::NoMemory`] if `arrivals` refuses a piece.
    pub async fn collect_for(mut self, arrivals: Option<&dyn Arrivals>) -> Result<Bytes, HttpError> {
        if let Some(error) = self.announced_too_large() {
            return Err(error);
        }
        let Some(first) = self.kept(arrivals).await? else { return Ok(Bytes::new()) };
        let Some(second) = self.kept(arrivals).await? else { return Ok(first) };
        let mut whole = BytesMut::with_capacity(first.len() + second.len() + self.announced());
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(chunk) = self.kept(arrivals).await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    async fn kept(&mut self, arrivals: Option<&dyn Arrivals>) -> Result<Option<Bytes>, HttpError> {
        let Some(chunk) = self.chunk().await.transpose()? else { return Ok(None) };
        match arrivals {
            Some(arrivals) if !arrivals.arrived(chunk.len()) => {
                Err(HttpError::NoMemory { received: self.received })
            }
            _ => Ok(Some(chunk)),
        }
    }

    /// The beginning of the body, at most `max` bytes, for a message. Errors count as its end.
    pub async fn beginning(mut self, max: usize) -> Bytes {
        // What is read is bounded by `max`; the cap would lose a first piece that is longer than it.
        self.max_bytes = usize::MAX;
        let mut start = BytesMut::new();
        while start.len() < max
            && let Some(Ok(chunk)) = self.chunk().await
        {
            start.extend_from_slice(&chunk[..chunk.len().min(max - start.len())]);
        }
        start.freeze()
    }

    /// Abandons the rest of the body, because the wanted part has arrived. A server that is just about to end it keeps its
    /// connection; one that holds it open loses it soon.
    pub fn abandon(mut self) {
        if let (Some(incoming), Some(Rest::H1(h1))) = (self.incoming.take(), self.rest.take()) {
            self.pool.put_draining(h1, incoming);
        }
    }

    /// The rest of the size, as far as the server has announced it.
    fn announced(&self) -> usize {
        let exact = self.incoming.as_ref().and_then(|i| i.size_hint().exact()).unwrap_or(0);
        usize::try_from(exact).unwrap_or(usize::MAX).min(self.cap())
    }

    /// A body that declares itself too large is not read.
    fn announced_too_large(&self) -> Option<HttpError> {
        let announced = self.incoming.as_ref()?.size_hint().lower();
        (announced > self.cap() as u64)
            .then_some(HttpError::TooLarge { max: self.max_bytes, received: announced })
    }

    /// As [`Self::poll_frame`], decoded.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                match decoder.piece() {
                    Ok(DecodeStep::Decoded(piece)) => return Poll::Ready(Some(Ok(piece))),
                    Ok(DecodeStep::Nothing { taken }) if self.pace.is_due(taken) => return poll_pause(cx),
                    Ok(DecodeStep::Nothing { .. }) => continue,
                    Ok(DecodeStep::Drained) => {}
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
            let frame = match self.poll_frame(cx) {
                Poll::Pending => {
                    self.pace.restart();
                    return Poll::Pending;
                }
                Poll::Ready(frame) => frame,
            };
            let (Some(decoder), None | Some(Ok(_))) = (&mut self.decoder, &frame) else {
                return Poll::Ready(frame);
            };
            let Some(Ok(chunk)) = frame else {
                let last = decoder.end().transpose();
                self.decoder = None;
                return Poll::Ready(last);
            };
            decoder.feed(&chunk);
            self.encoded += chunk.len() as u64;
            if self.encoded > decoder.most_input(self.received) {
                return Poll::Ready(Some(Err(decoder.too_much_for_nothing())));
            }
            if self.encoded > self.cap() as u64 {
                let error = HttpError::TooLarge { max: self.max_bytes, received: self.encoded };
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        let is_due = self.handed.take().is_some_and(|bytes| self.pace.is_due(bytes));
        // A body that is always ready would never let its time run out, either.
        let polled = if is_due { poll_pause(cx) } else { self.poll_piece(cx) };
        let chunk = match polled {
            Poll::Pending if self.poll_end_of_time(cx).is_pending() => return Poll::Pending,
            Poll::Pending => Some(Err(HttpError::Timeout)),
            Poll::Ready(chunk) => chunk,
        };
        match chunk {
            Some(Ok(chunk)) => {
                self.received += chunk.len() as u64;
                self.handed = Some(chunk.len());
                if self.received > self.cap() as u64 {
                    self.close();
                    let error = HttpError::TooLarge { max: self.max_bytes, received: self.received };
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(Some(Ok(chunk)))
            }
            Some(Err(error)) => {
                self.close();
                Poll::Ready(Some(Err(error)))
            }
            None => {
                self.finish(cx);
                Poll::Ready(None)
            }
        }
    }

    /// Ready when its time is over.
    fn poll_end_of_time(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.timer {
            Some(timer) => self.granted.poll(timer, cx),
            None => Poll::Pending,
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let h1 = match &mut self.rest {
            Some(Rest::H1(h1)) => Some(h1),
            _ => None,
        };
        poll_data(incoming, h1.map(|h1| move |cx: &mut Context<'_>| h1.drive(cx)), cx)
    }

    /// The end came: the connection may serve again.
    fn finish(&mut self, cx: &mut Context<'_>) {
        self.incoming = None;
        if let Some(Rest::H1(mut h1)) = self.rest.take()
            && h1.is_ready(cx)
        {
            if let Some(timer) = self.timer.take() {
                h1.keep_timer(timer);
            }
            self.pool.put(h1);
        }
    }

    fn close(&mut self) {
        self.decoder = None;
        self.incoming = None;
        self.rest = None;
    }
}

#[cfg(all(test, feature = "upstreams"))]
mod tests {
    use super::*;
    use crate::{Client, Limits, Request, Target};
    use ptc_base::pace::PIECE;
    use ptc_base::pace::work::{ReportedBytes, take_work};
    use ptc_test_support::fake_http::{FakeHttp, response};

    /// The outcome of reading the whole answer of a server, the work that it took, and how many bytes came.
    async fn read(
        coding: &'static str,
        body: Vec<u8>,
        max_bytes: usize,
    ) -> (Result<(), String>, ReportedBytes, u64) {
        let server = FakeHttp::start(move |_| response(200, &[("content-encoding", coding)], &body));
        let request = Request {
            method: http::Method::GET,
            target: Target::new(&server.url).unwrap(),
            headers: http::HeaderMap::new(),
            body: Bytes::new(),
        };
        let hour = Duration::from_secs(3600);
        let deadline = time::now() + hour;
        let limits =
            Limits { connect: hour, first_byte: None, total: hour, deadline, max_bytes, allowance: 0 };
        let mut body = Client::new().send(request, &limits).await.unwrap().body;
        take_work();
        let outcome = loop {
            match body.chunk().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => break Err(error.to_string()),
                None => break Ok(()),
            }
        };
        (outcome, take_work(), body.received())
    }

    #[tokio::test]
    async fn a_body_near_its_limit_is_read_in_pieces() {
        let (outcome, work, received) = read("identity", vec![b'x'; 8 << 20], 8 << 20).await;
        assert_eq!((outcome, received), (Ok(()), 8 << 20));
        assert!(work.most < 2 * PIECE && work.all >= 8 << 20, "{work:?}");
    }

    #[tokio::test]
    async fn input_that_becomes_nothing_is_read_in_pieces_up_to_a_megabyte() {
        // Stored blocks of nothing.
        let blocks = |bytes: usize| [0, 0, 0, 0xff, 0xff].repeat(bytes / 5);
        let mut near = blocks(1_000_000);
        near.extend([1, 1, 0, 0xfe, 0xff, b'x']);
        let (outcome, work, received) = read("deflate", near, 8 << 20).await;
        assert_eq!((outcome, received), (Ok(()), 1));
        assert!(work.most < 2 * PIECE && work.all >= 1_000_000, "{work:?}");
        let (outcome, work, received) = read("deflate", blocks(1_100_000), 8 << 20).await;
        let expected = "malformed HTTP response: deflate: more than 1048576 bytes of it became nothing";
        assert_eq!((outcome, received), (Err(expected.to_owned()), 0));
        assert!(work.most < 2 * PIECE && work.all >= 1_000_000, "{work:?}");
    }
}
