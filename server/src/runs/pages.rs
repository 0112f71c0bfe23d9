//! What people have done on pages that they were sent to: `accept` says only that a page was opened (waiting.md 3.1).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ptc_host::aggregator::Aggregator;
use ptc_host::questions::{Action, AnsweredBy, AskedPage, Channel, QuestionId};
use ptc_host::time::timeout;
use ptc_mcp::json::{Raw, object_text};

use super::look::WaitingRun;
use super::{NotSeen, Runs, key};
use crate::principal::Principal;

/// Knows what has been done on pages.
pub(crate) trait Pages: Send + Sync {
    /// Whether `principal` has done there what it was asked to.
    fn is_done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, bool>;

    /// Waits until it has.
    fn done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, ()>;

    /// Whether an `accept` waits for that.
    fn is_awaited(&self, principal: &str, asked: &AskedPage) -> bool;
}

/// The store of sign-ins to upstreams, and what these say of pages of their own.
pub(crate) struct UpstreamPages(pub(crate) Arc<Aggregator>);

impl Pages for UpstreamPages {
    fn is_done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, bool> {
        let upstreams = self.0.clone();
        async move { upstreams.is_page_done(Some(&principal), &asked).await }.boxed()
    }

    fn done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, ()> {
        let upstreams = self.0.clone();
        async move { upstreams.until_page_done(Some(&principal), &asked).await }.boxed()
    }

    fn is_awaited(&self, principal: &str, asked: &AskedPage) -> bool {
        self.0.awaits_page(Some(principal), asked)
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

/// Waits at most `patience` for what `principal` says that it does on these pages. The result: the sign-ins that have not been made. Whoever
/// has been on a page of an upstream's own asks that upstream again, which knows best.
pub(crate) async fn undone(
    pages: &Arc<dyn Pages>,
    principal: &Arc<str>,
    accepted: Vec<(QuestionId, AskedPage)>,
    patience: Duration,
) -> Vec<QuestionId> {
    let looks = accepted.into_iter().map(async |(id, asked)| {
        let is_sign_in = asked.is_sign_in;
        if !pages.is_awaited(principal, &asked) || pages.is_done(principal.clone(), asked.clone()).await {
            return None;
        }
        let waits = !patience.is_zero();
        match waits && timeout(patience, pages.done(principal.clone(), asked)).await.is_ok() {
            true => None,
            false => is_sign_in.then_some(id),
        }
    });
    join_all(looks).await.into_iter().flatten().collect()
}

/// Those of these pages where nothing is done, although nobody speaks of any.
pub(crate) async fn not_done(
    pages: &Arc<dyn Pages>,
    principal: &Arc<str>,
    asked: Vec<(QuestionId, AskedPage)>,
) -> Vec<QuestionId> {
    let looks = asked.into_iter().map(async |(id, asked)| {
        let is_done = pages.is_done(principal.clone(), asked).await;
        (!is_done).then_some(id)
    });
    join_all(looks).await.into_iter().flatten().collect()
}

/// The questions that `answers` accept: the text of a JSON object.
pub(crate) fn accepted(answers: &str) -> Vec<QuestionId> {
    let is_accept = |sent: Raw<'_>| {
        let action = sent.members()?.find(|(name, _)| name == "action")?.1.as_str()?;
        Some(Action::from_name(&action) == Some(Action::Accept))
    };
    let members = crate::protocol::answers(answers);
    let accepted = members.iter().filter(|(_, sent)| sent.and_then(is_accept).unwrap_or(false));
    accepted.filter_map(|(name, _)| QuestionId::parse(name)).collect()
}

/// Who answers where something has been done on a page.
pub(crate) fn by_page(principal: &Principal) -> AnsweredBy {
    AnsweredBy { channel: Channel::Page, name: Some(principal.shared_name()) }
}

impl Runs {
    /// Has the pages looked at of which runs wait for something.
    pub(crate) fn look_at(&self, pages: Arc<dyn Pages>) {
        // There is one aggregator.
        let _ = self.pages.set(pages);
    }

    /// The sign-ins that `answers` accept although nobody has signed in, after a wait of that long for all pages that they accept.
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
        let asked = pages_of(&waiting).filter(|(id, _)| accepted.contains(id)).collect();
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
        for (id, asked) in pages_of(waiting) {
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

fn pages_of(waiting: &WaitingRun) -> impl Iterator<Item = (QuestionId, AskedPage)> {
    waiting.questions.iter().filter_map(|kept| Some((kept.id, kept.question.page()?)))
}
