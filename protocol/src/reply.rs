//! Writes JSON-RPC responses and notifications directly as bytes.

use ptc_mcp::json::{Value, write_string};
use ptc_mcp::{LogLevel, Revision};

use ptc_mcp::RpcError;
use ptc_mcp::message::id::RequestId;

/// The request that an error answers.
#[derive(Debug, Clone, Copy)]
pub enum Answers<'a> {
    /// A request with a usable id.
    Request(&'a RequestId),
    /// A message without a usable id, received while this revision was spoken (`None`: none agreed yet).
    Unknown(Option<Revision>),
}

impl<'a> Answers<'a> {
    /// Answers `id` if there is one.
    pub fn from_id(id: Option<&'a RequestId>, revision: Option<Revision>) -> Self {
        id.map_or(Answers::Unknown(revision), Answers::Request)
    }
}

/// A success response whose result is written by `write`.
pub fn result(id: &RequestId, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    result_of(0, id, write)
}

/// As [`result`], for a result of about `room` bytes.
pub(crate) fn result_of(room: usize, id: &RequestId, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + room);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.json().as_bytes());
    out.extend_from_slice(b",\"result\":");
    write(&mut out);
    out.push(b'}');
    out
}

/// An error response.
pub fn error(answers: Answers<'_>, error: &RpcError) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    match answers {
        Answers::Request(id) => {
            out.extend_from_slice(b"\"id\":");
            out.extend_from_slice(id.json().as_bytes());
            out.push(b',');
        }
        Answers::Unknown(Some(revision)) if revision.omits_unknown_id() => {}
        Answers::Unknown(_) => out.extend_from_slice(b"\"id\":null,"),
    }
    out.extend_from_slice(b"\"error\":{\"code\":");
    out.extend_from_slice(error.code.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    write_string(&mut out, &error.message);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        out.extend_from_slice(data.as_bytes());
    }
    out.extend_from_slice(b"}}");
    out
}

/// The code of the error with which a body of ours answers `id`; `None` if it is a result, or no answer to it.
pub(crate) fn error_code(body: &[u8], id: &RequestId) -> Option<String> {
    let rest = body.strip_prefix(b"{\"jsonrpc\":\"2.0\",\"id\":")?.strip_prefix(id.json().as_bytes())?;
    let rest = rest.strip_prefix(b",\"error\":{\"code\":")?;
    let code = rest.split(|byte| *byte == b',').next()?;
    String::from_utf8(code.to_vec()).ok()
}

/// A `notifications/progress` for the token given (as JSON).
pub fn progress(token: &str, progress: u64, message: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    out.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":",
    );
    out.extend_from_slice(token.as_bytes());
    out.extend_from_slice(b",\"progress\":");
    out.extend_from_slice(progress.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    write_string(&mut out, message);
    out.extend_from_slice(b"}}");
    out
}

/// A `notifications/message`.
pub(super) fn log_message(level: LogLevel, logger: &str, data: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(192);
    out.extend_from_slice(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":",
    );
    write_string(&mut out, level.name());
    out.extend_from_slice(b",\"logger\":");
    write_string(&mut out, logger);
    out.extend_from_slice(b",\"data\":");
    out.extend_from_slice(data.to_string().as_bytes());
    out.extend_from_slice(b"}}");
    out
}

/// A request of ours to the client.
pub(crate) fn request(id: &str, method: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"method\":\"{method}\"}}").into_bytes()
}

/// Joins the responses of a batch into one array.
pub fn batch(replies: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(replies.iter().map(|reply| reply.len() + 1).sum::<usize>() + 1);
    out.push(b'[');
    for (at, reply) in replies.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(reply);
    }
    out.push(b']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::Raw;

    #[test]
    fn the_code_of_an_error_is_read_from_its_answer() {
        let [id, other] = ["7", "8"].map(|text| RequestId::from_raw(Raw::parse(text).unwrap()).unwrap());
        let body = error(Answers::Request(&id), &RpcError::invalid_params());
        assert_eq!(error_code(&body, &id).as_deref(), Some("-32602"));
        assert_eq!(error_code(&body, &other), None);
        let body = result(&id, |out| out.extend_from_slice(b"{\"error\":{\"code\":1}}"));
        assert_eq!(error_code(&body, &id), None);
    }

    #[test]
    fn the_id_of_an_unknown_request_follows_the_revision() {
        let text = |answers| String::from_utf8(error(answers, &RpcError::parse_error())).unwrap();
        assert_eq!(
            text(Answers::Unknown(None)),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#
        );
        assert_eq!(text(Answers::Unknown(Some(Revision::V2025_06_18))), text(Answers::Unknown(None)));
        assert_eq!(
            text(Answers::Unknown(Some(Revision::V2025_11_25))),
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}"#
        );
    }
}
