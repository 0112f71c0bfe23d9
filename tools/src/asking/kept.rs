//! Stores the run of a program whose client is not asked, or may not answer (waiting.md 4.4).

use std::sync::Arc;

use futures_util::StreamExt;
use ptc_host::engine::{Asker, EvalRequest, Suspended};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, PendingQuestion, Question, QuestionId, Receipt,
};
use ptc_host::time::{self, timeout};
use ptc_mcp::json::object_text;
use tracing::{debug, info};

use super::live::Replies;
use super::{Asks, Caller, MOST_ROUNDS, Shaped};
use crate::evaluator::Evaluator;
use crate::shaping::{Shaper, running, waiting};
use ptc_protocol::Elicitation;
use ptc_protocol::request_state::{Carried, Content};
use ptc_protocol::tool::{CallContext, Retry, ToolReply};
use ptc_runs::{KeptCall, ProgramEnd, RunHandle, RunView, Runs, Status};

impl Asks {
    /// True if this question can be answered while the run is stored.
    pub(super) fn keeps(&self, caller: &Caller, question: &Question) -> bool {
        let Some(runs) = &self.0.runs else { return false };
        let by_anybody = question.accepts(Channel::Model) || self.0.rules.out_of_band;
        (runs.settings().keeps && by_anybody) || caller.is_asked_by_its_task(question)
    }

    /// True if any question of this call can be answered while the run is stored.
    pub(super) fn keeps_any(&self, context: &CallContext) -> bool {
        let asked_by_task = context.asked.takes_tasks && context.asked.modes.is_any();
        self.0.runs.as_ref().is_some_and(|runs| runs.settings().keeps || asked_by_task)
    }

    /// Continues with a suspended program: it is sent to its client if the client may answer all questions, otherwise
    /// its run is stored.
    pub(super) async fn leave(
        &self,
        evaluator: Arc<dyn Evaluator>,
        request: EvalRequest,
        caller: &Caller,
        round: u32,
        suspended: Suspended,
        shaped: Shaped,
    ) -> ProgramEnd {
        let asked = &caller.context.asked;
        let screen = caller.screen();
        let travels = asked.line.is_none()
            && asked.modes.is_any()
            && caller.is_attended()
            && round <= MOST_ROUNDS
            && suspended.questions.iter().all(|open| screen.shows(open.question.level, &open.question.mode));
        let is_kept = |open: &PendingQuestion| self.keeps(caller, &open.question);
        if !travels && caller.run.is_some() && suspended.questions.iter().all(is_kept) {
            info!(event = "program_kept", tool = caller.tool, round, questions = suspended.questions.len());
            return ProgramEnd::Suspended(Box::new(suspended), caller.kept(round));
        }
        ProgramEnd::Replied(self.send_off(evaluator, request, caller, round, suspended, shaped).await)
    }

    /// The answer of a call whose run waits. A client of the modern era that is asked in answers returns a handle of
    /// the run.
    pub(crate) async fn waiting(
        &self,
        call: (&'static str, Option<&str>),
        context: &CallContext,
        run: &RunView,
        shaper: &Shaper,
    ) -> ToolReply {
        let (tool, arguments) = call;
        let caller = Caller::new(tool, arguments, context, None);
        match self.handle(&caller, run, run.round.max(1)).await {
            Some(reply) => reply,
            None => self.told(run, shaper, &[]),
        }
    }

    /// The answer about a run that waits. `notes` are about answers that did not count.
    pub(crate) fn told(&self, run: &RunView, shaper: &Shaper, notes: &[String]) -> ToolReply {
        waiting(shaper, run, self.0.rules.console.as_deref(), notes)
    }

    /// Asks the client the questions of a stored run, if it is asked in answers.
    async fn handle(&self, caller: &Caller, run: &RunView, round: u32) -> Option<ToolReply> {
        let asked = &caller.context.asked;
        if asked.line.is_some() || !asked.modes.is_any() || round > MOST_ROUNDS {
            return None;
        }
        let carried = Carried::Kept(run.run_id.to_string());
        let mut content = Content::new(round, run.open(), carried)?;
        for open in &mut content.questions {
            open.question.mode = self.mode_of(caller.screen(), run, open)?;
        }
        self.required(caller, content, self.0.states.until()).await
    }

    /// Continues with a stored run: takes the client's answers, and returns what the run does then.
    pub(super) async fn go_on_kept(
        &self,
        runs: &Arc<Runs>,
        caller: &Caller,
        id: &str,
        retry: &Retry,
        shaper: &Shaper,
    ) -> ToolReply {
        let by = AnsweredBy { channel: Channel::Client, name: Some(caller.principal.shared_name()) };
        let answers = retry.responses.as_deref().unwrap_or("{}");
        let (began, page) = (time::now(), self.0.rules.page);
        let taken = runs.answer_opened(&caller.principal, id, answers, by, Some(page)).await;
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
        let seen = match runs.wait_past(&answered, &caller.principal, id, left).await {
            Ok(run) if run.status == Status::Running => {
                runs.wait(&caller.principal, id, runs.patience()).await
            }
            seen => seen,
        };
        match seen.map(RunView::into_reply) {
            Ok(Ok(reply)) => reply,
            Ok(Err(run)) if run.status == Status::Running => running(shaper, &run),
            Ok(Err(run)) => match self.handle(caller, &run, retry.state.content.round + 1).await {
                Some(reply) => reply,
                None => self.told(&run, shaper, &[]),
            },
            Err(why) => why.reply(),
        }
    }

    /// The asker of a run that is resumed without a call: its questions are stored.
    pub(crate) fn asker_of_run(
        &self,
        tool: &'static str,
        context: &CallContext,
        handle: &RunHandle,
        round: u32,
    ) -> Option<Arc<dyn Asker>> {
        let mut caller = Caller::new(tool, None, context, None);
        caller.run = Some(handle.clone());
        self.asker(&caller, round)
    }

    /// Lets replies count that arrive after the call was answered with a waiting run.
    pub(super) fn heed_late(&self, caller: &Caller, mut replies: Replies) {
        let (Some(runs), Some(run)) = (self.0.runs.clone(), caller.run.clone()) else { return };
        let principal = caller.principal.clone();
        let life = runs.settings().waiting_ttl;
        tokio::spawn(async move {
            let heed = async {
                while let Some(reply) = replies.next().await {
                    let Some((id, answer)) = reply else { continue };
                    let by = answer.by.clone();
                    let taken = runs.answer(&principal, &run.id, &sent(id, &answer), by).await;
                    debug!(event = "late_reply", is_taken = taken.is_ok());
                }
            };
            let _ = timeout(life, heed).await;
        });
    }
}

impl Caller {
    /// The parts of this call that a run stores.
    fn kept(&self, round: u32) -> KeptCall {
        KeptCall {
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
