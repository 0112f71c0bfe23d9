//! The outcome of a message, as a transport sees it.

use ptc_mcp::RpcError;
use ptc_mcp::message::id::RequestId;

use super::call::Call;
use super::concurrency_limiter::CapacityError;
use super::reply::{self, Answers};

/// The outcome of a message.
pub enum HandlerOutcome {
    /// Nothing is to be sent.
    Silent,
    /// The answer.
    Reply(Reply),
    /// A tool call to run.
    Call(Box<Call>),
    /// The client wants the conversation to end.
    Exit,
}

/// A finished answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The JSON-RPC response.
    pub body: Vec<u8>,
    /// The kind of answer.
    pub disposition: Disposition,
    /// The limit that is reached, where the answer is that there is no capacity.
    pub reached: Option<ReachedLimit>,
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReachedLimit {
    /// Its name in metrics.
    pub limit: &'static str,
    /// The sentence about the limit, its value and its flag.
    pub text: Box<str>,
    /// Seconds after which the client may come again, if the limit is one of the policy for this caller.
    pub quota_wait: Option<u64>,
}

/// The kind of answer of a reply. A transport with its own vocabulary for this, such as HTTP status codes, maps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The message was understood and answered, possibly with an error.
    Answered,
    /// The message is not a valid request.
    Invalid,
    /// The message names a method that does not exist in its era.
    UnknownMethod,
    /// The server has no capacity for the request.
    Busy,
}

impl Reply {
    /// An answer of this kind.
    pub fn new(disposition: Disposition, body: Vec<u8>) -> Self {
        Reply { body, disposition, reached: None }
    }

    /// An answer to a message that was understood.
    pub fn answered(body: Vec<u8>) -> Self {
        Self::new(Disposition::Answered, body)
    }
}

impl HandlerOutcome {
    /// An answer to a message that was understood.
    pub(crate) fn answered(body: Vec<u8>) -> HandlerOutcome {
        HandlerOutcome::Reply(Reply::answered(body))
    }

    /// An answer of this kind.
    pub(crate) fn reply(disposition: Disposition, body: Vec<u8>) -> HandlerOutcome {
        HandlerOutcome::Reply(Reply::new(disposition, body))
    }

    /// An answer by a server that has no capacity because of this limit.
    pub(crate) fn busy(body: Vec<u8>, limit: &'static str, text: impl Into<Box<str>>) -> HandlerOutcome {
        let reached = ReachedLimit { limit, text: text.into(), quota_wait: None };
        HandlerOutcome::Reply(Reply { reached: Some(reached), ..Reply::new(Disposition::Busy, body) })
    }

    /// An answer that there is no capacity for a call.
    pub(crate) fn full(body: Vec<u8>, full: CapacityError) -> HandlerOutcome {
        let (limit, text, quota_wait) = (full.limit(), full.to_string().into(), full.quota_wait());
        let reached = Some(ReachedLimit { limit, text, quota_wait });
        HandlerOutcome::Reply(Reply { reached, ..Reply::new(Disposition::Busy, body) })
    }

    /// An error that answers `id`.
    pub(crate) fn error(id: &RequestId, error: &RpcError) -> HandlerOutcome {
        HandlerOutcome::answered(reply::error(Answers::Request(id), error))
    }
}
