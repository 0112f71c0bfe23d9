//! What the agent says to a language model and hears from it, and who carries that.
//!
//! [`Llm`] is the one contract of all clients. [`ScriptedLlm`] answers from a list, for tests; [`OpenAi`] asks an endpoint
//! that speaks OpenAI's protocol.

mod message;
mod openai;
mod scripted;

pub use message::{
    ArgsError, LlmRequest, LlmResponse, Message, StopReason, ToolCall, ToolCallMsg, ToolDef, Usage,
};
pub use openai::OpenAi;
pub use scripted::ScriptedLlm;

use futures_util::future::BoxFuture;
use std::time::Duration;

/// Takes the pieces of an answer as they come.
pub type ChunkSink = std::sync::Arc<dyn Fn(&str) + Send + Sync>;

/// The kinds of failures of a model's endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LlmErrorKind {
    /// Status 429.
    RateLimit,
    /// No answer in time.
    Timeout,
    /// Status 5xx.
    Server,
    /// Status 401 or 403, or no key.
    Auth,
    /// Any other refusal of the request.
    InvalidRequest,
    /// No connection, or it broke.
    Network,
    /// The answer is not what the protocol says.
    Malformed,
}

/// Why a model gave no answer. The text holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    /// The kind.
    pub kind: LlmErrorKind,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// What happened.
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl LlmError {
    /// An error without status.
    pub fn new(kind: LlmErrorKind, message: impl Into<String>) -> LlmError {
        LlmError { kind, status: None, message: message.into(), retry_after: None }
    }
}

/// A language model.
pub trait Llm: Send + Sync {
    /// Answers one request. Dropping the future gives the request up.
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>>;

    /// Answers one request and gives the text to `sink` as it comes. By default all of it at the end.
    fn stream(&self, request: LlmRequest, sink: ChunkSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(async move {
            let response = self.complete(request).await?;
            if let Some(text) = &response.content {
                sink(text);
            }
            Ok(response)
        })
    }
}
