//! The loop of both PTC-Lisp transports: the next turn, and the effect of a program's end (agent.md 9, 10).

use super::feedback::over_memory;
use super::program::ProgramOutcome;
use super::{AgentRun, Fail, FailReason};
use crate::llm::LlmResponse;
use crate::settings::{CompletionMode, Config, MemoryStrategy, Mode};
use crate::signature::Type;
use ptc_base::json::Value as Json;

/// Why the last turn did not end the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// A returned value that the signature does not allow.
    InvalidReturn(Fail),
    /// A program's value that was not returned.
    NotReturned,
    /// The program failed.
    Failed(Fail),
    /// There was no program.
    NoProgram,
}

/// Which turn comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NextTurn {
    pub(super) number: u32,
    /// The number of the retry, from 1.
    pub(super) retry: Option<u32>,
    /// Whether programs may call tools. The last of several work turns and retries are for the answer only.
    pub(super) tools: bool,
}

/// The turn after `done` turns of which the last ended with `problem`; `None` when they are used up.
pub(super) fn next(config: &Config, done: u32, problem: Option<&Problem>) -> Option<NextTurn> {
    let number = done + 1;
    let explicit = config.completion == CompletionMode::Explicit;
    if number <= config.max_turns {
        let answer_only = number == config.max_turns && config.max_turns > 1 && !explicit;
        return Some(NextTurn { number, retry: None, tools: !answer_only });
    }
    let repairs = match problem? {
        Problem::InvalidReturn(_) => true,
        _ => explicit,
    };
    let retry = number - config.max_turns;
    (repairs && retry <= config.retry_turns).then_some(NextTurn {
        number,
        retry: Some(retry),
        tools: explicit,
    })
}

/// The announcement of the next turn to the model.
pub(super) fn announce(config: &Config, next: NextTurn) -> String {
    let end = "End with (return value) or (fail reason)";
    match next.retry {
        Some(retry) => format!("Retry {retry} of {}: mend this. {end}.", config.retry_turns),
        None if next.number < config.max_turns => format!("Turn {} of {}.", next.number, config.max_turns),
        None if next.tools => format!("Turn {0} of {0}, the last one. {end}.", config.max_turns),
        None => format!(
            "Turn {0} of {0}, the last one: tools cannot be called any more. {end}.",
            config.max_turns
        ),
    }
}

/// How a program ended.
pub(super) enum ProgramVerdict {
    /// The run has its answer.
    Answer(Json),
    /// The run has failed.
    Fail(Fail),
    /// The run continues.
    On(Problem),
}

impl AgentRun {
    /// Asks turn by turn until a program ends the run or the turns are used up. The transports differ only in how they treat a
    /// response.
    pub(super) async fn lisp(&mut self) -> Result<Json, Fail> {
        let shared = self.shared.clone();
        let config = &shared.config;
        let (mut done, mut problem) = (0, None);
        while let Some(turn) = next(config, done, problem.as_ref()) {
            let (open, response) = match self.ask(turn.number, turn.retry.is_some(), None).await {
                Ok(asked) => asked,
                Err(fail) => return self.instead(fail),
            };
            done = turn.number;
            let ended = self.respond(response, turn).await;
            self.end_turn(&open);
            match ended {
                ProgramVerdict::Answer(value) => {
                    let told = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    self.tell(&told);
                    return Ok(value);
                }
                ProgramVerdict::Fail(fail) => return Err(fail),
                ProgramVerdict::On(found) => problem = Some(found),
            }
        }
        self.exhausted(problem)
    }

    async fn respond(&mut self, response: LlmResponse, turn: NextTurn) -> ProgramVerdict {
        let shared = self.shared.clone();
        let more = move |problem: &Problem| {
            next(&shared.config, turn.number, Some(problem)).map(|next| announce(&shared.config, next))
        };
        match self.shared.config.mode {
            Mode::LispTool => self.tool_call(response, turn.tools, more).await,
            _ => self.content(response, turn.tools, more).await,
        }
    }

    /// The host's additions to the turn's feedback, the plan's progress, and the next turn.
    pub(super) fn note(&mut self, coming: Option<String>) -> Vec<String> {
        let extra = self.options.feedback.as_ref().and_then(|feedback| feedback(&self.turn));
        let progress = std::mem::take(&mut self.progress);
        extra.into_iter().chain([progress]).chain(coming).filter(|part| !part.is_empty()).collect()
    }

    /// The effect of a program's end on the run.
    #[expect(clippy::disallowed_methods, reason = "entry point: AgentRun.judge")]
    pub(super) fn judge(&mut self, ran: &ProgramOutcome) -> ProgramVerdict {
        let shared = self.shared.clone();
        let config = &shared.config;
        if let Some((actual, limit)) = ran.over_memory
            && config.memory_strategy == MemoryStrategy::Strict
        {
            return ProgramVerdict::Fail(Fail::new(
                FailReason::MemoryLimitExceeded,
                over_memory(actual, limit),
            ));
        }
        let answer = match &ran.result {
            Ok(answer) => answer,
            Err(failure) => {
                let fail = Fail::new(failure.reason, ProgramOutcome::message(failure));
                // Giving up is a decision, not a mistake to repair.
                let given_up = failure.payload.is_some();
                return if given_up {
                    ProgramVerdict::Fail(fail)
                } else {
                    ProgramVerdict::On(Problem::Failed(fail))
                };
            }
        };
        let value = match &answer.json {
            Some(Ok(text)) => ptc_base::json::from_str::<Json>(text).map_err(|error| error.to_string()),
            Some(Err(error)) => Err(error.clone()),
            None => Ok(Json::Null),
        };
        let checked = value.and_then(|value| match &config.signature {
            Some(signature) => {
                let value = match &signature.returns {
                    Type::Schema(schema) => schema.bend(value),
                    _ => value,
                };
                signature.returns.check(&value).map(|()| value).map_err(|found| found.to_string())
            }
            None => Ok(value),
        });
        let checked = checked.and_then(|value| config.accepts(&value).map(|()| value));
        match checked {
            Ok(value) if ran.returned || config.single_shot() => ProgramVerdict::Answer(value),
            Ok(value) => {
                self.last_value = Some(value);
                ProgramVerdict::On(Problem::NotReturned)
            }
            Err(_) if !ran.returned && !config.single_shot() => ProgramVerdict::On(Problem::NotReturned),
            Err(text) => {
                let fail =
                    Fail::new(FailReason::ValidationError, format!("Return validation failed: {text}"));
                self.turn.error = Some(fail.message.clone());
                ProgramVerdict::On(Problem::InvalidReturn(fail))
            }
        }
    }

    /// How a run ends whose turns are used up: with the last successful value, if it may stand in for an answer.
    pub(super) fn exhausted(&mut self, problem: Option<Problem>) -> Result<Json, Fail> {
        let shared = self.shared.clone();
        let config = &shared.config;
        let explicit = config.completion == CompletionMode::Explicit;
        match problem {
            Some(Problem::NotReturned) if explicit => {
                let text = "Final turn must call (return value) or (fail reason)";
                return Err(Fail::new(FailReason::MustReturnMissing, text));
            }
            Some(Problem::InvalidReturn(fail)) => return Err(fail),
            Some(Problem::Failed(fail)) if config.single_shot() => return Err(fail),
            _ => {}
        }
        if let Some(value) = self.last_value.take() {
            self.step.usage.fallback_used = true;
            return Ok(value);
        }
        if self.step.usage.turns > config.max_turns {
            let (work, retries, why) = (config.max_turns, config.retry_turns, self.last_words());
            let text = format!("Work and retry turns used up ({work} and {retries}){why}");
            return Err(Fail::new(FailReason::BudgetExhausted, text));
        }
        Err(self.out_of_turns())
    }

    /// The type that is wanted, for a model that missed it.
    pub(super) fn wanted(&self) -> String {
        let signature = self.shared.config.signature.as_ref();
        signature.map(|signature| format!(" Expected {}.", signature.returns)).unwrap_or_default()
    }
}
