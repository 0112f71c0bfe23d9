//! One model request: the checks before it and the record of it.

use super::{AgentRun, Fail, FailReason, OnBudgetExceeded, RunEvent, Turn};
use crate::llm::{
    EventSink, LlmError, LlmErrorKind, LlmRequest, LlmResponse, MAX_CALLS, Usage, text_sink, too_many_calls,
};
use crate::telemetry::{Event, OpenSpan};
use futures_util::FutureExt;
use ptc_base::json::Value as Json;
use ptc_base::time;
use std::panic::AssertUnwindSafe;

/// A turn that has begun.
pub(super) struct OpenTurn {
    span: OpenSpan,
    kind: &'static str,
    tokens: (u64, u64),
}

impl AgentRun {
    /// Begins turn `number` and asks the model.
    ///
    /// # Errors
    /// The run must stop, or the model gave no answer.
    pub(super) async fn ask(
        &mut self,
        number: u32,
        retry: bool,
        schema: Option<Json>,
    ) -> Result<(OpenTurn, LlmResponse), Fail> {
        self.may_ask(number)?;
        self.compact();
        let mut turn = self.begin_turn(number, retry);
        self.note_schema(schema.as_ref());
        let request = self.request(number, schema);
        match self.request_in_span(request).await {
            Ok(response) => {
                turn.tokens = self.note_response(number, &response);
                Ok((turn, response))
            }
            Err(fail) => {
                self.end_turn(&turn);
                Err(fail)
            }
        }
    }

    /// Whether the run's budgets and its deadline allow another request. Takes it from the budget of turns.
    fn may_ask(&mut self, number: u32) -> Result<(), Fail> {
        self.take_children();
        if number > 1 {
            self.check_budget()?;
        }
        if !self.shared.take_turn() {
            return Err(Fail::new(FailReason::TurnBudgetExhausted, "Turn budget exhausted"));
        }
        if self.shared.left().is_zero() {
            return Err(overdue());
        }
        Ok(())
    }

    fn begin_turn(&mut self, number: u32, retry: bool) -> OpenTurn {
        let kind = if retry { "retry" } else { "work" };
        self.turn = Turn { number, retry, ..Turn::default() };
        self.watch(|| RunEvent::TurnStarted { turn: number, retry });
        let started = Event::TurnStart { kind, tools_count: self.tools.len() };
        OpenTurn { span: self.shared.emitter.begin_turn(number, &started), kind, tokens: (0, 0) }
    }

    fn note_schema(&mut self, schema: Option<&Json>) {
        if let Some(schema) = schema {
            self.step.usage.schema_used = true;
            self.step.usage.schema_bytes = schema.to_string().len();
        }
    }

    fn request(&self, number: u32, schema: Option<Json>) -> LlmRequest {
        LlmRequest {
            system: self.system.clone(),
            messages: self.step.messages.clone(),
            tools: self.tools.clone(),
            schema,
            turn: number,
            cache: self.options.cache,
            max_tokens: self.options.max_tokens,
            temperature: self.options.temperature,
            deadline: self.shared.deadline,
            ..LlmRequest::default()
        }
    }

    /// Sends a request, and reports its start and end to telemetry.
    async fn request_in_span(&mut self, request: LlmRequest) -> Result<LlmResponse, Fail> {
        self.step.usage.llm_requests += 1;
        let emitter = &self.shared.emitter;
        let model = self.shared.llm.model().unwrap_or_default();
        let span = emitter.begin(&Event::LlmStart { model, messages: request.messages.len() });
        let response = self.response(request).await;
        let duration = span.elapsed();
        match &response {
            Ok(response) => {
                let called = !response.tool_calls.is_empty();
                let text =
                    if called { "tool_calls" } else { response.content.as_deref().unwrap_or_default() };
                let Usage { input: input_tokens, output: output_tokens, .. } =
                    response.usage.unwrap_or_default();
                emitter.end(
                    &span,
                    &Event::LlmStop { model, response: text, input_tokens, output_tokens, duration },
                );
            }
            Err(fail) => {
                let message = fail.message.as_str();
                emitter.end(&span, &Event::LlmException { model, message, duration });
            }
        }
        response
    }

    /// The model's response within the run's deadline. A client's panic is a failure of the request.
    async fn response(&self, request: LlmRequest) -> Result<LlmResponse, Fail> {
        let asked = match self.sink() {
            Some(sink) => self.shared.asked.stream(request, sink),
            None => self.shared.asked.complete(request),
        };
        let asked = AssertUnwindSafe(asked).catch_unwind();
        match time::timeout(self.shared.left(), asked).await {
            Err(_) => Err(overdue()),
            Ok(Err(_)) => Err(LlmError::new(LlmErrorKind::Malformed, "the client panicked").into()),
            // The client knows the deadline and may give up a moment before this does; the time-out is still the run's.
            Ok(Ok(Err(error))) if error.kind == LlmErrorKind::Timeout && self.shared.left().is_zero() => {
                Err(overdue())
            }
            Ok(Ok(response)) => Ok(response.and_then(bounded)?),
        }
    }

    /// Where the response goes while it comes. Text that nothing is left to check of may be displayed at once.
    fn sink(&self) -> Option<EventSink> {
        match (&self.options.on_event, &self.options.on_chunk) {
            (Some(sink), _) => Some(sink.clone()),
            (None, Some(sink)) if self.shared.config.streams_text() => Some(text_sink(sink.clone())),
            _ => None,
        }
    }

    /// Records a response's usage and content; returns its tokens.
    fn note_response(&mut self, number: u32, response: &LlmResponse) -> (u64, u64) {
        let usage = response.usage.unwrap_or_default();
        self.step.usage.tokens_reported &= response.usage.is_some();
        self.step.usage.tokens += usage;
        self.step.usage.turns = number;
        self.turn.stop = response.stop;
        self.step.stop = Some(response.stop);
        self.turn.raw_response = response.content.clone().unwrap_or_default();
        self.step.images.extend(response.images.iter().cloned());
        self.rest = (response.images.clone(), response.provider_state.clone());
        (usage.input, usage.output)
    }

    /// Ends the turn: reports it and keeps its record.
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
            Some(limit) => {
                Err(Fail::new(FailReason::BudgetExceeded, format!("{used} tokens used, {limit} allowed")))
            }
            None => Ok(()),
        }
    }

    /// The last successful value, if a run that exhausted its tokens is to answer with it.
    pub(super) fn instead(&mut self, fail: Fail) -> Result<Json, Fail> {
        let wanted = fail.reason == FailReason::BudgetExceeded
            && self.options.on_budget_exceeded == OnBudgetExceeded::Return;
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

/// A response of no more calls than a run answers, whichever client it comes from.
fn bounded(response: LlmResponse) -> Result<LlmResponse, LlmError> {
    match response.tool_calls.len() {
        ..=MAX_CALLS => Ok(response),
        _ => Err(too_many_calls()),
    }
}

/// The failure of a run whose time is up.
fn overdue() -> Fail {
    Fail::new(FailReason::MissionTimeout, "Mission timeout exceeded")
}
