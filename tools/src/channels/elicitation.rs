//! Asks the client with `elicitation/create` while the program stays resident (waiting.md 4.3).

use ptc_host::sync::Mutex;
use std::pin::pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use ptc_host::engine::{Asker, Verdict};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, PendingQuestion, Question, QuestionId, Receipt,
};
use ptc_host::time::{self, Instant, timeout_at};
use ptc_mcp::json::{Raw, object_text};
use tracing::info;

use super::{Asks, CallAsker, MOST_ROUNDS};
use ptc_protocol::Elicitation;
use ptc_protocol::client_requests::{ClientLine, ClientReply, Pending};
use ptc_protocol::tool::{CallContext, ToolName};
use ptc_runs::{Driver, by_page};

impl CallAsker {
    /// Asks the client of this call, and stores its run if that is not possible. `None` if neither is possible.
    pub(super) fn asker(&self, round: u32) -> Option<Arc<dyn Asker>> {
        let keeps = self.run.is_some() && self.asks.keeps_any(&self.context);
        if !self.context.asked.modes.is_any() && !keeps {
            return None;
        }
        let rules = &self.asks.context.rules;
        let until = self.context.asked.line.as_ref().map(|_| time::now() + rules.open);
        let asker = Arc::new(CallAsker { round, until, ..self.clone() });
        Some(match &self.asks.listener {
            Some(listener) => {
                let run_id = self.run.as_ref().map(|run| run.id().clone());
                listener(&self.principal, (self.context.eval_id, run_id), asker)
            }
            None => asker,
        })
    }

    /// True if the client can be asked this question, and its answer is sufficient.
    fn is_asked(&self, question: &Question) -> bool {
        let has_way = match &self.context.asked.line {
            Some(line) => line.is_open() && self.until.is_some_and(|until| time::now() < until),
            None => self.round <= MOST_ROUNDS,
        };
        has_way && self.is_attended() && self.shows(question)
    }

    /// True if the run can be stored while this question is open: another channel may answer it.
    fn is_kept(&self, question: &Question) -> bool {
        self.run.is_some() && self.keeps(question)
    }

    /// Asks all questions at once, a request for each. Returns the answers that came in time.
    async fn ask_all(
        self,
        line: ClientLine,
        until: Instant,
        leaves: bool,
        open: Vec<PendingQuestion>,
    ) -> Vec<(QuestionId, Answer)> {
        let count = open.len();
        let mut answers = Vec::with_capacity(count);
        let opened = OpenedPages::default();
        let mut waiting: Replies = open
            .into_iter()
            .map(|open| {
                let (call, line, opened) = (self.clone(), line.clone(), opened.clone());
                async move { Some((open.id, call.ask_one(&line, open, &opened).await?)) }.boxed()
            })
            .collect();
        while let Ok(Some(answer)) = timeout_at(until, waiting.next()).await {
            answers.extend(answer);
        }
        if leaves && !waiting.is_empty() {
            // The run is stored, and a later reply still counts.
            self.heed_late(waiting);
        } else {
            // A user who has opened a page has not dismissed its question.
            let mut opened = std::mem::take(&mut *opened.lock());
            opened.retain(|(id, _)| !answers.iter().any(|(answered, _)| answered == id));
            answers.extend(opened);
        }
        // Questions without an answer are withdrawn when their requests are dropped, and the client is notified.
        info!(event = "client_asked", questions = count, answers = answers.len());
        answers
    }

    /// Asks one question until its answer fits, or until the user is done on its page: there `accept` says only that the page
    /// was opened. Returns `None` if there is no answer.
    async fn ask_one(
        &self,
        line: &ClientLine,
        mut open: PendingQuestion,
        opened: &OpenedPages,
    ) -> Option<Answer> {
        let (modes, clock) = (self.context.asked.modes, &self.asks.context.clock);
        let page = if modes.opens(&open.question.mode) { Some(random_page()?) } else { None };
        let by = AnsweredBy { channel: Channel::Client, name: Some(self.principal.shared_name()) };
        let mut done = self.done(&open.question);
        let mut asked = TakenBack { line, pending: None };
        let counted = loop {
            let question = &open.question;
            let (fault, page) = (open.fault.as_deref(), page.as_deref());
            let params = modes.params(self.context.revision, &question.message, &question.mode, fault, page);
            asked.pending = Some(line.request("elicitation/create", &params).ok()?);
            let reply = tokio::select! {
                biased;
                () = &mut done => break None,
                reply = asked.pending.as_mut()?.reply() => reply,
            };
            // The request is answered: there is nothing to withdraw.
            asked.pending = None;
            let ClientReply::Result(sent) = reply? else { return None };
            match open.take(Raw::parse(&sent).ok()?, &by, clock.now()) {
                Receipt::Counted => break open.answer.take(),
                Receipt::Misfit(_) => {}
                _ => return None,
            }
        };
        let answer = match counted {
            // The page is done without an answer.
            None => {
                open.take_done(by_page(&self.principal), clock.now());
                open.answer.take()?
            }
            Some(answer) if !self.asks.has_page(&open.question) => answer,
            Some(answer) if answer.action != Action::Accept => return Some(answer),
            Some(answer) => {
                opened.lock().push((open.id, answer.clone()));
                self.done_after_accept(&open.question, done).await;
                answer
            }
        };
        if let Some(page) = page {
            let params = object_text(|params| params.string("elicitationId", &page));
            line.notify("notifications/elicitation/complete", &params);
        }
        Some(answer)
    }
}

impl Asks {
    /// The asker of a program that cannot be serialized, such as one of a session: its client is asked during the
    /// call, or its run is stored while it is resident.
    pub(crate) fn asker_here(
        &self,
        tool: impl Into<ToolName>,
        context: &CallContext,
        long: Option<&Driver>,
    ) -> Option<Arc<dyn Asker>> {
        let keeps = long.is_some() && self.keeps_any(context);
        if context.asked.line.is_none() && !keeps {
            return None;
        }
        let mut call = CallAsker::new(self, tool, None, context, long);
        if call.context.asked.line.is_none() {
            // A client that is asked in answers cannot be asked here.
            Arc::make_mut(&mut call.context).asked.modes = Elicitation::NONE;
        }
        call.asker(1)
    }
}

impl Asker for CallAsker {
    fn can_ask(&self, question: &Question) -> bool {
        self.is_asked(question) || self.is_kept(question)
    }

    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        let (Some(line), Some(until)) = (self.context.asked.line.clone(), self.until) else {
            return std::future::ready(Verdict::Leave).boxed();
        };
        // Questions that the client is not asked are stored, once it has answered the others.
        let shown: Vec<PendingQuestion> =
            open.iter().filter(|open| self.is_asked(&open.question)).cloned().collect();
        let leaves = open.iter().all(|open| self.is_kept(&open.question));
        if shown.is_empty() && leaves {
            return std::future::ready(Verdict::Leave).boxed();
        }
        let answers = self.clone().ask_all(line, until, leaves, shown);
        async move {
            match answers.await {
                answers if answers.is_empty() && leaves => Verdict::Leave,
                answers => Verdict::Answered(answers),
            }
        }
        .boxed()
    }

    /// Persists the run while it is resident; otherwise resolves its questions as unanswerable.
    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        let is_kept = |open: &PendingQuestion| self.is_kept(&open.question);
        match self.run.clone().filter(|_| open.iter().all(is_kept)) {
            Some(run) => {
                info!(event = "program_pinned", count = open.len(), reason = why);
                let call = self.clone();
                async move {
                    let pages = call.answer_when_done(open.clone());
                    match select(pin!(run.hold(open)), pin!(pages)).await {
                        Either::Left((answers, _)) => answers,
                        Either::Right((never, _)) => never,
                    }
                }
                .boxed()
            }
            None => {
                info!(event = "questions_not_asked", count = open.len(), reason = why);
                std::future::ready(Vec::new()).boxed()
            }
        }
    }

    fn most_questions(&self) -> u32 {
        self.asks.context.rules.questions
    }
}

/// Replies of the client that are still missing.
pub(super) type Replies = FuturesUnordered<BoxFuture<'static, Option<(QuestionId, Answer)>>>;

/// Questions for which only a page was opened.
type OpenedPages = Arc<Mutex<Vec<(QuestionId, Answer)>>>;

/// A request that is withdrawn if it is dropped, so that its client need not show it any longer.
struct TakenBack<'l> {
    line: &'l ClientLine,
    pending: Option<Pending>,
}

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        if let Some(pending) = &self.pending {
            let params = object_text(|params| {
                params.string("requestId", pending.id());
                params.string("reason", "the program waits for it no longer");
            });
            self.line.notify("notifications/cancelled", &params);
        }
    }
}

/// The name of a page, by which its client is notified when the user is done there.
fn random_page() -> Option<String> {
    let mut random = [0; 18];
    getrandom::fill(&mut random).ok()?;
    Some(URL_SAFE_NO_PAD.encode(random))
}
