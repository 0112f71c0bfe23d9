//! World faults: failures between the host and an upstream.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;

use super::unfinished::Unfinished;
use ptc_engine::questions::Unanswered;
use ptc_http::HttpError;

/// Why a call failed, from the closed set that programs see as `:reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultReason {
    /// It could not be started, its handshake failed, it died, it is in its recovery window, it
    /// answered 5xx, or the network failed.
    UpstreamUnavailable,
    /// A JSON-RPC error, a malformed answer, or an unexpected HTTP status.
    UpstreamError,
    /// The tool itself reports failure: MCP `isError`, or HTTP 400/403/404/422 of an OpenAPI call.
    ToolError,
    /// HTTP 401, or credentials that cannot be turned into headers.
    AuthFailed,
    /// A person has to sign in first, or anew (auth.md 12.1).
    AuthRequired,
    /// HTTP 429.
    RateLimited,
    /// A deadline passed.
    Timeout,
    /// The byte cap was passed before anything was decoded.
    ResponseTooLarge,
    /// The program's own call cap is used up.
    CapExhausted,
    /// A person said no.
    Declined,
    /// A person dismissed the question.
    Cancelled,
    /// A person has to be asked, and there is no way to.
    Unanswerable,
}

impl FaultReason {
    /// All of them.
    pub const ALL: [FaultReason; 12] = [
        Self::UpstreamUnavailable,
        Self::UpstreamError,
        Self::ToolError,
        Self::AuthFailed,
        Self::AuthRequired,
        Self::RateLimited,
        Self::Timeout,
        Self::ResponseTooLarge,
        Self::CapExhausted,
        Self::Declined,
        Self::Cancelled,
        Self::Unanswerable,
    ];

    /// The reason's name as programs, call records and schemas spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UpstreamUnavailable => "upstream_unavailable",
            Self::UpstreamError => "upstream_error",
            Self::ToolError => "tool_error",
            Self::AuthFailed => "auth_failed",
            Self::AuthRequired => "auth_required",
            Self::RateLimited => "rate_limited",
            Self::Timeout => "timeout",
            Self::ResponseTooLarge => "response_too_large",
            Self::CapExhausted => "cap_exhausted",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Unanswerable => "unanswerable",
        }
    }
}

impl fmt::Display for FaultReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A call (or start, or listing) that failed in the outside world.
///
/// The first line of `message` is the fixed text that programs may compare; further lines are hints
/// for the reader. The message may quote the upstream and so must pass the redactor before anyone
/// sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFault {
    /// Why, from the closed set.
    pub reason: FaultReason,
    /// The message, for the author of the program and for the operator.
    pub message: String,
    /// The HTTP status that caused the fault, if one did.
    pub http_status: Option<u16>,
    /// Bytes of the answer that had arrived when the call failed.
    pub received_bytes: u64,
    /// Whether anything of the call may have reached the upstream, and it may so have run.
    pub sent: bool,
    /// Whether it was refused before it was tried: it takes no number of the program's call cap.
    pub uncounted: bool,
    /// The answer with which a tool reported its failure.
    pub answer: Option<Box<FailureAnswer>>,
    /// The code of the JSON-RPC error that caused the fault, if one did.
    pub rpc_code: Option<i64>,
    /// How long the upstream wants to be left alone, if its answer says so (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// The upstream's requirement before it answers, if the call has no answer yet.
    pub unfinished: Option<Box<Unfinished>>,
    /// If another sign-in of a person would help: when the failed one was made, in milliseconds since 1970; 0 if there was
    /// none.
    pub sign_in_after: Option<u64>,
    /// Whether the upstream lists other tools than those by which the call was judged: it has not been sent, and may be judged anew.
    pub relisted: bool,
}

/// The answer with which a tool reports its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureAnswer {
    /// The failure as data, as JSON.
    pub data: Option<Bytes>,
    /// All of it, untouched, as JSON.
    pub envelope: Bytes,
}

impl CallFault {
    /// A fault with a message and no status or bytes.
    #[must_use]
    pub fn new(reason: FaultReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            http_status: None,
            received_bytes: 0,
            sent: true,
            uncounted: false,
            answer: None,
            rpc_code: None,
            retry_after: None,
            unfinished: None,
            sign_in_after: None,
            relisted: false,
        }
    }

    /// [`FaultReason::UpstreamUnavailable`] with `message`.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FaultReason::UpstreamUnavailable, message)
    }

    /// The fault of a call that was judged by another list of tools than its upstream has by now.
    pub(crate) fn judged_by_former_list() -> Self {
        let fault = Self::unavailable("the upstream changed its tools before the call could be sent");
        Self { relisted: true, ..fault.before_sending() }
    }

    /// [`FaultReason::UpstreamError`] with `message`.
    #[must_use]
    pub fn upstream_error(message: impl Into<String>) -> Self {
        Self::new(FaultReason::UpstreamError, message)
    }

    /// [`FaultReason::Timeout`] with `message`.
    #[must_use]
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(FaultReason::Timeout, message)
    }

    /// The fault of a call that a person had to answer for.
    #[must_use]
    pub fn unanswered(why: Unanswered) -> Self {
        let reason = match why {
            Unanswered::Declined => FaultReason::Declined,
            Unanswered::Dismissed | Unanswered::TooMany => FaultReason::Cancelled,
            Unanswered::Unanswerable => FaultReason::Unanswerable,
        };
        Self::new(reason, why.text())
    }

    /// The same fault of a call that was refused before anything was tried for it.
    #[must_use]
    pub fn before_sending(mut self) -> Self {
        self.uncounted = true;
        self.never_sent()
    }

    /// The same fault of a call of which nothing reached the upstream.
    #[must_use]
    pub fn never_sent(mut self) -> Self {
        self.sent = false;
        self
    }

    /// The same fault, caused by this HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.http_status = Some(status);
        self
    }

    /// The same fault of an upstream that wants to be left alone for so long.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The same fault after `bytes` of the answer had arrived.
    #[must_use]
    pub(crate) fn with_bytes(mut self, bytes: u64) -> Self {
        self.received_bytes = bytes;
        self
    }

    /// The same fault of a call to which the upstream wants something before it answers.
    #[must_use]
    pub(crate) fn unfinished(mut self, unfinished: Unfinished) -> Self {
        self.unfinished = Some(Box::new(unfinished));
        self
    }

    /// The same fault of a call that a sign-in would help: a new one, if there was one at that time.
    #[must_use]
    pub(crate) fn until_sign_in(mut self, after: u64) -> Self {
        self.sign_in_after = Some(after);
        self
    }

    /// The same fault with one more line of explanation below the fixed first line.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        if !hint.is_empty() {
            self.message.push('\n');
            self.message.push_str(hint);
        }
        self
    }

    /// Whether the byte cap was the cause: the `oversize` of a call record.
    #[must_use]
    pub fn oversize(&self) -> bool {
        self.reason == FaultReason::ResponseTooLarge
    }
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

impl std::error::Error for CallFault {}

impl From<HttpError> for CallFault {
    fn from(error: HttpError) -> Self {
        let reason = match &error {
            HttpError::Timeout | HttpError::Deadline => FaultReason::Timeout,
            HttpError::TooLarge { .. } | HttpError::NoMemory { .. } => FaultReason::ResponseTooLarge,
            HttpError::Malformed(_) => FaultReason::UpstreamError,
            _ => FaultReason::UpstreamUnavailable,
        };
        let received = match &error {
            HttpError::TooLarge { received, .. } | HttpError::NoMemory { received } => *received,
            _ => 0,
        };
        let before_sending = matches!(
            error,
            HttpError::Refused
                | HttpError::Dns(_)
                | HttpError::ConnectTimeout
                | HttpError::Deadline
                | HttpError::BadTarget(_)
        );
        let fault = Self::new(reason, error.to_string()).with_bytes(received);
        if before_sending { fault.never_sent() } else { fault }
    }
}
