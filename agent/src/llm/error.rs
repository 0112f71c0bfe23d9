//! Errors of model requests, and whether a retry is worthwhile.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The kinds of failures of a model's endpoint (agent.md 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LlmErrorKind {
    /// Status 429: too many requests, or a quota is used up for now.
    RateLimit,
    /// No answer, or no end of it, in time.
    Timeout,
    /// Status 5xx, or the same said inside a stream.
    #[serde(rename = "server_error")]
    Server,
    /// Status 401 or 403, or no key.
    Auth,
    /// Any other refusal of the request; the request is at fault, not the moment.
    InvalidRequest,
    /// No connection, or it broke.
    Network,
    /// The answer violates the protocol.
    Malformed,
}

impl LlmErrorKind {
    /// The word in options and telemetry.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LlmErrorKind::RateLimit => "rate_limit",
            LlmErrorKind::Timeout => "timeout",
            LlmErrorKind::Server => "server_error",
            LlmErrorKind::Auth => "auth",
            LlmErrorKind::InvalidRequest => "invalid_request",
            LlmErrorKind::Network => "network",
            LlmErrorKind::Malformed => "malformed",
        }
    }

    /// Whether a retry can help.
    #[must_use]
    pub fn class(self) -> RetryClass {
        match self {
            LlmErrorKind::RateLimit => RetryClass::RateLimited,
            LlmErrorKind::Timeout | LlmErrorKind::Server | LlmErrorKind::Network => RetryClass::Transient,
            LlmErrorKind::Auth | LlmErrorKind::InvalidRequest | LlmErrorKind::Malformed => RetryClass::Fatal,
        }
    }
}

/// Whether a retry can help after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryClass {
    /// The same request may work a moment later.
    Transient,
    /// The same request may work once the time has passed that the endpoint names.
    RateLimited,
    /// The same request would fail again.
    Fatal,
}

/// Why a model gave no answer. The text holds no secret and is cut to a readable length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct LlmError {
    /// The kind.
    pub kind: LlmErrorKind,
    /// The HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The error message.
    pub message: String,
    /// How long the endpoint asks to wait before the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl LlmError {
    /// An error without status.
    pub fn new(kind: LlmErrorKind, message: impl Into<String>) -> LlmError {
        LlmError { kind, status: None, message: message.into(), retry_after: None }
    }

    /// Whether a retry can help.
    #[must_use]
    pub fn class(&self) -> RetryClass {
        self.kind.class()
    }
}
