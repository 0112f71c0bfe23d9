//! Routes, and the checks that come before a body is read.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming;
use ptc_host::engine::Engine;
use ptc_host::text::clip;
use ptc_host::time::{self, Instant};
use ptc_mcp::RpcError;
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use super::answer::{self, HttpResponse, REQUEST_ID};
use super::auth::{Authenticator, HttpCaller};
use super::body::{Bodies, BodyInProgress, BodyReservation};
use super::connection::{InProgress, ReceivedRequest};
use super::connection_registry::{Busy, ConnectionRegistry};
use super::counts::Counts;
use super::headers::Headers;
use super::limiter::{AttemptVerdict, Limiter};
use super::origin::{OriginRule, is_loopback_authority};
use super::post;
use super::sessions::{NoSession, Session, Sessions};
use super::sign_in::{self, SignInPage};
use super::{console, ids, metrics, webhook};
use crate::readiness::{Readiness, probe};
use crate::sharded_counter::ShardedCounter;
use ptc_observers::Telemetry;
use ptc_protocol::principal::Principal;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::PublicUrl;
use ptc_protocol::{Drain, Service, SessionNeed};

/// Longest `X-Request-Id` that is adopted, in bytes.
const MAX_REQUEST_ID: usize = 128;

/// Bytes of a path that are logged.
const MAX_LOGGED_PATH: usize = 256;

/// The shared state of all connections of a listener.
pub(super) struct Endpoint {
    pub(super) service: Arc<Service>,
    /// The engine whose threads serve the connections.
    pub(super) engine: Engine,
    /// The telemetry for operators.
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) path: String,
    pub(super) instance: String,
    pub(super) loopback_bind: bool,
    pub(super) authenticator: Authenticator,
    pub(super) origins: OriginRule,
    pub(super) limiter: Option<Limiter>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) connections: Arc<ConnectionRegistry>,
    pub(super) bodies: Arc<Bodies>,
    /// Longest wait for the answer of a call.
    pub(super) call_budget: Duration,
    pub(super) active: Active,
    /// Set when calls that still run must end.
    pub(super) ending: Drain,
    pub(super) counts: Counts,
    /// True if the console is served.
    pub(super) console: bool,
    /// The public URL of this endpoint, if the operator has set one.
    pub(super) public_url: Option<PublicUrl>,
    /// The page where callers sign in to upstreams, if there is one.
    pub(super) sign_in: Option<Arc<SignInPage>>,
    /// When it was bound.
    pub(super) started: Instant,
    /// The path of metrics, if they are served.
    pub(super) metrics_path: Option<String>,
}

/// Counts requests in progress.
#[derive(Debug, Default)]
pub(super) struct Active {
    count: ShardedCounter,
    /// True if a task waits until there are none.
    awaited: AtomicBool,
    ended: Notify,
}

impl Active {
    pub(super) fn begin(&self) {
        self.count.add(1);
    }

    pub(super) fn end(&self) {
        self.count.add(-1);
        if self.awaited.load(Ordering::SeqCst) {
            self.ended.notify_waiters();
        }
    }

    /// The number of requests in progress.
    pub(super) fn count(&self) -> u64 {
        self.count.count()
    }

    /// Completes when no request is in progress.
    pub(super) async fn none(&self) {
        // From now on every end notifies the waiter. A request that ended without seeing the flag is part of the sum.
        self.awaited.store(true, Ordering::SeqCst);
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// The facts of a request for its log line and its connection.
#[derive(Debug)]
pub(super) struct Seen {
    /// The request's own id.
    pub(super) request_id: HeaderValue,
    pub(super) principal: Option<Principal>,
    pub(super) session: Option<Arc<Session>>,
    /// Keeps the connection busy until the answer is known; after that the client must act. An answer that continues
    /// after its head takes it over.
    pub(super) busy: Option<Busy>,
    /// The account of the request's body, once that has been read.
    pub(super) held: Option<BodyReservation>,
}

impl Seen {
    /// Moves the facts out for another task; the rest still names the request.
    pub(super) fn take(&mut self) -> Seen {
        let (request_id, principal) = (self.request_id.clone(), self.principal.clone());
        std::mem::replace(self, Seen { request_id, principal, session: None, busy: None, held: None })
    }
}

/// Why a request has no session.
#[derive(Debug)]
pub(super) enum Unnamed {
    /// It names no session.
    Missing,
    /// It names a session that is closed, unknown or of another principal.
    Unknown,
    /// It names a session that could be resumed here if there were room.
    Refused(NoSession),
}

/// Answers one request.
pub(super) async fn route(asked: ReceivedRequest) -> Response<BodyInProgress> {
    let ReceivedRequest { request, peer, busy, in_progress } = asked;
    let (parts, body) = request.into_parts();
    let started = time::now();
    let headers = Headers::of(&parts.headers);
    let mut seen = Seen {
        request_id: request_id(&headers),
        principal: None,
        session: None,
        busy: Some(busy),
        held: None,
    };
    let endpoint = in_progress.endpoint();
    let answer = match endpoint.serves(parts.uri.path()) {
        true => mcp(endpoint, peer, &parts, &headers, body, &mut seen).await,
        false => Box::pin(other(endpoint, peer, &parts, &headers, body, &mut seen)).await,
    };
    Exchange { in_progress, peer, parts, started, seen }.end(answer)
}

/// The answer at another path than that of MCP.
async fn other(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    parts: &Parts,
    headers: &Headers<'_>,
    body: Incoming,
    seen: &mut Seen,
) -> HttpResponse {
    let (method, uri, path) = (&parts.method, &parts.uri, parts.uri.path());
    let authority = authority(parts);
    if endpoint.metrics_path.as_deref() == Some(path) {
        return metrics::answer(endpoint, peer, authority, method, headers);
    }
    if let Some((status, body)) = probe(method, path, &endpoint.instance, || endpoint.readiness()) {
        return answer::json(status, body);
    }
    if let Some(answer) = sign_in::answer(endpoint, peer, authority, method, uri, headers, seen).await {
        return answer;
    }
    if webhook::is_path(endpoint, path) {
        return webhook::answer(endpoint, peer, authority, method, path, headers, body).await;
    }
    match console::answer(endpoint, peer, authority, (method, uri), (headers, body), seen).await {
        Some(answer) => answer,
        None => answer::not_found(&endpoint.path),
    }
}

/// The authority that the request names as its target.
fn authority(parts: &Parts) -> Option<&str> {
    parts.uri.authority().map(|authority| authority.as_str())
}

/// A request and the facts to report at its end.
struct Exchange {
    in_progress: InProgress,
    peer: IpAddr,
    parts: Parts,
    started: Instant,
    seen: Seen,
}

impl Exchange {
    /// Adds the common headers to an answer, and reports it.
    fn end(self, mut answer: HttpResponse) -> Response<BodyInProgress> {
        let Exchange { in_progress, peer, parts, started, seen } = self;
        let endpoint = in_progress.endpoint();
        let path = parts.uri.path();
        let is_mcp = endpoint.serves(path);
        answer::caching(
            &mut answer,
            is_mcp
                || console::holds_data(path)
                || sign_in::holds_data(path)
                || webhook::is_path(endpoint, path),
        );
        answer.body_mut().account(&endpoint.bodies, seen.held, seen.principal.as_ref());
        let status = answer.status();
        endpoint.counts.request(is_mcp, status);
        // A client that is refused again and again does not get a log line for each refusal.
        let left_out = match status.is_client_error() {
            true => {
                let source = peer.to_string();
                endpoint.service.refusals.line(seen.principal.as_ref().map_or(&source, Principal::hash))
            }
            false => Some(0),
        };
        macro_rules! stop {
            ($level:ident) => {
                $level!(
                    event = "http_request_stop",
                    request_id = seen.request_id.to_str().unwrap_or_default(),
                    instance = endpoint.instance,
                    method = parts.method.as_str(),
                    path = clip(path, MAX_LOGGED_PATH),
                    status = status.as_u16(),
                    duration_ms = time::since(started).as_millis() as u64,
                    owner_hash = seen.principal.as_ref().map(Principal::hash),
                    session_hash = seen.session.as_ref().map(|session| &*session.hash),
                    error_class = error_class(status),
                    left_out = left_out.filter(|count| *count > 0),
                )
            };
        }
        match left_out {
            Some(_) => stop!(info),
            None => stop!(debug),
        }
        answer.headers_mut().insert(REQUEST_ID, seen.request_id);
        answer.map(|body| BodyInProgress::new(body, in_progress))
    }
}

/// The answer at the path of MCP. Host, origin, credentials, method: in this order, all before the body.
async fn mcp(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    parts: &Parts,
    headers: &Headers<'_>,
    body: Incoming,
    seen: &mut Seen,
) -> HttpResponse {
    let caller = match admit(endpoint, peer, authority(parts), headers) {
        Ok(caller) => caller,
        Err(answer) => return *answer,
    };
    seen.principal = Some(caller.principal.clone());
    let held =
        seen.busy.as_ref().map_or(Ok(()), |busy| busy.belongs_to(&caller.principal, &endpoint.connections));
    if let Err(limit) = held {
        endpoint.counts.limit_rejected(&endpoint.instance, "max_connections_per_owner");
        return answer::too_many_connections(limit);
    }
    let modern = headers.say_modern();
    match parts.method {
        Method::POST => post::answer(endpoint, caller, headers, modern, body, seen).await,
        // DELETE closes a session of the handshake era, whatever the header says.
        Method::DELETE if !modern || headers.session_id.first().is_some_and(|id| !id.is_empty()) => {
            Box::pin(delete(endpoint, &caller.principal, headers, seen)).await
        }
        _ if modern => answer::method_not_allowed("POST"),
        _ => answer::method_not_allowed("POST, DELETE"),
    }
}

/// Host, origin, credentials: the caller of the request, or the refusal.
pub(super) fn admit<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    authority: Option<&str>,
    headers: &Headers<'_>,
) -> Result<&'e HttpCaller, Box<HttpResponse>> {
    check_source(endpoint, authority, headers)?;
    authenticate(endpoint, peer, headers)
}

/// Host and origin: the checks that keep foreign web pages out.
pub(super) fn check_source(
    endpoint: &Endpoint,
    authority: Option<&str>,
    headers: &Headers<'_>,
) -> Result<(), Box<HttpResponse>> {
    let forbidden = || Err(Box::new(answer::text(StatusCode::FORBIDDEN, "forbidden")));
    if endpoint.loopback_bind && !has_own_host(endpoint, authority, headers) {
        endpoint.counts.host_rejected(&endpoint.instance);
        return forbidden();
    }
    // Two `Origin` headers are refused.
    let origin = match headers.origin.only() {
        Ok(origin) => origin.map(|value| value.to_str().map_err(|_| ())),
        Err(()) => Some(Err(())),
    };
    if !endpoint.origins.admits(origin) {
        endpoint.counts.origin_rejected(&endpoint.instance);
        return forbidden();
    }
    Ok(())
}

/// A valid token always passes; the limiter applies only to requests without one.
fn authenticate<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    headers: &Headers<'_>,
) -> Result<&'e HttpCaller, Box<HttpResponse>> {
    let why = match endpoint.authenticator.caller(headers) {
        Ok(caller) => {
            if let Some(limiter) = &endpoint.limiter {
                limiter.succeeded(peer);
            }
            return Ok(caller);
        }
        Err(why) => why,
    };
    endpoint.counts.auth_failure(&endpoint.instance, why);
    let Some(limiter) = &endpoint.limiter else { return Err(Box::new(answer::unauthorized(why))) };
    match limiter.failed(peer, time::now()) {
        AttemptVerdict::Blocked(seconds) => {
            Err(Box::new(answer::retry_after(answer::empty(StatusCode::TOO_MANY_REQUESTS), seconds)))
        }
        AttemptVerdict::Refused { armed } => {
            if armed {
                endpoint.counts.rate_limited(&endpoint.instance, peer, limiter.block());
                warn!(
                    event = "http_auth_rate_limited",
                    instance = endpoint.instance,
                    source = %peer,
                    block_ms = limiter.block().as_millis() as u64
                );
            }
            Err(Box::new(answer::unauthorized(why)))
        }
    }
}

async fn delete(
    endpoint: &Endpoint,
    principal: &Principal,
    headers: &Headers<'_>,
    seen: &mut Seen,
) -> HttpResponse {
    match endpoint.named_session(headers, principal) {
        Ok(session) => {
            seen.session = Some(session.clone());
            endpoint.sessions.close(&session, "delete");
            if let Some(ends) = endpoint.sessions.ends().filter(|ends| ends.is_shared()) {
                ends.heard().await;
            }
            answer::empty(StatusCode::OK)
        }
        Err(Unnamed::Missing) => answer::missing_session(),
        // A session that could be resumed here is not open: there is nothing to close.
        Err(Unnamed::Unknown | Unnamed::Refused(_)) => answer::unknown_session(),
    }
}

impl Endpoint {
    /// True if this is the MCP path, with or without a trailing slash.
    fn serves(&self, path: &str) -> bool {
        let without = |path: &'_ str| path.len() - usize::from(path.ends_with('/'));
        path[..without(path)] == self.path[..without(&self.path)]
    }

    /// The readiness of the server. The usual answer takes no lock.
    pub(super) fn readiness(&self) -> Readiness {
        match self.service.is_draining() {
            true => Readiness::Draining,
            false if self.service.is_starting() => Readiness::Starting,
            false if self.telemetry.sources.state.as_ref().is_some_and(ServerState::is_lost) => {
                Readiness::StateUnavailable
            }
            false if self.sessions.is_saturated() => Readiness::Saturated,
            false => Readiness::Ready,
        }
    }

    /// The session that `MCP-Session-Id` names: 400 without one.
    pub(super) fn named_session(
        &self,
        headers: &Headers<'_>,
        principal: &Principal,
    ) -> Result<Arc<Session>, Unnamed> {
        let id = headers.session_id.first().filter(|id| !id.is_empty()).ok_or(Unnamed::Missing)?;
        let id = id.to_str().map_err(|_| Unnamed::Unknown)?;
        let session = match self.service.session_need {
            // Without a secret, ids are known to one process, and so is the state of their sessions.
            SessionNeed::State if !self.sessions.seals() => self.sessions.get(id, principal),
            SessionNeed::State | SessionNeed::Habits | SessionNeed::None => {
                self.sessions.get_or_adopt(id, principal).map_err(Unnamed::Refused)?
            }
        };
        session.ok_or(Unnamed::Unknown)
    }

    /// The status and sentence for a session that cannot begin. Counts the refusal.
    pub(super) fn no_session(&self, refusal: NoSession) -> (StatusCode, RpcError) {
        let (status, limit, text) = match refusal {
            NoSession::OwnerLimit(limit) => (
                StatusCode::TOO_MANY_REQUESTS,
                "max_sessions_per_owner",
                format!(
                    "session owner limit exceeded: all {limit} sessions of this caller are in use \
                     (--http-max-sessions-per-owner)"
                ),
            ),
            NoSession::Saturated(limit) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "max_sessions",
                format!("server saturated: all {limit} sessions are in use (--http-max-sessions)"),
            ),
            NoSession::NoEntropy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "max_sessions",
                "server saturated: the system gives no random bytes".to_owned(),
            ),
        };
        self.counts.limit_rejected(&self.instance, limit);
        (status, RpcError::new(RpcError::REFUSED, text))
    }
}

/// True if `Host`, or the HTTP/2 authority in its place, names this machine, or the server as `--public-url` does.
fn has_own_host(endpoint: &Endpoint, authority: Option<&str>, headers: &Headers<'_>) -> bool {
    // Two `Host` headers are refused.
    let Ok(host) = headers.host.only() else { return false };
    let host = match host.map(HeaderValue::to_str).transpose() {
        Ok(host) => host,
        Err(_) => return false,
    };
    match (host, authority) {
        (None, None) => false,
        (host, authority) => {
            let own =
                |authority| endpoint.public_url.as_ref().is_some_and(|url| url.has_authority(authority));
            host.into_iter()
                .chain(authority)
                .all(|authority| is_loopback_authority(authority) || own(authority))
        }
    }
}

/// The client's own id for the request, or a new one.
fn request_id(headers: &Headers<'_>) -> HeaderValue {
    let given = headers.request_id.first().filter(|id| !id.is_empty() && id.len() <= MAX_REQUEST_ID);
    given.cloned().unwrap_or_else(ids::next)
}

fn error_class(status: StatusCode) -> Option<&'static str> {
    match status.as_u16() {
        500.. => Some("server_error"),
        400.. => Some("client_error"),
        _ => None,
    }
}
