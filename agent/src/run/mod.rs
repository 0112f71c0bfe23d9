//! One run of an agent: turns, tool calls, programs, the answer (agent.md 8.3 – 8.8, 9, 10).
//!
//! [`Agent::run`] asks the model, executes its calls, and ends with a [`Step`]. There are two loops. `text` is chat with native
//! tools and optional `lisp_eval`. In `lisp`, programs are in the text (`content`) or in calls of `lisp_eval`, the only native
//! tool (`tool_call`).

mod advice;
mod answer;
mod ask;
mod content;
mod extract;
mod fail;
mod feedback;
mod inputs;
mod lisp;
mod native;
mod program;
mod prompt;
mod shared;
mod state;
mod step;
mod step_json;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod tool_call;
mod tools;
#[cfg(feature = "typed")]
mod typed;
mod upstreams;

pub use crate::settings::{Progress, ProgressFn};
pub use fail::{Fail, FailReason};
pub(crate) use feedback::quoted;
pub(crate) use shared::{InheritedState, RunScope};
pub use state::{ChatState, Journal};
pub use step::{
    BudgetFn, FeedbackFn, OnBudgetExceeded, RunOptions, Step, StepUsage, ToolCallRecord, TraceMode, Turn,
};

use stream::Watch;
pub use stream::{RunEvent, RunStream};
#[cfg(feature = "typed")]
pub use typed::Answer;

use crate::llm::{Image, Message, ToolCall, ToolCallMsg, ToolDef};
use crate::preview::forget_upstream;
use crate::settings::{Agent, Mode};
use crate::telemetry::Event;
use ptc_base::json::Value as Json;
use ptc_base::text::with_dots;
use ptc_base::time;
use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

impl Agent {
    /// Runs the agent until it answers or must stop. Must be called on a tokio runtime, where its tools run.
    /// Dropping the future cancels the model's request, the program and the tools.
    ///
    /// # Errors
    /// The step with its `fail` set.
    pub async fn run(&self, options: RunOptions) -> Result<Step, Box<Step>> {
        self.run_within(options, None, None).await
    }

    /// Runs the agent within another run, whose depth, budget, deadline and trace it takes over.
    pub(crate) async fn run_within(
        &self,
        options: RunOptions,
        inherited: Option<InheritedState>,
        watch: Option<Watch>,
    ) -> Result<Step, Box<Step>> {
        let mut run = AgentRun::new(self, options, inherited, watch);
        run.shared.emitter.run(&Event::RunStart);
        let result = run.start().await;
        run.finish(result).await
    }
}

/// Bytes of the last turn's error that the failure of a run repeats.
const MAX_LAST_WORDS: usize = 1000;

/// A run in progress.
struct AgentRun {
    shared: Arc<RunScope>,
    options: RunOptions,
    step: Step,
    /// The state of the current turn.
    turn: Turn,
    system: String,
    tools: Vec<ToolDef>,
    native_calls: u32,
    /// Calls of all responses so far, `lisp_eval` and refused ones included.
    calls: u32,
    used_ids: HashSet<String>,
    /// The text on the plan's progress after the last program.
    progress: String,
    /// The last value of a program that would do as an answer.
    last_value: Option<Json>,
    /// Parts of the last response besides text and calls, until its message is written.
    rest: (Vec<Image>, Option<Json>),
}

impl AgentRun {
    fn new(
        agent: &Agent,
        mut options: RunOptions,
        inherited: Option<InheritedState>,
        watch: Option<Watch>,
    ) -> AgentRun {
        if let Some(value) = options.previous.as_ref().and_then(|previous| previous.value.clone()) {
            match value {
                Json::Object(fields) => options.context.extend(fields),
                other => {
                    options.context.insert("result".into(), other);
                }
            }
        }
        inputs::coerce(agent.0.signature.as_ref(), &mut options.context);
        let parent_trace_id = inherited.as_ref().map(|inherited| inherited.outer.0.clone());
        let shared = Arc::new(RunScope::new(agent.0.clone(), &mut options, inherited, watch));
        let config = &shared.config;
        let system = prompt::system(config, shared.upstreams.is_some());
        let tools = prompt::tools(config);
        // What an earlier agent said of its answer's fields describes them here, unless this agent says something else.
        let mut descriptions =
            options.previous.as_ref().map(|previous| previous.field_descriptions.clone()).unwrap_or_default();
        descriptions.extend(config.context_descriptions.clone());
        let mut step = Step {
            prompt: prompt::user(config, &shared.context, &descriptions),
            original_prompt: config.prompt.text().to_owned(),
            tools: tools.clone(),
            field_descriptions: config.field_descriptions.clone(),
            parent_trace_id,
            name: config.name.clone(),
            signature: config.signature.as_ref().map(ToString::to_string),
            trace_id: shared.emitter.trace_id.clone(),
            ..Step::default()
        };
        step.usage.system_prompt_tokens = system.len().div_ceil(4);
        step.usage.tokens_reported = true;
        AgentRun {
            shared,
            options,
            step,
            turn: Turn::default(),
            system,
            tools,
            native_calls: 0,
            calls: 0,
            used_ids: HashSet::new(),
            progress: String::new(),
            last_value: None,
            rest: (Vec::new(), None),
        }
    }

    /// Checks everything that can be checked before the first turn, then runs the turns.
    async fn start(&mut self) -> Result<Json, Fail> {
        let shared = self.shared.clone();
        let config = &shared.config;
        if let Some(fail) = &shared.no_model {
            return Err(fail.clone());
        }
        if let Some(fail) = self.options.previous.as_ref().and_then(|previous| previous.fail.as_ref()) {
            return Err(Fail::new(
                FailReason::ChainedFailure,
                format!("Upstream agent failed: {}", fail.reason),
            ));
        }
        if shared.depth >= config.max_depth {
            let text = format!("Agents are nested deeper than max_depth {}", config.max_depth);
            return Err(Fail::new(FailReason::MaxDepthExceeded, text));
        }
        if let Some(name) = config.tools.keys().find(|name| shared.context.contains_key(name)) {
            return Err(Fail::new(
                FailReason::InvalidContext,
                format!("{name} is both a tool and data - rename one"),
            ));
        }
        inputs::check(config, &shared.context)?;
        self.step.messages = std::mem::take(&mut self.options.initial_messages);
        self.step.messages.retain(|message| !matches!(message, Message::System { .. }));
        // What was kept of upstreams was as old as the question before.
        shared.kept.cache.forget_upstreams();
        for message in &mut self.step.messages {
            if let Message::Tool { content, .. } = message {
                forget_upstream(content);
            }
        }
        for message in &self.step.messages {
            if let Message::Assistant { tool_calls, .. } = message {
                self.used_ids.extend(tool_calls.iter().map(|call| call.id.clone()));
            }
        }
        let images = std::mem::take(&mut self.options.images);
        if !images.is_empty() && !shared.asked.sees_images() {
            let text = "LLM call failed: the run shows images, and the model's client gives none on";
            return Err(Fail::new(FailReason::LlmError, text));
        }
        self.step.messages.push(Message::User { content: self.step.prompt.clone(), images });
        match config.mode {
            Mode::Text | Mode::Combined => self.text().await,
            Mode::Lisp | Mode::LispTool => self.lisp().await,
        }
    }

    async fn finish(mut self, result: Result<Json, Fail>) -> Result<Step, Box<Step>> {
        self.take_children();
        let kept = self.shared.kept.clone();
        if self.shared.config.mode != Mode::Text {
            self.step.memory = kept.definitions().await;
        }
        if self.shared.config.journaling {
            self.step.journal = kept.journal().await;
        }
        let mut step = self.step;
        step.usage.retained_bytes = kept.cache.retained_bytes();
        step.state = Some(ChatState(kept));
        step.usage.duration = time::since(self.shared.started);
        if self.options.collect_messages {
            step.messages.insert(0, Message::System { content: self.system });
        } else {
            step.messages = Vec::new();
        }
        let keeps_turns = match self.options.trace {
            TraceMode::On => true,
            TraceMode::Off => false,
            TraceMode::OnError => result.is_err(),
        };
        if !keeps_turns {
            step.turns = Vec::new();
        }
        let (status, reason) = match &result {
            Ok(_) => ("ok", None),
            Err(fail) => ("error", Some(fail.reason.as_str())),
        };
        self.shared.emitter.run(&Event::RunStop { status, reason, duration: step.usage.duration });
        match result {
            Ok(value) => {
                step.value = Some(value);
                Ok(step)
            }
            Err(fail) => {
                step.fail = Some(fail);
                Err(Box::new(step))
            }
        }
    }

    /// Takes over the steps of nested runs that have ended, and their usage.
    fn take_children(&mut self) {
        let children = &self.shared.children;
        let ended = std::mem::take(&mut *children.lock());
        for child in ended {
            let usage = &mut self.step.usage;
            usage.llm_requests = usage.llm_requests.saturating_add(child.usage.llm_requests);
            usage.tokens += child.usage.tokens;
            usage.tokens_reported &= child.usage.tokens_reported;
            self.step.child_steps.push(child);
        }
    }

    /// The error of the last turn, for the failure of a run that ends with it; empty if there was none.
    fn last_words(&self) -> String {
        let Some(turn) = self.step.turns.last() else { return String::new() };
        let Some(error) = &turn.error else { return String::new() };
        let what = if turn.program.is_some() { "program" } else { "turn" };
        let reason = turn.reason.filter(|reason| !error.starts_with(reason));
        let reason = reason.map(|reason| format!("{reason}: ")).unwrap_or_default();
        format!(". The last {what} failed: {reason}{}", with_dots(error, MAX_LAST_WORDS))
    }

    fn user(&mut self, content: String) {
        if self.step.usage.llm_requests > 0 {
            self.watch(|| RunEvent::Feedback { tool_call_id: None, content: content.clone() });
        }
        self.step.messages.push(Message::user(content));
    }

    /// Sends an event to the run's listener.
    fn watch(&self, event: impl FnOnce() -> RunEvent) {
        self.shared.watch(event);
    }

    fn assistant(&mut self, content: &str) {
        self.said(content.to_owned(), Vec::new());
    }

    /// Appends the message of the last response.
    fn said(&mut self, content: String, tool_calls: Vec<ToolCallMsg>) {
        let (images, provider_state) = std::mem::take(&mut self.rest);
        self.step.messages.push(Message::Assistant { content, tool_calls, images, provider_state });
    }

    /// Passes the answer to the host's callback, whose failure is its own.
    fn tell(&self, text: &str) {
        if let Some(sink) = &self.options.on_chunk
            && std::panic::catch_unwind(AssertUnwindSafe(|| sink(text))).is_err()
        {
            tracing::warn!(target: "ptc_runner.sub_agent", "on_chunk panicked and was ignored");
        }
    }

    /// Appends the assistant's message with all its calls. Each call gets an id that the conversation does not have yet:
    /// providers refuse a history in which one is missing or repeated.
    fn called(&mut self, content: String, calls: &mut [ToolCall]) {
        for call in calls.iter_mut() {
            self.calls = self.calls.saturating_add(1);
            let fresh = call.id.take().filter(|id| !id.is_empty() && !self.used_ids.contains(id));
            let id = fresh.unwrap_or_else(|| self.fresh_id());
            self.used_ids.insert(id.clone());
            call.id = Some(id);
        }
        let tool_calls = calls
            .iter()
            .map(|call| ToolCallMsg {
                id: call.id.clone().unwrap_or_default(),
                name: call.name.clone(),
                arguments: call.arguments_text(),
            })
            .collect();
        self.said(content, tool_calls);
    }

    /// `tc_N` for the Nth call of the run; a conversation that has that id already gets another.
    fn fresh_id(&self) -> String {
        let id = format!("tc_{}", self.calls);
        let others = (2_u32..).map(|number| format!("{id}_{number}"));
        let mut free = std::iter::once(id.clone()).chain(others).filter(|id| !self.used_ids.contains(id));
        free.next().unwrap_or_default()
    }

    /// Appends the tool message of a call and its record.
    fn answered(&mut self, call: ToolCall, answer: tools::ToolAnswer) {
        let content = answer.body.to_string();
        let record = ToolCallRecord {
            name: call.name,
            args: Json::Object(call.args),
            result: content.clone(),
            error: !answer.ok,
            timestamp: answer.began,
            duration: answer.took,
        };
        self.turn.tool_calls.push(record.clone());
        self.step.tool_calls.push(record);
        let tool_call_id = call.id.unwrap_or_default();
        self.watch(|| RunEvent::Feedback {
            tool_call_id: Some(tool_call_id.clone()),
            content: content.clone(),
        });
        self.step.messages.push(Message::Tool { tool_call_id, content, images: answer.images });
    }
}
