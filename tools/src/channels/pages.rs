//! Makes a call that resumes a program wait for its user to finish on pages, before it takes any permit
//! (waiting.md 4.2).

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ptc_host::questions::{Answer, AskedPage, PendingQuestion, Question, QuestionId};
use ptc_host::time::timeout;

use super::{Asks, CallAsker};
use crate::shaping::Shaper;
use ptc_protocol::tool::{CallContext, PageVisits, Preparation, Retry, ToolName};
use ptc_runs::{RequestState, accepted, by_page, not_done, pages_of, undone};

/// Prepares a call whose pages have been awaited.
type Prepare = Box<dyn FnOnce(&CallContext) -> Preparation + Send>;

impl Asks {
    /// The work before a call that resumes a program is prepared, if there is any: answers are delivered to its run,
    /// or pages are awaited.
    pub(crate) fn before(
        &self,
        call: (impl Into<ToolName>, Option<&str>),
        context: &CallContext,
        shaper: Shaper,
        prepare: impl FnOnce() -> Prepare,
    ) -> Option<Preparation> {
        let retry = context.asked.retry.clone()?;
        let (tool, arguments) = call;
        let call = CallAsker::new(self, tool, arguments, context, None);
        let run = match RequestState::from_bytes(&retry.state.content)? {
            RequestState::Run(run) => run,
            RequestState::Stored { id, round } => {
                let answer = async move { call.go_on_stored(&id, round, &retry, &shaper).await };
                return Some(Preparation::Free(answer.boxed()));
            }
        };
        let pages = self.context.pages.as_ref().filter(|_| retry.visited.is_none())?;
        let asked = pages_of(run.record.questions());
        asked.iter().find(|(_, asked)| pages.is_awaited(call.principal.name(), asked))?;
        let (prepare, mut context) = (prepare(), context.clone());
        let wait = async move {
            let visited = Some(call.visited(&retry, asked).await);
            context.asked.retry = Some(Arc::new(Retry { visited, ..Retry::clone(&retry) }));
            prepare(&context)
        };
        Some(Preparation::After(wait.boxed()))
    }

    /// True if this question is about a page whose result we can learn.
    pub(super) fn has_page(&self, question: &Question) -> bool {
        self.context.pages.is_some() && question.page().is_some()
    }
}

impl CallAsker {
    /// Waits for those of the pages of `asked` that the client's answers mention.
    async fn visited(&self, retry: &Retry, asked: Vec<(QuestionId, AskedPage)>) -> PageVisits {
        let Some(pages) = &self.asks.context.pages else { return PageVisits::default() };
        let accepted = accepted(retry.responses.as_deref().unwrap_or("{}"));
        let (waited, others): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(id, _)| accepted.contains(id));
        let asked: Vec<_> = waited.iter().chain(&others).map(|(id, _)| *id).collect();
        let principal = self.principal.shared_name();
        let opened = undone(pages, &principal, waited, self.asks.context.rules.page).await;
        // The client did not mention these pages, but they may be done.
        let mut undone_ids = not_done(pages, &principal, others).await;
        undone_ids.extend(&opened);
        let done = asked.into_iter().filter(|id| !undone_ids.contains(id)).collect();
        PageVisits { done, undone: opened }
    }

    /// Waits until the user is done on the page of this question; never completes if we cannot learn of that.
    pub(super) fn done(&self, question: &Question) -> BoxFuture<'static, ()> {
        match (question.page(), &self.asks.context.pages) {
            (Some(asked), Some(pages)) => pages.done(self.principal.shared_name(), asked),
            _ => std::future::pending().boxed(),
        }
    }

    /// Waits for the page after an `accept`, if that is no answer yet: without limit for a sign-in, and for a while
    /// for an upstream's own page.
    pub(super) async fn done_after_accept(&self, question: &Question, done: BoxFuture<'static, ()>) {
        match (question.page(), &self.asks.context.pages) {
            (Some(asked), _) if asked.is_sign_in => done.await,
            (Some(asked), Some(pages)) if pages.is_awaited(self.principal.name(), &asked) => {
                let _ = timeout(self.asks.context.rules.page, done).await;
            }
            _ => {}
        }
    }

    /// Answers page questions of a resident run as soon as they are done, since no client may poll for long. Never
    /// completes.
    pub(super) async fn answer_when_done(&self, open: Vec<PendingQuestion>) -> Vec<(QuestionId, Answer)> {
        if let (Some(runs), Some(run)) = (&self.asks.context.runs, &self.run) {
            let pages = open.into_iter().filter(|open| self.asks.has_page(&open.question));
            join_all(pages.map(async |PendingQuestion { id, question, .. }| {
                self.done(&question).await;
                let answers = format!(r#"{{"{id}":{{"action":"accept"}}}}"#);
                let by = by_page(&self.principal);
                let _ = runs.answer_once_kept(&self.principal, run.id(), &answers, by).await;
            }))
            .await;
        }
        std::future::pending().await
    }
}
