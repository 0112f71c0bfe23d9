//! Text and combined mode: chat, native tools, and optionally `lisp_eval` (agent.md 6, 8).

use super::prompt::schema;
use super::shared::fault;
use super::tools::ToolAnswer;
use super::{AgentRun, Fail, FailReason, answer, feedback, program, tools};
use crate::llm::{StopReason, ToolCall};
use crate::settings::{MemoryStrategy, Mode};
use crate::signature::Type;
use crate::tool::{LISP_EVAL, Layer};
use ptc_base::json::Value as Json;
use ptc_base::text::with_dots;
use ptc_base::time::{self, Instant};

/// Bytes of a rejected answer that the model reads again.
const MAX_DISPLAYED_ANSWER: usize = 2000;

impl AgentRun {
    pub(super) async fn text(&mut self) -> Result<Json, Fail> {
        let shared = self.shared.clone();
        let config = &shared.config;
        let returns = config.signature.as_ref().map(|signature| &signature.returns);
        let text_wanted = returns.is_none_or(Type::is_text);
        let schema = schema(config);
        for turn in 1..=config.max_turns {
            let (open, response) = self.ask(turn, false, schema.clone()).await?;
            let last = turn == config.max_turns;
            let cut = response.stop == StopReason::Length;
            // An image without a word is an answer.
            let content = response.content.or_else(|| (!response.images.is_empty()).then(String::new));
            let ended = if response.tool_calls.is_empty() {
                match content.filter(|text| text_wanted || !text.trim().is_empty()) {
                    Some(text) if cut => self.cut_answer(&text, last),
                    Some(text) => self.answer(&text, last),
                    None => self.nothing(last),
                }
            } else {
                self.calls(content.unwrap_or_default(), response.tool_calls).await
            };
            self.end_turn(&open);
            if let Some(ended) = ended {
                return ended;
            }
        }
        Err(self.out_of_turns())
    }

    /// How a run ends whose turns are used up.
    pub(super) fn out_of_turns(&self) -> Fail {
        let (max, why) = (self.shared.config.max_turns, self.last_words());
        Fail::new(FailReason::MaxTurnsExceeded, format!("Exceeded max_turns limit of {max}{why}"))
    }

    /// A text that may be the answer.
    fn answer(&mut self, text: &str, last: bool) -> Option<Result<Json, Fail>> {
        self.assistant(text);
        match answer::answer(&self.shared.config, text) {
            Ok(value) => {
                let streamed = self.options.on_event.is_none() && self.shared.config.streams_text();
                // What was streamed has been told already.
                if !streamed {
                    self.tell(text);
                }
                Some(Ok(value))
            }
            Err(rejected) => {
                self.turn.error = Some(rejected.message.clone());
                if last {
                    return Some(Err(Fail::new(rejected.reason, rejected.message)));
                }
                let mut feedback = rejected.feedback();
                // Without tools in between the answer is all that there is to look at.
                if let Some(schema) = schema(&self.shared.config) {
                    let answer = with_dots(text, MAX_DISPLAYED_ANSWER);
                    feedback = format!("{feedback}\n\nYour answer was:\n{answer}\n\nExpected:\n{schema:#}");
                }
                self.user(feedback);
                None
            }
        }
    }

    /// A text that was cut at the longest length of an answer, so that it is none. Where a value is wanted the model may
    /// say it again and shorter; a text is the person's to ask for again.
    pub(super) fn cut_answer(&mut self, text: &str, last: bool) -> Option<Result<Json, Fail>> {
        self.assistant(text);
        let limit = self.options.max_tokens.map(|max| format!(" ({max} tokens)")).unwrap_or_default();
        let message = format!("The answer was cut at its longest length{limit}");
        self.turn.error = Some(message.clone());
        let returns = self.shared.config.signature.as_ref().map(|signature| &signature.returns);
        if last || returns.is_none_or(Type::is_text) {
            return Some(Err(Fail::new(FailReason::AnswerCut, message)));
        }
        self.user(format!("Error: {message}. Please answer again with the value only, and shorter."));
        None
    }

    /// A response without text and calls.
    pub(super) fn nothing(&mut self, last: bool) -> Option<Result<Json, Fail>> {
        let text = "LLM returned neither content nor tool calls";
        self.turn.error = Some(text.into());
        if last {
            return Some(Err(Fail::new(FailReason::EmptyResponse, text)));
        }
        self.user(format!("Error: {text}. Please use tools or return a final answer."));
        None
    }

    /// Answers all calls of one response: exactly one tool message for each, in their order.
    async fn calls(&mut self, content: String, mut calls: Vec<ToolCall>) -> Option<Result<Json, Fail>> {
        self.called(content, &mut calls);
        let combined = self.shared.config.mode == Mode::Combined;
        let programs = calls.iter().filter(|call| combined && call.name == LISP_EVAL).count();
        let refusal = match (programs, calls.len()) {
            (0, _) => {
                let answers = self.natives(&calls).await;
                for (call, answer) in calls.into_iter().zip(answers) {
                    self.answered(call, answer);
                }
                return None;
            }
            (1, 1) => {
                let mut ended = None;
                for call in calls {
                    let (answer, end) = self.lisp_eval(&call).await;
                    self.answered(call, answer);
                    ended = end;
                }
                return ended.map(Err);
            }
            (1, _) => fault(
                "mixed_with_lisp_eval",
                "lisp_eval is exclusive in its assistant turn; no other native tool calls may accompany it",
            ),
            _ => fault("multiple_tool_calls", "exactly one lisp_eval call per assistant turn"),
        };
        self.refuse_all(calls, &refusal);
        None
    }

    /// Answers every call with the same refusal; nothing runs.
    pub(super) fn refuse_all(&mut self, calls: Vec<ToolCall>, refusal: &Json) {
        for call in calls {
            let started = time::now();
            tools::report(&self.shared, &call.name, Layer::Native, started, None, false);
            let answer = ToolAnswer {
                body: refusal.clone(),
                ok: false,
                began: time::time_of_day(),
                took: time::since(started),
                images: Vec::new(),
            };
            self.answered(call, answer);
        }
    }

    /// Runs the program of a call, whose value is a tool result. The failure ends the run.
    async fn lisp_eval(&mut self, call: &ToolCall) -> (ToolAnswer, Option<Fail>) {
        let (began, started) = (time::time_of_day(), time::now());
        let mut end = None;
        let (body, ok) = match program::program(call) {
            Err(text) => {
                self.turn.error = Some(text.clone());
                (feedback::error("args_error", &text), false)
            }
            Ok(source) => {
                let ran = self.evaluate(source, true, false).await;
                if let Some((actual, limit)) = ran.over_memory
                    && self.shared.config.memory_strategy == MemoryStrategy::Strict
                {
                    end = Some(Fail::new(
                        FailReason::MemoryLimitExceeded,
                        feedback::over_memory(actual, limit),
                    ));
                }
                ran.tool_result(None)
            }
        };
        self.report_program(started, ok, &body);
        (ToolAnswer { body, ok, began, took: time::since(started), images: Vec::new() }, end)
    }

    /// Reports a call of `lisp_eval` to telemetry.
    pub(super) fn report_program(&self, started: Instant, ok: bool, body: &Json) {
        let got = tools::ToolResult::new(bytes::Bytes::new());
        let cut = body["truncated"] == Json::Bool(true);
        tools::report(&self.shared, LISP_EVAL, Layer::Native, started, ok.then_some(&got), cut);
    }
}
