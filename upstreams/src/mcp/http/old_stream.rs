//! HTTP+SSE of 2024-11-05: one event stream (`GET`) that stays open for all messages of the server; its first event names the
//! endpoint that messages are posted to.

use super::super::inbound_reply::InboundReply;
use super::super::open_questions::Link;
use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, StatusCode};
use ptc_mcp::Era;
use ptc_mcp::message::id::number_of_id;
use ptc_mcp::message::lenient::parse;
use ptc_mcp::sse::{Event, SseDecoder};
use ptc_mcp::text::clip;
use tokio::sync::{oneshot, watch};
use url::Url;

use super::event_rate::{EVENTS_PER_SECOND, EventRate, warn_too_fast};
use super::post::{
    ERROR_BODY, EVENTS, Endpoint, HttpReply, JSON, JSON_OR_EVENTS, MAX_BATCH, Outgoing, PostError, Reply,
    ReplyResult, answer_of, body_fault, is_event_stream, plain_fault,
};
use super::session::{HttpSession, shutdown_limits};
use crate::upstream::lifecycle::{ConnectionEnd, EndKind};
use crate::upstream::{CallFault, no_memory};
use ptc_base::pace::{Pace, STEP, apart};
use ptc_base::time;
use ptc_http::standstill::{Standstill, timeout_at};
use ptc_http::{Body, HttpError, Limits, Request, Target};

/// How long a stream may last; its end is the end of the session.
const HOLD: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the answer to a post may lag behind the reply on the stream before its connection is given up.
const POST_PATIENCE: Duration = Duration::from_millis(250);

/// An open stream, and the requests that wait on it. Dropping it closes the stream, which is how such a session ends.
#[derive(Debug)]
pub(super) struct OldStream {
    shared: Arc<StreamState>,
    /// Where messages go.
    pub(super) target: Target,
}

struct StreamState {
    waiting: Mutex<HashMap<u64, oneshot::Sender<(ReplyResult, usize)>>>,
    /// The longest event worth keeping: the largest answer that any request may get.
    cap: AtomicUsize,
    /// How it ended, if it has.
    end: watch::Sender<Option<ConnectionEnd>>,
    /// Whether it is no longer needed.
    unused: watch::Sender<bool>,
}

impl std::fmt::Debug for StreamState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamState").field("waiting", &self.waiting().len()).finish_non_exhaustive()
    }
}

impl StreamState {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<(ReplyResult, usize)>>> {
        self.waiting.lock()
    }

    /// The first end counts. Fails all waiting requests.
    fn end(&self, end: ConnectionEnd) {
        let fault = end.fault.clone();
        self.end.send_if_modified(|first| first.is_none().then(|| *first = Some(end)).is_some());
        for (_, waiting) in self.waiting().drain() {
            let _ = waiting.send((Err(fault.clone()), 0));
        }
    }
}

impl Drop for OldStream {
    fn drop(&mut self) {
        self.shared.unused.send_replace(true);
    }
}

impl OldStream {
    /// Opens a stream and waits for its first event. Its reader runs on the current runtime.
    pub(super) async fn open(endpoint: &Arc<Endpoint>, limits: &Limits) -> Result<Self, CallFault> {
        let opening = async {
            let mut body = open_body(endpoint, limits.connect).await?;
            let (decoder, target, rest) = read_endpoint(endpoint, &mut body).await?;
            Ok((body, decoder, target, rest))
        };
        let late = || CallFault::timeout("the event stream named no endpoint in time");
        let opened = time::timeout_at(limits.deadline, opening).await.unwrap_or_else(|_| Err(late()));
        let (body, decoder, target, rest) = opened?;
        let shared = Arc::new(StreamState {
            waiting: Mutex::default(),
            cap: AtomicUsize::new(endpoint.entry.max_response_bytes),
            end: watch::Sender::new(None),
            unused: watch::Sender::new(false),
        });
        let reader =
            StreamReader { endpoint: endpoint.clone(), shared: shared.clone(), target: target.clone() };
        tokio::spawn(reader.run(body, decoder, rest));
        Ok(Self { shared, target })
    }

    /// How it ended; waits for that.
    pub(super) fn ended(&self) -> impl Future<Output = ConnectionEnd> + Send + 'static {
        let mut end = self.shared.end.subscribe();
        async move {
            match end.wait_for(Option::is_some).await {
                Ok(end) => end.clone().unwrap_or_else(|| lost(closed_early())),
                Err(_) => lost(closed_early()),
            }
        }
    }

    /// Posts a request and waits for its reply on the stream.
    pub(super) async fn request(
        &self,
        endpoint: &Endpoint,
        session: &HttpSession,
        outgoing: Outgoing<'_>,
        limits: &Limits,
    ) -> Result<HttpReply, PostError> {
        let (id, arrivals) = (outgoing.id.unwrap_or_default(), outgoing.arrivals);
        let asking = outgoing.caller.and_then(|caller| caller.asking);
        let standstill = asking.map(|asking| asking.clone() as Arc<dyn Standstill>);
        let cap = limits.max_bytes.saturating_add(limits.allowance);
        self.shared.cap.fetch_max(cap, Ordering::Relaxed);
        let mut expected = ReplyWaiter::new(&self.shared, id)?;
        let posting = async {
            let response = endpoint.post(session, outgoing, limits).await?;
            if response.status.is_success() {
                response.body.beginning(ERROR_BODY).await;
                Ok(None)
            } else {
                endpoint.refusal(response, session, id).await.map(Some)
            }
        };
        let exchange = async {
            let mut posting = std::pin::pin!(posting);
            tokio::select! {
                biased;
                reply = expected.reply() => {
                    let _ = time::timeout(POST_PATIENCE, &mut posting).await;
                    reply
                }
                posted = &mut posting => match posted? {
                    Some(refusal) => Ok((Ok(refusal), 0)),
                    None => expected.reply().await,
                },
            }
        };
        let end = (time::now() + limits.total).min(limits.deadline);
        let late = || PostError::Fault(body_fault(HttpError::Timeout, true));
        let (answer, bytes) = timeout_at(end, standstill, exchange).await.unwrap_or_else(|| Err(late()))?;
        if bytes > cap {
            let error = HttpError::TooLarge { max: limits.max_bytes, received: bytes as u64 };
            return Err(body_fault(error, true).into());
        }
        if arrivals.is_some_and(|arrivals| !arrivals.arrived(bytes)) {
            return Err(no_memory(bytes as u64).into());
        }
        answer.map_err(PostError::Fault)
    }
}

/// Waits for one reply until it is dropped.
struct ReplyWaiter<'a> {
    shared: &'a StreamState,
    id: u64,
    reply: oneshot::Receiver<(ReplyResult, usize)>,
}

impl<'a> ReplyWaiter<'a> {
    fn new(shared: &'a StreamState, id: u64) -> Result<Self, CallFault> {
        let (sender, reply) = oneshot::channel();
        shared.waiting().insert(id, sender);
        let expected = Self { shared, id, reply };
        // Looked at afterwards, so that an end in between is not missed.
        match shared.end.borrow().clone() {
            Some(end) => Err(end.fault),
            None => Ok(expected),
        }
    }

    async fn reply(&mut self) -> Result<(ReplyResult, usize), PostError> {
        (&mut self.reply).await.map_err(|_| PostError::Fault(closed_early()))
    }
}

impl Drop for ReplyWaiter<'_> {
    fn drop(&mut self) {
        self.shared.waiting().remove(&self.id);
    }
}

async fn open_body(endpoint: &Endpoint, connect: Duration) -> Result<Body, CallFault> {
    let mut headers = endpoint.headers(None, None);
    headers.extend(endpoint.credentials()?);
    headers.insert(ACCEPT, EVENTS);
    let target = endpoint.target.clone();
    let request = Request { method: Method::GET, target, headers, body: Bytes::new() };
    let limits = Limits {
        connect,
        first_byte: Some(endpoint.entry.handshake_timeout),
        total: HOLD,
        deadline: time::now() + HOLD,
        max_bytes: usize::MAX,
        allowance: 0,
    };
    let sent = endpoint.send(&http::HeaderMap::new(), request, None, None, &limits).await;
    let response = sent.map_err(PostError::into_fault)?;
    if response.status == StatusCode::UNAUTHORIZED {
        return Err(endpoint.unauthorized(None).into_fault());
    }
    if !response.status.is_success() {
        return Err(plain_fault(response.status));
    }
    if !is_event_stream(&response.headers) {
        return Err(CallFault::upstream_error("the answer to GET is no event stream"));
    }
    Ok(response.body)
}

/// Reads up to the event that names the target for messages. Yields the other events that arrived with it.
async fn read_endpoint(
    endpoint: &Endpoint,
    body: &mut Body,
) -> Result<(SseDecoder, Target, Vec<Event>), CallFault> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    loop {
        let chunk = match body.chunk().await {
            Some(Ok(chunk)) => chunk,
            Some(Err(error)) => return Err(body_fault(error, true)),
            None => return Err(CallFault::unavailable("SSE stream closed before its endpoint event")),
        };
        decoder.feed(&chunk, |event| {
            events.push(event);
            true
        });
        if let Some(at) = events.iter().position(|event| event.name.as_deref() == Some("endpoint")) {
            let rest = events.split_off(at + 1);
            let target = resolve(&endpoint.entry.url, &events[at].data)?;
            let target = target.via(endpoint.entry.routing.route(&endpoint.entry.url));
            return Ok((decoder, target, rest));
        }
        events.clear();
        let cap = endpoint.entry.max_response_bytes;
        if decoder.buffered() > cap {
            return Err(too_long(cap, decoder.buffered()));
        }
    }
}

/// Where messages go: of the origin of the stream, for they carry its credentials.
fn resolve(stream: &Url, named: &[u8]) -> Result<Target, CallFault> {
    let named = String::from_utf8_lossy(named);
    let bad = |what: &str| {
        CallFault::upstream_error(format!("the endpoint event of the stream {what}: {}", clip(&named, 120)))
    };
    let url = stream.join(named.trim()).map_err(|_| bad("is no URL"))?;
    if url.origin() != stream.origin() {
        return Err(bad("names another origin, which gets no messages"));
    }
    Target::new(&url).map_err(|_| bad("cannot be requested"))
}

fn closed_early() -> CallFault {
    CallFault::unavailable("SSE stream closed before the response arrived")
}

/// The end of a session whose stream has ended.
fn lost(fault: CallFault) -> ConnectionEnd {
    ConnectionEnd { fault, kind: EndKind::SessionLost }
}

fn too_fast(upstream: &str) -> ConnectionEnd {
    warn_too_fast(upstream);
    let fault = CallFault::unavailable(format!(
        "SSE stream closed: more than {EVENTS_PER_SECOND} events in a second"
    ));
    ConnectionEnd { fault, kind: EndKind::Crash }
}

fn too_long(max: usize, received: usize) -> CallFault {
    body_fault(HttpError::TooLarge { max, received: received as u64 }, true)
}

/// Reads a stream for as long as it is needed.
#[derive(Clone)]
struct StreamReader {
    endpoint: Arc<Endpoint>,
    shared: Arc<StreamState>,
    target: Target,
}

impl StreamReader {
    async fn run(self, mut body: Body, mut decoder: SseDecoder, first: Vec<Event>) {
        let mut unused = self.shared.unused.subscribe();
        let reading = async {
            for event in first {
                self.take(event).await;
            }
            let (mut rate, mut pace) = (EventRate::default(), Pace::default());
            loop {
                let Some(Ok(chunk)) = pace.wait(body.chunk()).await else { return lost(closed_early()) };
                for piece in chunk.chunks(STEP) {
                    let (mut events, marks) = (Vec::new(), decoder.marks());
                    decoder.feed(piece, |event| {
                        events.push(event);
                        true
                    });
                    let mut marks = decoder.marks() - marks;
                    for event in events {
                        // Answers come as fast as they were asked for.
                        marks -= u64::from(pace.wait(self.take(event)).await);
                    }
                    if !rate.admits(marks, time::now()) {
                        return too_fast(&self.endpoint.name);
                    }
                    // Whose answer it is cannot be told from its beginning, so that all who wait are told.
                    let cap = self.shared.cap.load(Ordering::Relaxed);
                    if decoder.buffered() > cap {
                        return lost(too_long(cap, decoder.buffered()));
                    }
                    pace.worked(piece.len()).await;
                }
            }
        };
        let end = tokio::select! {
            end = reading => end,
            _ = unused.wait_for(|unused| *unused) => lost(closed_early()),
        };
        self.shared.end(end);
    }

    /// Takes an event. Whether it is an answer that was waited for.
    async fn take(&self, event: Event) -> bool {
        let reader = self.clone();
        let (replies, is_wanted) = apart(event.data.len(), move || reader.read(&event)).await;
        for Reply(reply) in replies {
            match reply {
                InboundReply::Ready(reply) => self.post(reply).await,
                InboundReply::Waiting(answer) => {
                    let (reader, mut unused) = (self.clone(), self.shared.unused.subscribe());
                    tokio::spawn(async move {
                        let answer = tokio::select! {
                            answer = answer => answer,
                            _ = unused.wait_for(|unused| *unused) => None,
                        };
                        if let Some(answer) = answer {
                            reader.post(answer).await;
                        }
                    });
                }
            }
        }
        is_wanted
    }

    /// Reads an event: the replies to send, and whether it is an expected answer.
    fn read(&self, event: &Event) -> (Vec<Reply>, bool) {
        let mut replies = Vec::new();
        if event.name.is_some() {
            return (replies, false);
        }
        // No request of ours has the id 0: replies are looked for below.
        let (id, era) = (0, Era::Handshake);
        let _ = self.endpoint.read_event(&event.data, id, era, None, Link::Session, &mut replies);
        let is_wanted = self.deliver(&event.data);
        (replies, is_wanted)
    }

    /// Delivers answers to the waiting requests. Returns whether any was expected.
    #[expect(clippy::disallowed_methods, reason = "entry point: StreamReader.deliver")]
    fn deliver(&self, data: &Bytes) -> bool {
        let Ok(messages) = parse(data, MAX_BATCH) else { return false };
        let mut is_wanted = false;
        for message in messages.iter().filter(|message| message.method.is_none()) {
            let Some(id) = message.id.and_then(number_of_id) else { continue };
            let Some(answer) = answer_of(data, message, id, false) else { continue };
            if let Some(waiting) = self.shared.waiting().remove(&id) {
                let _ = waiting.send((answer, data.len()));
                is_wanted = true;
            }
        }
        is_wanted
    }

    /// Answers a request of the server.
    async fn post(&self, body: Vec<u8>) {
        let Ok(credentials) = self.endpoint.credentials() else { return };
        let mut headers = self.endpoint.headers(None, None);
        headers.extend(credentials);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        let request =
            Request { method: Method::POST, target: self.target.clone(), headers, body: body.into() };
        if let Ok(response) = self.endpoint.client.send(request, &shutdown_limits()).await {
            response.body.beginning(ERROR_BODY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_origin_of_the_stream_only() {
        let stream = Url::parse("https://h.example:8443/a/sse?x=1").unwrap();
        let target = |named: &str| resolve(&stream, named.as_bytes());
        for named in [
            "/messages?session_id=7",
            "messages",
            "?s=1",
            "https://h.example:8443/m",
            " https://H.example:8443/m ",
        ] {
            assert!(target(named).is_ok(), "{named}");
        }
        for named in [
            "https://h.example/m",
            "http://h.example:8443/m",
            "//evil.example:8443/m",
            "https://h.example.evil:8443/m",
            "https://h.example:8443@evil/m",
            "data:text/plain,x",
            "\\\\evil.example\\m",
            "https://",
        ] {
            assert!(target(named).is_err(), "{named}");
        }
    }
}
