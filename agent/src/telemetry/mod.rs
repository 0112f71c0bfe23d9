//! The events of a run, reported as they happen (agent.md 8.13).
//!
//! Each [`Event`] is sent to `tracing` under the target `ptc_runner.sub_agent`, with its [`name`](Event::name) in the field
//! `event`, and to the run's [`Observer`] if there is one. Events nest by [`Scope::span_id`].

mod emit;

pub use ptc_vm::machine::ForkKind;
use std::time::Duration;

pub(crate) use emit::{Emitter, OpenSpan, args, summary};

/// The target of all `tracing` events of this crate.
pub(crate) const TARGET: &str = "ptc_runner.sub_agent";

/// Gets the events of a run. Called between the run's own steps, so it should be quick; its panics are caught.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, scope: &Scope, event: &Event<'_>);
}

impl<F: Fn(&Scope, &Event<'_>) + Send + Sync> Observer for F {
    fn event(&self, scope: &Scope, event: &Event<'_>) {
        self(scope, event);
    }
}

/// Where an event belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The agent's name, if it has one.
    pub agent_name: Option<String>,
    /// The run's agent: 8 hex digits.
    pub agent_id: String,
    /// The run and those within it: 32 hex digits.
    pub trace_id: String,
    /// The span that the event starts, stops or belongs to: 8 hex digits.
    pub span_id: String,
    /// The span around it.
    pub parent_span_id: Option<String>,
    /// The turn, from 1; 0 before the first.
    pub turn: u32,
}

/// The origin of a call and its effect on the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolCallEvent<'a> {
    /// The tool, or the text that the model wrote in place of one.
    pub tool_name: &'a str,
    /// `native` or `ptc_lisp`.
    pub exposure_layer: &'a str,
    /// Whether a kept result answered the call.
    pub cached: bool,
    /// Whether it failed or was refused.
    pub error: bool,
    /// How long it took.
    pub duration: Duration,
    /// Whether the preview left properties or rows out.
    pub result_preview_truncated: bool,
    /// Whether the full result is kept for programs.
    pub full_result_cached: bool,
    /// The first 16 hex digits of SHA-256 over the canonical arguments; only of cacheable calls.
    pub cache_key_hash: Option<&'a str>,
    /// Bytes of JSON of the kept result.
    pub retained_bytes: usize,
}

/// Something that happened in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// `run.start`
    RunStart,
    /// `run.stop`
    RunStop {
        /// `ok` or `error`.
        status: &'a str,
        /// The reason of a failed run.
        reason: Option<&'a str>,
        /// From its start.
        duration: Duration,
    },
    /// `run.exception`: the run was dropped before its end.
    RunException {
        /// From its start.
        duration: Duration,
    },
    /// `turn.start`
    TurnStart {
        /// `work` or `retry`.
        kind: &'a str,
        /// Tools that the model is offered.
        tools_count: usize,
    },
    /// `turn.stop`
    TurnStop {
        /// `work` or `retry`.
        kind: &'a str,
        /// From its start.
        duration: Duration,
        /// Tokens of the prompt.
        input_tokens: u64,
        /// Tokens of the answer.
        output_tokens: u64,
        /// The program that ran.
        program: Option<&'a str>,
        /// The beginning of its result.
        result_preview: Option<&'a str>,
        /// The output it printed.
        prints: &'a [String],
        /// The model's text, where there was no program.
        raw_response: Option<&'a str>,
    },
    /// `llm.start`
    LlmStart {
        /// The model's name, empty if the client does not say it.
        model: &'a str,
        /// Messages of the request.
        messages: usize,
    },
    /// `llm.stop`
    LlmStop {
        /// The model's name, empty if the client does not say it.
        model: &'a str,
        /// The text, or `tool_calls`.
        response: &'a str,
        /// Tokens of the prompt.
        input_tokens: u64,
        /// Tokens of the answer.
        output_tokens: u64,
        /// From its start.
        duration: Duration,
    },
    /// `llm.exception`
    LlmException {
        /// The model's name, empty if the client does not say it.
        model: &'a str,
        /// The error.
        message: &'a str,
        /// From its start.
        duration: Duration,
    },
    /// `tool.start`: a handler, or a program, is about to run.
    ToolStart {
        /// The tool.
        tool_name: &'a str,
        /// `native` or `ptc_lisp`.
        exposure_layer: &'a str,
        /// Its arguments as JSON; over 1000 bytes only their size.
        args: &'a str,
    },
    /// `tool.stop`
    ToolStop {
        /// The tool.
        tool_name: &'a str,
        /// `native` or `ptc_lisp`.
        exposure_layer: &'a str,
        /// The beginning of its result, at most 2000 bytes.
        result: &'a str,
        /// From its start.
        duration: Duration,
    },
    /// `tool.exception`: it failed.
    ToolException {
        /// The tool.
        tool_name: &'a str,
        /// `native` or `ptc_lisp`.
        exposure_layer: &'a str,
        /// The error.
        message: &'a str,
        /// From its start.
        duration: Duration,
    },
    /// `tool.call`: one for each attempted native call, refused ones included, and each app-tool call of a program,
    /// hits included.
    ToolCall(ToolCallEvent<'a>),
    /// `pmap.start`, `pcalls.start`: a program begins to run branches at the same time.
    ForkStart {
        /// Which form.
        kind: ForkKind,
        /// Branches.
        count: usize,
    },
    /// `pmap.stop`, `pcalls.stop`
    ForkStop {
        /// Which form.
        kind: ForkKind,
        /// Branches.
        count: usize,
        /// Branches without a value: the first that failed, and those that were stopped for it or with the program.
        errors: usize,
        /// From its start.
        duration: Duration,
    },
    /// `compaction.triggered`
    CompactionTriggered {
        /// Messages before and after.
        messages: (usize, usize),
        /// Estimated tokens before and after.
        tokens: (usize, usize),
        /// `trim`.
        strategy: &'a str,
        /// `turns` or `tokens`.
        reason: &'a str,
    },
}

impl Event<'_> {
    /// The name under which it is reported.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Event::RunStart => "run.start",
            Event::RunStop { .. } => "run.stop",
            Event::RunException { .. } => "run.exception",
            Event::TurnStart { .. } => "turn.start",
            Event::TurnStop { .. } => "turn.stop",
            Event::LlmStart { .. } => "llm.start",
            Event::LlmStop { .. } => "llm.stop",
            Event::LlmException { .. } => "llm.exception",
            Event::ToolStart { .. } => "tool.start",
            Event::ToolStop { .. } => "tool.stop",
            Event::ToolException { .. } => "tool.exception",
            Event::ToolCall(_) => "tool.call",
            Event::ForkStart { kind: ForkKind::Pmap, .. } => "pmap.start",
            Event::ForkStart { kind: ForkKind::Pcalls, .. } => "pcalls.start",
            Event::ForkStop { kind: ForkKind::Pmap, .. } => "pmap.stop",
            Event::ForkStop { kind: ForkKind::Pcalls, .. } => "pcalls.stop",
            Event::CompactionTriggered { .. } => "compaction.triggered",
        }
    }
}
