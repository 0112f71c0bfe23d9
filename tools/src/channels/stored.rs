//! Stores the run of a program whose client is not asked, or may not answer (waiting.md 4.4). The client is asked with a handle
//! of the run, or through its task (waiting.md 6.3).

use std::sync::Arc;

use futures_util::StreamExt;
use ptc_host::engine::{Asker, EvalRequest, Suspended};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, Mode, PendingQuestion, Question, QuestionId, Receipt,
};
use ptc_host::time::{self, timeout};
use ptc_mcp::Revision;
use ptc_mcp::json::object_text;
use tracing::{debug, info};

use super::elicitation::Replies;
use super::{Asks, CallAsker, MOST_ROUNDS, Shaped, refused};
use crate::evaluator::Evaluator;
use crate::shaping::{Shaper, running, waiting};
use ptc_protocol::Elicitation;
use ptc_protocol::request_state::StateRefusal;
use ptc_protocol::tool::{CallContext, Retry, ToolName, ToolReply};
use ptc_runs::{ProgramEnd, RequestState, RunHandle, RunView, Status, StoredCall};

impl Asks {
    /// True if any question of this call can be answered while the run is stored.
    pub(super) fn keeps_any(&self, context: &CallContext) -> bool {
        let asked_by_task = context.asked.takes_tasks && context.asked.modes.is_any();
        self.context.runs.as_ref().is_some_and(|runs| runs.settings().keeps || asked_by_task)
    }

    /// The answer of a call whose run waits. A client of the modern era that is asked in answers returns a handle of
    /// the run.
    pub(crate) async fn waiting(
        &self,
        call: (impl Into<ToolName>, Option<&str>),
        context: &CallContext,
        run: &RunView,
        shaper: &Shaper,
    ) -> ToolReply {
        let (tool, arguments) = call;
        let call = CallAsker::new(self, tool, arguments, context, None);
        match call.handle(run, run.round.max(1)).await {
            Some(reply) => reply,
            None => self.told(run, shaper, &[]),
        }
    }

    /// The answer about a run that waits. `notes` are about answers that did not count.
    pub(crate) fn told(&self, run: &RunView, shaper: &Shaper, notes: &[String]) -> ToolReply {
        waiting(shaper, run, self.context.rules.console.as_deref(), notes)
    }

    /// The asker of a run that is resumed without a call: its questions are stored.
    pub(crate) fn asker_of_run(
        &self,
        tool: impl Into<ToolName>,
        context: &CallContext,
        handle: &RunHandle,
        round: u32,
    ) -> Option<Arc<dyn Asker>> {
        let run = Some(handle.clone());
        CallAsker { run, ..CallAsker::new(self, tool, None, context, None) }.asker(round)
    }

    /// The open questions of a run, as `inputRequests`: a JSON object of those that a client of these modes can be
    /// shown. A question that it may not answer becomes a page of the console, if there is one.
    pub(crate) fn input_requests(&self, run: &RunView, modes: Elicitation) -> String {
        let revision = Revision::V2026_07_28;
        let shown = run.open().filter_map(|open| Some((open, self.mode_of(modes, revision, run, open)?)));
        modes.requests(revision, shown)
    }

    /// The form in which such a client is asked this question, if it can be.
    fn mode_of(
        &self,
        modes: Elicitation,
        revision: Revision,
        run: &RunView,
        open: &PendingQuestion,
    ) -> Option<Mode> {
        let question = &open.question;
        if modes.shows(revision, question.level, &question.mode) {
            return Some(question.mode.clone());
        }
        let page = format!("{}#q={}", self.context.rules.console.as_deref()?, run.run_id);
        let page = Mode::Url(page.into());
        modes.shows(revision, question.level, &page).then_some(page)
    }
}

impl CallAsker {
    /// True if its client has a task, and can be asked this question through it.
    fn is_asked_by_its_task(&self, question: &Question) -> bool {
        let Some(modes) = self.task_modes.filter(|_| !self.is_attended()) else { return false };
        modes.shows(Revision::V2026_07_28, question.level, &question.mode)
    }

    /// True if this question can be answered while the run is stored.
    pub(super) fn keeps(&self, question: &Question) -> bool {
        let Some(runs) = &self.asks.context.runs else { return false };
        let by_anybody = question.accepts(Channel::Model) || self.asks.context.rules.out_of_band;
        (runs.settings().keeps && by_anybody) || self.is_asked_by_its_task(question)
    }

    /// Continues with a suspended program: it is sent to its client if the client may answer all questions, otherwise
    /// its run is stored.
    pub(super) async fn leave(
        &self,
        evaluator: Arc<dyn Evaluator>,
        request: EvalRequest,
        round: u32,
        suspended: Suspended,
        shaped: Shaped,
    ) -> ProgramEnd {
        let asked = &self.context.asked;
        let travels = asked.line.is_none()
            && asked.modes.is_any()
            && self.is_attended()
            && round <= MOST_ROUNDS
            && suspended.questions.iter().all(|open| self.shows(&open.question));
        let is_kept = |open: &PendingQuestion| self.keeps(&open.question);
        if !travels && self.run.is_some() && suspended.questions.iter().all(is_kept) {
            info!(event = "program_kept", tool = &*self.tool, round, questions = suspended.questions.len());
            return ProgramEnd::Suspended(Box::new(suspended), self.kept(round));
        }
        ProgramEnd::Replied(self.send_off(evaluator, request, round, suspended, shaped).await)
    }

    /// Asks the client the questions of a stored run, if it is asked in answers.
    async fn handle(&self, run: &RunView, round: u32) -> Option<ToolReply> {
        let asked = &self.context.asked;
        if asked.line.is_some() || !asked.modes.is_any() || round > MOST_ROUNDS {
            return None;
        }
        let revision = self.context.revision;
        let shown = run.open().map(|open| Some((open, self.asks.mode_of(asked.modes, revision, run, open)?)));
        let requests = asked.modes.requests(revision, shown.collect::<Option<Vec<_>>>()?.into_iter());
        let content = RequestState::of_stored(&run.run_id, round);
        let state = self.sealed(content, self.asks.context.states.until()).await.ok()?;
        Some(ToolReply::input_required(requests, state))
    }

    /// Continues with a stored run: takes the client's answers, and returns what the run does then.
    pub(super) async fn go_on_stored(
        &self,
        id: &str,
        round: u32,
        retry: &Retry,
        shaper: &Shaper,
    ) -> ToolReply {
        let Some(runs) = &self.asks.context.runs else {
            // Runs are no longer stored here.
            return refused(&self.tool, StateRefusal::Expired);
        };
        let by = AnsweredBy { channel: Channel::Client, name: Some(self.principal.shared_name()) };
        let answers = retry.responses.as_deref().unwrap_or("{}");
        let (began, page) = (time::now(), self.asks.context.rules.page);
        let taken = runs.answer_opened(&self.principal, id, answers, by, Some(page)).await;
        let took = match taken {
            Ok(took) => took,
            Err(why) => return why.reply(),
        };
        // An answer that its user has given on a page may not have arrived yet.
        let awaited = |(id, took): &(QuestionId, Receipt)| {
            matches!(took, Receipt::Counted | Receipt::NotHere).then_some(*id)
        };
        let answered: Vec<QuestionId> = took.iter().filter_map(awaited).collect();
        let left = page.saturating_sub(time::since(began));
        let seen = match runs.wait_past(&answered, &self.principal, id, left).await {
            Ok(run) if run.status == Status::Running => runs.wait(&self.principal, id, runs.patience()).await,
            seen => seen,
        };
        match seen.map(RunView::into_reply) {
            Ok(Ok(reply)) => reply,
            Ok(Err(run)) if run.status == Status::Running => running(shaper, &run),
            Ok(Err(run)) => match self.handle(&run, round + 1).await {
                Some(reply) => reply,
                None => self.asks.told(&run, shaper, &[]),
            },
            Err(why) => why.reply(),
        }
    }

    /// Lets replies count that arrive after the call was answered with a waiting run.
    pub(super) fn heed_late(&self, mut replies: Replies) {
        let (Some(runs), Some(run)) = (self.asks.context.runs.clone(), self.run.clone()) else { return };
        let principal = self.principal.clone();
        let life = runs.settings().waiting_ttl;
        tokio::spawn(async move {
            let heed = async {
                while let Some(reply) = replies.next().await {
                    let Some((id, answer)) = reply else { continue };
                    let by = answer.by.clone();
                    let taken = runs.answer(&principal, run.id(), &sent(id, &answer), by).await;
                    debug!(event = "late_reply", is_taken = taken.is_ok());
                }
            };
            let _ = timeout(life, heed).await;
        });
    }

    /// The parts of this call that a run stores.
    fn kept(&self, round: u32) -> StoredCall {
        StoredCall {
            arguments: self.arguments.as_deref().map(str::to_owned),
            revision: self.context.revision.name().to_owned(),
            result_room: self.context.result_room,
            eval: self.context.eval_id.number(),
            round,
            is_long: self.is_long,
            task_modes: self.task_modes.map(Elicitation::bits),
        }
    }
}

/// An answer in the form in which its client has sent it.
fn sent(id: QuestionId, answer: &Answer) -> String {
    let result = object_text(|result| {
        result.string("action", answer.action.as_str());
        if let (Action::Accept, Some(content)) = (answer.action, &answer.content) {
            result.raw("content", content.get());
        }
    });
    object_text(|answers| answers.raw(&id.to_string(), &result))
}
