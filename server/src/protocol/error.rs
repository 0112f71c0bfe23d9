//! JSON-RPC errors: the codes in use and their exact texts.

use super::message::RequestId;

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// The code.
    pub code: i32,
    /// One sentence for the client.
    pub message: String,
    /// Further facts, as JSON text.
    pub data: Option<String>,
}

impl RpcError {
    /// The text is not acceptable JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// JSON, but no JSON-RPC message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// `params` do not fit the method.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Our fault; nothing a client sends may cause it.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// A refusal of this server (HTTP only): draining, saturated, timed out.
    pub const REFUSED: i32 = -32000;
    /// An HTTP header is missing or contradicts the body (2026-07-28).
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The revision is not spoken here (2026-07-28).
    pub const UNSUPPORTED_VERSION: i32 = -32022;

    /// An error without data.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        RpcError { code, message: message.into(), data: None }
    }

    /// `-32700 Parse error`
    pub fn parse_error() -> Self {
        Self::new(Self::PARSE_ERROR, "Parse error")
    }

    /// `-32600 Invalid Request`
    pub fn invalid_request() -> Self {
        Self::new(Self::INVALID_REQUEST, "Invalid Request")
    }

    /// `-32600`: a call of that id is running.
    pub fn duplicate_id(id: &RequestId) -> Self {
        Self::new(Self::INVALID_REQUEST, format!("Invalid Request: id {} is already in flight", id.json()))
    }

    /// `-32601 Method not found`
    pub fn method_not_found() -> Self {
        Self::new(Self::METHOD_NOT_FOUND, "Method not found")
    }

    /// `-32602 Invalid params`
    pub fn invalid_params() -> Self {
        Self::new(Self::INVALID_PARAMS, "Invalid params")
    }

    /// `-32603 Internal error`
    pub fn internal() -> Self {
        Self::new(Self::INTERNAL_ERROR, "Internal error")
    }
}
