//! Checks what people did on pages that they were sent to: an `accept` reports only that a page was opened
//! (waiting.md 3.1).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ptc_host::aggregator::CurrentUpstreams;
use ptc_host::questions::{Action, AnsweredBy, AskedPage, Channel, PendingQuestion, QuestionId};
use ptc_host::time::timeout;
use ptc_mcp::json::{Raw, object_text};

use super::record::Status;
use super::view::RunView;
use super::{RunError, Runs, key};
use ptc_protocol::principal::Principal;

/// Knows whether people have finished on pages.
pub trait Pages: Send + Sync {
    /// True if `principal` has done there what was asked.
    fn is_done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, bool>;

    /// Waits until `principal` has done it.
    fn done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, ()>;

    /// True if an `accept` waits for that.
    fn is_awaited(&self, principal: &str, asked: &AskedPage) -> bool;
}

/// The store of sign-ins to upstreams, and the reports of upstreams about their own pages.
pub struct UpstreamPages(pub Arc<CurrentUpstreams>);

impl Pages for UpstreamPages {
    fn is_done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, bool> {
        let upstreams = self.0.current();
        async move { upstreams.is_page_done(Some(&principal), &asked).await }.boxed()
    }

    fn done(&self, principal: Arc<str>, asked: AskedPage) -> BoxFuture<'static, ()> {
        let upstreams = self.0.current();
        async move { upstreams.until_page_done(Some(&principal), &asked).await }.boxed()
    }

    fn is_awaited(&self, principal: &str, asked: &AskedPage) -> bool {
        self.0.current().awaits_page(Some(principal), asked)
    }
}

/// Waits at most `patience` for `principal` to finish on these pages, and returns the sign-ins that are still
/// missing. For a page of an upstream's own, the program asks that upstream again: only the upstream knows the
/// result.
pub async fn undone(
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

/// Those of these pages on which nothing was done, without any wait.
pub async fn not_done(
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

/// The questions that `answers`, the text of a JSON object, accept.
pub fn accepted(answers: &str) -> Vec<QuestionId> {
    let is_accept = |sent: Raw<'_>| {
        let action = sent.members()?.find(|(name, _)| name == "action")?.1.as_str()?;
        Some(Action::from_name(&action) == Some(Action::Accept))
    };
    let members = ptc_protocol::answers(answers);
    let accepted = members.iter().filter(|(_, sent)| sent.and_then(is_accept).unwrap_or(false));
    accepted.filter_map(|(name, _)| QuestionId::parse(name)).collect()
}

/// The author of an answer that was given on a page.
pub fn by_page(principal: &Principal) -> AnsweredBy {
    AnsweredBy { channel: Channel::Page, name: Some(principal.shared_name()) }
}

impl Runs {
    /// Sets the check of pages.
    pub fn look_at(&self, pages: Arc<dyn Pages>) {
        // There is one for all upstreams.
        let _ = self.pages.set(pages);
    }

    /// The accepted sign-ins that are still missing, after a wait of that long for all pages that `answers` accept.
    pub async fn undone(
        &self,
        owner: &Principal,
        id: &str,
        answers: &str,
        patience: Duration,
    ) -> Result<Vec<QuestionId>, RunError> {
        let Some(pages) = self.pages.get() else { return Ok(Vec::new()) };
        let accepted = accepted(answers);
        if accepted.is_empty() {
            return Ok(accepted);
        }
        let here = self.here(owner, id).and_then(|run| run.peek());
        let waiting = match here.filter(|run| run.status == Status::Waiting) {
            Some(waiting) => waiting,
            None => {
                let key = key(owner, id)?;
                RunView::of(key.id(), &self.look(&key).await?.0)
            }
        };
        let asked =
            pages_of(&waiting.questions).into_iter().filter(|(id, _)| accepted.contains(id)).collect();
        Ok(undone(pages, &owner.shared_name(), asked, patience).await)
    }

    /// Answers questions whose pages are done although no answer was sent. Returns the questions answered now.
    pub(super) async fn answer_by_pages(
        self: &Arc<Self>,
        owner: &Principal,
        waiting: &RunView,
    ) -> Result<Vec<QuestionId>, RunError> {
        let Some(pages) = self.pages.get() else { return Ok(Vec::new()) };
        let mut done = Vec::new();
        for (id, asked) in pages_of(&waiting.questions) {
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

/// The pages of open questions.
pub fn pages_of(questions: &[PendingQuestion]) -> Vec<(QuestionId, AskedPage)> {
    let open = questions.iter().filter(|asked| asked.is_open());
    open.filter_map(|asked| Some((asked.id, asked.question.page()?))).collect()
}
