//! A call that goes on waits for what its user does on pages, before it takes any permit (waiting.md 4.2).

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::questions::Question;

use super::round::Round;
use super::{Asks, Caller};
use crate::protocol::tool::{CallContext, Prepared, Retry, Visited};
use crate::request_state::Carried;
use crate::runs::{accepted, undone};
use crate::tools::shaping::Shaper;

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
        if retry.visited.is_some() || self.0.pages.is_none() {
            return None;
        }
        let round = Round::read(&retry.state.content.asked, &caller.principal).ok()?;
        round.sign_ins().next()?;
        let (prepare, mut context) = (prepare(), context.clone());
        let wait = async move {
            let visited = Some(asks.visited(&round, &caller, &retry).await);
            context.asked.retry = Some(Arc::new(Retry { visited, ..Retry::clone(&retry) }));
            prepare(&context)
        };
        Some(Prepared::After(wait.boxed()))
    }

    /// Waits for the sign-ins that the client's answers speak of.
    async fn visited(&self, round: &Round, caller: &Caller, retry: &Retry) -> Visited {
        let Some(pages) = &self.0.pages else { return Visited::default() };
        let accepted = accepted(retry.responses.as_deref().unwrap_or("{}"));
        let (waited, others): (Vec<_>, Vec<_>) = round.sign_ins().partition(|(id, _)| accepted.contains(id));
        let asked: Vec<_> = waited.iter().chain(&others).map(|(id, _)| *id).collect();
        let principal = caller.principal.shared_name();
        let mut undone_ids = undone(pages, &principal, waited, self.0.rules.page).await;
        let opened = undone_ids.clone();
        // Nobody says of these that a page was opened; all the same, somebody may have signed in.
        undone_ids.extend(undone(pages, &principal, others, Duration::ZERO).await);
        let done = asked.into_iter().filter(|id| !undone_ids.contains(id)).collect();
        Visited { done, undone: opened }
    }

    /// Whether this question is answered on a page that tells.
    pub(super) fn has_page(&self, question: &Question) -> bool {
        self.0.pages.is_some() && question.sign_in().is_some()
    }

    /// Waits until the user has done what this question asks for on a page; never, where nobody would learn of it.
    pub(super) fn done(&self, caller: &Caller, question: &Question) -> BoxFuture<'static, ()> {
        match (question.sign_in(), &self.0.pages) {
            (Some(asked), Some(pages)) => pages.done(caller.principal.shared_name(), asked),
            _ => std::future::pending().boxed(),
        }
    }
}
