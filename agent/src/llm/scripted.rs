//! A model that answers from a list and records its requests.

use super::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use futures_util::future::BoxFuture;
use ptc_base::sync::Mutex;
use std::collections::VecDeque;
use std::sync::MutexGuard;

/// Answers requests one after the other from a list, for tests without a network.
#[derive(Debug, Default)]
pub struct ScriptedLlm {
    state: Mutex<Script>,
}

#[derive(Debug, Default)]
struct Script {
    answers: VecDeque<Result<LlmResponse, LlmError>>,
    requests: Vec<LlmRequest>,
}

impl ScriptedLlm {
    /// A model that returns these responses in order; further requests fail.
    pub fn new(responses: impl IntoIterator<Item = LlmResponse>) -> ScriptedLlm {
        ScriptedLlm::with_results(responses.into_iter().map(Ok))
    }

    /// A model that returns these responses and failures in order.
    pub fn with_results(results: impl IntoIterator<Item = Result<LlmResponse, LlmError>>) -> ScriptedLlm {
        let state = Script { answers: results.into_iter().collect(), requests: Vec::new() };
        ScriptedLlm { state: Mutex::new(state) }
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<LlmRequest> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, Script> {
        self.state.lock()
    }
}

impl Llm for ScriptedLlm {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        let mut state = self.state();
        state.requests.push(request);
        let answer = state.answers.pop_front().unwrap_or_else(|| {
            let text = format!("the script has no answer to request {}", state.requests.len());
            Err(LlmError::new(LlmErrorKind::InvalidRequest, text))
        });
        Box::pin(std::future::ready(answer))
    }

    fn sees_images(&self) -> bool {
        true
    }
}
