//! The answers of `/health` and `/ready`, on either port.

use http::{Method, StatusCode};
use ptc_mcp::json::object_text;

/// The readiness of the process for work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Its upstreams are still starting.
    Starting,
    /// It takes work.
    Ready,
    /// It is about to stop.
    Draining,
    /// All of its capacity is in use.
    Saturated,
    /// The store of state is unavailable.
    StateUnavailable,
    /// The audit log cannot be written, and calls are refused until it can be.
    AuditUnavailable,
}

impl Readiness {
    /// The answer of `/ready` for the instance of that name.
    pub(super) fn answer(self, instance: &str) -> (StatusCode, String) {
        let (status, reason) = match self {
            Readiness::Ready => {
                let body = object_text(|object| {
                    object.string("instance", instance);
                    object.string("status", "ready");
                });
                return (StatusCode::OK, body);
            }
            Readiness::Starting => ("starting", "upstreams are still being started"),
            Readiness::Draining => ("draining", "the server stops, and answers what it has begun"),
            Readiness::Saturated => ("saturated", "all HTTP sessions are in use (--http-max-sessions)"),
            Readiness::StateUnavailable => (
                "state_unavailable",
                "the state store does not answer; --state-required=false serves what needs none",
            ),
            Readiness::AuditUnavailable => (
                "audit_unavailable",
                "the audit log cannot be written, and every call is refused until it can be; make room or repair the file",
            ),
        };
        let body = object_text(|object| {
            object.string("instance", instance);
            object.string("status", status);
            object.string("reason", reason);
        });
        (StatusCode::SERVICE_UNAVAILABLE, body)
    }
}

/// The answer to a probe of the instance of that name, if the request is one. Only probes of `/ready` read the state.
pub(super) fn probe(
    method: &Method,
    path: &str,
    instance: &str,
    state: impl FnOnce() -> Readiness,
) -> Option<(StatusCode, String)> {
    match path {
        _ if *method != Method::GET => None,
        "/health" => Some((StatusCode::OK, r#"{"status":"ok"}"#.to_owned())),
        "/ready" => Some(state().answer(instance)),
        _ => None,
    }
}
