//! The channels to the client of a call, by which it is asked the questions of its program (waiting.md 4).
//!
//! | Channel | |
//! |---|---|
//! | `elicitation` | handshake era: the program stays resident while its client is asked |
//! | `input_required` | modern era: the program is suspended and sealed into `requestState`, and the next call resumes it, exactly once |
//! | `stored` | a client that cannot be asked, or may not answer: its run is stored, and answered through other channels or by its task |
//! | `pages` | pages on which its user does something: that they are done is found out |

mod elicitation;
mod input_required;
#[cfg(feature = "measuring")]
pub mod measuring;
mod pages;
mod stored;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::{Asker, EvalId, EvalOutcome, EvalRequest};
use ptc_host::pace::apart;
use ptc_host::questions::Question;
use ptc_host::state::{MemoryState, Owner, StateStore, StoreClock, StoreLimits};
use ptc_host::time::Instant;
use tracing::info;

use super::evaluator::Evaluator;
use super::shaping::Shaper;
use ptc_protocol::Elicitation;
use ptc_protocol::principal::Principal;
use ptc_protocol::request_state::{RequestStates, StateRefusal, arguments_digest};
use ptc_protocol::tool::{CallContext, ToolName, ToolReply};
use ptc_runs::{Driver, Pages, ProgramEnd, RequestState, RunHandle, Runs};

/// Most suspensions of one program that its client is asked about: clients of the modern era give up after ten
/// rounds.
const MOST_ROUNDS: u32 = 8;

/// Asks clients, for all tools that run programs. Clones are cheap.
#[derive(Clone)]
pub struct Asks {
    context: Arc<AskContext>,
    /// Observes questions and answers.
    listener: Option<Listener>,
}

/// Wraps the asker of a principal's call, for the audit log. The text is the id of its run.
pub type Listener =
    Arc<dyn Fn(&Principal, (EvalId, Option<Arc<str>>), Arc<dyn Asker>) -> Arc<dyn Asker> + Send + Sync>;

struct AskContext {
    /// Seals the states.
    states: RequestStates,
    /// Records which states were used, and their outcomes.
    store: Arc<dyn StateStore>,
    rules: AskRules,
    clock: StoreClock,
    /// Stores the runs of programs whose clients are not asked; `None` if that is off.
    runs: Option<Arc<Runs>>,
    /// Checks what people did on pages, if they are sent to any.
    pages: Option<Arc<dyn Pages>>,
}

/// Limits on questions.
#[derive(Debug, Clone)]
pub struct AskRules {
    /// How long a call waits for the reply of a client of the handshake era (`--question-open-ms`).
    pub open: Duration,
    /// How long an answer waits for its client's user to finish on a page (`--page-wait-ms`).
    pub page: Duration,
    /// Most questions of one program (`--max-questions-per-program`).
    pub questions: u32,
    /// The page where people answer the questions of runs, if the console has an address that a browser can open.
    pub console: Option<Arc<str>>,
    /// True if questions can be answered out of band, on the console or by the webhook.
    pub out_of_band: bool,
}

/// Makes the reply of a program that has ended.
type Shaped = Box<dyn FnOnce(EvalOutcome) -> ToolReply + Send>;

/// The call of a tool, as far as it matters for asking its client. It asks the questions of the call's program.
#[derive(Clone)]
struct CallAsker {
    asks: Asks,
    principal: Principal,
    tool: ToolName,
    /// `params.arguments` as sent.
    arguments: Option<Arc<str>>,
    context: Arc<CallContext>,
    /// The run that it may become.
    run: Option<RunHandle>,
    /// True if that run has the time limit of runs.
    is_long: bool,
    /// The modes of questions that its client shows for a task; `None` if the run is no task.
    task_modes: Option<Elicitation>,
    /// The number of its program's next suspension.
    round: u32,
    /// When it stops waiting for its client, which is asked during the call.
    until: Option<Instant>,
}

impl CallAsker {
    fn new(
        asks: &Asks,
        tool: impl Into<ToolName>,
        arguments: Option<&str>,
        context: &CallContext,
        long: Option<&Driver>,
    ) -> CallAsker {
        CallAsker {
            asks: asks.clone(),
            principal: context.owner.principal.clone(),
            tool: tool.into(),
            arguments: arguments.map(Arc::from),
            context: Arc::new(context.clone()),
            run: long.map(|long| long.handle().clone()),
            is_long: long.is_some_and(Driver::is_long),
            task_modes: Some(context.asked.modes).filter(|_| context.asked.takes_tasks),
            round: 1,
            until: None,
        }
    }

    /// True if the call is still open, so that its client can be asked.
    fn is_attended(&self) -> bool {
        self.run.as_ref().is_none_or(|run| !run.is_told())
    }

    /// The digest of the arguments. It is computed only for a program that waits.
    async fn digest(&self) -> [u8; 32] {
        let arguments = self.arguments.clone();
        let bytes = arguments.as_ref().map_or(0, |arguments| arguments.len());
        apart(bytes, move || arguments_digest(arguments.as_deref())).await
    }

    /// True if its client can show such a question.
    fn shows(&self, question: &Question) -> bool {
        self.context.asked.modes.shows(self.context.revision, question.level, &question.mode)
    }

    /// The owner of its stored records.
    fn owner(&self) -> Owner {
        Owner::principal(self.principal.shared_name())
    }

    /// Runs the program of `request` and asks its questions.
    fn eval(
        self,
        evaluator: Arc<dyn Evaluator>,
        mut request: EvalRequest,
        shaped: Shaped,
    ) -> BoxFuture<'static, ProgramEnd> {
        request.asker = self.asker(self.round);
        let again = request.clone();
        let eval = evaluator.eval(request);
        async move {
            let outcome = eval.await;
            match outcome.suspended {
                Some(suspended) => self.leave(evaluator, again, self.round, *suspended, shaped).await,
                None => ProgramEnd::Replied(shaped(outcome)),
            }
        }
        .boxed()
    }
}

impl Asks {
    /// Asks with `states`, each of which is used once according to `store`. Without a store this process
    /// records their use, and it must be the only one that can open them. Programs whose clients are not asked are
    /// stored in `runs`.
    pub fn new(
        states: RequestStates,
        store: Option<Arc<dyn StateStore>>,
        rules: AskRules,
        listener: Option<Listener>,
        runs: Option<Arc<Runs>>,
        pages: Option<Arc<dyn Pages>>,
    ) -> Asks {
        let store = store.unwrap_or_else(|| Arc::new(MemoryState::new(StoreLimits::default())));
        let context = AskContext { states, store, rules, clock: StoreClock::start(), runs, pages };
        Asks { context: Arc::new(context), listener }
    }

    /// Adds an observer.
    pub(crate) fn heard_by(&self, listener: Listener) -> Asks {
        let before = self.listener.clone();
        let listener: Listener = Arc::new(move |principal, run, asker| {
            let asker = match &before {
                Some(before) => before(principal, run.clone(), asker),
                None => asker,
            };
            listener(principal, run, asker)
        });
        Asks { listener: Some(listener), ..self.clone() }
    }

    /// Runs the program of `request` for this call of a tool, and asks its client the program's questions. `long` is
    /// the run that the call may become.
    pub(crate) fn eval(
        &self,
        evaluator: Arc<dyn Evaluator>,
        request: EvalRequest,
        call: (impl Into<ToolName>, Option<&str>),
        (context, long): (&CallContext, Option<&Driver>),
        (shaper, shaped): (Shaper, impl FnOnce(EvalOutcome) -> ToolReply + Send + 'static),
    ) -> BoxFuture<'static, ProgramEnd> {
        let asked = &context.asked;
        let keeps = long.is_some() && self.keeps_any(context);
        if asked.retry.is_none() && !asked.modes.is_any() && !keeps {
            let eval = evaluator.eval(request);
            return async move { ProgramEnd::Replied(shaped(eval.await)) }.boxed();
        }
        let (tool, arguments) = call;
        let call = CallAsker::new(self, tool, arguments, context, long);
        let shaped: Shaped = Box::new(shaped);
        let Some(retry) = asked.retry.clone() else { return call.eval(evaluator, request, shaped) };
        match RequestState::from_bytes(&retry.state.content) {
            Some(RequestState::Run(run)) => {
                async move { call.go_on(evaluator, request, &retry, *run, shaped).await }.boxed()
            }
            Some(RequestState::Stored { id, round }) => {
                let answer = async move { call.go_on_stored(&id, round, &retry, &shaper).await };
                answer.map(ProgramEnd::Replied).boxed()
            }
            None => {
                let refused = refused(&call.tool, StateRefusal::Build);
                std::future::ready(ProgramEnd::Replied(refused)).boxed()
            }
        }
    }
}

/// The answer to a call whose state is refused.
fn refused(tool: &str, refusal: StateRefusal) -> ToolReply {
    info!(event = "request_state_refused", tool, reason = refusal.reason());
    ToolReply::refused(refusal.error())
}
