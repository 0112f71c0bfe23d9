//! `POST` on the MCP path.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::header::ACCEPT;
use http::{HeaderValue, StatusCode};
use hyper::body::Incoming as RequestBody;
use ptc_host::pace::{AT_ONCE, apart};
use ptc_host::time;
use ptc_mcp::Revision;
use ptc_mcp::revision::is_modern_header;
use tracing::{Level, event_enabled};

use super::answer::{self, COME_BACK, HttpResponse, SESSION_ID};
use super::auth::HttpCaller;
use super::body::{Body, BodyCapacityError, BodyError, Notes, ReceivedBody, Reception};
use super::connection_registry::Phase;
use super::endpoint::{Endpoint, RequestFacts, SessionIdError};
use super::headers::{self, Headers};
use super::replica_announcements::Ends;
use super::sessions::{NewSessionError, Session};
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::message::id::IdMember;
use ptc_mcp::message::strict::{self, Incoming, StrictMessage};
use ptc_protocol::methods::initialize::negotiate;
use ptc_protocol::reply::{self, Answers};
use ptc_protocol::{
    Call, CallResponse, ClientFacts, Connection, Disposition, Elicitation, HandlerOutcome, MessageContext,
    SessionNeed,
};

/// Interval of comments on a quiet channel, so that no intermediary considers it dead and a dead client is noticed.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// Size of a body up to which it is parsed at once. Larger ones are parsed in turns, as connections share the thread,
/// or on another thread if they are [long](AT_ONCE).
const AT_ONCE_BYTES: usize = 16 << 10;

/// Answers a POST of an authenticated caller.
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    caller: &HttpCaller,
    headers: &Headers<'_>,
    said_modern: bool,
    body: RequestBody,
    seen: &mut RequestFacts,
) -> HttpResponse {
    if !is_json(headers) {
        return answer::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type");
    }
    if !accepts(headers, "application/json") {
        let text = "not acceptable: answers are application/json";
        return answer::text(StatusCode::NOT_ACCEPTABLE, text);
    }
    let received = match endpoint.bodies.receive(body, &caller.principal) {
        Ok(reception) => received(reception, seen).await,
        Err(unread) => Err(unread),
    };
    let received = match received {
        Ok(received) => received,
        Err(unread) => return not_read(endpoint, unread),
    };
    let post = Post { endpoint, caller, headers, said_modern };
    let bytes = received.bytes().len();
    let outcome = if bytes <= AT_ONCE_BYTES {
        post.outcome(&received, seen)
    } else if bytes <= AT_ONCE {
        let _turn = Box::pin(endpoint.engine.turn(Some(caller.principal.shared_name()))).await;
        post.outcome(&received, seen)
    } else {
        return Box::pin(post.answer_apart(received, seen)).await;
    };
    if let MessageOutcome::Ready(answer) = outcome {
        seen.held = Some(received.into_held());
        return answer;
    }
    // The body is not needed any more: calls own their data.
    drop(received);
    outcome.answer(endpoint, headers, seen).await
}

impl MessageOutcome {
    /// The answer, once it can be sent.
    async fn answer(
        self,
        endpoint: &Arc<Endpoint>,
        headers: &Headers<'_>,
        seen: &mut RequestFacts,
    ) -> HttpResponse {
        match self {
            MessageOutcome::Ready(answer) => answer,
            MessageOutcome::Heard { answer, ends } => {
                Box::pin(ends.heard()).await;
                answer
            }
            MessageOutcome::HandedOn { answer, ends } => {
                Box::pin(ends.settled()).await;
                answer
            }
            MessageOutcome::Call { call, session } => run(endpoint, call, session, headers, seen).await,
            MessageOutcome::Batch { replies, calls } => Box::pin(batch(endpoint, replies, calls)).await,
        }
    }
}

/// The whole body. Usually it has arrived, and no clock is read. Otherwise its connection counts as waiting for its
/// client.
async fn received(mut reception: Reception, seen: &mut RequestFacts) -> Result<ReceivedBody, BodyError> {
    if let Poll::Ready(all) = poll_fn(|context| Poll::Ready(reception.poll_all(context))).await {
        return all.map(|()| reception.into_received());
    }
    if let Some(busy) = &mut seen.busy {
        busy.enter(Phase::Receiving);
    }
    let received = Box::pin(reception.rest()).await;
    if let Some(busy) = &mut seen.busy {
        busy.enter(Phase::Working);
    }
    received
}

/// The answer to a body that could not be read.
pub(super) fn not_read(endpoint: &Endpoint, unread: BodyError) -> HttpResponse {
    let no_room = match unread {
        BodyError::TooLarge => return answer::text(StatusCode::PAYLOAD_TOO_LARGE, "payload too large"),
        BodyError::TooSlow => return answer::text(StatusCode::REQUEST_TIMEOUT, "request timeout"),
        BodyError::Broken => return answer::text(StatusCode::BAD_REQUEST, "body could not be read"),
        BodyError::NoRoom(no_room) => no_room,
    };
    let (status, limit) = match no_room {
        BodyCapacityError::Own(_) => (StatusCode::TOO_MANY_REQUESTS, "max_buffered_bytes_per_owner"),
        BodyCapacityError::All(_) => (StatusCode::SERVICE_UNAVAILABLE, "max_buffered_bytes"),
        BodyCapacityError::Memory => (StatusCode::SERVICE_UNAVAILABLE, "max_total_memory_bytes"),
    };
    endpoint.counts.limit_rejected(&endpoint.instance, limit);
    answer::retry_after(answer::busy(status, format!("server busy: {no_room}")), COME_BACK)
}

/// The outcome of a body.
enum MessageOutcome {
    /// The answer.
    Ready(HttpResponse),
    /// The answer waits until the other replicas have processed the same change.
    Heard { answer: HttpResponse, ends: Ends },
    /// The answer waits until the store has the message for the other replicas.
    HandedOn { answer: HttpResponse, ends: Ends },
    /// A call is to be run.
    Call { call: Box<Call>, session: Option<Arc<Session>> },
    /// Calls of a batch are to be run.
    Batch { replies: Vec<Vec<u8>>, calls: Vec<Call> },
}

/// A conversation of the handshake era, and its session, if it has one.
type Conversation = (Arc<Connection>, Option<Arc<Session>>);

struct Post<'a> {
    endpoint: &'a Arc<Endpoint>,
    caller: &'a HttpCaller,
    headers: &'a Headers<'a>,
    said_modern: bool,
}

impl Post<'_> {
    /// The answer to a long body, which is parsed on a thread of its own.
    async fn answer_apart(&self, received: ReceivedBody, seen: &mut RequestFacts) -> HttpResponse {
        let (endpoint, caller, said_modern) = (self.endpoint.clone(), self.caller.clone(), self.said_modern);
        let (all, bytes) = (self.headers.all.clone(), received.bytes().len());
        let mut its = seen.take();
        let read = apart(bytes, move || {
            let headers = &Headers::of(&all);
            let post = Post { endpoint: &endpoint, caller: &caller, headers, said_modern };
            (post.outcome(&received, &mut its), its)
        });
        let (outcome, its) = read.await;
        *seen = its;
        outcome.answer(self.endpoint, self.headers, seen).await
    }

    /// Reads a body and processes it.
    #[expect(clippy::disallowed_methods, reason = "entry point: Post.outcome")]
    fn outcome(&self, received: &ReceivedBody, seen: &mut RequestFacts) -> MessageOutcome {
        if received.bytes().is_empty() {
            let body = answer::refused(RpcError::INVALID_REQUEST, "Invalid Request: the body is empty");
            return MessageOutcome::Ready(answer::json(StatusCode::BAD_REQUEST, body));
        }
        match strict::read(received.bytes()) {
            Err(malformed) => {
                let body = self.endpoint.service.unparsable(Some(self.assumed_revision()), malformed);
                MessageOutcome::Ready(answer::json(StatusCode::BAD_REQUEST, body))
            }
            Ok(incoming) => self.dispatch(&incoming, seen),
        }
    }

    /// The revision that shapes the answer to a body without a revision.
    fn assumed_revision(&self) -> Revision {
        if self.said_modern {
            return Revision::V2026_07_28;
        }
        let named = self.headers.protocol_version.single().ok().flatten();
        named.and_then(Revision::from_name).unwrap_or(Revision::HTTP_DEFAULT)
    }

    fn dispatch(&self, incoming: &Incoming<'_>, seen: &mut RequestFacts) -> MessageOutcome {
        match incoming {
            Incoming::Single(message) => match self.era_of(message) {
                Era::Modern => self.modern(message, seen),
                Era::Handshake => self.handshake(message, seen),
            },
            Incoming::Batch(messages) if !self.said_modern || self.is_in_session(false) => {
                self.batch(messages, seen)
            }
            Incoming::Batch(_) | Incoming::BatchRefused | Incoming::NotAMessage => self.invalid(None),
        }
    }

    /// The era of a message (ruling 26). The negotiated revision counts, that is a session's own revision, an older
    /// one in the header, or `initialize` itself, whatever else the request says (decision 165).
    fn era_of(&self, message: &StrictMessage<'_>) -> Era {
        let says_modern = self.said_modern || message.is_modern();
        match says_modern
            && !self.headers.say_handshake()
            && !message.negotiates()
            && !self.is_in_session(message.is_modern())
        {
            true => Era::Modern,
            false => Era::Handshake,
        }
    }

    /// True if the request belongs to a session of the handshake era. A request that names an unknown session does,
    /// so that its client starts a new one, unless its body `is_modern`.
    fn is_in_session(&self, is_modern: bool) -> bool {
        match self.endpoint.named_session(self.headers, &self.caller.principal) {
            Ok(_) | Err(SessionIdError::Refused(_)) => true,
            Err(SessionIdError::Unknown) => !is_modern,
            Err(SessionIdError::Missing) => false,
        }
    }

    /// Passes a message to the service. Only observers and the log need the id of the request that carried it.
    fn handle(
        &self,
        connection: &Arc<Connection>,
        message: &StrictMessage<'_>,
        era: Era,
        seen: &RequestFacts,
    ) -> HandlerOutcome {
        let service = &self.endpoint.service;
        let is_named = service.observers.is_some() || event_enabled!(Level::INFO);
        let origin = is_named.then(|| seen.request_id.to_str().unwrap_or_default());
        let (caller, trace) = (&self.caller.principal, self.headers.trace());
        let (trace, traced) = (trace.as_ref(), Some(&seen.trace));
        service.handle(MessageContext { connection, era, origin, trace, traced, caller }, message)
    }

    fn invalid(&self, message: Option<&StrictMessage<'_>>) -> MessageOutcome {
        let id = message.and_then(StrictMessage::answer_id);
        let answers = Answers::from_id(id, Some(self.assumed_revision()));
        let body = reply::error(answers, &RpcError::invalid_request());
        MessageOutcome::Ready(answer::json(StatusCode::BAD_REQUEST, body))
    }

    fn refused(&self, status: StatusCode, message: &StrictMessage<'_>, error: &RpcError) -> HttpResponse {
        let answers = Answers::from_id(message.answer_id(), Some(self.assumed_revision()));
        answer::json(status, reply::error(answers, error))
    }

    /// The refusal by a server that is about to stop.
    fn draining(&self, message: &StrictMessage<'_>) -> Option<MessageOutcome> {
        let refusal = || {
            let error = RpcError::new(RpcError::REFUSED, "server draining");
            let answer = self.refused(StatusCode::SERVICE_UNAVAILABLE, message, &error);
            MessageOutcome::Ready(answer::retry_after(answer, COME_BACK))
        };
        self.endpoint.service.is_draining().then(refusal)
    }

    /// A message that states its own revision: no session, no state.
    fn modern(&self, message: &StrictMessage<'_>, seen: &RequestFacts) -> MessageOutcome {
        if let Some(refusal) = self.draining(message) {
            return refusal;
        }
        if message.method.is_none() || !message.well_formed || message.id == IdMember::Invalid {
            return self.invalid(Some(message));
        }
        if message.id == IdMember::Absent {
            // No notification has a meaning here: a client cancels by closing the connection.
            return MessageOutcome::Ready(answer::empty(StatusCode::ACCEPTED));
        }
        if let Err(error) = headers::check(self.headers, message) {
            return MessageOutcome::Ready(self.refused(StatusCode::BAD_REQUEST, message, &error));
        }
        match self.handle(&self.endpoint.modern, message, Era::Modern, seen) {
            HandlerOutcome::Reply(reply) if reply.disposition == Disposition::Busy => {
                let (text, quota_wait) = reply.reached.map_or(("busy".into(), None), |reached| {
                    self.endpoint.counts.limit_rejected(&self.endpoint.instance, reached.limit);
                    (reached.text, reached.quota_wait)
                });
                // A limit of the policy is the caller's own: others are served.
                let (status, what) = match quota_wait {
                    Some(_) => (StatusCode::TOO_MANY_REQUESTS, "too many requests"),
                    None => (StatusCode::SERVICE_UNAVAILABLE, "server saturated"),
                };
                let error = RpcError::new(RpcError::REFUSED, format!("{what}: {text}"));
                let answer = self.refused(status, message, &error);
                MessageOutcome::Ready(answer::retry_after(answer, quota_wait.unwrap_or(COME_BACK)))
            }
            HandlerOutcome::Reply(reply) => MessageOutcome::Ready(answer::of_reply(reply)),
            HandlerOutcome::Call(call) => MessageOutcome::Call { call, session: None },
            HandlerOutcome::Silent | HandlerOutcome::Exit => {
                MessageOutcome::Ready(answer::empty(StatusCode::ACCEPTED))
            }
        }
    }

    /// A message of a conversation that began, or begins now, with `initialize`.
    fn handshake(&self, message: &StrictMessage<'_>, seen: &mut RequestFacts) -> MessageOutcome {
        if let Some(refusal) = self.draining(message) {
            return refusal;
        }
        let method = message.method.as_ref().map(Option::as_deref);
        if method == Some(Some("initialize")) && message.id != IdMember::Absent {
            return MessageOutcome::Ready(self.initialize(message, seen));
        }
        if method.is_none() && !(message.is_response() && message.id != IdMember::Absent) {
            return self.invalid(Some(message));
        }
        let (connection, session) = match self.conversation(message, seen) {
            Ok(found) => found,
            Err(answer) => return MessageOutcome::Ready(*answer),
        };
        match self.handle(&connection, message, Era::Handshake, seen) {
            HandlerOutcome::Reply(_) if message.id == IdMember::Absent && message.well_formed => {
                MessageOutcome::Ready(answer::empty(StatusCode::ACCEPTED))
            }
            HandlerOutcome::Reply(reply) => {
                if let Some(reached) = &reply.reached {
                    self.endpoint.counts.limit_rejected(&self.endpoint.instance, reached.limit);
                }
                let answer = answer::of_reply(reply);
                match self.told_elsewhere(method.flatten(), session.is_some()) {
                    Some(ends) => MessageOutcome::Heard { answer, ends },
                    None => MessageOutcome::Ready(answer),
                }
            }
            HandlerOutcome::Silent => {
                let answer = answer::empty(StatusCode::ACCEPTED);
                // An acknowledged message must survive this process.
                let is_handed_on =
                    message.is_response() || method.flatten() == Some("notifications/cancelled");
                match self.endpoint.sessions.ends().filter(|ends| is_handed_on && ends.is_telling()) {
                    Some(ends) => MessageOutcome::HandedOn { answer, ends: ends.clone() },
                    None => MessageOutcome::Ready(answer),
                }
            }
            HandlerOutcome::Call(call) => MessageOutcome::Call { call, session },
            HandlerOutcome::Exit => {
                if let Some(session) = session {
                    self.endpoint.sessions.close(&session, "exit");
                }
                MessageOutcome::Ready(answer::empty(StatusCode::ACCEPTED))
            }
        }
    }

    /// The announcer for a method that changes a setting of the whole session, if there are other replicas.
    fn told_elsewhere(&self, method: Option<&str>, has_session: bool) -> Option<Ends> {
        let settles = method == Some("logging/setLevel") && has_session;
        self.endpoint.sessions.ends().filter(|ends| settles && ends.is_shared()).cloned()
    }

    fn initialize(&self, message: &StrictMessage<'_>, seen: &mut RequestFacts) -> HttpResponse {
        if self.session_id().is_some() {
            return answer::text(StatusCode::BAD_REQUEST, "initialize must not include MCP-Session-Id");
        }
        let IdMember::Valid(_) = &message.id else {
            return self.refused(StatusCode::BAD_REQUEST, message, &RpcError::invalid_request());
        };
        if !message.well_formed {
            return self.refused(StatusCode::BAD_REQUEST, message, &RpcError::invalid_request());
        }
        let revision = negotiate(&message.params);
        let service = &self.endpoint.service;
        let mut client = ClientFacts::of(&message.params, revision);
        // Only a client that can reply in a session is asked questions.
        if service.asking.is_none() {
            client.elicitation = Elicitation::NONE;
        }
        if service.session_need == SessionNeed::None {
            client.known = None;
        }
        let is_all = match service.session_need {
            SessionNeed::State => false,
            SessionNeed::Habits | SessionNeed::None if client.is_any() => true,
            SessionNeed::Habits | SessionNeed::None => {
                return match self.handle(&self.passing(None), message, Era::Handshake, seen) {
                    HandlerOutcome::Reply(reply) => answer::of_reply(reply),
                    _ => answer::empty(StatusCode::ACCEPTED),
                };
            }
        };
        let sessions = &self.endpoint.sessions;
        let session = match sessions.create(&self.caller.principal, revision, client, is_all) {
            Ok(session) => session,
            Err(refusal) => return self.no_session(message, refusal),
        };
        seen.session = Some(session.clone());
        match self.handle(&session.connection, message, Era::Handshake, seen) {
            HandlerOutcome::Reply(reply) => {
                let mut answer = answer::of_reply(reply);
                if let Ok(id) = HeaderValue::from_str(&session.id) {
                    answer.headers_mut().insert(SESSION_ID, id);
                }
                answer
            }
            _ => answer::empty(StatusCode::ACCEPTED),
        }
    }

    fn session_id(&self) -> Option<&str> {
        let id = self.headers.session_id.first()?.to_str().ok()?;
        (!id.is_empty()).then_some(id)
    }

    /// The conversation of a request: its session's, or one of its own if no session is needed.
    fn conversation(
        &self,
        message: &StrictMessage<'_>,
        seen: &mut RequestFacts,
    ) -> Result<Conversation, Box<HttpResponse>> {
        let bad_version = || Box::new(answer::text(StatusCode::BAD_REQUEST, "bad MCP-Protocol-Version"));
        let version = self.headers.protocol_version.single().map_err(|()| bad_version());
        match self.endpoint.named_session(self.headers, &self.caller.principal) {
            Ok(session) => {
                seen.session = Some(session.clone());
                // The negotiated revision of the session counts, even if the header names another one.
                match version? {
                    Some(version) if !names_revision(version) => Err(bad_version()),
                    _ => Ok((session.connection.clone(), Some(session))),
                }
            }
            Err(SessionIdError::Missing) if self.endpoint.service.session_need != SessionNeed::State => {
                let spoken = |name| Revision::from_name(name).filter(|revision| !revision.is_modern());
                let revision = version?.map(|name| spoken(name).ok_or_else(bad_version)).transpose()?;
                Ok((self.passing(revision), None))
            }
            Err(SessionIdError::Missing) => Err(Box::new(answer::missing_session())),
            Err(SessionIdError::Unknown) => Err(Box::new(answer::unknown_session())),
            Err(SessionIdError::Refused(refusal)) => Err(Box::new(self.no_session(message, refusal))),
        }
    }

    /// A conversation of one request, in the revision that it names.
    fn passing(&self, revision: Option<Revision>) -> Arc<Connection> {
        let connection = Connection::stateless();
        if let Some(revision) = revision {
            connection.set_revision(revision);
        }
        connection
    }

    /// The refusal of a request for which no session can begin.
    fn no_session(&self, message: &StrictMessage<'_>, refusal: NewSessionError) -> HttpResponse {
        let (status, error) = self.endpoint.no_session(refusal);
        answer::retry_after(self.refused(status, message, &error), COME_BACK)
    }

    fn batch(&self, messages: &[Option<StrictMessage<'_>>], seen: &mut RequestFacts) -> MessageOutcome {
        let first = messages.iter().flatten().next();
        if let Some(refusal) = first.and_then(|message| self.draining(message)) {
            return refusal;
        }
        let Some(first) = first else { return self.invalid(None) };
        if self.session_id().is_none() && self.endpoint.service.session_need == SessionNeed::State {
            return self.invalid(None);
        }
        let (connection, session) = match self.conversation(first, seen) {
            Ok(found) => found,
            Err(answer) => return MessageOutcome::Ready(*answer),
        };
        let revision = connection.revision().unwrap_or(Revision::HTTP_DEFAULT);
        if !revision.allows_batches() {
            return self.invalid(None);
        }
        let (mut replies, mut calls) = (Vec::new(), Vec::new());
        let says_older = self.headers.say_handshake();
        for message in messages {
            let is_older =
                |message: &&StrictMessage<'_>| session.is_some() || says_older || !message.is_modern();
            let Some(message) = message.as_ref().filter(|message| is_older(message) && !begins(message))
            else {
                let id = message.as_ref().and_then(StrictMessage::answer_id);
                let answers = Answers::from_id(id, Some(revision));
                replies.push(reply::error(answers, &RpcError::invalid_request()));
                continue;
            };
            match self.handle(&connection, message, Era::Handshake, seen) {
                HandlerOutcome::Silent => {}
                HandlerOutcome::Reply(reply) => replies.push(reply.body),
                HandlerOutcome::Call(call) => calls.push(*call),
                HandlerOutcome::Exit => {
                    if let Some(session) = &session {
                        self.endpoint.sessions.close(session, "exit");
                    }
                }
            }
        }
        MessageOutcome::Batch { replies, calls }
    }
}

/// True if a header names a revision of MCP: a known one or a later one.
fn names_revision(version: &str) -> bool {
    is_modern_header(version) || Revision::from_name(version).is_some()
}

fn begins(message: &StrictMessage<'_>) -> bool {
    message.method.as_ref().and_then(Option::as_deref) == Some("initialize")
}

/// The answer to a call that has ended. A call that its client has cancelled itself gets a plain 202.
fn answered(finished: CallResponse) -> HttpResponse {
    match finished.into_reply() {
        Some(body) => answer::json(StatusCode::OK, body),
        None => answer::empty(StatusCode::ACCEPTED),
    }
}

/// Runs a call. The answer is a stream of events if the client asked for notifications and accepts a stream, or from
/// the moment on at which the client itself is asked a question.
async fn run(
    endpoint: &Arc<Endpoint>,
    call: Box<Call>,
    session: Option<Arc<Session>>,
    headers: &Headers<'_>,
    seen: &mut RequestFacts,
) -> HttpResponse {
    if call.is_subscription() {
        return listen(endpoint, call, headers, seen);
    }
    let call = if reads_events(headers) { call } else { call.without_notifications() };
    let (streams, may_ask) = (call.wants_notifications(), call.may_ask());
    let notes = Notes::default();
    let sink = notes.clone();
    let endpoint_of_call = endpoint.clone();
    // Boxed, so that the future of a request stays small: hyper moves it.
    let running = Box::pin(async move {
        let finished = finish(&endpoint_of_call, call, move |note| sink.push(note)).await;
        if let Some(session) = session {
            session.touch(time::now());
        }
        finished
    });
    if streams {
        return stream(endpoint, running, notes, seen);
    }
    if !may_ask {
        return answered(running.await);
    }
    // Usually no question comes, and the answer is no stream.
    match select(running, pin!(notes.filled())).await {
        Either::Left((finished, _)) => answered(finished),
        Either::Right(((), running)) => stream(endpoint, running, notes.clone(), seen),
    }
}

/// Answers with the events of a call. Its connection is not idle until the call has ended.
fn stream(
    endpoint: &Endpoint,
    call: impl Future<Output = CallResponse> + 'static,
    notes: Notes,
    seen: &mut RequestFacts,
) -> HttpResponse {
    let busy = seen.busy.take();
    let call = call.map(move |finished| {
        drop(busy);
        finished
    });
    answer::events(Body::events(call, notes, endpoint.bodies.nothing(seen.principal.as_ref())))
}

/// Opens a notification channel; it lasts until its client disconnects, its access token ends or the server stops.
fn listen(
    endpoint: &Arc<Endpoint>,
    call: Box<Call>,
    headers: &Headers<'_>,
    seen: &mut RequestFacts,
) -> HttpResponse {
    if !accepts(headers, "text/event-stream") {
        return answer::text(
            StatusCode::NOT_ACCEPTABLE,
            "not acceptable: subscriptions are text/event-stream",
        );
    }
    let notes = Notes::default();
    let (sink, alive) = (notes.clone(), notes.clone());
    let (door, credentials) = (endpoint.clone(), headers.authorization.first().cloned());
    let listening = async move {
        let token_ends = door.authenticator.token_ends(credentials.as_ref());
        let channel = pin!(call.run_until(token_ends, move |note| sink.push(note)));
        let beats = async {
            loop {
                time::sleep(HEARTBEAT).await;
                alive.keep_alive();
            }
        };
        match select(channel, pin!(beats)).await {
            Either::Left((finished, _)) => finished,
            Either::Right((never, _)) => never,
        }
    };
    if let Some(busy) = &mut seen.busy {
        busy.enter(Phase::Listening);
    }
    stream(endpoint, listening, notes, seen)
}

/// Runs a call within the time budget, at most until the server stops.
pub(super) async fn finish(
    endpoint: &Endpoint,
    call: Box<Call>,
    notify: impl FnMut(Vec<u8>) + Send,
) -> CallResponse {
    let id = call.id().clone();
    let budget = endpoint.call_budget + call.patience();
    let mut abandoned = AbandonedCall { endpoint, reason: Some("client_disconnect") };
    // A modern request is a conversation of its own, which no session would end.
    let running = pin!(call.run_until(endpoint.ending.begun(), notify));
    let finished = time::timeout(budget, running).await;
    abandoned.reason = match &finished {
        Ok(CallResponse::Reply(_)) => None,
        Ok(CallResponse::Cancelled(..)) => Some("client"),
        Err(_) => Some("await_timeout"),
    };
    finished.unwrap_or_else(|_| {
        let error = RpcError::new(RpcError::REFUSED, "request timed out");
        CallResponse::Reply(reply::error(Answers::Request(&id), &error))
    })
}

/// Counts a call that ends without its own answer, even if its client has left.
struct AbandonedCall<'e> {
    endpoint: &'e Endpoint,
    reason: Option<&'static str>,
}

impl Drop for AbandonedCall<'_> {
    fn drop(&mut self) {
        if let Some(reason) = self.reason {
            self.endpoint.counts.cancelled(&self.endpoint.instance, reason);
        }
    }
}

async fn batch(endpoint: &Arc<Endpoint>, mut replies: Vec<Vec<u8>>, calls: Vec<Call>) -> HttpResponse {
    let calls = calls.into_iter().map(Box::new).map(Call::without_notifications);
    let running = calls.map(|call| finish(endpoint, call, |_| {}));
    replies.extend(
        futures_util::future::join_all(running).await.into_iter().filter_map(CallResponse::into_reply),
    );
    if replies.is_empty() {
        return answer::empty(StatusCode::ACCEPTED);
    }
    answer::json(StatusCode::OK, reply::batch(&replies))
}

/// True if the body is declared as JSON, or not declared at all.
pub(super) fn is_json(headers: &Headers<'_>) -> bool {
    // A page can send a body without a type to any address without a preflight. Other programs that send no type are
    // distinguished from pages by the missing `Origin`.
    let Ok(value) = headers.content_type.only() else { return false };
    let Some(value) = value else { return headers.origin.first().is_none() };
    if value.as_bytes() == b"application/json" {
        return true;
    }
    let media = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().as_bytes();
    let suffix = media.len().checked_sub("+json".len()).map(|at| &media[at..]);
    media.eq_ignore_ascii_case(b"application/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(b"+json"))
}

/// True if the client explicitly accepts a stream of events.
fn reads_events(headers: &Headers<'_>) -> bool {
    headers.accept.first().is_some() && accepts(headers, "text/event-stream")
}

/// `Accept` as in the specification, which nearly every client sends.
const BOTH: &[u8] = b"application/json, text/event-stream";

/// True if `Accept` admits `media`; a missing header admits everything.
fn accepts(headers: &Headers<'_>, media: &str) -> bool {
    let Some(first) = headers.accept.first() else { return true };
    if first.as_bytes() == BOTH {
        return media == "application/json" || media == "text/event-stream";
    }
    let kind = media.split_once('/').map_or(media, |(kind, _)| kind);
    headers
        .all
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .map(str::trim)
        .any(|range| {
            range.eq_ignore_ascii_case(media)
                || range == "*/*"
                || range.strip_suffix("/*").is_some_and(|given| given.eq_ignore_ascii_case(kind))
        })
}
