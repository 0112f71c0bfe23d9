//! What people have done on pages that they were sent to: `accept` says only that a page was opened (waiting.md 3.1).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ptc_host::aggregator::Aggregator;
use ptc_host::questions::{Action, AnsweredBy, AskedSignIn, Channel, QuestionId};
use ptc_mcp::json::{Raw, object_text};
use tokio::time::timeout;

use super::look::WaitingRun;
use super::{NotSeen, Runs, key};
use crate::principal::Principal;

/// Knows what has been done on pages.
pub(crate) trait Pages: Send + Sync {
    /// Whether `principal` has signed in as it was asked to.
    fn is_done(&self, principal: Arc<str>, asked: AskedSignIn) -> BoxFuture<'static, bool>;

    /// Waits until it has.
    fn done(&self, principal: Arc<str>, asked: AskedSignIn) -> BoxFuture<'static, ()>;
}

/// The store of sign-ins to upstreams.
pub(crate) struct SignInPages(pub(crate) Arc<Aggregator>);

impl Pages for SignInPages {
    fn is_done(&self, principal: Arc<str>, asked: AskedSignIn) -> BoxFuture<'static, bool> {
        let upstreams = self.0.clone();
        async move { upstreams.is_signed_in(Some(&principal), &asked).await }.boxed()
    }

    fn done(&self, principal: Arc<str>, asked: AskedSignIn) -> BoxFuture<'static, ()> {
        let upstreams = self.0.clone();
        async move { upstreams.until_signed_in(Some(&principal), &asked).await }.boxed()
    }
}

/// What becomes of an `accept` behind which nothing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The page is waited for so long; then the answer does not fit, and counts if that is so too often.
    Waited(Duration),
    /// Its user has just been sent there: the question stays open as it is.
    JustNow,
}

/// Waits at most `patience` for these sign-ins of `principal`. The result: those that have not been made.
pub(crate) async fn undone(
    pages: &Arc<dyn Pages>,
    principal: &Arc<str>,
    asked: Vec<(QuestionId, AskedSignIn)>,
    patience: Duration,
) -> Vec<QuestionId> {
    let looks = asked.into_iter().map(async |(id, asked)| {
        if pages.is_done(principal.clone(), asked.clone()).await {
            return None;
        }
        let waits = !patience.is_zero();
        match waits && timeout(patience, pages.done(principal.clone(), asked)).await.is_ok() {
            true => None,
            false => Some(id),
        }
    });
    join_all(looks).await.into_iter().flatten().collect()
}

/// The questions that `answers` accept: the text of a JSON object.
pub(crate) fn accepted(answers: &str) -> Vec<QuestionId> {
    let is_accept = |sent: Raw<'_>| {
        let action = sent.members()?.find(|(name, _)| name == "action")?.1.as_str()?;
        Some(Action::from_name(&action) == Some(Action::Accept))
    };
    let members = Raw::parse(answers).ok().and_then(Raw::members);
    let accepted = members.into_iter().flatten().filter(|(_, sent)| is_accept(*sent).unwrap_or(false));
    accepted.filter_map(|(name, _)| QuestionId::parse(&name)).collect()
}

/// Who answers where something has been done on a page.
pub(crate) fn by_page(principal: &Principal) -> AnsweredBy {
    AnsweredBy { channel: Channel::Page, name: Some(principal.shared_name()) }
}

impl Runs {
    /// Has the pages looked at of which runs wait for something.
    pub(crate) fn look_at(&self, pages: Arc<dyn Pages>) {
        // There is one store of sign-ins.
        let _ = self.pages.set(pages);
    }

    /// The sign-ins that `answers` accept although nobody has signed in, after a wait of that long.
    pub(super) async fn undone(
        &self,
        owner: &Principal,
        id: &str,
        (answers, patience): (&str, Duration),
    ) -> Result<Vec<QuestionId>, NotSeen> {
        let Some(pages) = self.pages.get() else { return Ok(Vec::new()) };
        let accepted = accepted(answers);
        if accepted.is_empty() {
            return Ok(accepted);
        }
        let waiting = match self.here(owner, id).and_then(|held| held.waiting()) {
            Some(waiting) => waiting,
            None => {
                let key = key(owner, id)?;
                let (record, _) = self.look(&key).await?;
                WaitingRun::of_record(key.id(), &record)
            }
        };
        let asked = sign_ins(&waiting).filter(|(id, _)| accepted.contains(id)).collect();
        Ok(undone(pages, &owner.shared_name(), asked, patience).await)
    }

    /// Answers what has been done on pages without anybody saying so. The result: what is answered now.
    pub(super) async fn answer_by_pages(
        self: &Arc<Self>,
        owner: &Principal,
        waiting: &WaitingRun,
    ) -> Result<Vec<QuestionId>, NotSeen> {
        let Some(pages) = self.pages.get() else { return Ok(Vec::new()) };
        let mut done = Vec::new();
        for (id, asked) in sign_ins(waiting) {
            if pages.is_done(owner.shared_name(), asked).await {
                done.push(id);
            }
        }
        if done.is_empty() {
            return Ok(done);
        }
        let answers = object_text(|answers| {
            done.iter().for_each(|id| answers.raw(&id.to_string(), r#"{"action":"accept"}"#));
        });
        self.answer(owner, &waiting.run_id, &answers, by_page(owner)).await?;
        Ok(done)
    }
}

fn sign_ins(waiting: &WaitingRun) -> impl Iterator<Item = (QuestionId, AskedSignIn)> {
    waiting.questions.iter().filter_map(|kept| Some((kept.id, kept.question.sign_in()?)))
}
