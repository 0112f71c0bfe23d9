//! What `/health` and `/ready` say, on whichever port.

use http::{Method, StatusCode};
use ptc_mcp::json::object_text;

/// Whether the process takes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// Not yet: its upstreams are starting.
    Starting,
    /// It does.
    Ready,
    /// Not any more: it is about to stop.
    Draining,
    /// Not now: everything that it has is in use.
    Saturated,
    /// Not now: the store of state is down.
    StateUnavailable,
}

impl Readiness {
    /// The answer of `/ready` for the instance of that name.
    pub(super) fn answer(self, instance: &str) -> (StatusCode, String) {
        let status = match self {
            Readiness::Ready => {
                let body = object_text(|object| {
                    object.string("instance", instance);
                    object.string("status", "ready");
                });
                return (StatusCode::OK, body);
            }
            Readiness::Starting => "starting",
            Readiness::Draining => "draining",
            Readiness::Saturated => "saturated",
            Readiness::StateUnavailable => "state_unavailable",
        };
        (StatusCode::SERVICE_UNAVAILABLE, object_text(|object| object.string("status", status)))
    }
}

/// The answer to a probe of the instance of that name, if the request is one. Only those for `/ready` look at the state.
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
