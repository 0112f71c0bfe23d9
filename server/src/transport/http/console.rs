//! The routes of the console: a static page, and its data behind the same checks as the MCP path.

use std::net::IpAddr;

use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, StatusCode};

use super::answer::{self, Answer};
use super::headers::Headers;
use super::router::{Endpoint, Seen, admit};
use crate::observers::console::{Facts, page};

/// Where the page is.
pub(super) const PAGE: &str = "/console";
const STATE: &str = "/console/api/state";
const CATALOG: &str = "/console/api/catalog";

/// Answers a request of the console; `None` for any other path.
pub(super) fn answer(
    endpoint: &Endpoint,
    peer: IpAddr,
    authority: Option<&str>,
    (method, path): (&Method, &str),
    headers: &Headers<'_>,
    seen: &mut Seen,
) -> Option<Answer> {
    if !endpoint.console || !matches!(path, PAGE | STATE | CATALOG) {
        return None;
    }
    if path == PAGE {
        return Some(if is_read(method) { document() } else { answer::method_not_allowed("GET, HEAD") });
    }
    let caller = match admit(endpoint, peer, authority, headers) {
        Ok(caller) => caller,
        Err(refusal) => return Some(*refusal),
    };
    seen.principal = Some(caller.principal.clone());
    if !is_read(method) {
        return Some(answer::method_not_allowed("GET, HEAD"));
    }
    let json = if path == CATALOG {
        endpoint.telemetry.console_catalog()
    } else {
        let limiter = &endpoint.service.limiter;
        let facts = Facts {
            instance: &endpoint.instance,
            draining: endpoint.service.is_draining(),
            permits: limiter.limits().all,
            permits_in_use: limiter.running(),
            http_sessions: endpoint.sessions.len(),
            uptime: endpoint.started.elapsed(),
        };
        endpoint.telemetry.console_state(&facts, &caller.principal)?
    };
    let mut answer = answer::json(StatusCode::OK, json);
    answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Some(answer)
}

/// Whether the answer to `path` must not be stored anywhere.
pub(super) fn holds_data(path: &str) -> bool {
    matches!(path, STATE | CATALOG)
}

fn is_read(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

fn document() -> Answer {
    let page = page();
    let mut answer = answer::json(StatusCode::OK, page.html.as_str());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    if let Ok(policy) = HeaderValue::from_str(&page.policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    answer
}
