//! One request to the model: what must hold before it, and what is noted of it.

use super::{Fail, OnBudgetExceeded, Run, Turn};
use crate::llm::{LlmError, LlmErrorKind, LlmRequest, LlmResponse, text_sink};
use crate::telemetry::{Event, OpenSpan};
use futures_util::FutureExt;
use serde_json::Value as Json;
use std::panic::AssertUnwindSafe;

/// A turn that has begun.
pub(super) struct OpenTurn {
    span: OpenSpan,
    kind: &'static str,
    tokens: (u64, u64),
}

impl Run {
    /// Begins turn `number` and asks the model.
    ///
    /// # Errors
    /// The run may not go on, or the model gave no answer.
    pub(super) async fn ask(
        &mut self,
        number: u32,
        retry: bool,
        schema: Option<Json>,
    ) -> Result<(OpenTurn, LlmResponse), Fail> {
        if number > 1 {
            self.check_budget()?;
        }
        if !self.shared.take_turn() {
            return Err(Fail::new("turn_budget_exhausted", "Turn budget exhausted"));
        }
        let overdue = || Fail::new("mission_timeout", "Mission timeout exceeded");
        if self.shared.left().is_zero() {
            return Err(overdue());
        }
        self.compact();
        let kind = if retry { "retry" } else { "work" };
        self.turn = Turn { number, retry, ..Turn::default() };
        let shared = self.shared.clone();
        let emitter = &shared.emitter;
        let span = emitter.begin_turn(number, &Event::TurnStart { kind, tools_count: self.tools.len() });
        if let Some(schema) = &schema {
            self.step.usage.schema_used = true;
            self.step.usage.schema_bytes = schema.to_string().len();
        }
        let request = LlmRequest {
            system: self.system.clone(),
            messages: self.step.messages.clone(),
            tools: self.tools.clone(),
            schema,
            turn: number,
            cache: self.options.cache,
            max_tokens: self.options.max_tokens,
            temperature: self.options.temperature,
            deadline: shared.deadline,
            ..LlmRequest::default()
        };
        self.step.usage.llm_requests += 1;
        let model = shared.llm.model().unwrap_or_default();
        let asking = emitter.begin(&Event::LlmStart { model, messages: request.messages.len() });
        // Text that nothing is left to check of may be shown as it comes.
        let plain = shared.config.streams_text();
        let sink = match (&self.options.on_event, &self.options.on_chunk) {
            (Some(sink), _) => Some(sink.clone()),
            (None, Some(sink)) if plain => Some(text_sink(sink.clone())),
            _ => None,
        };
        let answer = match sink {
            Some(sink) => shared.asked.stream(request, sink),
            None => shared.asked.complete(request),
        };
        let asked = AssertUnwindSafe(answer).catch_unwind();
        let response = match tokio::time::timeout(shared.left(), asked).await {
            Err(_) => Err(overdue()),
            Ok(Err(_)) => Err(LlmError::new(LlmErrorKind::Malformed, "the client panicked").into()),
            Ok(Ok(response)) => response.map_err(Fail::from),
        };
        let duration = asking.elapsed();
        let response = match response {
            Ok(response) => response,
            Err(fail) => {
                let message = fail.message.as_str();
                emitter.end(&asking, &Event::LlmException { model, message, duration });
                let turn = OpenTurn { span, kind, tokens: (0, 0) };
                self.end_turn(&turn);
                return Err(fail);
            }
        };
        self.step.usage.tokens_reported &= response.usage.is_some();
        let usage = response.usage.unwrap_or_default();
        self.step.usage.tokens += usage;
        self.step.usage.turns = number;
        let calls = !response.tool_calls.is_empty();
        let shown = if calls { "tool_calls" } else { response.content.as_deref().unwrap_or_default() };
        let (input_tokens, output_tokens) = (usage.input, usage.output);
        emitter
            .end(&asking, &Event::LlmStop { model, response: shown, input_tokens, output_tokens, duration });
        self.turn.raw_response = response.content.clone().unwrap_or_default();
        Ok((OpenTurn { span, kind, tokens: (usage.input, usage.output) }, response))
    }

    /// Ends the turn: tells of it and keeps its record.
    pub(super) fn end_turn(&mut self, open: &OpenTurn) {
        let mut turn = std::mem::take(&mut self.turn);
        turn.duration = open.span.elapsed();
        let preview = turn.result.as_deref().map(crate::telemetry::summary);
        let raw_response = turn.program.is_none().then_some(turn.raw_response.as_str());
        self.shared.emitter.end_turn(
            &open.span,
            &Event::TurnStop {
                kind: open.kind,
                duration: turn.duration,
                input_tokens: open.tokens.0,
                output_tokens: open.tokens.1,
                program: turn.program.as_deref(),
                result_preview: preview,
                prints: &turn.prints,
                raw_response,
            },
        );
        self.step.turns.push(turn);
    }

    fn check_budget(&self) -> Result<(), Fail> {
        if let Some(budget) = &self.options.budget {
            budget(&self.step)?;
        }
        let tokens = self.step.usage.tokens;
        let used = tokens.input.saturating_add(tokens.output);
        match self.options.token_limit.filter(|limit| used > *limit) {
            Some(limit) => Err(Fail::new("budget_exceeded", format!("{used} tokens used, {limit} allowed"))),
            None => Ok(()),
        }
    }

    /// The last successful value where a run that used up its tokens shall answer with it.
    pub(super) fn instead(&mut self, fail: Fail) -> Result<Json, Fail> {
        let wanted =
            fail.reason == "budget_exceeded" && self.options.on_budget_exceeded == OnBudgetExceeded::Return;
        match self.last_value.take().filter(|_| wanted) {
            Some(value) => {
                self.step.usage.fallback_used = true;
                Ok(value)
            }
            None => Err(fail),
        }
    }

    /// Shortens a conversation that has become too long.
    fn compact(&mut self) {
        let Some(compaction) = &self.shared.config.compaction else { return };
        let Some(done) = crate::compaction::compact(compaction, &mut self.step.messages) else { return };
        self.step.usage.compactions += 1;
        self.shared.emitter.note(&Event::CompactionTriggered {
            messages: done.messages,
            tokens: done.tokens,
            strategy: "trim",
            reason: done.reason,
        });
    }
}

impl From<LlmError> for Fail {
    fn from(error: LlmError) -> Fail {
        Fail::new("llm_error", format!("LLM call failed: {error}"))
    }
}
