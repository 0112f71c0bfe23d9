//! HTTP responses and their fixed headers.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Response, StatusCode};
use ptc_host::visible::visible_on_page;
use ptc_mcp::RpcError;

use super::body::Body;
use crate::closing_page::ClosingPage;
use ptc_observers::static_page::Page;
use ptc_protocol::reply::{self, Answers};
use ptc_protocol::{Disposition, Reply};

/// A response to be sent.
pub(super) type HttpResponse = Response<Body>;

/// `mcp-session-id`
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// `x-request-id`
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Seconds after which a client of a busy or draining server may retry.
pub(super) const COME_BACK: u64 = 1;

const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A response without body.
pub(super) fn empty(status: StatusCode) -> HttpResponse {
    with_body(status, Body::empty())
}

/// A response of plain text.
pub(super) fn text(status: StatusCode, text: &'static str) -> HttpResponse {
    let mut answer = with_body(status, Body::full(Bytes::from_static(text.as_bytes())));
    answer.headers_mut().insert(CONTENT_TYPE, TEXT);
    answer
}

/// The answer to an unknown path. People type the address of the host alone, or of another transport.
pub(super) fn not_found(path: &str) -> HttpResponse {
    let mut answer =
        with_body(StatusCode::NOT_FOUND, Body::full(Bytes::from(format!("not found; MCP is at {path}"))));
    answer.headers_mut().insert(CONTENT_TYPE, TEXT);
    answer
}

/// The refusal of a connection beyond the limit of its principal. The connection closes.
pub(super) fn too_many_connections(limit: usize) -> HttpResponse {
    let text = format!(
        "too many connections: all {limit} that one caller may have are at work (--http-max-connections-per-owner)"
    );
    let mut answer = retry_after(busy(StatusCode::TOO_MANY_REQUESTS, text), COME_BACK);
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// A refusal of plain text that names a limit.
pub(super) fn busy(status: StatusCode, text: String) -> HttpResponse {
    let mut answer = with_body(status, Body::full(Bytes::from(text)));
    answer.headers_mut().insert(CONTENT_TYPE, TEXT);
    answer
}

/// A response of JSON.
pub(super) fn json(status: StatusCode, body: impl Into<Bytes>) -> HttpResponse {
    let mut answer = with_body(status, Body::full(body.into()));
    answer.headers_mut().insert(CONTENT_TYPE, JSON);
    answer
}

/// A static page. Its headers allow only its own script, isolate it from other pages, and send no referrer.
pub(super) fn page(page: &'static Page) -> HttpResponse {
    let mut answer = with_body(StatusCode::OK, Body::full(Bytes::from_static(page.html.as_bytes())));
    let headers = answer.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&page.policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// The page that ends a sign-in.
pub(super) fn closing_page(page: ClosingPage) -> HttpResponse {
    let mut answer = with_body(page.status(), Body::full(Bytes::from_static(page.html().as_bytes())));
    ClosingPage::set_headers(answer.headers_mut());
    answer
}

/// The refusal of a request that must name a session.
pub(super) fn missing_session() -> HttpResponse {
    text(StatusCode::BAD_REQUEST, "missing MCP-Session-Id")
}

/// The refusal of a session that is closed, unknown or of another principal. The client then starts a new one.
pub(super) fn unknown_session() -> HttpResponse {
    let text =
        "Session not found: it has ended, or never began here; send initialize again without MCP-Session-Id";
    json(StatusCode::NOT_FOUND, refused(RpcError::REFUSED, text))
}

/// A refusal of a request whose id is not known yet.
pub(super) fn refused(code: i64, text: &str) -> Vec<u8> {
    reply::error(Answers::Unknown(None), &RpcError::new(code, text))
}

/// A JSON-RPC reply, with the status of its disposition.
pub(super) fn of_reply(reply: Reply) -> HttpResponse {
    let status = match reply.disposition {
        Disposition::Answered | Disposition::Busy => StatusCode::OK,
        Disposition::Invalid => StatusCode::BAD_REQUEST,
        Disposition::UnknownMethod => StatusCode::NOT_FOUND,
    };
    json(status, reply.body)
}

/// A stream of server-sent events.
pub(super) fn events(body: Body) -> HttpResponse {
    let mut answer = with_body(StatusCode::OK, body);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Tells proxies to pass events on without buffering.
    answer.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    answer
}

/// 405 with the allowed methods.
pub(super) fn method_not_allowed(allowed: &'static str) -> HttpResponse {
    let mut answer = empty(StatusCode::METHOD_NOT_ALLOWED);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// Asks the client to come back after `seconds`.
pub(super) fn retry_after(mut answer: HttpResponse, seconds: u64) -> HttpResponse {
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    answer
}

/// Sets the caching rule of an answer that has none: nothing on the MCP path may be stored.
pub(super) fn caching(answer: &mut HttpResponse, is_mcp: bool) {
    let rule = if is_mcp { "no-store" } else { "max-age=0, private, must-revalidate" };
    answer.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static(rule));
}

fn with_body(status: StatusCode, body: Body) -> HttpResponse {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

/// True for a method that only reads.
pub(super) fn is_read(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Data of the console, as JSON.
pub(super) fn data(data: String) -> HttpResponse {
    let mut answer = json(StatusCode::OK, visible_on_page(&data).into_owned());
    answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
