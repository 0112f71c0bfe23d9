//! Takes answers to the questions of waiting runs, from any channel (waiting.md 3.5).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::questions::{AnsweredBy, Channel, QuestionId};
use ptc_host::state::StateError;
use ptc_mcp::json::Raw;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::answers::NOT_SIGNED_IN;
use super::look::not_seen;
use super::pages::Opened;
use super::question::{KeptQuestion, Took};
use super::record::RunRecord;
use super::{NotSeen, Runs, key};
use crate::principal::Principal;
use crate::protocol::answers;
use crate::timestamp;

/// How many times an answer is retried after a write conflict.
const TRIES: u32 = 20;

/// Answers put into the inbox of a run whose lease another replica holds.
#[derive(Serialize, Deserialize)]
struct Message {
    answers: Box<RawValue>,
    channel: String,
    name: Option<Arc<str>>,
    at_ms: u64,
    /// Numbers of questions for which only a page was opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    undone: Vec<u32>,
    /// True if those questions stay as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_left: bool,
}

/// Answers being delivered.
struct Sent<'a> {
    /// The text of a JSON object.
    answers: &'a str,
    by: &'a AnsweredBy,
    at_ms: u64,
    /// Questions for which only a page was opened.
    undone: &'a [QuestionId],
    /// True if an opened page counts as an answer that does not fit.
    counts: bool,
}

impl Runs {
    /// Takes answers for a run of `owner`. `answers` is the text of a JSON object whose members map a question's id
    /// to an `ElicitResult`. Returns the result for each answer. The last answer resumes the program in a task of its
    /// own.
    ///
    /// # Errors
    /// The run does not exist, or the store is unavailable. Nothing was taken in that case.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        owner: &Principal,
        id: &str,
        answers: &str,
        by: AnsweredBy,
    ) -> Result<Vec<(QuestionId, Took)>, NotSeen> {
        self.answer_opened(owner, id, (answers, by), Opened::Waited(Duration::ZERO)).await
    }

    /// Like [`answer`](Self::answer); `opened` says how to treat answers that report only an opened page.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub(crate) async fn answer_opened(
        self: &Arc<Self>,
        owner: &Principal,
        id: &str,
        (answers, by): (&str, AnsweredBy),
        opened: Opened,
    ) -> Result<Vec<(QuestionId, Took)>, NotSeen> {
        let key = key(owner, id)?;
        self.knows(owner);
        let (patience, counts) = match opened {
            Opened::Waited(patience) => (patience, true),
            Opened::JustNow => (Duration::ZERO, false),
        };
        let undone = self.undone(owner, id, (answers, patience)).await?;
        let at_ms = u64::try_from(timestamp::shared_now_ms()).unwrap_or(0);
        let sent = Sent { answers, by: &by, at_ms, undone: &undone, counts };
        for _ in 0..TRIES {
            if let Some(held) = self.here(owner, id)
                && let Some(took) = held.answer(|questions| take(questions, held.asked(), &sent))
            {
                self.has_changed(&key);
                return Ok(took);
            }
            let (mut record, read) = self.look(&key).await?;
            let asked = record.asked;
            let Some(wait) = &mut record.wait else { return Ok(nothing_open(answers, asked)) };
            let took = take(&mut wait.questions, asked, &sent);
            // A question whose page was only opened stays as it is, unless that counts as a misfit.
            let is_left = |id: &QuestionId| !counts && undone.contains(id);
            let changes = |(id, took): &(QuestionId, Took)| {
                matches!(took, Took::Counted | Took::Misfit(_)) && !is_left(id)
            };
            if !took.iter().any(changes) {
                return Ok(took);
            }
            let written = if wait.is_pinned {
                let message = message(&sent).ok_or(NotSeen::Unavailable)?;
                self.store.push(&key, message, self.longest_life()).await
            } else if wait.questions.iter().all(|question| question.answer.is_some()) {
                self.go_on(&key, read.version, record).await
            } else {
                record.updated_ms = timestamp::shared_now_ms();
                self.keep_answers(&key, read.version, record).await
            };
            match written {
                Ok(()) => {
                    self.has_changed(&key);
                    return Ok(took);
                }
                // Another writer has answered in the meantime.
                Err(StateError::Conflict | StateError::Fenced) => {}
                Err(error) => return Err(not_seen(&error)),
            }
        }
        Err(NotSeen::Unavailable)
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
fn take(questions: &mut [KeptQuestion], asked: u32, sent: &Sent<'_>) -> Vec<(QuestionId, Took)> {
    let members = answers(sent.answers);
    let ids = members.iter().filter_map(|(name, answer)| Some((QuestionId::parse(name)?, *answer)));
    // An id is reported once, even if it occurs twice.
    let mut ids: Vec<(QuestionId, Option<Raw<'_>>)> = ids.collect();
    let mut told = HashSet::new();
    ids.retain(|(id, _)| told.insert(*id));
    let took =
        ids.into_iter().map(|(id, answer)| match questions.iter_mut().find(|question| question.id == id) {
            Some(question) => (id, answer.map_or(Took::NoAnswer, |answer| taken(question, answer, sent))),
            None => (id, not_open(id, asked)),
        });
    took.collect()
}

/// Takes an answer for a question.
fn taken(question: &mut KeptQuestion, answer: Raw<'_>, sent: &Sent<'_>) -> Took {
    let is_undone = sent.undone.contains(&question.id);
    match is_undone {
        false => question.take(answer, sent.by, sent.at_ms),
        true if sent.counts => question.take_undone(answer, sent.by, sent.at_ms),
        true => Took::Misfit(NOT_SIGNED_IN.to_owned()),
    }
}

/// The results for answers to a run that has no open question.
fn nothing_open(answers: &str, asked: u32) -> Vec<(QuestionId, Took)> {
    let nobody = AnsweredBy { channel: Channel::Model, name: None };
    let sent = Sent { answers, by: &nobody, at_ms: 0, undone: &[], counts: true };
    take(&mut [], asked, &sent)
}

fn not_open(id: QuestionId, asked: u32) -> Took {
    if id.number() <= asked { Took::AlreadyAnswered } else { Took::NotOpen }
}

fn message(sent: &Sent<'_>) -> Option<bytes::Bytes> {
    let answers = RawValue::from_string(sent.answers.to_owned()).ok()?;
    let (channel, name) = (sent.by.channel.as_str().to_owned(), sent.by.name.clone());
    let undone = sent.undone.iter().map(|id| id.number()).collect();
    let message = Message { answers, channel, name, at_ms: sent.at_ms, undone, is_left: !sent.counts };
    serde_json::to_vec(&message).ok().map(Into::into)
}

/// Takes a message of another replica from the inbox. Messages in any other format are ignored.
#[expect(clippy::disallowed_methods, reason = "entry point: take_message()")]
pub(super) fn take_message(questions: &mut [KeptQuestion], message: &[u8]) {
    let Ok(message) = serde_json::from_slice::<Message>(message) else { return };
    let Some(channel) = Channel::ALL.into_iter().find(|channel| channel.as_str() == message.channel) else {
        return;
    };
    let by = AnsweredBy { channel, name: message.name };
    let undone: Vec<QuestionId> = message.undone.into_iter().map(QuestionId::new).collect();
    let (answers, at_ms, counts) = (message.answers.get(), message.at_ms, !message.is_left);
    let sent = Sent { answers, by: &by, at_ms, undone: &undone, counts };
    let _ = take(questions, u32::MAX, &sent);
}
