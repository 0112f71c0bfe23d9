//! One run of an agent: turns, tool calls, the answer (agent.md 8.3 – 8.8).

mod answer;
mod native;
mod program;
mod prompt;
mod shared;
mod step;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use shared::LISP_EVAL;
use shared::{Shared, fault};
pub use step::{Fail, RunOptions, Step, StepUsage, ToolCallRecord};

use crate::agent::{Agent, Mode};
use crate::llm::{LlmError, LlmErrorKind, LlmRequest, Message, ToolCallMsg};
use futures_util::FutureExt;
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Agent {
    /// Runs the agent until it answers or may not go on. Dropping the future cancels the model's request, the program
    /// and the tools.
    ///
    /// # Errors
    /// The step with its `fail` set.
    pub async fn run(&self, options: RunOptions) -> Result<Step, Box<Step>> {
        let mut run = Run::new(self, options);
        let result = run.turns().await;
        let mut step = run.step;
        step.usage.duration = run.shared.started.elapsed();
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
}

struct Run {
    shared: Arc<Shared>,
    options: RunOptions,
    step: Step,
    last_failure: Option<Json>,
    native_calls: u32,
    /// Calls that came without an id of their own.
    unnamed: u32,
    used_ids: HashSet<String>,
}

impl Run {
    fn new(agent: &Agent, options: RunOptions) -> Run {
        let shared = Arc::new(Shared::new(agent.0.clone(), options.engine.clone()));
        let step = Step::default();
        Run {
            shared,
            options,
            step,
            last_failure: None,
            native_calls: 0,
            unnamed: 0,
            used_ids: HashSet::new(),
        }
    }

    async fn turns(&mut self) -> Result<Json, Fail> {
        let config = self.shared.config.clone();
        if let Some(name) = config.tools.keys().find(|name| self.options.context.contains_key(*name)) {
            return Err(Fail::new("invalid_context", format!("{name} is both a tool and data - rename one")));
        }
        let system = prompt::system(&config);
        let tools = prompt::tools(&config);
        let returns = config.signature.as_ref().map(|signature| &signature.returns);
        let schema = returns
            .filter(|ty| config.mode == Mode::Text && tools.is_empty() && ty.is_structured())
            .map(|ty| ty.response_schema());
        self.step.messages = std::mem::take(&mut self.options.initial_messages);
        self.step.messages.retain(|message| !matches!(message, Message::System { .. }));
        self.user(prompt::user(&config, &self.options.context));
        for turn in 1..=config.max_turns {
            if self.shared.left().is_zero() {
                return Err(Fail::new("mission_timeout", "Mission timeout exceeded"));
            }
            self.shared.turn.store(turn, Ordering::Relaxed);
            let request = LlmRequest {
                system: system.clone(),
                messages: self.step.messages.clone(),
                tools: tools.clone(),
                schema: schema.clone(),
                turn,
                ..LlmRequest::default()
            };
            self.step.usage.llm_requests += 1;
            let asked = AssertUnwindSafe(self.options.llm.complete(request)).catch_unwind();
            let response = match tokio::time::timeout(self.shared.left(), asked).await {
                Err(_) => return Err(Fail::new("mission_timeout", "Mission timeout exceeded")),
                Ok(Err(_)) => Err(LlmError::new(LlmErrorKind::Malformed, "the client panicked")),
                Ok(Ok(response)) => response,
            };
            let response =
                response.map_err(|error| Fail::new("llm_error", format!("LLM call failed: {error}")))?;
            self.step.usage.tokens += response.usage.unwrap_or_default();
            self.step.usage.turns = turn;
            if !response.tool_calls.is_empty() {
                let content = response.content.unwrap_or_default();
                self.calls(content, response.tool_calls).await;
                continue;
            }
            let text_wanted = returns.is_none_or(crate::signature::Type::is_text);
            let Some(text) = response.content.filter(|text| text_wanted || !text.trim().is_empty()) else {
                let text = "LLM returned neither content nor tool calls";
                if turn == config.max_turns {
                    return Err(Fail::new("empty_response", text));
                }
                self.user(format!("Error: {text}. Please use tools or return a final answer."));
                continue;
            };
            self.step.messages.push(Message::Assistant { content: text.clone(), tool_calls: Vec::new() });
            match answer::answer(config.signature.as_ref(), &text) {
                Ok(value) => {
                    self.tell(&text);
                    return Ok(value);
                }
                Err(rejected) if turn == config.max_turns => {
                    return Err(Fail::new(rejected.reason, rejected.message));
                }
                Err(rejected) => self.user(rejected.feedback()),
            }
        }
        Err(Fail::new("max_turns_exceeded", format!("Exceeded max_turns limit of {}", config.max_turns)))
    }

    fn user(&mut self, content: String) {
        self.step.messages.push(Message::User { content });
    }

    /// Gives the answer to the host's callback, whose failure is its own.
    fn tell(&self, text: &str) {
        if let Some(sink) = &self.options.on_chunk
            && std::panic::catch_unwind(AssertUnwindSafe(|| sink(text))).is_err()
        {
            tracing::warn!(target: "ptc_runner.sub_agent", "on_chunk panicked and was ignored");
        }
    }

    /// Answers all calls of one response: exactly one tool message for each, in their order.
    async fn calls(&mut self, content: String, mut calls: Vec<crate::llm::ToolCall>) {
        for call in &mut calls {
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
        self.step.messages.push(Message::Assistant { content, tool_calls });
        let combined = self.shared.config.mode == Mode::Combined;
        let programs = calls.iter().filter(|call| combined && call.name == LISP_EVAL).count();
        let refusal = match (programs, calls.len()) {
            (0, _) | (1, 1) => None,
            (1, _) => Some(fault(
                "mixed_with_lisp_eval",
                "lisp_eval is exclusive in its assistant turn; no other native tool calls may accompany it",
            )),
            _ => Some(fault("multiple_tool_calls", "exactly one lisp_eval call per assistant turn")),
        };
        for call in calls {
            let started = std::time::Instant::now();
            let (result, ok) = match &refusal {
                Some(refusal) => {
                    let layer = crate::tool::Layer::Native;
                    tools::report(&self.shared, &call.name, layer, started, None, false);
                    (refusal.clone(), false)
                }
                None if programs == 1 => self.program(&call).await,
                None => self.native(&call).await,
            };
            self.step.tool_calls.push(ToolCallRecord {
                name: call.name,
                args: Json::Object(call.args),
                error: !ok,
                duration: started.elapsed(),
            });
            let tool_call_id = call.id.unwrap_or_default();
            self.step.messages.push(Message::Tool { tool_call_id, content: result.to_string() });
        }
    }

    fn fresh_id(&mut self) -> String {
        loop {
            self.unnamed += 1;
            let id = format!("tc_{}", self.unnamed);
            if !self.used_ids.contains(&id) {
                return id;
            }
        }
    }

    async fn program(&mut self, call: &crate::llm::ToolCall) -> (Json, bool) {
        let started = std::time::Instant::now();
        let run = self.shared.clone();
        let (result, ok) =
            program::lisp_eval(&run, call, &self.options.context, &mut self.last_failure).await;
        let got = tools::Got { json: bytes::Bytes::new(), hit: false, kept: false, key_hash: None };
        let layer = crate::tool::Layer::Native;
        let cut = result["truncated"] == json!(true);
        tools::report(&run, LISP_EVAL, layer, started, ok.then_some(&got), cut);
        (result, ok)
    }
}
