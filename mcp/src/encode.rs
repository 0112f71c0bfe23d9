//! Writing messages. Each function yields one compact line without its newline; payloads are copied unchanged.

use crate::error::RpcError;

/// A request. `params` is the text of a JSON object.
#[must_use]
pub fn request(id: u64, method: &str, params: &[u8]) -> Vec<u8> {
    let mut out = message(64 + method.len() + params.len(), Some(id), method);
    out.extend_from_slice(b",\"params\":");
    push_one_line(&mut out, params);
    out.push(b'}');
    out
}

/// A notification. `params` is the text of a JSON object.
#[must_use]
pub fn notification(method: &str, params: &[u8]) -> Vec<u8> {
    let mut out = message(48 + method.len() + params.len(), None, method);
    out.extend_from_slice(b",\"params\":");
    push_one_line(&mut out, params);
    out.push(b'}');
    out
}

/// Members of a `tools/call` request that is sent again because the server asked for input (2026-07-28), each the text of JSON.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResendMembers<'a> {
    /// `inputResponses`: an object.
    pub responses: Option<&'a str>,
    /// `requestState` as the server wrote it: a string.
    pub state: Option<&'a str>,
}

/// A `tools/call` request. `arguments` is the text of a JSON object; `meta` that of `_meta`, which
/// the modern era demands on every request.
#[must_use]
pub fn tools_call(
    id: u64,
    tool: &str,
    arguments: &[u8],
    again: ResendMembers<'_>,
    meta: Option<&[u8]>,
) -> Vec<u8> {
    let more = again.responses.map_or(0, str::len) + again.state.map_or(0, str::len);
    let room = 128 + tool.len() + arguments.len() + more + meta.map_or(0, <[u8]>::len);
    let mut out = message(room, Some(id), "tools/call");
    out.extend_from_slice(b",\"params\":{\"name\":");
    push_string(&mut out, tool);
    out.extend_from_slice(b",\"arguments\":");
    push_one_line(&mut out, arguments);
    if let Some(responses) = again.responses {
        out.extend_from_slice(b",\"inputResponses\":");
        push_one_line(&mut out, responses.as_bytes());
    }
    if let Some(state) = again.state {
        out.extend_from_slice(b",\"requestState\":");
        push_one_line(&mut out, state.as_bytes());
    }
    if let Some(meta) = meta {
        out.extend_from_slice(b",\"_meta\":");
        out.extend_from_slice(meta);
    }
    out.extend_from_slice(b"}}");
    out
}

/// A successful reply with the empty result, to the request with this id.
#[must_use]
pub fn empty_result(id: &str) -> Vec<u8> {
    result(id, b"{}")
}

/// A successful reply to the request with this id. `result` is the text of a JSON object.
#[must_use]
pub fn result(id: &str, result: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(40 + id.len() + result.len());
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
    push_one_line(&mut out, result);
    out.push(b'}');
    out
}

/// The refusal of a request that we do not serve.
#[must_use]
pub fn method_not_found(id: &str) -> Vec<u8> {
    error(id, RpcError::METHOD_NOT_FOUND, "Method not found")
}

/// The reply with an error to the request with this id.
#[must_use]
pub fn error(id: &str, code: i64, text: &str) -> Vec<u8> {
    let mut out =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":").into_bytes();
    push_string(&mut out, text);
    out.extend_from_slice(b"}}");
    out
}

/// The head of a request, or of a notification where there is no id; its `params` and the closing brace are missing.
fn message(room: usize, id: Option<u64>, method: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(room);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        out.extend_from_slice(b"\"id\":");
        push_number(&mut out, id);
        out.push(b',');
    }
    out.extend_from_slice(b"\"method\":");
    push_string(&mut out, method);
    out
}

/// Appends `text` as a JSON string.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(&mut *out, text).expect("writing a string to memory cannot fail");
}

fn push_number(out: &mut Vec<u8>, number: u64) {
    use std::io::Write as _;
    write!(out, "{number}").expect("writing to memory cannot fail");
}

/// Appends JSON text. A newline in it can only stand between tokens, where a space means the same;
/// on a newline-framed pipe it would break the frame.
fn push_one_line(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    if memchr::memchr2(b'\n', b'\r', json).is_some() {
        for byte in &mut out[start..] {
            if matches!(*byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_single_compact_lines() {
        assert_eq!(
            request(1, "tools/list", b"{}"),
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#
        );
        assert_eq!(
            tools_call(12, "a\"b", b"{\"n\":\n1}", ResendMembers::default(), None),
            br#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"a\"b","arguments":{"n": 1}}}"#
        );
        assert_eq!(
            tools_call(1, "t", b"{}", ResendMembers::default(), Some(b"{\"m\":1}")),
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"m":1}}}"#
        );
        let again =
            ResendMembers { responses: Some(r#"{"k":{"action":"decline"}}"#), state: Some(r#""a\u0062""#) };
        assert_eq!(
            String::from_utf8(tools_call(2, "t", b"{}", again, None)).unwrap(),
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{},"inputResponses":{"k":{"action":"decline"}},"requestState":"a\u0062"}}"#
        );
    }

    #[test]
    fn replies_echo_the_id_as_written() {
        let id = "\"a\\u0062\"";
        assert_eq!(empty_result(id), br#"{"jsonrpc":"2.0","id":"a\u0062","result":{}}"#);
        assert!(method_not_found(id).starts_with(br#"{"jsonrpc":"2.0","id":"a\u0062","error":"#));
    }
}
