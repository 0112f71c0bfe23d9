//! The options and the result of a run (agent.md 4, 13).

use super::fail::Fail;
use super::state::{ChatState, Journal};
use crate::llm::{
    ChunkSink, EventSink, Image, LlmRef, LlmRegistry, Message, RetryPolicy, StopReason, ToolDef, Usage,
};
use crate::telemetry::Observer;
use crate::tool::{Extensions, JsonMap};
use ptc_base::json::Value as Json;
use ptc_engine::kept::ServedPrograms;
use ptc_engine::{Asker, Authority, CallRecord, CatalogOp, Engine, HostCalls};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Looks at a run before each request to the model but the first, and may end it.
pub type BudgetFn = dyn Fn(&Step) -> Result<(), Fail> + Send + Sync;

/// Adds to the feedback that a PTC-Lisp agent's model reads of a turn.
pub type FeedbackFn = dyn Fn(&Turn) -> Option<String> + Send + Sync;

/// Which turns a step keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceMode {
    /// All.
    #[default]
    On,
    /// None.
    Off,
    /// Those of failed runs.
    OnError,
}

/// The effect of exhausting a run's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBudgetExceeded {
    /// The run fails.
    #[default]
    Fail,
    /// A PTC-Lisp agent answers with its last successful value, if that fits.
    Return,
}

/// The options of one run.
#[derive(Clone)]
pub struct RunOptions {
    /// The model, a client or a name; without it the agent's own.
    pub llm: Option<LlmRef>,
    /// Names for models in addition to the agent's; they take precedence.
    pub llm_registry: LlmRegistry,
    /// When failed requests are retried; by default the agent's policy.
    pub llm_retry: Option<RetryPolicy>,
    /// The engine that runs programs. Without it the process's [default engine](Engine::shared), started at the first program.
    pub engine: Option<Engine>,
    /// Values of the host that the tools' handlers get with [`ToolContext::get`](crate::tool::ToolContext::get).
    pub extensions: Extensions,
    /// The principal for whose turns and memory programs are accounted. All unnamed ones are one principal.
    pub principal: Option<Arc<str>>,
    /// What the policy of a server permits it; `None` without one.
    pub authority: Option<Arc<Authority>>,
    /// Bytes of live values of one program; by default the agent's limit.
    pub max_heap: Option<u64>,
    /// Values for the prompt's template, and for programs as `data/KEY`.
    pub context: JsonMap,
    /// The images that the user shows with the mission. A run ends if the client of its model does not forward images.
    pub images: Vec<Image>,
    /// A step of another agent whose answer is added to the context: the fields of an object, else as `result`. A failed one
    /// ends the run at once.
    pub previous: Option<Arc<Step>>,
    /// The conversation so far; its system messages are left out.
    pub initial_messages: Vec<Message>,
    /// Receives the final text: for agents without tools and without a type as it arrives, else once it is accepted.
    pub on_chunk: Option<ChunkSink>,
    /// Receives all model output as it arrives, accepted or not.
    pub on_event: Option<EventSink>,
    /// Answers `tool/call` and discovery in programs.
    pub upstreams: Option<Arc<dyn HostCalls>>,
    /// The kept programs that programs may call.
    pub programs: Option<Arc<dyn ServedPrograms>>,
    /// Asks people the questions of programs and upstreams, and the approvals of an upstream's entry; without it, questions
    /// have no answer. The time that people take does not count for the program, but does for the mission.
    pub asker: Option<Arc<dyn Asker>>,
    /// Definitions, history and shared results of earlier runs, continued by this one.
    pub state: Option<ChatState>,
    /// Receives the run's events.
    pub observer: Option<Arc<dyn Observer>>,
    /// Whether the provider should cache the prompt.
    pub cache: bool,
    /// The longest answer of the model, in tokens.
    pub max_tokens: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f32>,
    /// Tokens of all requests and answers together, those of nested runs included.
    pub token_limit: Option<u64>,
    /// The effect of exceeding it.
    pub on_budget_exceeded: OnBudgetExceeded,
    /// May end the run before a request.
    pub budget: Option<Arc<BudgetFn>>,
    /// Adds to the feedback that the model reads of a turn.
    pub feedback: Option<Arc<FeedbackFn>>,
    /// The trace of the run's events, 32 hex digits; a new one by default.
    pub trace_id: Option<String>,
    /// Which turns the step keeps.
    pub trace: TraceMode,
    /// Whether the step keeps the conversation.
    pub collect_messages: bool,
}

impl RunOptions {
    /// Options with a model and the defaults. Turns and messages are kept.
    #[must_use]
    pub fn new(llm: impl Into<LlmRef>) -> RunOptions {
        RunOptions { llm: Some(llm.into()), ..RunOptions::default() }
    }

    /// Runs programs in this engine.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> RunOptions {
        self.engine = Some(engine);
        self
    }

    /// Adds a value of the context: for the prompt's template as `{{name}}`, and for programs as `data/name`.
    #[must_use]
    pub fn context(mut self, name: impl Into<String>, value: impl Into<Json>) -> RunOptions {
        self.context.insert(name.into(), value.into());
        self
    }

    /// Adds a value of the host for the tools' handlers, which read it with
    /// [`ToolContext::get`](crate::tool::ToolContext::get); one for each type.
    #[must_use]
    pub fn extension<T: Send + Sync + 'static>(mut self, value: T) -> RunOptions {
        self.extensions.insert(value);
        self
    }
}

impl Default for RunOptions {
    /// Options for an agent that has its model itself.
    fn default() -> RunOptions {
        RunOptions {
            llm: None,
            llm_registry: LlmRegistry::new(),
            llm_retry: None,
            principal: None,
            authority: None,
            max_heap: None,
            engine: None,
            extensions: Extensions::default(),
            context: JsonMap::new(),
            images: Vec::new(),
            previous: None,
            initial_messages: Vec::new(),
            on_chunk: None,
            on_event: None,
            upstreams: None,
            programs: None,
            asker: None,
            state: None,
            observer: None,
            cache: false,
            max_tokens: None,
            temperature: None,
            token_limit: None,
            on_budget_exceeded: OnBudgetExceeded::default(),
            budget: None,
            feedback: None,
            trace_id: None,
            trace: TraceMode::default(),
            collect_messages: true,
        }
    }
}

/// One tool call of a run, as the model asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRecord {
    /// The tool, as the model wrote it.
    pub name: String,
    /// Its arguments.
    pub args: Json,
    /// The result as the model read it.
    pub result: String,
    /// Whether it failed or was refused.
    pub error: bool,
    /// When it began.
    pub timestamp: SystemTime,
    /// How long it took.
    pub duration: Duration,
}

/// The record of one response of the model.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// From 1.
    pub number: u32,
    /// Whether it was an extra turn to repair the one before.
    pub retry: bool,
    /// The text that the model wrote.
    pub raw_response: String,
    /// Why the model stopped.
    pub stop: StopReason,
    /// The program that ran.
    pub program: Option<String>,
    /// The readable form of its value, as far as the model read it.
    pub result: Option<String>,
    /// The error, as the message that the model read.
    pub error: Option<String>,
    /// The reason word of a program that failed.
    pub reason: Option<&'static str>,
    /// The output it printed.
    pub prints: Vec<String>,
    /// Calls of upstream tools that it made, in order of completion.
    pub upstream_calls: Vec<CallRecord>,
    /// Its requests to the catalog of the upstreams, in order of the answers.
    pub catalog_ops: Vec<CatalogOp>,
    /// Native calls of the response.
    pub tool_calls: Vec<ToolCallRecord>,
    /// Names that it defined or changed, with a preview of each value.
    pub memory: Vec<(String, String)>,
    /// Steps of the program.
    pub steps: u64,
    /// From the request to its end.
    pub duration: Duration,
}

impl Turn {
    /// Whether a program ran and succeeded, or no call of the response failed.
    #[must_use]
    pub fn success(&self) -> bool {
        self.error.is_none() && self.tool_calls.iter().all(|call| !call.error)
    }
}

/// The usage of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepUsage {
    /// From its start to its end.
    pub duration: Duration,
    /// Responses of the model.
    pub turns: u32,
    /// Requests to models, those of nested runs included.
    pub llm_requests: u32,
    /// Tokens, those of nested runs included, as far as the provider reports them.
    pub tokens: Usage,
    /// Whether every answer reported its tokens.
    pub tokens_reported: bool,
    /// Tokens of the system prompt, estimated as a quarter of its bytes.
    pub system_prompt_tokens: usize,
    /// Whether the requests carried a JSON Schema for the answer.
    pub schema_used: bool,
    /// Its size as JSON.
    pub schema_bytes: usize,
    /// Whether an earlier value replaces a missing answer.
    pub fallback_used: bool,
    /// How often the conversation was shortened.
    pub compactions: u32,
    /// Most bytes that a program held at a time.
    pub memory_bytes: u64,
    /// Bytes of JSON of all results that the run keeps.
    pub retained_bytes: usize,
}

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// The answer.
    pub value: Option<Json>,
    /// The failure, if there is one.
    pub fail: Option<Fail>,
    /// The images that the model made, in order.
    pub images: Vec<Image>,
    /// Why the model stopped its last response: [`StopReason::Length`] if that was cut. A cut answer is not accepted: the run
    /// fails with `answer_cut`, and the received part is the last turn's `raw_response`.
    pub stop: Option<StopReason>,
    /// The conversation with the system prompt first; empty if messages are not kept.
    pub messages: Vec<Message>,
    /// The turns, as far as they are kept.
    pub turns: Vec<Turn>,
    /// The native tool calls, in order.
    pub tool_calls: Vec<ToolCallRecord>,
    /// The output that programs printed, in order.
    pub prints: Vec<String>,
    /// The definitions of programs, with a preview of each value, sorted by name.
    pub memory: Vec<(String, String)>,
    /// The results that `task` stored and the notes of `step-done`.
    pub journal: Journal,
    /// Definitions, history and shared results, for a later run. Dropping it frees them.
    pub state: Option<ChatState>,
    /// The prompt as it was sent.
    pub prompt: String,
    /// The prompt before its places were filled.
    pub original_prompt: String,
    /// The tools that the model was offered.
    pub tools: Vec<ToolDef>,
    /// The agent's name.
    pub name: Option<String>,
    /// The agent's signature.
    pub signature: Option<String>,
    /// The meaning of the fields of its answer.
    pub field_descriptions: BTreeMap<String, String>,
    /// The run and those within it: 32 hex digits.
    pub trace_id: String,
    /// The trace that the run belongs to as a part of another run.
    pub parent_trace_id: Option<String>,
    /// The results of nested runs, in order of their ends.
    pub child_steps: Vec<Step>,
    /// Its usage.
    pub usage: StepUsage,
}

impl Step {
    /// The answer as a value of `T`.
    ///
    /// # Errors
    /// There is no answer, or it is no `T`.
    #[expect(clippy::disallowed_methods, reason = "entry point: Step.value")]
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        match &self.value {
            Some(value) => serde_json::from_str(&value.to_string()),
            None => Err(serde::de::Error::custom(format!("the run has no answer: {self}"))),
        }
    }
}

/// The message of a failed run: `reason: message`.
impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.fail, &self.value) {
            (Some(fail), _) => write!(f, "{fail}"),
            (None, Some(value)) => write!(f, "{value}"),
            (None, None) => f.write_str("no answer"),
        }
    }
}

impl std::error::Error for Step {}
