//! Answers to what runs wait for, by whatever channel they come (waiting.md 3.5).

use std::sync::Arc;

use ptc_host::questions::{AnsweredBy, Channel, QuestionId};
use ptc_host::state::StateError;
use ptc_mcp::json::Raw;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::look::not_seen;
use super::question::{KeptQuestion, Took};
use super::record::RunRecord;
use super::{NotSeen, Runs, clock, key};
use crate::principal::Principal;

/// How often an answer is tried again that met another one.
const TRIES: u32 = 20;

/// Answers for a run that another replica has, in its inbox.
#[derive(Serialize, Deserialize)]
struct Message {
    answers: Box<RawValue>,
    channel: String,
    name: Option<Arc<str>>,
    at_ms: u64,
}

impl Runs {
    /// Takes answers for a run of `owner`: `answers` is the text of a JSON object, each member a question's id and an `ElicitResult`. What
    /// becomes of each is told. With the last one the program goes on, in a task of its own.
    ///
    /// # Errors
    /// The run is not there, or the store is not: nothing was taken then.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        owner: &Principal,
        id: &str,
        answers: &str,
        by: AnsweredBy,
    ) -> Result<Vec<(QuestionId, Took)>, NotSeen> {
        let key = key(owner, id)?;
        self.knows(owner);
        let at_ms = u64::try_from(clock::now_ms()).unwrap_or(0);
        for _ in 0..TRIES {
            if let Some(held) = self.here(owner, id)
                && let Some(took) =
                    held.answer(|questions| take(questions, held.asked(), answers, &by, at_ms))
            {
                self.has_changed(&key);
                return Ok(took);
            }
            let (mut record, read) = self.look(&key).await?;
            let asked = record.asked;
            let Some(wait) = &mut record.wait else { return Ok(nothing_open(answers, asked)) };
            let took = take(&mut wait.questions, asked, answers, &by, at_ms);
            let changes = |(_, took): &(QuestionId, Took)| matches!(took, Took::Counted | Took::Misfit(_));
            if !took.iter().any(changes) {
                return Ok(took);
            }
            let written = if wait.is_pinned {
                let message = message(answers, &by, at_ms).ok_or(NotSeen::Unavailable)?;
                self.store.push(&key, message, self.longest_life()).await
            } else if wait.questions.iter().all(|question| question.answer.is_some()) {
                self.go_on(&key, read.version, record).await
            } else {
                record.updated_ms = clock::now_ms();
                self.keep_answers(&key, read.version, &record).await
            };
            match written {
                Ok(()) => {
                    self.has_changed(&key);
                    return Ok(took);
                }
                // Somebody else has answered meanwhile.
                Err(StateError::Conflict | StateError::Fenced) => {}
                Err(error) => return Err(not_seen(&error)),
            }
        }
        Err(NotSeen::Unavailable)
    }

    /// Writes answers that are not all yet.
    async fn keep_answers(
        &self,
        key: &ptc_host::state::Key,
        version: u64,
        record: &RunRecord,
    ) -> Result<(), StateError> {
        use ptc_host::state::{Commit, End, Write};
        let write = Write::put(key.clone(), version, record.to_bytes());
        let write = write.resting(self.waiting_life(record)).ending(End::Keep);
        self.store.commit(Commit::one(write)).await
    }
}

/// Takes answers for these questions of a run that has asked `asked` so far.
fn take(
    questions: &mut [KeptQuestion],
    asked: u32,
    answers: &str,
    by: &AnsweredBy,
    at_ms: u64,
) -> Vec<(QuestionId, Took)> {
    let members = Raw::parse(answers).ok().and_then(Raw::members);
    let ids =
        members.into_iter().flatten().filter_map(|(name, sent)| Some((QuestionId::parse(&name)?, sent)));
    ids.map(|(id, sent)| match questions.iter_mut().find(|question| question.id == id) {
        Some(question) => (id, question.take(sent, by, at_ms)),
        None => (id, not_open(id, asked)),
    })
    .collect()
}

/// What becomes of answers to a run that waits for nothing.
fn nothing_open(answers: &str, asked: u32) -> Vec<(QuestionId, Took)> {
    let nobody = AnsweredBy { channel: Channel::Model, name: None };
    take(&mut [], asked, answers, &nobody, 0)
}

fn not_open(id: QuestionId, asked: u32) -> Took {
    if id.number() <= asked { Took::AlreadyAnswered } else { Took::NotOpen }
}

fn message(answers: &str, by: &AnsweredBy, at_ms: u64) -> Option<bytes::Bytes> {
    let answers = RawValue::from_string(answers.to_owned()).ok()?;
    let channel = by.channel.as_str().to_owned();
    let message = Message { answers, channel, name: by.name.clone(), at_ms };
    serde_json::to_vec(&message).ok().map(Into::into)
}

/// Takes what another replica has put into the inbox; what is no message of answers is nobody's.
pub(super) fn take_message(questions: &mut [KeptQuestion], message: &[u8]) {
    let Ok(message) = serde_json::from_slice::<Message>(message) else { return };
    let Some(channel) = Channel::ALL.into_iter().find(|channel| channel.as_str() == message.channel) else {
        return;
    };
    let by = AnsweredBy { channel, name: message.name };
    let _ = take(questions, u32::MAX, message.answers.get(), &by, message.at_ms);
}
