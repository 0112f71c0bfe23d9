//! Routes, and the checks that come before a body is read.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use ptc_host::text::clip;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::answer::{self, Answer, REQUEST_ID, SESSION_ID};
use super::auth::{Authenticator, Caller};
use super::body::Bodies;
use super::counts::Counts;
use super::crowd::Busy;
use super::limiter::{Limiter, Verdict};
use super::origin::{OriginRule, is_loopback_authority};
use super::sessions::{Session, Sessions};
use super::{console, headers, ids, metrics, post};
use crate::principal::Principal;
use crate::protocol::json::object_text;
use crate::protocol::{Drain, Service};

/// Longest `X-Request-Id` that is taken over, in bytes.
const MAX_REQUEST_ID: usize = 128;

/// Bytes of a path that are logged.
const MAX_SHOWN_PATH: usize = 256;

/// What all connections of a listener share.
pub(super) struct Endpoint {
    pub(super) service: Arc<Service>,
    pub(super) path: String,
    pub(super) instance: String,
    pub(super) loopback_bind: bool,
    pub(super) authenticator: Authenticator,
    pub(super) origins: OriginRule,
    pub(super) limiter: Option<Limiter>,
    pub(super) sessions: Sessions,
    /// Calls of one session at the same time.
    pub(super) max_in_flight: usize,
    pub(super) bodies: Arc<Bodies>,
    /// Longest wait for the answer of a call.
    pub(super) call_budget: Duration,
    pub(super) active: Active,
    /// Whether calls that still run are to end now.
    pub(super) ending: Drain,
    pub(super) counts: Counts,
    /// Whether the console is served.
    pub(super) console: bool,
    /// When it was bound.
    pub(super) started: Instant,
    /// Where metrics are served, if they are.
    pub(super) metrics_path: Option<String>,
}

/// Counts requests that are being answered.
#[derive(Debug, Default)]
pub(super) struct Active {
    count: AtomicUsize,
    ended: Notify,
}

impl Active {
    pub(super) fn begin(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end(&self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ended.notify_waiters();
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Completes when no request is being answered.
    pub(super) async fn none(&self) {
        loop {
            let ended = self.ended.notified();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// What a request turned out to be, for its log line and its connection.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The request's own id.
    pub(super) request_id: Option<HeaderValue>,
    pub(super) principal: Option<Principal>,
    pub(super) session: Option<Arc<Session>>,
    /// Taken over by an answer that goes on after its head is sent.
    pub(super) busy: Option<Busy>,
}

/// Answers one request.
///
/// `busy` keeps the connection from being at rest until the answer is known; what is then left to do is the client's.
pub(super) async fn route(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    request: Request<Incoming>,
    busy: Busy,
) -> Answer {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let request_id = request_id(&parts.headers);
    let is_mcp = parts.uri.path() == endpoint.path;
    let mut seen = Seen { request_id: Some(request_id.clone()), busy: Some(busy), ..Seen::default() };
    let mut answer = match parts.uri.path() {
        path if path == endpoint.path => {
            let authority = parts.uri.authority().map(|authority| authority.as_str());
            mcp(endpoint, peer, authority, &parts.method, &parts.headers, body, &mut seen).await
        }
        "/health" if parts.method == Method::GET => answer::json(StatusCode::OK, r#"{"status":"ok"}"#),
        "/ready" if parts.method == Method::GET => ready(endpoint),
        path if endpoint.metrics_path.as_deref() == Some(path) => {
            let authority = parts.uri.authority().map(|authority| authority.as_str());
            metrics::answer(endpoint, peer, authority, &parts.method, &parts.headers)
        }
        path => {
            let authority = parts.uri.authority().map(|authority| authority.as_str());
            let asked = (&parts.method, path);
            console::answer(endpoint, peer, authority, asked, &parts.headers, &mut seen)
                .unwrap_or_else(|| answer::text(StatusCode::NOT_FOUND, "not found"))
        }
    };
    answer::caching(&mut answer, is_mcp || console::holds_data(parts.uri.path()));
    answer.body_mut().account(&endpoint.bodies);
    let status = answer.status();
    endpoint.counts.request(is_mcp, status);
    info!(
        event = "http_request_stop",
        request_id = request_id.to_str().unwrap_or_default(),
        instance = endpoint.instance,
        method = parts.method.as_str(),
        path = clip(parts.uri.path(), MAX_SHOWN_PATH),
        status = status.as_u16(),
        duration_ms = started.elapsed().as_millis() as u64,
        owner_hash = seen.principal.as_ref().map(Principal::hash),
        session_hash = seen.session.as_ref().map(|session| &*session.hash),
        error_class = error_class(status),
    );
    answer.headers_mut().insert(REQUEST_ID, request_id);
    answer
}

/// Host, origin, credentials, method: in this order, all before the body.
async fn mcp(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    authority: Option<&str>,
    method: &Method,
    headers: &HeaderMap,
    body: Incoming,
    seen: &mut Seen,
) -> Answer {
    let caller = match admit(endpoint, peer, authority, headers) {
        Ok(caller) => caller,
        Err(answer) => return *answer,
    };
    seen.principal = Some(caller.principal.clone());
    let modern = headers::say_modern(headers);
    match *method {
        Method::POST => post::answer(endpoint, caller, headers, modern, body, seen).await,
        Method::DELETE if !modern => delete(endpoint, &caller.principal, headers, seen),
        _ if modern => answer::method_not_allowed("POST"),
        _ => answer::method_not_allowed("POST, DELETE"),
    }
}

/// Host, origin, credentials: whose request it is, or the refusal.
pub(super) fn admit<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    authority: Option<&str>,
    headers: &HeaderMap,
) -> Result<&'e Caller, Box<Answer>> {
    check_source(endpoint, authority, headers)?;
    authenticate(endpoint, peer, headers)
}

/// Host and origin: what keeps other people's web pages out.
pub(super) fn check_source(
    endpoint: &Endpoint,
    authority: Option<&str>,
    headers: &HeaderMap,
) -> Result<(), Box<Answer>> {
    let forbidden = || Err(Box::new(answer::text(StatusCode::FORBIDDEN, "forbidden")));
    if endpoint.loopback_bind && !has_loopback_host(authority, headers) {
        endpoint.counts.host_rejected(&endpoint.instance);
        return forbidden();
    }
    let origin = headers.get(ORIGIN).map(|value| value.to_str().map_err(|_| ()));
    if !endpoint.origins.admits(origin) {
        endpoint.counts.origin_rejected(&endpoint.instance);
        return forbidden();
    }
    Ok(())
}

/// A valid token always passes; the limiter speaks only to those without one.
fn authenticate<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    headers: &HeaderMap,
) -> Result<&'e Caller, Box<Answer>> {
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
    match limiter.failed(peer, Instant::now()) {
        Verdict::Blocked(seconds) => {
            Err(Box::new(answer::retry_after(answer::empty(StatusCode::TOO_MANY_REQUESTS), seconds)))
        }
        Verdict::Refused { armed } => {
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

fn delete(endpoint: &Endpoint, principal: &Principal, headers: &HeaderMap, seen: &mut Seen) -> Answer {
    match endpoint.named_session(headers, principal) {
        Ok(session) => {
            seen.session = Some(session.clone());
            endpoint.sessions.close(&session, "delete");
            answer::empty(StatusCode::ACCEPTED)
        }
        Err(answer) => *answer,
    }
}

impl Endpoint {
    /// The session that `MCP-Session-Id` names: 400 without one, 404 for one that is not the caller's.
    pub(super) fn named_session(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> Result<Arc<Session>, Box<Answer>> {
        let missing = || Box::new(answer::text(StatusCode::BAD_REQUEST, "missing MCP-Session-Id"));
        let id = headers.get(SESSION_ID).filter(|id| !id.is_empty()).ok_or_else(missing)?;
        let session = id.to_str().ok().and_then(|id| self.sessions.get(id, principal));
        session.ok_or_else(|| Box::new(answer::empty(StatusCode::NOT_FOUND)))
    }
}

fn ready(endpoint: &Endpoint) -> Answer {
    if endpoint.service.is_draining() {
        return answer::json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"draining"}"#);
    }
    if endpoint.sessions.is_saturated() {
        return answer::json(StatusCode::SERVICE_UNAVAILABLE, r#"{"status":"saturated"}"#);
    }
    let body = object_text(|object| {
        object.string("instance", &endpoint.instance);
        object.string("status", "ready");
    });
    answer::json(StatusCode::OK, body)
}

/// Whether `Host`, or the authority that HTTP/2 has instead, names this machine.
fn has_loopback_host(authority: Option<&str>, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) => None,
        (Some(host), None) => match host.to_str() {
            Ok(host) => Some(host),
            Err(_) => return false,
        },
        // Two hosts are one too many.
        (Some(_), Some(_)) => return false,
    };
    match (host, authority) {
        (None, None) => false,
        (host, authority) => host.into_iter().chain(authority).all(is_loopback_authority),
    }
}

/// The client's own id for the request, or a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(REQUEST_ID).filter(|id| !id.is_empty() && id.len() <= MAX_REQUEST_ID);
    given.cloned().unwrap_or_else(ids::next)
}

fn error_class(status: StatusCode) -> Option<&'static str> {
    match status.as_u16() {
        500.. => Some("server_error"),
        400.. => Some("client_error"),
        _ => None,
    }
}
