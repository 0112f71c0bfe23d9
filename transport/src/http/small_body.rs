//! Bodies of requests that are not MCP messages: short JSON that is read whole.

use std::sync::Arc;

use http::StatusCode;
use hyper::body::{Body as _, Incoming};

use super::answer::{self, HttpResponse};
use super::body::{ReceivedBody, Reception};
use super::endpoint::Endpoint;
use super::headers::Headers;
use super::post::{is_json, not_read};
use ptc_protocol::principal::Principal;

/// Longest body, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// Begins to read the body of a POST on this principal's account.
///
/// # Errors
/// A refusal: the body is not declared as JSON, which a web page cannot send without a preflight, or there is no room
/// for it.
pub(super) fn begin(
    endpoint: &Endpoint,
    principal: &Principal,
    headers: &Headers<'_>,
    body: Incoming,
) -> Result<Reception, Box<HttpResponse>> {
    if !is_json(headers) {
        return Err(Box::new(answer::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type")));
    }
    if body.size_hint().lower() > MAX_BYTES as u64 {
        return Err(Box::new(too_large()));
    }
    endpoint.bodies.receive(body, principal).map_err(|unread| Box::new(not_read(endpoint, unread)))
}

/// Reads the rest of it.
///
/// # Errors
/// A refusal.
pub(super) async fn rest(
    endpoint: &Arc<Endpoint>,
    reception: Reception,
) -> Result<ReceivedBody, Box<HttpResponse>> {
    let received = reception.rest().await.map_err(|unread| Box::new(not_read(endpoint, unread)))?;
    match received.bytes().len() {
        0..=MAX_BYTES => Ok(received),
        _ => Err(Box::new(too_large())),
    }
}

fn too_large() -> HttpResponse {
    answer::text(StatusCode::PAYLOAD_TOO_LARGE, "payload too large")
}
