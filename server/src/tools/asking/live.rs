//! The client is asked while the program waits where it is: `elicitation/create` (waiting.md 4.3).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ptc_host::engine::{Asker, Verdict};
use ptc_host::questions::{Answer, OpenQuestion, Question, QuestionId};
use ptc_mcp::json::{Raw, object_text};
use tokio::time::{Instant, timeout_at};
use tracing::info;

use super::answers::{Judged, judged};
use super::shown::Screen;
use super::{Asks, Caller, MOST_ROUNDS};
use crate::protocol::client_requests::{ClientLine, ClientReply, Pending};
use crate::protocol::tool::CallContext;

/// Asks the client of one call.
struct CallAsker {
    asks: Asks,
    caller: Caller,
    screen: Screen,
    /// Which suspension comes next.
    round: u32,
    /// When the call has waited long enough for its client.
    until: Instant,
}

impl Asks {
    /// What asks the client of this call, if that is possible at all.
    pub(super) fn asker(&self, caller: &Caller, round: u32) -> Option<Arc<dyn Asker>> {
        if !caller.context.asked.modes.is_any() {
            return None;
        }
        let (screen, until) = (caller.screen(), Instant::now() + self.0.rules.open);
        let asker = Arc::new(CallAsker { asks: self.clone(), caller: caller.clone(), screen, round, until });
        Some(match &self.0.listener {
            Some(listener) => listener(&caller.principal, caller.context.eval_id, asker),
            None => asker,
        })
    }

    /// The same for a program that cannot leave the process, such as one of a session: its client must be there to be asked.
    pub(crate) fn asker_here(&self, tool: &'static str, context: &CallContext) -> Option<Arc<dyn Asker>> {
        context.asked.line.as_ref()?;
        self.asker(&Caller::new(tool, None, context), 1)
    }
}

impl Asker for CallAsker {
    fn can_ask(&self, question: &Question) -> bool {
        let has_way = match &self.caller.context.asked.line {
            Some(line) => line.is_open() && Instant::now() < self.until,
            None => self.round <= MOST_ROUNDS,
        };
        has_way && self.screen.shows(question.level, &question.mode)
    }

    fn ask(&self, open: Vec<OpenQuestion>) -> BoxFuture<'static, Verdict> {
        let Some(line) = self.caller.context.asked.line.clone() else {
            return std::future::ready(Verdict::Leave).boxed();
        };
        let (asks, caller) = (self.asks.clone(), self.caller.clone());
        let (screen, until) = (self.screen, self.until);
        async move { Verdict::Answered(ask_all(asks, caller, line, screen, open, until).await) }.boxed()
    }

    /// Nobody is asked what the program waits for in vain.
    fn hold(&self, open: Vec<OpenQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        info!(event = "questions_not_asked", count = open.len(), reason = why);
        std::future::ready(Vec::new()).boxed()
    }

    fn most_questions(&self) -> u32 {
        self.asks.0.rules.questions
    }
}

/// Asks all questions at once, a request for each. The result: the answers that came in time.
async fn ask_all(
    asks: Asks,
    caller: Caller,
    line: ClientLine,
    screen: Screen,
    open: Vec<OpenQuestion>,
    until: Instant,
) -> Vec<(QuestionId, Answer)> {
    let mut answers = Vec::with_capacity(open.len());
    let mut waiting: FuturesUnordered<_> = open
        .iter()
        .map(|open| {
            let asked = ask_one(&asks, &caller, &line, screen, open);
            async move { Some((open.id, asked.await?)) }
        })
        .collect();
    while let Ok(Some(answer)) = timeout_at(until, waiting.next()).await {
        answers.extend(answer);
    }
    // What is not answered by now is taken back, and its client told so, when this is dropped.
    drop(waiting);
    info!(event = "client_asked", questions = open.len(), answers = answers.len());
    answers
}

/// Asks one question until the answer fits. `None`: there is none.
async fn ask_one(
    asks: &Asks,
    caller: &Caller,
    line: &ClientLine,
    screen: Screen,
    open: &OpenQuestion,
) -> Option<Answer> {
    let mode = &open.question.mode;
    let page = if screen.opens(mode) { Some(random_page()?) } else { None };
    let mut fault: Option<String> = None;
    let mut faults = 0;
    loop {
        let params = screen.params((&open.question.message, mode), fault.as_deref(), page.as_deref());
        let mut asked = TakenBack { line, pending: Some(line.request("elicitation/create", &params).ok()?) };
        let reply = asked.pending.as_mut()?.reply().await;
        // There is nothing to take back any more.
        asked.pending = None;
        let ClientReply::Result(sent) = reply? else { return None };
        let sent = Raw::parse(&sent).ok()?;
        match judged(sent, mode, faults, (&caller.principal, asks.0.clock.now())) {
            Judged::Answer(answer) => {
                if let Some(page) = page {
                    let params = object_text(|params| params.string("elicitationId", &page));
                    line.notify("notifications/elicitation/complete", &params);
                }
                return Some(answer);
            }
            Judged::Fault(what) => {
                faults += 1;
                fault = Some(what);
            }
            Judged::NoAnswer => return None,
        }
    }
}

/// A request that is taken back if it is given up: its client need not show it any longer.
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

/// The name of a page, which tells its client when the user is done there.
fn random_page() -> Option<String> {
    let mut random = [0; 18];
    getrandom::fill(&mut random).ok()?;
    Some(URL_SAFE_NO_PAD.encode(random))
}
