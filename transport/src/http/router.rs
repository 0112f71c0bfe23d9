//! Routes.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use hyper::body::Incoming;
use ptc_host::text::clip;
use ptc_host::time::{self, Instant};
use ptc_host::trace::{Trace, within_sync};
use tracing::{debug, info};

use super::admission::{Target, admit};
use super::answer::{self, HttpResponse, REQUEST_ID};
use super::endpoint::{Endpoint, RequestFacts, Served, SessionIdError};
use super::headers::Headers;
use super::in_progress::{BodyInProgress, InProgress, ReceivedRequest};
use super::{console, ids, metrics, post, sign_in, webhook};
use crate::readiness::probe;
use ptc_protocol::principal::Principal;

/// Longest `X-Request-Id` that is adopted, in bytes.
const MAX_REQUEST_ID: usize = 128;

/// Bytes of a path that are logged.
const MAX_LOGGED_PATH: usize = 256;

/// Answers one request.
///
/// # Errors
/// None; hyper wants a result.
pub(super) async fn route(asked: ReceivedRequest) -> Result<Response<BodyInProgress>, Infallible> {
    let ReceivedRequest { request, peer, busy, in_progress } = asked;
    let (parts, body) = request.into_parts();
    let started = time::now();
    let headers = Headers::of(&parts.headers);
    let mut seen = RequestFacts {
        request_id: request_id(&headers),
        principal: None,
        session: None,
        trace: OnceLock::new(),
        busy: Some(busy),
        held: None,
    };
    let endpoint = in_progress.endpoint();
    let answer = match endpoint.served(parts.uri.path()) {
        Some(served) => mcp(endpoint, served, peer, &parts, &headers, body, &mut seen).await,
        None => Box::pin(other(endpoint, peer, &parts, &headers, body, &mut seen)).await,
    };
    Ok(Exchange { in_progress, peer, parts: &parts, headers: &headers, started, seen }.end(answer))
}

/// The answer at another path than that of MCP.
async fn other(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    parts: &Parts,
    headers: &Headers<'_>,
    body: Incoming,
    seen: &mut RequestFacts,
) -> HttpResponse {
    let (method, uri, path) = (&parts.method, &parts.uri, parts.uri.path());
    let target = Target::of(uri);
    if endpoint.metrics_path.as_deref() == Some(path) {
        return metrics::answer(endpoint, peer, target, method, headers).await;
    }
    if let Some((status, body)) = probe(method, path, &endpoint.instance, || endpoint.readiness()) {
        return answer::json(status, body);
    }
    let resource = endpoint.protected_resource.as_ref();
    if let Some(answer) = resource.and_then(|resource| resource.answer(method, path)) {
        return answer;
    }
    if let Some(answer) = sign_in::answer(endpoint, peer, method, uri, headers, seen).await {
        return answer;
    }
    if webhook::is_path(endpoint, path) {
        return webhook::answer(endpoint, peer, target.authority, method, path, headers, body).await;
    }
    let request = console::ConsoleRequest { peer, method, uri, headers, body };
    match console::answer(endpoint, request, seen).await {
        Some(answer) => answer,
        None => answer::not_found(&endpoint.path),
    }
}

/// A request and the facts to report at its end.
struct Exchange<'r> {
    in_progress: InProgress,
    peer: IpAddr,
    parts: &'r Parts,
    headers: &'r Headers<'r>,
    started: Instant,
    seen: RequestFacts,
}

impl Exchange<'_> {
    /// Adds the common headers to an answer, and reports it.
    fn end(self, mut answer: HttpResponse) -> Response<BodyInProgress> {
        let Exchange { in_progress, peer, parts, headers, started, mut seen } = self;
        let endpoint = in_progress.endpoint();
        let path = parts.uri.path();
        let is_mcp = endpoint.served(path).is_some();
        answer::caching(
            &mut answer,
            is_mcp
                || console::holds_data(path)
                || sign_in::holds_data(path)
                || webhook::is_path(endpoint, path),
        );
        answer.body_mut().account(&endpoint.bodies, seen.held, seen.principal.as_ref());
        let status = answer.status();
        endpoint.counts.request(is_mcp, status, started);
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
        let report = || match left_out {
            Some(_) => stop!(info),
            None => stop!(debug),
        };
        // A request whose message was not read has the trace that its headers name.
        let trace = seen.trace.take().or_else(|| Some(Arc::new(Trace::passing(headers.trace()?))));
        match trace {
            Some(trace) => within_sync(trace, report),
            None => report(),
        }
        answer.headers_mut().insert(REQUEST_ID, seen.request_id);
        answer.map(|body| BodyInProgress::new(body, in_progress))
    }
}

/// The answer at the path of MCP. Host, origin, credentials, method: in this order, all before the body.
async fn mcp(
    endpoint: &Arc<Endpoint>,
    served: Served<'_>,
    peer: IpAddr,
    parts: &Parts,
    headers: &Headers<'_>,
    body: Incoming,
    seen: &mut RequestFacts,
) -> HttpResponse {
    let profile = match served {
        Served::Whole => None,
        Served::Profile(profile) => Some(profile),
    };
    let target = Target { profile: profile.map(AsRef::as_ref), ..Target::of(&parts.uri) };
    let caller = match admit(endpoint, peer, target, headers).await {
        Ok(caller) => caller,
        Err(answer) => return *answer,
    };
    let narrowed = profile.map(|profile| caller.at(profile, &endpoint.service));
    let caller = narrowed.as_ref().unwrap_or(&caller);
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

async fn delete(
    endpoint: &Endpoint,
    principal: &Principal,
    headers: &Headers<'_>,
    seen: &mut RequestFacts,
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
        Err(SessionIdError::Missing) => answer::missing_session(),
        // A session that could be resumed here is not open: there is nothing to close.
        Err(SessionIdError::Unknown | SessionIdError::Refused(_)) => answer::unknown_session(),
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
