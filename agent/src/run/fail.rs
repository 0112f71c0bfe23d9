//! Why a run has no answer (agent.md 13).

use crate::llm::{LlmError, LlmErrorKind};
use ptc_vm::Reason;
use serde::{Serialize, Serializer};
use std::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])+ $name:ident = $word:literal,)+) => {
        /// Why a run failed.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FailReason {
            $($(#[$doc])+ $name,)+
            /// A program failed and no turn was left to repair it, or gave up with `(fail v)`: its own reason, such as
            /// `parse_error`, `timeout`, `memory_limit` or `fail`.
            Program(Reason),
            /// The host ended the run with a word of its own, by [`RunOptions::budget`](super::RunOptions::budget).
            Host(String),
        }

        impl FailReason {
            /// The word in messages, telemetry and JSON.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(FailReason::$name => $word,)+
                    FailReason::Program(reason) => reason.as_str(),
                    FailReason::Host(word) => word,
                }
            }
        }

        /// The reason that has this word, or the host's own. Programs' reasons are not looked for.
        impl From<String> for FailReason {
            fn from(word: String) -> FailReason {
                match word.as_str() {
                    $($word => FailReason::$name,)+
                    _ => FailReason::Host(word),
                }
            }
        }
    };
}

reasons! {
    /// There is no model.
    LlmRequired = "llm_required",
    /// The name of a model does not resolve.
    LlmNotFound = "llm_not_found",
    /// The model gave no answer; [`Fail::llm`] says more.
    LlmError = "llm_error",
    /// The turns are used up.
    MaxTurnsExceeded = "max_turns_exceeded",
    /// The turns that a run shares with the agents that it calls are used up.
    TurnBudgetExhausted = "turn_budget_exhausted",
    /// Work and retry turns are used up.
    BudgetExhausted = "budget_exhausted",
    /// The tokens are used up.
    BudgetExceeded = "budget_exceeded",
    /// An agent with explicit completion ended without `(return v)`.
    MustReturnMissing = "must_return_missing",
    /// The time of the run is up.
    MissionTimeout = "mission_timeout",
    /// Agents are nested too deep.
    MaxDepthExceeded = "max_depth_exceeded",
    /// The step that this run follows has failed.
    ChainedFailure = "chained_failure",
    /// The context does not fit the signature or the prompt, or a name is both a tool and data.
    InvalidContext = "invalid_context",
    /// The answer was cut at its longest length, which the request or the provider sets.
    AnswerCut = "answer_cut",
    /// The model said nothing.
    EmptyResponse = "empty_response",
    /// The answer is no JSON.
    JsonParseError = "json_parse_error",
    /// The answer is not of its type, or a validator refused it.
    ValidationError = "validation_error",
    /// Definitions of programs take too much memory.
    MemoryLimitExceeded = "memory_limit_exceeded",
}

impl From<&str> for FailReason {
    fn from(word: &str) -> FailReason {
        word.to_owned().into()
    }
}

impl From<Reason> for FailReason {
    fn from(reason: Reason) -> FailReason {
        FailReason::Program(reason)
    }
}

impl PartialEq<str> for FailReason {
    fn eq(&self, word: &str) -> bool {
        self.as_str() == word
    }
}

impl PartialEq<&str> for FailReason {
    fn eq(&self, word: &&str) -> bool {
        self.as_str() == *word
    }
}

impl fmt::Display for FailReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FailReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Why a run has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{reason}: {message}")]
#[non_exhaustive]
pub struct Fail {
    /// The kind.
    pub reason: FailReason,
    /// The sentence.
    pub message: String,
    /// The error of the model's client, if that is the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm: Option<LlmError>,
}

impl Fail {
    /// A failure; for functions that end runs.
    pub fn new(reason: impl Into<FailReason>, message: impl Into<String>) -> Fail {
        Fail { reason: reason.into(), message: message.into(), llm: None }
    }

    /// The kind of the model's failure, if that is where it went wrong.
    #[must_use]
    pub fn llm_kind(&self) -> Option<LlmErrorKind> {
        self.llm.as_ref().map(|error| error.kind)
    }
}

impl From<LlmError> for Fail {
    fn from(error: LlmError) -> Fail {
        let message = format!("LLM call failed: {error}");
        Fail { llm: Some(error), ..Fail::new(FailReason::LlmError, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_words_and_back() {
        assert_eq!(FailReason::from("mission_timeout"), FailReason::MissionTimeout);
        assert_eq!(FailReason::from("enough"), FailReason::Host("enough".into()));
        assert_eq!(FailReason::from(Reason::ParseError), "parse_error");
        let fail = Fail::from(LlmError::new(LlmErrorKind::Auth, "no key"));
        assert_eq!(
            (fail.to_string(), fail.llm_kind()),
            ("llm_error: LLM call failed: no key".into(), Some(LlmErrorKind::Auth))
        );
        let json = serde_json::to_string(&fail).unwrap();
        assert_eq!(
            json,
            r#"{"reason":"llm_error","message":"LLM call failed: no key","llm":{"kind":"auth","message":"no key"}}"#
        );
    }
}
