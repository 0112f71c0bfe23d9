//! JSON-RPC errors: codes in use, their exact texts, and reading of a server's errors.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json::string_of;
use crate::message::id::RequestId;
use crate::text::clip;

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    /// `code`; 0 if an error that was read has none.
    pub code: i64,
    /// One sentence; a short rendering of the whole if an error that was read has none.
    pub message: String,
    /// Further facts, as JSON text.
    pub data: Option<Box<str>>,
}

impl RpcError {
    /// The text is not acceptable JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but no JSON-RPC message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// `params` do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Our fault; nothing a client sends may cause it.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A refusal of this server (HTTP only): draining, saturated, timed out.
    pub const REFUSED: i64 = -32000;
    /// An HTTP header is missing or contradicts the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that the client has not declared (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// A page has to be visited before the request is sent again (2025-11-25).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// The revision is not spoken here (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
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

    /// As [`RpcError::read`], for the bytes of an `error` member.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: RpcError.of_bytes")]
    pub fn of_bytes(json: &[u8]) -> Self {
        match serde_json::from_slice::<&RawValue>(json) {
            Ok(raw) => Self::read(raw.get()),
            Err(_) => Self { code: 0, message: clip(&String::from_utf8_lossy(json), 200), data: None },
        }
    }

    /// Reads an `error` member. Any content yields a usable message.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "entry point: RpcError.read")]
    pub fn read(json: &str) -> Self {
        #[derive(serde::Deserialize)]
        struct ErrorMembers<'a> {
            #[serde(borrow, default)]
            code: Option<&'a RawValue>,
            #[serde(borrow, default)]
            message: Option<&'a RawValue>,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
        }
        let members = serde_json::from_str::<ErrorMembers<'_>>(json).ok();
        let (code, message, data) = members.map_or((None, None, None), |m| {
            (
                m.code.and_then(|c| c.get().parse().ok()),
                m.message.map(RawValue::get).and_then(string_of),
                m.data,
            )
        });
        Self {
            code: code.unwrap_or(0),
            message: message.map_or_else(|| clip(json, 200), Cow::into_owned),
            data: data.map(|d| d.get().into()),
        }
    }
}
