//! One message to a Streamable HTTP endpoint, and its answer.

use super::super::inbound_reply::InboundReply;
use super::super::open_questions::{Link, OpenQuestions};
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use ptc_mcp::Era;
use ptc_mcp::headers;
use ptc_mcp::message::id::{id_within, number_of_id};
use ptc_mcp::message::lenient::{Message, Messages, parse};
use ptc_mcp::sse::SseDecoder;
use ptc_mcp::text::clip;

use super::super::inbound::Inbound;
use super::super::protocol::{CLIENT_VERSION, render};
use super::super::repair::{TextPiece, complaint, pieces};
use super::super::result::RawResult;
use super::rpc_failure::RpcFailure;
use super::session::{HttpSession, shutdown_limits};
use super::session_loss::{session_lost, told_by_error, told_by_status};
use crate::config::HttpConfig;
use crate::sign_in::SignIn;
use crate::upstream::http_refusal::{RetryAfter, explain, explain_redirect, moved_to, retry_after};
use crate::upstream::request_token::{RequestToken, challenge_of};
use crate::upstream::trace_headers::trace_headers;
use crate::upstream::{
    Arrivals, CallFault, Caller, FaultReason, QuestionSink, Stopwatch, UpstreamEvent, no_memory,
};
use ptc_base::pace::{AT_ONCE, Pace, STEP, apart};
use ptc_base::time::{self, Instant};
use ptc_base::visible::without_controls;
use ptc_http::standstill::Standstill;
use ptc_http::{Body, Client, HttpError, Limits, Request, Response, Target};
use ptc_secret::credentials::CredentialStore;

/// Most messages in one batch.
pub(super) const MAX_BATCH: usize = 1024;
/// How much of an error's body is read.
pub(super) const ERROR_BODY: usize = 64 * 1024;
/// Times that one stream may be taken up again.
const MAX_RESUMES: usize = 8;
/// Requests of the server, such as pings, that are answered at once during one call. Further ones have no answer.
const MAX_REPLIES: u32 = 1000;
/// Bounds of the pause before that.
const RESUME_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The user agent.
static AGENT: LazyLock<HeaderValue> = LazyLock::new(|| {
    HeaderValue::try_from(format!("ptc-runner-mcp/{CLIENT_VERSION}"))
        .unwrap_or(HeaderValue::from_static("ptc-runner-mcp"))
});

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
const SESSION_ID: HeaderName = HeaderName::from_static(headers::SESSION_ID);
const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static(headers::JSON_OR_EVENTS);
const TOOLS_CALL: HeaderValue = HeaderValue::from_static("tools/call");
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Where the endpoint is and how to speak to it.
pub(super) struct Endpoint {
    pub(super) name: Arc<str>,
    pub(super) target: Target,
    pub(super) entry: HttpConfig,
    pub(super) client: Client,
    pub(super) store: Arc<CredentialStore>,
    /// Whose tokens requests carry, if they need one.
    pub(super) sign_in: Option<Arc<SignIn>>,
    /// Handles the server's unsolicited messages.
    pub(super) inbound: Arc<Inbound>,
    /// Receives announced changes, from any stream.
    pub(super) announce: Box<dyn Fn(UpstreamEvent) + Send + Sync>,
}

/// One message to be posted.
pub(super) struct Outgoing<'a> {
    /// Its id, if it is a request.
    pub(super) id: Option<u64>,
    pub(super) method: &'a str,
    /// The name in the request: of the tool or the prompt, or the resource's URI.
    pub(super) subject: Option<&'a str>,
    /// Arguments that go into headers.
    pub(super) mirrored: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Vec<u8>,
    /// The account of the answer's bytes.
    pub(super) arrivals: Option<&'a dyn Arrivals>,
    /// The caller, if it is a call.
    pub(super) caller: Option<Caller<'a>>,
}

impl<'a> Outgoing<'a> {
    /// A message without a caller.
    pub(super) fn plain(id: Option<u64>, method: &'a str, body: Vec<u8>) -> Self {
        Self { id, method, subject: None, mirrored: Vec::new(), body, arrivals: None, caller: None }
    }
}

/// The answer to a request.
pub(super) enum HttpReply {
    /// Its `result` as raw JSON.
    Result(RawResult),
    /// Its `error`.
    Error(RpcFailure),
}

/// The answer to a request of the server.
pub(super) struct Reply(pub(super) InboundReply);

/// The server's requests on the stream of a call, while its answer to the call is read.
#[derive(Default)]
struct ServerRequests {
    open: Arc<OpenQuestions>,
    /// Answers that are known, in the order of their requests.
    known: VecDeque<Vec<u8>>,
    /// How many of them there have been.
    known_count: u32,
    /// Answers that people or models have to give.
    awaited: FuturesUnordered<BoxFuture<'static, Option<Vec<u8>>>>,
}

impl ServerRequests {
    fn note(&mut self, reply: Reply, upstream: &str) {
        match reply.0 {
            InboundReply::Waiting(answer) => self.awaited.push(answer),
            InboundReply::Ready(answer) if self.known_count < MAX_REPLIES => {
                self.known_count += 1;
                self.known.push_back(answer);
            }
            InboundReply::Ready(_) => {
                tracing::debug!(
                    upstream,
                    limit = MAX_REPLIES,
                    "upstream_noise: too many requests during a call"
                );
            }
        }
    }
}

/// A reply, or the fault of one that is none although it is addressed to the request.
pub(super) type ReplyResult = Result<HttpReply, CallFault>;

/// Why no answer came.
pub(super) enum PostError {
    /// The server did not accept the credentials.
    Unauthorized(CallFault),
    /// It does not know the session any more, and has run nothing.
    SessionLost,
    /// It forgot the session after it had begun to answer.
    SessionLostHalfway,
    /// Everything else.
    Fault(CallFault),
}

impl From<CallFault> for PostError {
    fn from(fault: CallFault) -> Self {
        Self::Fault(fault)
    }
}

impl PostError {
    pub(super) fn into_fault(self) -> CallFault {
        match self {
            Self::Unauthorized(fault) => fault,
            Self::SessionLost | Self::SessionLostHalfway => session_lost(),
            Self::Fault(fault) => fault,
        }
    }
}

impl Endpoint {
    /// Posts a request and reads its answer.
    pub(super) async fn request(
        &self,
        session: &HttpSession,
        outgoing: Outgoing<'_>,
        limits: &Limits,
    ) -> Result<HttpReply, PostError> {
        match self.answer_to(session, outgoing, limits).await {
            Ok(HttpReply::Error(failure)) if session.is_held() && told_by_error(&failure) => {
                Err(PostError::SessionLost)
            }
            answer => answer,
        }
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Endpoint.answer_to")]
    async fn answer_to(
        &self,
        session: &HttpSession,
        outgoing: Outgoing<'_>,
        limits: &Limits,
    ) -> Result<HttpReply, PostError> {
        if let Some(stream) = &session.old_stream {
            return Box::pin(stream.request(self, session, outgoing, limits)).await;
        }
        let id = outgoing.id.unwrap_or_default();
        let (arrivals, caller) = (outgoing.arrivals, outgoing.caller);
        let started = time::now();
        let response = self.post(session, outgoing, limits).await?;
        session.note_id(response.headers.get(&SESSION_ID));
        if !response.status.is_success() {
            return Box::pin(self.refusal(response, session, id)).await;
        }
        if response.status == StatusCode::ACCEPTED {
            return Err(CallFault::upstream_error("unexpected JSON-RPC response nil").into());
        }
        if is_event_stream(&response.headers) {
            let wanted = ExpectedAnswer { id, arrivals, caller };
            return Box::pin(self.read_events(session, response.body, wanted, limits, started)).await;
        }
        let is_page = is_page(&response.headers);
        let body = response.body.collect_for(arrivals).await.map_err(|error| body_fault(error, false))?;
        if is_page && !body.trim_ascii_start().starts_with(b"{") {
            return Err(no_endpoint(&response.headers).with_bytes(body.len() as u64).into());
        }
        apart(body.len(), move || read_json(&body, id)).await
    }

    /// Posts a notification or a reply. Yields any status.
    pub(super) async fn notify(
        &self,
        session: &HttpSession,
        method: &str,
        body: Vec<u8>,
        limits: &Limits,
    ) -> Result<StatusCode, PostError> {
        let response = self.post(session, Outgoing::plain(None, method, body), limits).await?;
        session.note_id(response.headers.get(&SESSION_ID));
        let status = response.status;
        let_go(response).await;
        Ok(status)
    }

    /// Ends the session at the server, if there is one and as far as it likes.
    pub(super) async fn delete(&self, session: &HttpSession, limits: &Limits) {
        if session.id().is_some()
            && let Ok(headers) = self.all_headers(session)
        {
            let request =
                Request { method: Method::DELETE, target: self.target.clone(), headers, body: Bytes::new() };
            if let Ok(response) = self.send(&HeaderMap::new(), request, None, None, limits).await {
                response.body.beginning(ERROR_BODY).await;
            }
        }
    }

    pub(super) async fn post(
        &self,
        session: &HttpSession,
        outgoing: Outgoing<'_>,
        limits: &Limits,
    ) -> Result<Response, PostError> {
        let common = session.common_headers(|id| {
            let mut headers = self.headers(session.version.as_ref(), id);
            headers.insert(CONTENT_TYPE, JSON);
            headers.insert(ACCEPT, JSON_OR_EVENTS);
            self.target.common_headers(headers)
        });
        let mut headers = self.credentials()?;
        if session.era == Era::Modern {
            headers.insert(
                METHOD,
                match outgoing.method {
                    "tools/call" => TOOLS_CALL,
                    other => super::mirror::header_value(other),
                },
            );
            if let Some(subject) = outgoing.subject {
                headers.insert(NAME, super::mirror::header_value(subject));
            }
            headers.extend(outgoing.mirrored);
        }
        headers.extend(trace_headers(outgoing.caller.and_then(|caller| caller.trace)));
        let tool = outgoing.subject.filter(|_| outgoing.method == "tools/call");
        let asking = outgoing.caller.and_then(|caller| caller.asking);
        let request = Request {
            method: Method::POST,
            target: session.old_stream.as_ref().map_or(&self.target, |stream| &stream.target).clone(),
            headers,
            body: outgoing.body.into(),
        };
        self.send(&common, request, tool, asking, limits).await
    }

    /// Sends a request, with the token of its sign-in if it has one. `tool` names the called tool; the time of questions that
    /// `asking` handles meanwhile does not count.
    pub(super) async fn send(
        &self,
        common: &HeaderMap,
        request: Request,
        tool: Option<&str>,
        asking: Option<&Arc<QuestionSink>>,
        limits: &Limits,
    ) -> Result<Response, PostError> {
        match &self.sign_in {
            // In a box, as most upstreams need none and their calls should not carry the room for it.
            Some(sign_in) => Box::pin(self.send_signed(sign_in, common, request, tool, asking, limits)).await,
            None => self.exchange(common, request, asking, limits).await,
        }
    }

    async fn exchange(
        &self,
        common: &HeaderMap,
        request: Request,
        asking: Option<&Arc<QuestionSink>>,
        limits: &Limits,
    ) -> Result<Response, PostError> {
        let standstill = || asking.map(|asking| asking.clone() as Arc<dyn Standstill>);
        let mut sent = self.client.send_with(common, &request, limits, standstill()).await;
        if let Ok(response) = &sent
            && let Some(target) = self.moved_within(response)
        {
            // The origin is the same, so whatever the request carries goes where it would have gone.
            let again = Request { target, ..request };
            sent = self.client.send_with(common, &again, limits, standstill()).await;
        }
        sent.map_err(|failure| {
            let late = failure.error == HttpError::ConnectTimeout;
            let mut fault = body_fault(failure.error, false);
            if late {
                let allowed = limits.connect.as_millis();
                fault = fault
                    .with_hint(&format!("There was no connection within {allowed} ms (connect_timeout_ms)."));
            }
            PostError::Fault(if failure.sent { fault } else { fault.never_sent() })
        })
    }

    /// Where a request shall go instead, if the server says so in the one way that keeps its method and body, and means itself.
    fn moved_within(&self, response: &Response) -> Option<Target> {
        let keeps_method =
            matches!(response.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let place = moved_to(response.status, &response.headers).filter(|_| keeps_method)?;
        let url = self.entry.url.join(&place).ok()?;
        if url.origin() != self.entry.url.origin() {
            return None;
        }
        Some(Target::new(&url).ok()?.via(self.entry.routing.route(&self.entry.url)))
    }

    async fn send_signed(
        &self,
        sign_in: &Arc<SignIn>,
        common: &HeaderMap,
        mut request: Request,
        tool: Option<&str>,
        asking: Option<&Arc<QuestionSink>>,
        limits: &Limits,
    ) -> Result<Response, PostError> {
        let mut signed = RequestToken::begin(sign_in, limits.deadline).await?;
        loop {
            let (name, value) = signed.header();
            request.headers.insert(name, value);
            let response = self.exchange(common, request.clone(), asking, limits).await?;
            let challenge = challenge_of(response.status, &response.headers);
            if !signed.again(response.status, challenge.as_ref(), tool).await? {
                return Ok(response);
            }
            response.body.abandon();
        }
    }

    /// The headers of a request but for its credentials: the operator's, then the protocol's.
    pub(super) fn headers(
        &self,
        version: Option<&HeaderValue>,
        session_id: Option<&HeaderValue>,
    ) -> HeaderMap {
        let own = &self.entry.auth.static_headers;
        let mut headers = HeaderMap::with_capacity(own.len() + 8);
        headers.extend(own.iter().cloned());
        headers.insert(USER_AGENT, AGENT.clone());
        if let Some(version) = version {
            headers.insert(PROTOCOL_VERSION, version.clone());
        }
        if let Some(id) = session_id {
            headers.insert(SESSION_ID, id.clone());
        }
        headers
    }

    /// The credentials as headers, computed now and kept nowhere.
    pub(super) fn credentials(&self) -> Result<HeaderMap, CallFault> {
        let headers = self.entry.auth.credentials(&self.store);
        headers.map_err(|error| CallFault::new(FaultReason::AuthFailed, error.to_string()))
    }

    /// All headers of a request.
    fn all_headers(&self, session: &HttpSession) -> Result<HeaderMap, CallFault> {
        let mut headers = self.headers(session.version.as_ref(), session.id().as_ref());
        headers.extend(self.credentials()?);
        Ok(headers)
    }

    /// Reads an event stream up to the answer, taking it up again where the server's revision allows it.
    async fn read_events(
        &self,
        session: &HttpSession,
        mut body: Body,
        wanted: ExpectedAnswer<'_>,
        limits: &Limits,
        started: Instant,
    ) -> Result<HttpReply, PostError> {
        let id = wanted.id;
        let mut resumes = 0;
        let mut received = 0;
        let mut asked = ServerRequests::default();
        // Time that has stood still for questions is given back.
        let stopwatch = wanted.caller.and_then(|caller| caller.asking).map(|asking| &asking.stopwatch);
        let stood = || stopwatch.map_or(Duration::ZERO, Stopwatch::stood);
        loop {
            let mut decoder = SseDecoder::default();
            let reading = self.read_stream(session, &mut body, &mut decoder, wanted, &mut asked, limits);
            let broke = match reading.await? {
                // What it began to answer may have run.
                StreamOutcome::HttpReply(HttpReply::Error(failure))
                    if resumes > 0 && session.is_held() && told_by_error(&failure) =>
                {
                    return Err(PostError::SessionLostHalfway);
                }
                StreamOutcome::HttpReply(answer) => {
                    body.abandon();
                    return Ok(answer);
                }
                StreamOutcome::Broke(error) => error,
            };
            received += body.received();
            let closed = broke.map_or_else(
                || CallFault::unavailable(format!("SSE stream closed before response with id={id} arrived")),
                CallFault::from,
            );
            let Some(last_id) = decoder.last_id().and_then(|id| HeaderValue::from_str(id).ok()) else {
                return Err(closed.with_bytes(received).into());
            };
            resumes += 1;
            if session.era == Era::Modern || resumes > MAX_RESUMES {
                return Err(closed.with_bytes(received).into());
            }
            let pause =
                Duration::from_millis(decoder.retry_ms().unwrap_or(0)).clamp(RESUME_PAUSE.0, RESUME_PAUSE.1);
            let left = (limits.total + stood()).saturating_sub(time::since(started));
            if left <= pause {
                return Err(closed.with_bytes(received).into());
            }
            time::sleep(pause).await;
            let limits = Limits { deadline: limits.deadline + stood(), ..*limits };
            let limits = Limits { total: left.saturating_sub(pause), ..limits };
            body = match self.resume(session, last_id, wanted.caller, &limits).await {
                ResumeOutcome::Body(body) => body,
                ResumeOutcome::SessionLost => return Err(PostError::SessionLostHalfway),
                ResumeOutcome::Not => return Err(closed.with_bytes(received).into()),
            };
        }
    }

    /// Opens a stream of the server's own messages (`GET`), from after `last_id` if given. `caller`: the caller of the call
    /// that owned the stream.
    pub(super) async fn open_stream(
        &self,
        session: &HttpSession,
        last_id: Option<HeaderValue>,
        caller: Option<Caller<'_>>,
        limits: &Limits,
    ) -> Result<Response, PostError> {
        let mut headers = self.all_headers(session)?;
        headers.insert(ACCEPT, EVENTS);
        if let Some(id) = last_id {
            headers.insert(LAST_EVENT_ID, id);
        }
        let request =
            Request { method: Method::GET, target: self.target.clone(), headers, body: Bytes::new() };
        self.send(&HeaderMap::new(), request, None, caller.and_then(|caller| caller.asking), limits).await
    }

    async fn resume(
        &self,
        session: &HttpSession,
        last_id: HeaderValue,
        caller: Option<Caller<'_>>,
        limits: &Limits,
    ) -> ResumeOutcome {
        match self.open_stream(session, Some(last_id), caller, limits).await {
            Ok(response) if response.status.is_success() && is_event_stream(&response.headers) => {
                ResumeOutcome::Body(response.body)
            }
            Ok(response) if session.is_held() && told_by_status(response.status, "") => {
                ResumeOutcome::SessionLost
            }
            Ok(_) | Err(_) => ResumeOutcome::Not,
        }
    }

    async fn read_stream(
        &self,
        session: &HttpSession,
        body: &mut Body,
        decoder: &mut SseDecoder,
        ExpectedAnswer { id, arrivals, caller }: ExpectedAnswer<'_>,
        asked: &mut ServerRequests,
        limits: &Limits,
    ) -> Result<StreamOutcome, PostError> {
        let open = asked.open.clone();
        let link = caller.map(|caller| Link::Call(caller.asking, &open)).unwrap_or(Link::Session);
        let stopwatch = caller.and_then(|caller| caller.asking).map(|asking| &asking.stopwatch);
        let mut stopped = None;
        let mut pace = Pace::default();
        loop {
            // The time of the call stands still while it is people or models who have to answer.
            match (asked.awaited.is_empty(), stopwatch) {
                (true, Some(_)) => stopped = None,
                (false, Some(stopwatch)) => stopped = stopped.or_else(|| Some(stopwatch.stop())),
                (true, None) => body.resume(),
                (false, None) => body.pause(),
            }
            if let Some(reply) = asked.known.pop_front() {
                self.answer(session, body, reply, limits).await?;
                continue;
            }
            let chunk = tokio::select! {
                biased;
                Some(reply) = asked.awaited.next(), if !asked.awaited.is_empty() => {
                    if let Some(reply) = reply {
                        self.answer(session, body, reply, limits).await?;
                    }
                    continue;
                }
                chunk = pace.wait(body.chunk()) => chunk,
            };
            if let (Some(Ok(chunk)), Some(arrivals)) = (&chunk, arrivals)
                && !arrivals.arrived(chunk.len())
            {
                return Err(no_memory(body.received()).into());
            }
            let mut found = None;
            let mut replies = Vec::new();
            let mut events = VecDeque::new();
            let ended = match &chunk {
                Some(Ok(chunk)) => {
                    for piece in chunk.chunks(STEP) {
                        decoder.feed(piece, |event| {
                            events.push_back(event.data);
                            true
                        });
                        while found.is_none()
                            && let Some(data) = events.pop_front()
                        {
                            found = match pace.wait(long_answer(&data, id)).await {
                                Some(answer) => Some(answer),
                                None => self.read_event(&data, id, session.era, caller, link, &mut replies),
                            };
                        }
                        if found.is_some() {
                            break;
                        }
                        pace.worked(piece.len()).await;
                    }
                    None
                }
                Some(Err(error @ (HttpError::TooLarge { .. } | HttpError::Timeout))) => {
                    return Err(body_fault(error.clone(), true).with_bytes(body.received()).into());
                }
                Some(Err(error)) => Some(Some(error.clone())),
                None => Some(None),
            };
            if ended.is_some()
                && let Some(event) = decoder.finish()
            {
                found = self.read_event(&event.data, id, session.era, caller, link, &mut replies);
            }
            if let Some(answer) = found {
                return Ok(StreamOutcome::HttpReply(
                    answer.map_err(|fault| fault.with_bytes(body.received()))?,
                ));
            }
            // In the modern era there are no such requests, and a client must not post answers.
            if session.era == Era::Handshake {
                replies.into_iter().for_each(|reply| asked.note(reply, &self.name));
            }
            if let Some(error) = ended {
                return Ok(StreamOutcome::Broke(error));
            }
        }
    }

    /// Posts an answer to a request on the stream of a call, within the call's time.
    async fn answer(
        &self,
        session: &HttpSession,
        body: &mut Body,
        reply: Vec<u8>,
        limits: &Limits,
    ) -> Result<(), PostError> {
        let limits = reply_limits(limits);
        tokio::select! {
            biased;
            () = body.end_of_time() => {
                Err(body_fault(HttpError::Timeout, true).with_bytes(body.received()).into())
            }
            _ = self.notify(session, "reply", reply, &limits) => Ok(()),
        }
    }

    /// Answers requests that a server of the handshake era sent on a stream that no call opened: known answers in their order,
    /// and the rest when they are known. In the modern era there are no such requests, and a client must not post answers.
    pub(super) async fn send_replies(
        self: &Arc<Self>,
        session: &Arc<HttpSession>,
        replies: Vec<Reply>,
        limits: &Limits,
    ) {
        for reply in replies.into_iter().filter(|_| session.era == Era::Handshake) {
            match reply.0 {
                InboundReply::Ready(reply) => drop(self.notify(session, "reply", reply, limits).await),
                InboundReply::Waiting(answer) => {
                    let (endpoint, session) = (self.clone(), session.clone());
                    tokio::spawn(async move {
                        let answer = tokio::select! {
                            answer = answer => answer,
                            () = session.over() => None,
                        };
                        if let Some(answer) = answer {
                            let limits = shutdown_limits();
                            let _ = endpoint.notify(&session, "reply", answer, &limits).await;
                        }
                    });
                }
            }
        }
    }

    /// The answer to `id`, if the event holds it. Requests of the server are answered through `replies`. `caller`: the caller
    /// of the call that owns the stream, and `link` how its requests relate to that call.
    #[expect(clippy::disallowed_methods, reason = "entry point: Endpoint.read_event")]
    pub(super) fn read_event(
        &self,
        data: &Bytes,
        id: u64,
        era: Era,
        caller: Option<Caller<'_>>,
        link: Link<'_>,
        replies: &mut Vec<Reply>,
    ) -> Option<ReplyResult> {
        let upstream = &*self.name;
        let Ok(messages) = parse(data, MAX_BATCH) else {
            let answer = if id > 0 { mended_answer(data, id) } else { None };
            if answer.is_none() {
                tracing::debug!(upstream, "upstream_noise: an event that is no message");
            }
            return answer;
        };
        let mut found = None;
        for message in messages.iter() {
            match (&message.method, message.id) {
                (Some(method), Some(request)) => {
                    let answer = self.inbound.answer(era, method, request, message.params, link);
                    replies.extend(answer.map(Reply));
                }
                (Some(method), None) if method == "notifications/cancelled" => {
                    self.inbound.withdrawn(message.params, link);
                }
                (Some(method), None) => {
                    if let Some(event) = self.inbound.notified(method, message.params, caller) {
                        (self.announce)(event);
                    }
                }
                // On a stream that a request has opened, an error without an id is meant for that request.
                (None, _) => found = found.or_else(|| answer_of(data, message, id, id > 0)),
            }
        }
        found
    }

    /// The fault of a 401.
    pub(super) fn unauthorized(&self, after: Option<&RetryAfter>) -> PostError {
        let fault = CallFault::new(FaultReason::AuthFailed, "auth_failed").with_status(401);
        PostError::Unauthorized(explain(fault, &self.entry.url, &self.entry.auth, after))
    }

    /// The meaning of an answer outside 2xx.
    #[expect(clippy::disallowed_methods, reason = "entry point: Endpoint.refusal")]
    pub(super) async fn refusal(
        &self,
        response: Response,
        session: &HttpSession,
        id: u64,
    ) -> Result<HttpReply, PostError> {
        let status = response.status;
        let code = status.as_u16();
        let after = retry_after(&response.headers);
        let moved = moved_to(status, &response.headers);
        let body = response.body.beginning(ERROR_BODY).await;
        let error = parse(&body, 1).ok().and_then(|messages| {
            messages.iter().next().and_then(|message| {
                let is_addressed = message.id.and_then(number_of_id) == Some(id);
                message.error.map(|error| RpcFailure::read(error, status, is_addressed))
            })
        });
        let is_lost = session.is_held()
            && (matches!(code, 404 | 410)
                || error.as_ref().map_or_else(|| told_by_status(status, &first_line(&body)), told_by_error));
        let received = body.len() as u64;
        let plain = || {
            let wait = after.as_ref().and_then(|after| after.wait);
            let fault = plain_fault(status).with_bytes(received).with_retry_after(wait);
            let fault = match &moved {
                Some(place) => explain_redirect(
                    fault,
                    &self.entry.url,
                    place,
                    |place| format!("if that is the server, write \"url\": \"{place}\""),
                    "Redirects are followed within the origin only, if they are 307 or 308, and once.",
                ),
                None => fault,
            };
            match self.target.answering_proxy() {
                Some(proxy) if (502..=504).contains(&code) => fault
                    .with_hint(&format!("The proxy {proxy} may have answered: it cannot reach the host.")),
                _ => fault,
            }
        };
        Err(match code {
            401 => self.unauthorized(after.as_ref()),
            _ if is_lost && code != 429 => PostError::SessionLost,
            429 => {
                let fault = CallFault::new(FaultReason::RateLimited, "rate_limited").with_status(code);
                let fault = fault.with_bytes(received).with_hint(&first_line(&body));
                explain(fault, &self.entry.url, &self.entry.auth, after.as_ref()).into()
            }
            500.. => plain().into(),
            400.. => match error {
                Some(error) => return Ok(HttpReply::Error(error)),
                None => plain().with_hint(&first_line(&body)).into(),
            },
            _ => plain().into(),
        })
    }
}

/// The limits of a reply on the stream of a call with these: the server may be as slow as with the call, whose own time has
/// stood still for questions.
fn reply_limits(limits: &Limits) -> Limits {
    Limits { deadline: limits.deadline.max(time::now() + limits.total), ..*limits }
}

/// The answer that a stream is read for.
#[derive(Clone, Copy)]
struct ExpectedAnswer<'a> {
    id: u64,
    arrivals: Option<&'a dyn Arrivals>,
    caller: Option<Caller<'a>>,
}

/// The outcome of resuming a stream.
enum ResumeOutcome {
    Body(Body),
    SessionLost,
    Not,
}

enum StreamOutcome {
    HttpReply(HttpReply),
    /// The stream ended before the answer, in order or by an error.
    Broke(Option<HttpError>),
}

/// Lets go of an answer whose body is of no interest; reading it to its end keeps the connection.
pub(super) async fn let_go(response: Response) {
    if is_event_stream(&response.headers) {
        response.body.abandon();
    } else {
        response.body.beginning(ERROR_BODY).await;
    }
}

pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let wanted = b"text/event-stream";
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        value.as_bytes().windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted))
    })
}

/// The answer in a message, if it is one to `id`. `alone`: nothing else came, so that an error without an id is meant
/// for us. One with neither result nor error is an answer too: there will be no other.
pub(super) fn answer_of(bytes: &Bytes, message: &Message<'_>, id: u64, alone: bool) -> Option<ReplyResult> {
    let matches = message.id.and_then(number_of_id) == Some(id);
    // Our ids are numbers from 1 on. Other ones a server gives to errors that are about no request it could read.
    let is_foreign = |id: &str| number_of_id(id).is_none_or(|number| number == 0);
    let anonymous = alone && message.id.is_none_or(is_foreign);
    match (message.error, message.result) {
        (Some(error), _) if matches || anonymous => {
            Some(Ok(HttpReply::Error(RpcFailure::read(error, StatusCode::OK, matches))))
        }
        (None, Some(result)) if matches => Some(Ok(HttpReply::Result(RawResult::of(bytes, result, message)))),
        (None, None) if matches && message.method.is_none() => Some(Err(unexpected(bytes))),
        // An answer under another id than ours, and there will be no other.
        (None, Some(_)) if alone && message.id.is_some_and(|id| id != "null" && is_foreign(id)) => {
            Some(Err(unexpected(bytes)))
        }
        _ => None,
    }
}

/// The answer to `id` in an event that is long and nothing else, which is read apart.
#[expect(clippy::disallowed_methods, reason = "entry point: long_answer()")]
async fn long_answer(data: &Bytes, id: u64) -> Option<ReplyResult> {
    if data.len() <= AT_ONCE {
        return None;
    }
    let (data, length) = (data.clone(), data.len());
    let read = move || match parse(&data, MAX_BATCH) {
        Ok(Messages::One(message)) if message.method.is_none() => answer_of(&data, &message, id, false),
        _ => None,
    };
    apart(length, read).await
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_json()")]
fn read_json(body: &Bytes, id: u64) -> Result<HttpReply, PostError> {
    let fault = |message: String| CallFault::upstream_error(message).with_bytes(body.len() as u64);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(fault("unexpected JSON-RPC response nil".to_owned()).into());
    }
    let unexpected = || unexpected(body).with_bytes(body.len() as u64).into();
    match parse(body, MAX_BATCH) {
        Ok(messages) => {
            let alone = messages.iter().len() == 1;
            match messages.iter().find_map(|message| answer_of(body, message, id, alone)) {
                Some(Ok(answer)) => Ok(answer),
                Some(Err(_)) | None => Err(unexpected()),
            }
        }
        Err(error) if error.is_data() && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() => {
            Err(unexpected())
        }
        Err(error) => match mended_answer(body, id) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(unusable)) => Err(unusable.with_bytes(body.len() as u64).into()),
            None => Err(fault(format!("invalid JSON response: {error}")).into()),
        },
    }
}

/// The answer to `id` in a text that is almost JSON: the mended reading, or a fault that describes the defect.
#[expect(clippy::disallowed_methods, reason = "entry point: mended_answer()")]
fn mended_answer(text: &Bytes, id: u64) -> Option<ReplyResult> {
    let broken = |text: &[u8], at: usize| {
        let what = complaint(text, at);
        Some(Err(CallFault::upstream_error(format!("invalid JSON response: {what}"))))
    };
    pieces(text).into_iter().find_map(|piece| match piece {
        TextPiece::Json(json, note) => {
            let messages = parse(&json, MAX_BATCH).ok()?;
            let alone = messages.iter().len() == 1;
            match messages.iter().find_map(|message| answer_of(&json, message, id, alone))? {
                Ok(HttpReply::Result(result)) => Some(Ok(HttpReply::Result(result.noted(note)))),
                answer => Some(answer),
            }
        }
        TextPiece::Unfinished(text) if id_within(&text) == Some(id) => broken(&text, text.len()),
        TextPiece::Broken { text, at } if id_within(&text) == Some(id) => broken(&text, at),
        _ => None,
    })
}

/// Whether a body is a page for people.
fn is_page(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|kind| {
        let kind = kind.trim().to_ascii_lowercase();
        kind.starts_with("text/html") || kind.starts_with("application/xhtml")
    })
}

/// The fault of a page, which no MCP endpoint answers with.
fn no_endpoint(headers: &HeaderMap) -> CallFault {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = clip(kind.split(';').next().unwrap_or_default().trim(), 40);
    CallFault::upstream_error(format!("it answered {kind}: no MCP endpoint"))
}

/// The fault of a status that says nothing more.
pub(super) fn plain_fault(status: StatusCode) -> CallFault {
    let reason =
        if status.is_server_error() { FaultReason::UpstreamUnavailable } else { FaultReason::UpstreamError };
    let code = status.as_u16();
    CallFault::new(reason, format!("http {code}")).with_status(code)
}

fn unexpected(body: &[u8]) -> CallFault {
    CallFault::upstream_error(format!("unexpected JSON-RPC response {}", render(body)))
}

/// The beginning of an error's body, cleaned for a message; empty for markup, which does not help.
fn first_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.trim_start().lines().next().unwrap_or_default();
    if line.starts_with('<') {
        String::new()
    } else {
        clip(&without_controls(line, &[]).collect::<String>(), 200)
    }
}

pub(super) fn body_fault(error: HttpError, streamed: bool) -> CallFault {
    match error {
        HttpError::TooLarge { max, received } => {
            let message = if streamed {
                format!("SSE response {received} bytes exceeds max_bytes ({max})")
            } else {
                format!("mcp_http response exceeded {max} bytes")
            };
            CallFault::new(FaultReason::ResponseTooLarge, message).with_bytes(received)
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_requests_are_answered_during_one_call() {
        let mut asked = ServerRequests::default();
        for _ in 0..=MAX_REPLIES {
            asked.note(Reply(InboundReply::Ready(Vec::new())), "fake");
        }
        assert_eq!(asked.known.len(), 1000);
    }
}
