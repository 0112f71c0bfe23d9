//! PTC-Lisp in the model's text: one program a turn, its result as the next user message (agent.md 9).

use super::lisp::{Ended, Problem, announce, next};
use super::program::quoted;
use super::{Fail, Run, extract};
use serde_json::Value as Json;

impl Run {
    pub(super) async fn content(&mut self) -> Result<Json, Fail> {
        let shared = self.shared.clone();
        let config = &shared.config;
        let (mut done, mut problem) = (0, None);
        while let Some(turn) = next(config, done, problem.as_ref()) {
            let (open, response) = match self.ask(turn.number, turn.retry.is_some(), None).await {
                Ok(asked) => asked,
                Err(fail) => return self.instead(fail),
            };
            done = turn.number;
            let text = response.content.unwrap_or_default();
            let (ended, feedback) = self.program_in(&text, turn.tools).await;
            let extra = self.options.feedback.as_ref().and_then(|feedback| feedback(&self.turn));
            self.end_turn(&open);
            match ended {
                Ended::Answer(value) => {
                    let told = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    self.tell(&told);
                    return Ok(value);
                }
                Ended::Fail(fail) => return Err(fail),
                Ended::On(found) => {
                    if let Some(coming) = next(config, done, Some(&found)) {
                        let parts = [Some(feedback), extra, Some(announce(config, coming))];
                        let parts: Vec<String> =
                            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
                        self.user(parts.join("\n\n"));
                    }
                    problem = Some(found);
                }
            }
        }
        self.exhausted(problem)
    }

    /// Runs the program in a text. What the model reads of it comes second.
    async fn program_in(&mut self, text: &str, tools: bool) -> (Ended, String) {
        // Providers refuse an empty message in a history.
        self.assistant(if text.is_empty() { "(no answer)" } else { text });
        let source = match extract::program(text) {
            Ok(source) => source,
            Err(error) => {
                self.turn.error = Some(error.clone());
                return (Ended::On(Problem::NoProgram), error);
            }
        };
        let ran = self.evaluate(&source, tools, true).await;
        let ended = self.judge(&ran);
        let feedback = match &ended {
            Ended::On(Problem::InvalidReturn(fail)) => {
                let shown = quoted(&[("error", &fail.message), ("result", &ran.shown().unwrap_or_default())]);
                format!("{shown}\n\nThe returned value is not the answer that is wanted.{}", self.wanted())
            }
            _ => ran.report(),
        };
        (ended, feedback)
    }
}
