//! Requests to a language model, its responses, and the clients that exchange them.
//!
//! [`Llm`] is the trait of all clients. [`OpenAi`] speaks OpenAI's chat completions API, [`Anthropic`] Anthropic's messages
//! API, [`Gemini`] Google's own API and [`Bedrock`] Amazon's Converse; [`ModelRef`] resolves a name such as `openrouter:…` to
//! one of them. Messages hold [`Image`]s. [`Retrying`] retries, [`Recorder`] records, [`Replayer`] answers from a recording,
//! and [`ScriptedLlm`] answers from a list, for tests. Every async closure from [`LlmRequest`] to a result is a model too:
//!
//! ```
//! use ptc_agent::llm::{Llm, LlmError, LlmRequest, LlmResponse};
//!
//! let parrot = |request: LlmRequest| async move {
//!     Ok::<_, LlmError>(LlmResponse::text(format!("{} messages", request.messages.len())))
//! };
//! let model: std::sync::Arc<dyn Llm> = std::sync::Arc::new(parrot);
//! # let _ = model;
//! ```

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod choice;
#[cfg(feature = "http")]
mod endpoint;
mod error;
mod event;
#[cfg(feature = "gemini")]
mod gemini;
mod image;
mod message;
#[cfg(feature = "openai")]
mod openai;
mod record;
#[cfg(feature = "http")]
mod reference;
mod retry;
mod scripted;
#[cfg(all(test, feature = "http"))]
mod testing;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
#[cfg(feature = "bedrock")]
pub use bedrock::{AwsCredentials, Bedrock};
pub use choice::{LlmRef, LlmRegistry};
#[cfg(feature = "http")]
pub use endpoint::TimeLimits;
pub use error::{LlmError, LlmErrorKind, RetryClass};
pub(crate) use event::text_sink;
pub use event::{ChunkSink, EventSink, LlmEvent, emit};
#[cfg(feature = "gemini")]
pub use gemini::Gemini;
pub use image::{Image, ImageError, MAX_IMAGE_BYTES};
pub(crate) use image::{lift, may_hold};
pub use message::{
    ArgsError, LlmRequest, LlmResponse, Message, StopReason, ToolCall, ToolCallMsg, ToolDef, Usage,
};
#[cfg(feature = "openai")]
pub use openai::OpenAi;
pub use record::{Recorder, ReplayError, Replayer};
#[cfg(feature = "http")]
pub use reference::{Connect, ModelError, ModelRef, Provider};
pub use retry::{Backoff, OnRetry, RetryPolicy, Retrying};
pub use scripted::ScriptedLlm;

use futures_util::future::BoxFuture;
use std::future::Future;
use std::sync::Arc;

/// Tool calls of one response: far more than a run would answer.
pub(crate) const MAX_CALLS: usize = 1024;

/// The error of a response with more calls than that.
pub(crate) fn too_many_calls() -> LlmError {
    LlmError::new(LlmErrorKind::Malformed, format!("the answer has more than {MAX_CALLS} tool calls"))
}

/// A language model.
///
/// A client converts the provider's answer into an [`LlmResponse`]: it neither checks tool names nor repeats requests
/// ([`Retrying`] does), and tool calls whose arguments are no JSON object are part of a response, not an error. Dropping the
/// future cancels the request.
pub trait Llm: Send + Sync {
    /// Answers one request.
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>>;

    /// Answers one request and passes the pieces of the answer to `sink` as they come. The response holds everything again. By
    /// default the pieces come all at once at the end.
    fn stream(&self, request: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(async move {
            let response = self.complete(request).await?;
            response.emit(&sink);
            Ok(response)
        })
    }

    /// The model's name, for telemetry.
    fn model(&self) -> Option<&str> {
        None
    }

    /// Whether the client forwards images to its model. One that does not is given lines in their places where a tool's result
    /// holds any, and no run whose user shows some.
    fn sees_images(&self) -> bool {
        false
    }
}

impl<L: Llm + ?Sized> Llm for Arc<L> {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        (**self).complete(request)
    }

    fn stream(&self, request: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        (**self).stream(request, sink)
    }

    fn model(&self) -> Option<&str> {
        (**self).model()
    }

    fn sees_images(&self) -> bool {
        (**self).sees_images()
    }
}

impl<F, Fut> Llm for F
where
    F: Fn(LlmRequest) -> Fut + Send + Sync,
    Fut: Future<Output = Result<LlmResponse, LlmError>> + Send + 'static,
{
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(self(request))
    }
}
