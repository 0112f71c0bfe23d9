//! How servers say that they know a session no more: with 404 or 410, or with another status, 200 among them, and an
//! error that names the session (upstreams.md 7.2).

use http::StatusCode;
use ptc_mcp::RpcError;

use super::rpc_failure::RpcFailure;
use crate::upstream::CallFault;

/// Codes of errors that concern messages rather than a tool's effect.
const ABOUT_MESSAGES: [i64; 3] = [-32000, -32001, RpcError::INVALID_REQUEST];
/// Words, one of which stands beside `session` where it is the session that is wrong.
const LOST: [&str; 27] = [
    "not found",
    "not be found",
    "not find",
    "no transport",
    "mismatch",
    "bad session",
    "unknown",
    "invalid",
    "not valid",
    "no valid",
    "expired",
    "missing",
    "required",
    "exist",
    "terminated",
    "closed",
    "ended",
    "no longer",
    "no such",
    "no active",
    "not active",
    "inactive",
    "not initialized",
    "timed out",
    "lost",
    "gone",
    "unrecognized",
];

/// Whether a text says that a session is unknown.
fn names_lost_session(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    said.contains("server not initialized")
        || (said.contains("session") && LOST.iter().any(|word| said.contains(word)))
}

/// Whether a 400 speaks of the session at all, which is enough for that status.
fn names_session(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    said.contains("session") || said.contains("server not initialized")
}

/// Whether an error of JSON-RPC says that the server does not know the session, and so has not run the request. One that
/// carries the request's id may be a tool's own words: then its code has to speak of messages.
pub(super) fn told_by_error(failure: &RpcFailure) -> bool {
    let RpcFailure { error, status, is_addressed, .. } = failure;
    let about_messages = ABOUT_MESSAGES.contains(&error.code);
    match (*status, is_addressed) {
        (StatusCode::BAD_REQUEST, true) => about_messages && names_session(&error.message),
        (StatusCode::BAD_REQUEST, false) => {
            (about_messages && names_session(&error.message)) || names_lost_session(&error.message)
        }
        (status, true) if status.is_success() => {
            about_messages && error.code != RpcError::REFUSED && names_lost_session(&error.message)
        }
        (_, true) => about_messages && names_lost_session(&error.message),
        (_, false) => names_lost_session(&error.message),
    }
}

/// Whether an answer outside 2xx says so by its status, or by a body that is no error of JSON-RPC and begins with `said`.
pub(super) fn told_by_status(status: StatusCode, said: &str) -> bool {
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => true,
        StatusCode::BAD_REQUEST => names_session(said),
        // These speak of who asks, or how often.
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED
        | StatusCode::TOO_MANY_REQUESTS => false,
        status => status.as_u16() >= 400 && names_lost_session(said),
    }
}

/// The fault of a request whose session the server has forgotten.
pub(super) fn session_lost() -> CallFault {
    CallFault::unavailable("session_lost").with_status(404)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, is_addressed: bool, code: i64, message: &str) -> bool {
        let status = StatusCode::from_u16(status).unwrap();
        told_by_error(&RpcFailure { error: RpcError::new(code, message), status, is_addressed, bytes: 0 })
    }

    #[test]
    fn errors_that_name_a_lost_session_are_told_from_errors_of_tools() {
        for status in [200, 202, 400, 403, 409, 422, 500, 503] {
            for message in ["Session not found", "Invalid session ID", "No valid session", "unknown session"]
            {
                assert!(told(status, false, 0, message), "{status} {message}");
                assert!(told(status, true, -32600, message), "{status} {message}");
                assert!(told(status, true, -32001, message), "{status} {message}");
                assert!(!told(status, true, -32603, message), "{status} {message}: a tool's own");
            }
            assert!(!told(status, false, -32603, "Internal error"), "{status}");
        }
        assert!(told(400, true, -32000, "Bad Request: session"));
        assert!(!told(200, true, -32000, "Session not found"), "a browser's session, say");
        assert!(!told(200, false, 0, "the session is full"));
    }

    #[test]
    fn statuses_tell_it_by_themselves_or_with_a_text() {
        let told = |status, said| told_by_status(StatusCode::from_u16(status).unwrap(), said);
        assert!(told(404, "") && told(410, "") && told(400, "Bad Request: No valid session ID provided"));
        assert!(told(500, "{\"detail\":\"Session expired\"}") && told(422, "unknown session"));
        assert!(!told(400, "id must be positive") && !told(500, "internal") && !told(502, ""));
        assert!(!told(401, "session expired") && !told(403, "session expired") && !told(429, "session lost"));
    }
}
