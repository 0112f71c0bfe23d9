//! PTC-Lisp by `lisp_eval`, the only native tool (agent.md 10).

use super::lisp::{Problem, ProgramVerdict};
use super::shared::fault;
use super::tools::ToolAnswer;
use super::{AgentRun, Fail, answer, extract, feedback, program};
use crate::llm::{LlmResponse, StopReason, ToolCall};
use crate::tool::LISP_EVAL;
use ptc_base::json::Value as Json;
use ptc_base::time;

const REMINDER: &str = "In ptc_transport: :tool_call, call the lisp_eval tool with the program instead of returning fenced code.";

impl AgentRun {
    /// The effect of one response. `more` is the next turn, if any.
    pub(super) async fn tool_call(
        &mut self,
        response: LlmResponse,
        tools: bool,
        more: impl Fn(&Problem) -> Option<String>,
    ) -> ProgramVerdict {
        let content = response.content.unwrap_or_default();
        let cut = response.stop == StopReason::Length;
        let last = || more(&Problem::NoProgram).is_none();
        if !response.tool_calls.is_empty() {
            self.one_call(content, response.tool_calls, tools, more).await
        } else if content.trim().is_empty() {
            match self.nothing(last()) {
                Some(Err(fail)) => ProgramVerdict::Fail(fail),
                _ => ProgramVerdict::On(Problem::NoProgram),
            }
        } else if cut && !extract::has_fence(&content) {
            match self.cut_answer(&content, last()) {
                Some(Err(fail)) => ProgramVerdict::Fail(fail),
                _ => ProgramVerdict::On(Problem::NoProgram),
            }
        } else {
            self.direct(&content, last())
        }
    }

    /// Text without calls: the final answer, unless it is a program in the wrong place.
    fn direct(&mut self, text: &str, last: bool) -> ProgramVerdict {
        self.assistant(text);
        if extract::has_fence(text) {
            self.turn.error = Some(REMINDER.into());
            self.user(REMINDER.into());
            return ProgramVerdict::On(Problem::NoProgram);
        }
        match answer::answer(&self.shared.config, text) {
            Ok(value) => ProgramVerdict::Answer(value),
            Err(rejected) => {
                self.turn.error = Some(rejected.message.clone());
                if last {
                    return ProgramVerdict::Fail(Fail::new(rejected.reason, rejected.message));
                }
                self.user(rejected.feedback());
                ProgramVerdict::On(Problem::NoProgram)
            }
        }
    }

    /// The calls of one response: exactly one of `lisp_eval`, or all are refused.
    async fn one_call(
        &mut self,
        content: String,
        mut calls: Vec<ToolCall>,
        tools: bool,
        more: impl Fn(&Problem) -> Option<String>,
    ) -> ProgramVerdict {
        self.called(content, &mut calls);
        let known = calls.len() == 1 && calls[0].name == LISP_EVAL;
        if !known {
            let (reason, message) = match calls.as_slice() {
                [call] => (
                    "unknown_tool",
                    format!(
                        "Unknown native tool `\"{}\"`. Only `lisp_eval` is available natively in this transport.",
                        call.name
                    ),
                ),
                _ => ("multiple_tool_calls", "exactly one lisp_eval call per assistant turn".to_owned()),
            };
            self.turn.error = Some(message.clone());
            self.refuse_all(calls, &feedback::error(reason, &message));
            self.user(format!("Error: {message}"));
            return ProgramVerdict::On(Problem::NoProgram);
        }
        let mut ended = ProgramVerdict::On(Problem::NoProgram);
        for call in calls {
            let (began, started) = (time::time_of_day(), time::now());
            let (body, ok);
            (ended, body, ok) = self.program_of(&call, tools, &more).await;
            self.report_program(started, ok, &body);
            self.answered(
                call,
                ToolAnswer { body, ok, began, took: time::since(started), images: Vec::new() },
            );
        }
        ended
    }

    /// Runs the program of a call; returns its meaning for the run, the tool result, and whether it is a success.
    async fn program_of(
        &mut self,
        call: &ToolCall,
        tools: bool,
        more: &impl Fn(&Problem) -> Option<String>,
    ) -> (ProgramVerdict, Json, bool) {
        let source = match program::program(call) {
            Ok(source) => source,
            Err(text) => {
                self.turn.error = Some(text.clone());
                return (ProgramVerdict::On(Problem::NoProgram), feedback::error("args_error", &text), false);
            }
        };
        let ran = self.evaluate(source, tools, true).await;
        let ended = self.judge(&ran);
        let note = self.note(match &ended {
            ProgramVerdict::On(problem) => more(problem),
            _ => None,
        });
        let note = (!note.is_empty()).then(|| note.join("\n\n"));
        if let ProgramVerdict::On(Problem::InvalidReturn(fail)) = &ended {
            let message = format!("{}.{}", fail.message, self.wanted());
            let mut body = fault("runtime_error", &message);
            if let Some(note) = note {
                body["feedback"] = note.into();
            }
            return (ended, body, false);
        }
        let (body, ok) = ran.tool_result(note.as_deref());
        (ended, body, ok)
    }
}
