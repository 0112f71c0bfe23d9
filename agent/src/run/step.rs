//! What a run is asked with, and what it comes to (agent.md 4, 13).

use crate::llm::{ChunkSink, Llm, Message, Usage};
use crate::tool::JsonMap;
use ptc_host::engine::Engine;
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::Duration;

/// What one run is asked with.
#[derive(Clone)]
pub struct RunOptions {
    /// The model.
    pub llm: Arc<dyn Llm>,
    /// What runs programs.
    pub engine: Engine,
    /// Values for the prompt's template, and for programs as `data/KEY`.
    pub context: JsonMap,
    /// The conversation so far; its system messages are left out.
    pub initial_messages: Vec<Message>,
    /// Gets the final text, once it is accepted.
    pub on_chunk: Option<ChunkSink>,
}

impl RunOptions {
    /// Options with a model, an engine and nothing else.
    #[must_use]
    pub fn new(llm: Arc<dyn Llm>, engine: Engine) -> RunOptions {
        RunOptions { llm, engine, context: JsonMap::new(), initial_messages: Vec::new(), on_chunk: None }
    }
}

/// Why a run has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Fail {
    /// A word of agent.md 13.
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
}

impl Fail {
    pub(super) fn new(reason: &'static str, message: impl Into<String>) -> Fail {
        Fail { reason, message: message.into() }
    }
}

/// One tool call of a run, as the model asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRecord {
    /// The tool, as the model wrote it.
    pub name: String,
    /// Its arguments.
    pub args: Json,
    /// Whether it failed or was refused.
    pub error: bool,
    /// How long it took.
    pub duration: Duration,
}

/// What a run used.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepUsage {
    /// From its start to its end.
    pub duration: Duration,
    /// Responses of the model.
    pub turns: u32,
    /// Requests to the model.
    pub llm_requests: u32,
    /// Tokens, as far as the provider tells.
    pub tokens: Usage,
}

/// What a run came to.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// The answer.
    pub value: Option<Json>,
    /// Why there is none.
    pub fail: Option<Fail>,
    /// The conversation, without the system prompt.
    pub messages: Vec<Message>,
    /// The tool calls, in order.
    pub tool_calls: Vec<ToolCallRecord>,
    /// What it used.
    pub usage: StepUsage,
}
