//! Programs that may become runs: `wait_ms` of an evaluation (waiting.md 6.4).

mod arguments;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::EvalRequest;
use ptc_mcp::json::Raw;

use super::shaping::{Shaper, running};
use ptc_protocol::concurrency_limiter::PermitLoan;
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::{CallContext, Preparation, ToolName, ToolReply};
use ptc_runs::{Attended, Driver, ProgramEnd, RunError, RunView, Runs, Status};

pub use arguments::MAX_WAIT;
pub(super) use arguments::{run_id, wait_ms};

/// A program that may become a run.
pub(super) struct Long {
    runs: Arc<Runs>,
    call: Driver,
    /// True if its client takes tasks.
    takes_tasks: bool,
    /// True if the call goes on with a program.
    resumes: bool,
    /// Whether it is a program in the eyes of the policy.
    is_program: bool,
}

impl Long {
    /// The same, as a program in the eyes of the policy, or none.
    pub(super) fn counted(self, is_program: bool) -> Long {
        Long { is_program, ..self }
    }

    /// Its call.
    pub(super) fn call(&self) -> &Driver {
        &self.call
    }
}

/// Prepares the program of `request` to become a run: with the time limit of runs, if the arguments or the operator
/// set a time for the answer, and with questions to people, if these are on.
///
/// # Errors
/// The message that `wait_ms` is invalid.
pub(super) fn begin(
    runs: Option<&Arc<Runs>>,
    arguments: Option<Raw<'_>>,
    context: &CallContext,
    request: &mut EvalRequest,
) -> Result<Option<Long>, String> {
    let Some(runs) = runs else { return Ok(None) };
    let settings = runs.settings();
    let wait = match settings.long {
        true => wait_ms(arguments)?.or(settings.answer_within),
        false => None,
    };
    if wait.is_none() && !settings.keeps {
        return Ok(None);
    }
    let (takes_tasks, resumes) = (context.asked.takes_tasks, context.asked.retry.is_some());
    let call = runs.lengthen(wait, request).map(|call| call.told_as_task(takes_tasks));
    Ok(call.map(|call| Long { runs: runs.clone(), call, takes_tasks, resumes, is_program: true }))
}

/// The answer of a call whose run waits.
pub(super) type WhenWaiting = Box<dyn FnOnce(RunView) -> BoxFuture<'static, ToolReply> + Send>;

/// The program, prepared for running.
pub(super) fn prepared(
    long: Option<Long>,
    tool: impl Into<ToolName>,
    principal: &Principal,
    loan: &PermitLoan,
    shaper: Shaper,
    waiting: impl FnOnce() -> WhenWaiting,
    work: BoxFuture<'static, ProgramEnd>,
) -> Preparation {
    let Some(Long { runs, call, takes_tasks, resumes, is_program }) = long else {
        return Preparation::Gated(work.map(ProgramEnd::alone).boxed());
    };
    if call.is_long() && !runs.has_room(principal) {
        return Preparation::Done(RunError::TooMany.reply());
    }
    let entered = match (is_program, resumes) {
        (false, _) => runs.enter_call(principal),
        (true, true) => runs.enter_again(principal),
        (true, false) => runs.enter(principal),
    };
    let mut permit = match entered {
        Ok(permit) => permit,
        Err(full) => return Preparation::Full(full),
    };
    loan.bind(&mut permit);
    let (waiting, tool) = (waiting(), tool.into());
    let principal = principal.clone();
    let answer = async move {
        let run = match call.attend(runs.clone(), principal.clone(), &tool, work, permit).await {
            Ok(Attended::Replied(reply)) => return reply,
            Ok(Attended::Run(run)) => match run.into_reply() {
                Ok(reply) => return reply,
                Err(run) => run,
            },
            Err(why) => return why.reply(),
        };
        match run.status {
            Status::Waiting => waiting(*run).await,
            _ if takes_tasks => told_as_task(&runs, &principal, &run, &shaper).await,
            _ => running(&shaper, &run),
        }
    };
    Preparation::Free(answer.boxed())
}

/// The answer to a client that takes tasks, about a run that still runs.
async fn told_as_task(runs: &Arc<Runs>, principal: &Principal, run: &RunView, shaper: &Shaper) -> ToolReply {
    // Its program may have asked by now, and have been suspended into the store.
    match runs.task(principal, &run.run_id).await {
        // A client that gets a task asks it for its questions.
        Ok(task) => ToolReply::task(task.into_task(|_| "{}".to_owned())),
        Err(_) => running(shaper, run),
    }
}
