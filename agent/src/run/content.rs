//! PTC-Lisp in the model's text: one program a turn, its result as the next user message (agent.md 9).

use super::feedback::quoted;
use super::lisp::{Problem, ProgramVerdict};
use super::{AgentRun, extract};
use crate::llm::{LlmResponse, StopReason};

impl AgentRun {
    /// The effect of one response. `more` is the next turn, if any.
    pub(super) async fn content(
        &mut self,
        response: LlmResponse,
        tools: bool,
        more: impl Fn(&Problem) -> Option<String>,
    ) -> ProgramVerdict {
        let text = response.content.unwrap_or_default();
        let cut = response.stop == StopReason::Length;
        let (ended, feedback) = self.program_in(&text, cut, tools).await;
        if let ProgramVerdict::On(problem) = &ended
            && let Some(coming) = more(problem)
        {
            let parts: Vec<String> = std::iter::once(feedback)
                .filter(|part| !part.is_empty())
                .chain(self.note(Some(coming)))
                .collect();
            self.user(parts.join("\n\n"));
        }
        ended
    }

    /// Runs the program in a text. The second value is the feedback for the model.
    async fn program_in(&mut self, text: &str, cut: bool, tools: bool) -> (ProgramVerdict, String) {
        // Providers refuse an empty message in a history.
        self.assistant(if text.is_empty() { "(no answer)" } else { text });
        let source = match extract::program(text, cut) {
            Ok(source) => source,
            Err(error) => {
                self.turn.error = Some(error.clone());
                return (ProgramVerdict::On(Problem::NoProgram), error);
            }
        };
        let ran = self.evaluate(&source, tools, true).await;
        let ended = self.judge(&ran);
        let feedback = match &ended {
            ProgramVerdict::On(Problem::InvalidReturn(fail)) => {
                let report =
                    quoted(&[("error", &fail.message), ("result", &ran.display().unwrap_or_default())]);
                format!("{report}\n\nThe returned value is not the answer that is wanted.{}", self.wanted())
            }
            _ => ran.report(),
        };
        (ended, feedback)
    }
}
