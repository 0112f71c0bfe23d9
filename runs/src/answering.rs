//! Takes answers to the questions of waiting runs, from any channel (waiting.md 3.5).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::codec;
use ptc_host::questions::{AnsweredBy, NOT_SIGNED_IN, PendingQuestion, QuestionId, Receipt};
use ptc_host::state::StateError;
use ptc_host::time::timeout;
use ptc_mcp::json::Raw;
use serde::{Deserialize, Serialize};

use super::look::changed_here;
use super::record::{RunRecord, Status};
use super::{BEAT, RunError, Runs, key};
use ptc_protocol::answers;
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;

/// How many times an answer is retried after a write conflict.
const TRIES: u32 = 20;

/// The version of the format of messages. Messages of other builds are ignored.
const VERSION: u8 = 1;

/// A message in the inbox of a run whose lease another replica holds.
#[derive(Serialize, Deserialize)]
pub(super) enum RunMessage<'m> {
    /// The run is to be cancelled.
    Cancel,
    /// Answers to its questions.
    #[serde(borrow)]
    Answers(SentAnswers<'m>),
}

/// Answers being delivered.
#[derive(Clone, Serialize, Deserialize)]
pub struct SentAnswers<'a> {
    /// The text of a JSON object.
    pub answers: &'a str,
    /// Who answers.
    pub by: AnsweredBy,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Questions for which only a page was opened.
    pub undone: Vec<QuestionId>,
    /// True if an opened page counts as an answer that does not fit.
    pub counts: bool,
}

impl Runs {
    /// Takes answers for a run of `owner`. `answers` is the text of a JSON object whose members map a question's id
    /// to an `ElicitResult`. Returns the result for each answer. The last answer resumes the program in a task of its
    /// own.
    ///
    /// # Errors
    /// The run does not exist, or the store is unavailable. Nothing was taken in that case.
    pub async fn answer(
        self: &Arc<Self>,
        owner: &Principal,
        id: &str,
        answers: &str,
        by: AnsweredBy,
    ) -> Result<Vec<(QuestionId, Receipt)>, RunError> {
        self.answer_opened(owner, id, answers, by, Some(Duration::ZERO)).await
    }

    /// Like [`answer`](Self::answer), for a run whose record may not exist yet: it is waited for.
    pub async fn answer_once_kept(
        self: &Arc<Self>,
        owner: &Principal,
        id: &str,
        answers: &str,
        by: AnsweredBy,
    ) -> Result<(), RunError> {
        let key = key(owner, id)?;
        let mut changes = self.changes();
        while self.answer(owner, id, answers, by.clone()).await.is_err() {
            let _ = timeout(BEAT, changed_here(&mut changes, &key)).await;
        }
        Ok(())
    }

    /// Like [`answer`](Self::answer). An answer that reports only an opened page waits that long for the page, and does not fit
    /// after that. With `None` its user has just been sent there: the question stays open as it is.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub async fn answer_opened(
        self: &Arc<Self>,
        owner: &Principal,
        id: &str,
        answers: &str,
        by: AnsweredBy,
        page: Option<Duration>,
    ) -> Result<Vec<(QuestionId, Receipt)>, RunError> {
        let key = key(owner, id)?;
        self.knows(owner);
        let (patience, counts) = (page.unwrap_or_default(), page.is_some());
        let undone = self.undone(owner, id, answers, patience).await?;
        let at_ms = u64::try_from(timestamp::shared_now_ms()).unwrap_or(0);
        let sent = SentAnswers { answers, by, at_ms, undone, counts };
        for _ in 0..TRIES {
            if let Some(took) = self.here(owner, id).and_then(|run| run.answer(&sent)) {
                self.has_changed(&key);
                return Ok(took);
            }
            let (mut record, read) = self.look(&key).await?;
            let asked = record.asked;
            // Its own caller, who may be another by now than the one that began it.
            let is_renewed = record.renew_caller(owner);
            let Some(wait) = &mut record.wait else { return Ok(take_answers(&mut [], asked, &sent)) };
            let took = take_answers(&mut wait.questions, asked, &sent);
            // A question whose page was only opened stays as it is, unless that counts as a misfit.
            let is_left = |id: &QuestionId| !counts && sent.undone.contains(id);
            let changes = |(id, took): &(QuestionId, Receipt)| {
                matches!(took, Receipt::Counted | Receipt::Misfit(_)) && !is_left(id)
            };
            let is_changed = took.iter().any(changes);
            if !is_changed && (!is_renewed || wait.is_pinned) {
                return Ok(took);
            }
            let written = if wait.is_pinned {
                self.store.push(&key, RunMessage::Answers(sent.clone()).to_bytes(), self.longest_life()).await
            } else if !wait.questions.iter().any(PendingQuestion::is_open) {
                self.resume(&key, read.version, record).await
            } else {
                if is_changed {
                    record.updated_ms = timestamp::shared_now_ms();
                }
                self.keep_answers(&key, read.version, record).await
            };
            match written {
                Ok(()) => {
                    self.has_changed(&key);
                    return Ok(took);
                }
                // Another writer has answered in the meantime.
                Err(StateError::Conflict | StateError::Fenced) => {}
                Err(error) => return Err(RunError::of(&error)),
            }
        }
        Err(RunError::Unavailable)
    }

    /// Writes down what the token of the caller of a run says now, if that waits in the store: whoever answers for the caller resumes
    /// the run with these facts.
    ///
    /// # Errors
    /// The run does not exist, or the store is unavailable.
    pub(super) async fn renew_caller(
        &self,
        key: &ptc_host::state::Key,
        caller: &Principal,
    ) -> Result<(), RunError> {
        // Of other callers nothing changes but their names.
        if caller.authority().is_none_or(|authority| authority.caller.issuer.is_none()) {
            return Ok(());
        }
        let (mut record, read) = self.look(key).await?;
        if record.status != Status::Waiting || record.needs_holder() || !record.renew_caller(caller) {
            return Ok(());
        }
        match self.keep_answers(key, read.version, record).await {
            // Another writer has answered in the meantime.
            Ok(()) | Err(StateError::Conflict | StateError::Fenced) => Ok(()),
            Err(error) => Err(RunError::of(&error)),
        }
    }

    /// Writes answers while others are still missing.
    async fn keep_answers(
        &self,
        key: &ptc_host::state::Key,
        version: u64,
        record: RunRecord,
    ) -> Result<(), StateError> {
        use ptc_host::state::{Commit, End, Write};
        let rest = self.waiting_life(&record);
        let (_, bytes) = record.written().await;
        let write = Write::put(key.clone(), version, bytes).resting(rest).ending(End::Keep);
        self.store.commit(Commit::one(write)).await
    }
}

/// Takes answers for these questions of a run that has asked `asked` questions so far.
pub fn take_answers(
    questions: &mut [PendingQuestion],
    asked: u32,
    sent: &SentAnswers<'_>,
) -> Vec<(QuestionId, Receipt)> {
    let members = answers(sent.answers);
    let ids = members.iter().filter_map(|(name, answer)| Some((QuestionId::parse(name)?, *answer)));
    // An id that occurs twice has no answer, and is reported once.
    let mut told = HashSet::new();
    let ids = ids.filter(|(id, answer)| answer.is_some() || told.insert(*id));
    let took = ids.map(|(id, answer)| match questions.iter_mut().find(|question| question.id == id) {
        Some(question) => (id, answer.map_or(Receipt::NoAnswer, |answer| taken(question, answer, sent))),
        None => (id, not_open(id, asked)),
    });
    took.collect()
}

/// Takes an answer for a question.
fn taken(question: &mut PendingQuestion, answer: Raw<'_>, sent: &SentAnswers<'_>) -> Receipt {
    let is_undone = sent.undone.contains(&question.id);
    match is_undone {
        false => question.take(answer, &sent.by, sent.at_ms),
        true if sent.counts => question.take_opened(answer, &sent.by, sent.at_ms),
        true => Receipt::Misfit(NOT_SIGNED_IN.to_owned()),
    }
}

fn not_open(id: QuestionId, asked: u32) -> Receipt {
    if id.number() <= asked { Receipt::AlreadyAnswered } else { Receipt::NotOpen }
}

impl RunMessage<'_> {
    pub(super) fn to_bytes(&self) -> Bytes {
        codec::encode(VERSION, self, &[]).into()
    }

    /// Reads a message of another replica.
    pub(super) fn read(bytes: &[u8]) -> Option<RunMessage<'_>> {
        codec::decode_whole(VERSION, bytes)
    }
}
