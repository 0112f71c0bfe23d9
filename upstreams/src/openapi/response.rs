//! Interpreting the answer to a call.

use bytes::Bytes;
use ptc_mcp::json::compact_len;
use serde::de::IgnoredAny;

use crate::upstream::{CallFault, CallReply, FaultReason, Payload};

/// Longest piece of an error body in a message, in characters.
const MAX_ERROR_BODY: usize = 500;

/// The fault for an answer that passes the byte cap.
pub(crate) fn too_large(max_bytes: usize) -> CallFault {
    CallFault::new(FaultReason::ResponseTooLarge, format!("response exceeded {max_bytes} bytes"))
}

/// Decodes the answer to a call. The body has been capped already.
///
/// # Errors
/// The faults of upstreams.md 7.3. A redirect is not followed: it could carry credentials away.
#[expect(clippy::disallowed_methods, reason = "entry point: decode()")]
pub fn decode(status: u16, body: Bytes) -> Result<CallReply, CallFault> {
    let fault = |reason, message: String| {
        Err(CallFault::new(reason, message).with_status(status).with_bytes(body.len() as u64))
    };
    let of_body = || {
        let text: String = String::from_utf8_lossy(&body).trim().chars().take(MAX_ERROR_BODY).collect();
        if text.is_empty() { format!("http {status}") } else { text }
    };
    match status {
        204 => Ok(empty()),
        200..300 if body.trim_ascii().is_empty() => Ok(empty()),
        // Skipping what is inside strings, a reader of bytes would not see that they are no text.
        200..300 => match std::str::from_utf8(&body).map(serde_json::from_str::<IgnoredAny>) {
            Ok(Ok(_)) => {
                let result_bytes = compact_len(&body);
                Ok(CallReply {
                    payload: Payload::Json(body.clone()),
                    content: Vec::new(),
                    envelope: body,
                    result_bytes,
                    note: None,
                })
            }
            Ok(Err(e)) => fault(FaultReason::UpstreamError, format!("malformed JSON response: {e}")),
            Err(e) => {
                let text = format!("malformed JSON response: not UTF-8 at byte {}", e.valid_up_to());
                fault(FaultReason::UpstreamError, text)
            }
        },
        400 | 403 | 404 | 422 => fault(FaultReason::ToolError, of_body()),
        401 => fault(FaultReason::AuthFailed, "auth_failed".to_owned()),
        429 => fault(FaultReason::RateLimited, of_body()),
        500.. => fault(FaultReason::UpstreamUnavailable, format!("http {status}")),
        _ => fault(FaultReason::UpstreamError, format!("http {status}")),
    }
}

fn empty() -> CallReply {
    CallReply {
        payload: Payload::JsonNull,
        content: Vec::new(),
        envelope: Bytes::from_static(b"null"),
        result_bytes: 0,
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &'static str) -> (FaultReason, String) {
        let fault = decode(status, Bytes::from_static(body.as_bytes())).unwrap_err();
        assert_eq!((fault.http_status, fault.received_bytes), (Some(status), body.len() as u64));
        (fault.reason, fault.message)
    }

    #[test]
    fn text_in_another_encoding_is_told() {
        let fault = decode(200, Bytes::from_static(b"{\"word\":\"caf\xe9\"}")).unwrap_err();
        assert_eq!(fault.to_string(), "upstream_error: malformed JSON response: not UTF-8 at byte 12");
    }

    #[test]
    fn json_and_nothing_are_successes() {
        let reply = decode(200, Bytes::from_static(b" {\"a b\\\" \": [1, 2]}\n")).unwrap();
        assert!(matches!(reply.payload, Payload::Json(_)));
        assert_eq!(reply.result_bytes, r#"{"a b\" ":[1,2]}"#.len() as u64);
        for (status, body) in [(204, "ignored"), (200, ""), (201, " \n")] {
            let reply = decode(status, Bytes::from_static(body.as_bytes())).unwrap();
            assert_eq!((reply.payload, reply.result_bytes), (Payload::JsonNull, 0));
        }
    }

    #[test]
    fn statuses_have_their_reasons() {
        assert_eq!(fault(422, "no such field"), (FaultReason::ToolError, "no such field".to_owned()));
        assert_eq!(fault(404, ""), (FaultReason::ToolError, "http 404".to_owned()));
        assert_eq!(fault(401, "who are you"), (FaultReason::AuthFailed, "auth_failed".to_owned()));
        assert_eq!(fault(429, "slow down"), (FaultReason::RateLimited, "slow down".to_owned()));
        assert_eq!(fault(429, ""), (FaultReason::RateLimited, "http 429".to_owned()));
        assert_eq!(fault(503, "x"), (FaultReason::UpstreamUnavailable, "http 503".to_owned()));
        assert_eq!(fault(302, ""), (FaultReason::UpstreamError, "http 302".to_owned()));
        assert_eq!(fault(409, "x"), (FaultReason::UpstreamError, "http 409".to_owned()));
        let (reason, message) = fault(200, "<html>");
        assert_eq!(reason, FaultReason::UpstreamError);
        assert!(message.starts_with("malformed JSON response: expected value"), "{message}");
    }

    #[test]
    fn error_bodies_are_cut() {
        let body = Bytes::from("é".repeat(600));
        assert_eq!(decode(400, body).unwrap_err().message, "é".repeat(500));
        assert_eq!(too_large(7).to_string(), "response_too_large: response exceeded 7 bytes");
    }
}
