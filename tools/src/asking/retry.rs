//! A client calls again, with the state of a program and with answers (waiting.md 4.2 and 5).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::engine::{EvalRequest, Resume, ResumeFault};
use ptc_host::questions::{AnsweredBy, Channel, PendingQuestion};
use ptc_host::state::{Commit, Key, Kind, StateError, Write};
use tracing::info;

use super::once::{Once, Passed};
use super::{Asks, Caller, Shaped};
use crate::evaluator::Evaluator;
use ptc_protocol::principal::Principal;
use ptc_protocol::request_state::{Carried, Content, Opened, Refusal};
use ptc_protocol::tool::{PageVisits, Retry, ToolReply};
use ptc_runs::{ProgramEnd, SentAnswers, by_page, take_answers};

impl Asks {
    /// Resumes the program of a state, or asks for the missing answers.
    pub(super) async fn go_on(
        &self,
        evaluator: Arc<dyn Evaluator>,
        mut request: EvalRequest,
        caller: Caller,
        retry: &Retry,
        shaped: Shaped,
    ) -> ProgramEnd {
        let Opened { content, until, left } = &retry.state;
        let mut questions = content.questions.clone();
        let visited = retry.visited.clone().unwrap_or_default();
        let responses = retry.responses.as_deref();
        take_responses(&mut questions, responses, &visited, &caller.principal, self.0.clock.now());
        // A client that no longer shows any questions cannot be asked again.
        if questions.iter().any(PendingQuestion::is_open) && caller.context.asked.modes.is_any() {
            let content = Content { questions, ..content.clone() };
            return ProgramEnd::Replied(match self.required(&caller, content, *until).await {
                Some(reply) => ToolReply { eval_id: Some(request.id), ..reply },
                None => unavailable(),
            });
        }
        let snapshot = match &content.carried {
            Carried::Snapshot(snapshot) => snapshot.clone(),
            Carried::Blob(id) => match self.blob(&caller, id).await {
                Ok(Some(snapshot)) => snapshot,
                // A snapshot that was resumed is deleted.
                Ok(None) => return ProgramEnd::Replied(self.again(&caller, retry).await),
                Err(_) => return ProgramEnd::Replied(unavailable()),
            },
            // Runs are no longer stored here.
            Carried::Kept(_) => return ProgramEnd::Replied(refused(&caller, Refusal::Expired)),
        };
        let once = Arc::new(Once::new(self.0.store.clone(), caller.owner(), content.jti, *left));
        let answers = questions.into_iter().filter_map(|asked| Some((asked.id, asked.answer?))).collect();
        let resume = Resume { snapshot, answers, gate: Some(once.clone()) };
        request.resume = Some(Arc::new(resume));
        request.asker = self.asker(&caller, content.round + 1);
        let again = EvalRequest { resume: None, ..request.clone() };
        let outcome = evaluator.eval(request).await;
        match once.passed() {
            Some(Passed::Spent) => return ProgramEnd::Replied(self.again(&caller, retry).await),
            Some(Passed::Unavailable) => return ProgramEnd::Replied(unavailable()),
            Some(Passed::First) => {}
            None => match &outcome.resume_fault {
                Some(ResumeFault::OtherBuild) => {
                    return ProgramEnd::Replied(refused(&caller, Refusal::Build));
                }
                Some(ResumeFault::Invalid(part)) => {
                    return ProgramEnd::Replied(refused(&caller, Refusal::Snapshot(part)));
                }
                // The program could not be read for lack of memory or time; the client can try again.
                None => return ProgramEnd::Replied(shaped(outcome)),
            },
        }
        let ran = match outcome.suspended {
            Some(suspended) => {
                self.leave(evaluator, again, &caller, content.round + 1, *suspended, shaped).await
            }
            None => ProgramEnd::Replied(shaped(outcome)),
        };
        if let ProgramEnd::Replied(reply) = &ran {
            self.keep_outcome(&caller, &content.jti, &retry.digest, *left, reply).await;
        }
        if let Carried::Blob(id) = &content.carried {
            self.forget_blob(&caller, id).await;
        }
        ran
    }

    /// The reply to a state that was used before.
    async fn again(&self, caller: &Caller, retry: &Retry) -> ToolReply {
        match self.outcome_of_first(caller, &retry.state.content.jti, &retry.digest).await {
            Ok(Some(reply)) => reply,
            Ok(None) => refused(caller, Refusal::Spent),
            Err(_) => unavailable(),
        }
    }

    async fn blob(&self, caller: &Caller, id: &str) -> Result<Option<Bytes>, StateError> {
        let Ok(key) = Key::new(&caller.owner(), Kind::Blob, id) else { return Ok(None) };
        match self.0.store.read(&key).await {
            Ok(kept) => Ok(kept.and_then(|kept| kept.blob)),
            Err(StateError::Unavailable(why)) => Err(StateError::Unavailable(why)),
            Err(_) => Ok(None),
        }
    }

    async fn forget_blob(&self, caller: &Caller, id: &str) {
        if let Ok(key) = Key::new(&caller.owner(), Kind::Blob, id) {
            // It expires by itself as well.
            let _ = self.0.store.commit(Commit::one(Write::remove(key))).await;
        }
    }

    /// The time until then.
    pub(super) fn left(&self, until: u64) -> Duration {
        Duration::from_millis(until.saturating_sub(self.0.clock.now()))
    }
}

/// Takes the answers of a client, and the results of pages. Answers to unknown or answered questions are ignored.
pub(super) fn take_responses(
    questions: &mut [PendingQuestion],
    responses: Option<&str>,
    visited: &PageVisits,
    principal: &Principal,
    at_ms: u64,
) {
    let by = AnsweredBy { channel: Channel::Client, name: Some(principal.shared_name()) };
    let (answers, undone) = (responses.unwrap_or("{}"), visited.undone.clone());
    take_answers(questions, u32::MAX, &SentAnswers { answers, by, at_ms, undone, counts: true });
    for asked in questions.iter_mut().filter(|asked| visited.done.contains(&asked.id)) {
        asked.take_done(by_page(principal), at_ms);
    }
}

fn refused(caller: &Caller, refusal: Refusal) -> ToolReply {
    info!(event = "request_state_refused", tool = caller.tool, reason = refusal.reason());
    ToolReply::refused(refusal.error())
}

fn unavailable() -> ToolReply {
    ToolReply::failure(
        "state_unavailable",
        "the state store is unavailable; the program did not go on",
        "Nothing was changed. Wait a moment and retry the same tools/call with the same requestState and inputResponses.",
    )
}
