//! The operator's webhook for approvals (waiting.md 4.5): it is notified of each approval that a stored run waits
//! for, and answers it.
//!
//! * [`Webhook::tell`] — sends the open approvals of a run, signed, in tasks of their own (`delivery`).
//! * [`Webhook::take`] — takes an answer with the same kind of signature (`signature`). It counts once, for one
//!   question of one run.
//!
//! Its answer has the weight of a person's on the console: no level of approval requires more.

mod delivery;
mod message;
mod said;
mod signature;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::HeaderValue;
use ptc_host::engine::Engine;
use ptc_host::http::{Client, HttpError, Target};
use ptc_host::questions::{AnsweredBy, Channel, QuestionId, QuestionKind, Receipt};
use ptc_host::state::{MemoryState, Owner, Secret, StateStore, StoreLimits};
use tokio::sync::Semaphore;
use tracing::warn;

use crate::{RunError, RunView, Runs};
use ptc_protocol::principal::Principal;
use ptc_protocol::settings;

pub use signature::HEADER;

/// The path prefix for answers; the id of the run and the number of the question follow.
pub const ANSWERS: &str = "/webhook/answers";

/// How long used signatures are remembered: as long as they are accepted on either side of our clock, and a little
/// longer.
const REMEMBERED: Duration = Duration::from_secs(2 * 300 + 60);
/// The owner of used signatures: no token has a name with a colon.
const OWNER: &str = "webhook:answers";
/// Concurrent exchanges. Further ones wait.
const AT_ONCE: usize = 64;
/// The time limit of one attempt.
const PATIENCE: Duration = Duration::from_millis(5_000);
/// The pauses between attempts.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(16)];

/// The webhook.
pub struct Webhook {
    client: Client,
    target: Target,
    secret: Secret,
    /// The base URL for answers, without a trailing slash.
    answers: String,
    engine: Engine,
    store: Arc<dyn StateStore>,
    at_once: Semaphore,
    pauses: [Duration; 3],
    /// The time limit of one attempt.
    patience: Duration,
    /// The principal whose account is charged for answers.
    caller: Principal,
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It counts.
    Counted,
    /// The question was answered before.
    AlreadyAnswered,
    /// No run has this open question, or it is no approval.
    NotOpen,
    /// Its signature is not trusted, for this reason.
    NotTrusted(&'static str),
    /// The signature has been used for another answer.
    Spent,
    /// It names another run or question than its address does.
    Elsewhere,
    /// It is malformed, for this reason.
    NotAnAnswer(String),
    /// The store is unavailable.
    Unavailable,
}

/// The port to runs that wait for approvals.
pub trait WaitingRuns {
    /// The waiting runs of all principals.
    fn all(&self) -> BoxFuture<'_, Result<Vec<RunView>, RunError>>;

    /// Takes an answer to one question.
    fn answer<'a>(
        &'a self,
        owner: &'a str,
        run_id: &'a str,
        answers: String,
        by: AnsweredBy,
    ) -> BoxFuture<'a, Result<Vec<(QuestionId, Receipt)>, RunError>>;
}

impl WaitingRuns for Arc<Runs> {
    fn all(&self) -> BoxFuture<'_, Result<Vec<RunView>, RunError>> {
        Box::pin(self.list(None))
    }

    fn answer<'a>(
        &'a self,
        owner: &'a str,
        run_id: &'a str,
        answers: String,
        by: AnsweredBy,
    ) -> BoxFuture<'a, Result<Vec<(QuestionId, Receipt)>, RunError>> {
        let owner = self.principal(owner);
        Box::pin(async move { Runs::answer(self, &owner, run_id, &answers, by).await })
    }
}

impl Webhook {
    /// The webhook of these settings, with answers at `origin`. Used signatures are recorded in `store`; without one,
    /// in this process.
    ///
    /// # Errors
    /// If its URL cannot be requested.
    pub fn new(
        settings: &settings::Webhook,
        origin: &str,
        client: Client,
        engine: Engine,
        store: Option<Arc<dyn StateStore>>,
    ) -> Result<Webhook, HttpError> {
        Ok(Webhook {
            client,
            target: Target::new(&settings.url)?,
            secret: settings.secret.clone(),
            answers: format!("{origin}{ANSWERS}"),
            engine,
            store: store.unwrap_or_else(|| Arc::new(MemoryState::new(StoreLimits::default()))),
            at_once: Semaphore::new(AT_ONCE),
            pauses: PAUSES,
            patience: PATIENCE,
            caller: Principal::named(OWNER),
        })
    }

    /// The principal whose account is charged for answers.
    pub fn caller(&self) -> &Principal {
        &self.caller
    }

    /// Notifies the webhook of the approvals that a run waits for, in tasks of their own.
    pub fn tell(self: &Arc<Self>, run: &RunView) {
        for asked in &run.questions {
            if asked.question.kind != QuestionKind::Approval || !asked.is_open() {
                continue;
            }
            let answer_url = format!("{}/{}/{}", self.answers, run.run_id, asked.id);
            let body = message::message(run, asked, &answer_url);
            let (webhook, run_id, question) = (self.clone(), run.run_id.clone(), asked.id);
            let number = usize::try_from(question.number()).unwrap_or(0);
            self.engine.spawn_on(number, move || async move {
                webhook.deliver(body.into(), &run_id, question).await;
            });
        }
    }

    /// Takes an answer at the address of this run and question.
    pub async fn take(
        &self,
        runs: &impl WaitingRuns,
        run_id: &str,
        question: &str,
        signature: Option<&HeaderValue>,
        body: &[u8],
    ) -> Taken {
        let signature = match signature::check(&self.secret, signature, body, signature::now_s()) {
            Ok(signature) => signature,
            Err(why) => return Taken::NotTrusted(why),
        };
        let said = match said::HookReply::read(body) {
            Ok(said) => said,
            Err(why) => return Taken::NotAnAnswer(why),
        };
        let Some(id) = QuestionId::parse(question) else { return Taken::NotOpen };
        let names_it = match said.names(run_id, question) {
            Some(false) => return Taken::Elsewhere,
            names_it => names_it.is_some(),
        };
        let run = match runs.all().await {
            Ok(all) => all.into_iter().find(|run| &*run.run_id == run_id),
            Err(_) => return Taken::Unavailable,
        };
        let Some(run) = run else { return Taken::NotOpen };
        let asked = run.questions.iter().find(|asked| asked.id == id);
        if asked.is_none_or(|asked| asked.question.kind != QuestionKind::Approval) {
            return Taken::NotOpen;
        }
        // An answer that names its question fits no other one, and a question is answered once. Any other answer uses
        // up its signature.
        if !names_it {
            match self.spend(&signature).await {
                Some(true) => {}
                Some(false) => return Taken::Spent,
                None => return Taken::Unavailable,
            }
        }
        let by = AnsweredBy { channel: Channel::Webhook, name: Some(said.by.clone()) };
        let answers = format!(r#"{{"{id}":{{"action":"accept","content":{}}}}}"#, said.decision.content());
        let took = match runs.answer(&run.principal, run_id, answers, by).await {
            Ok(took) => took,
            Err(RunError::NotFound) => return Taken::NotOpen,
            Err(_) => return Taken::Unavailable,
        };
        match took.into_iter().find(|(of, _)| *of == id).map(|(_, took)| took) {
            Some(Receipt::Counted) => Taken::Counted,
            Some(Receipt::AlreadyAnswered) => Taken::AlreadyAnswered,
            Some(Receipt::Misfit(fault)) => Taken::NotAnAnswer(fault),
            Some(Receipt::NotHere | Receipt::NotOpen | Receipt::NoAnswer) | None => Taken::NotOpen,
        }
    }

    /// True if the signature is used for the first time; `None` if the store is unavailable.
    async fn spend(&self, signature: &[u8; 32]) -> Option<bool> {
        let mut id = [0; 16];
        id.copy_from_slice(&signature[..16]);
        match self.store.spend(&Owner::principal(OWNER), &id, REMEMBERED).await {
            Ok(first) => Some(first),
            Err(error) => {
                warn!(event = "approval_webhook_not_spent", reason = %error);
                None
            }
        }
    }
}
