//! A call that goes on waits for what its user does on pages, before it takes any permit (waiting.md 4.2).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ptc_host::questions::{Answer, OpenQuestion, Question, QuestionId};
use ptc_host::time::{self, timeout};

use super::round::Round;
use super::{Asks, Caller};
use crate::protocol::tool::{CallContext, Prepared, Retry, Visited};
use crate::request_state::Carried;
use crate::runs::{accepted, by_page, not_done, undone};
use crate::tools::shaping::Shaper;

/// How long after an answer that could not be told it is told again.
const AGAIN: Duration = Duration::from_millis(500);

/// Prepares a call whose pages have been waited for.
type Prepare = Box<dyn FnOnce(&CallContext) -> Prepared + Send>;

impl Asks {
    /// What comes before a call is prepared that goes on with a program, if anything does: its run is asked, or pages are waited for.
    pub(crate) fn before(
        &self,
        call: (&'static str, Option<&str>),
        context: &CallContext,
        shaper: Shaper,
        prepare: impl FnOnce() -> Prepare,
    ) -> Option<Prepared> {
        let retry = context.asked.retry.clone()?;
        let (asks, caller) = (self.clone(), Caller::new(call, context, None));
        if let (Carried::Kept(id), Some(runs)) = (&retry.state.content.carried, &self.0.runs) {
            let (runs, id) = (runs.clone(), id.clone());
            let answer = async move { asks.go_on_kept(&runs, &caller, (&id, &retry), &shaper).await };
            return Some(Prepared::Free(answer.boxed()));
        }
        let pages = self.0.pages.as_ref().filter(|_| retry.visited.is_none())?;
        let round = Round::read(&retry.state.content.asked, &caller.principal).ok()?;
        round.pages().find(|(_, asked)| pages.is_awaited(caller.principal.name(), asked))?;
        let (prepare, mut context) = (prepare(), context.clone());
        let wait = async move {
            let visited = Some(asks.visited(&round, &caller, &retry).await);
            context.asked.retry = Some(Arc::new(Retry { visited, ..Retry::clone(&retry) }));
            prepare(&context)
        };
        Some(Prepared::After(wait.boxed()))
    }

    /// Waits for what is done on the pages that the client's answers speak of.
    async fn visited(&self, round: &Round, caller: &Caller, retry: &Retry) -> Visited {
        let Some(pages) = &self.0.pages else { return Visited::default() };
        let accepted = accepted(retry.responses.as_deref().unwrap_or("{}"));
        let (waited, others): (Vec<_>, Vec<_>) = round.pages().partition(|(id, _)| accepted.contains(id));
        let asked: Vec<_> = waited.iter().chain(&others).map(|(id, _)| *id).collect();
        let principal = caller.principal.shared_name();
        let opened = undone(pages, &principal, waited, self.0.rules.page).await;
        // Nobody says of these that a page was opened; all the same, it may be done.
        let mut undone_ids = not_done(pages, &principal, others).await;
        undone_ids.extend(&opened);
        let done = asked.into_iter().filter(|id| !undone_ids.contains(id)).collect();
        Visited { done, undone: opened }
    }

    /// Whether this question is about a page of which others than its user may tell.
    pub(super) fn has_page(&self, question: &Question) -> bool {
        self.0.pages.is_some() && question.page().is_some()
    }

    /// Waits until the user has done what this question asks for on a page; never, where nobody would learn of it.
    pub(super) fn done(&self, caller: &Caller, question: &Question) -> BoxFuture<'static, ()> {
        match (question.page(), &self.0.pages) {
            (Some(asked), Some(pages)) => pages.done(caller.principal.shared_name(), asked),
            _ => std::future::pending().boxed(),
        }
    }

    /// Waits for that after an `accept`, if that is no answer yet: of a sign-in as long as it takes, of an upstream's own page for a while.
    pub(super) async fn done_after_accept(
        &self,
        caller: &Caller,
        question: &Question,
        done: BoxFuture<'static, ()>,
    ) {
        match (question.page(), &self.0.pages) {
            (Some(asked), _) if asked.is_sign_in => done.await,
            (Some(asked), Some(pages)) if pages.is_awaited(caller.principal.name(), &asked) => {
                let _ = timeout(self.0.rules.page, done).await;
            }
            _ => {}
        }
    }

    /// Answers what is done on pages while a run waits for it in its process, where nobody may look for long. Goes on for ever.
    pub(super) async fn answer_when_done(
        &self,
        caller: Caller,
        open: Vec<OpenQuestion>,
    ) -> Vec<(QuestionId, Answer)> {
        if let (Some(runs), Some(seed)) = (&self.0.runs, &caller.seed) {
            let pages = open.into_iter().filter(|open| self.has_page(&open.question));
            join_all(pages.map(async |OpenQuestion { id, question }| {
                self.done(&caller, &question).await;
                let answers = format!(r#"{{"{id}":{{"action":"accept"}}}}"#);
                // Its record may not be there yet.
                while runs
                    .answer(&caller.principal, &seed.id, &answers, by_page(&caller.principal))
                    .await
                    .is_err()
                {
                    time::sleep(AGAIN).await;
                }
            }))
            .await;
        }
        std::future::pending().await
    }
}
