//! The operator's webhook for approvals (waiting.md 4.5): it is told of each approval that a kept run waits for, and answers them.
//!
//! * [`Webhook::tell`] — what a run begins to wait for goes out, signed, in tasks of its own (`delivery`).
//! * [`Webhook::take`] — an answer comes in, signed alike (`signature`), counts for one question of one run, and once.
//!
//! What it says is as good as the word of a person on the console: no level asks for more.

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
use ptc_host::questions::{AnsweredBy, Channel, QuestionId, QuestionKind};
use ptc_host::state::{MemoryState, Owner, Secret, StateStore, StoreLimits};
use tokio::sync::Semaphore;
use tracing::warn;

use crate::principal::Principal;
use crate::runs::{NotSeen, RunView, Runs, Took};
use crate::settings;

pub(crate) use signature::HEADER;

/// Below this are the addresses at which answers are taken: the run's id, and the question's.
pub(crate) const ANSWERS: &str = "/webhook/answers";

/// How old a signature may be.
const MAX_AGE: Duration = Duration::from_secs(300);
/// How long it is remembered that one was used: as long as it is taken on either side of our clock, and a little longer.
const REMEMBERED: Duration = Duration::from_secs(2 * 300 + 60);
/// Whose used signatures are: no token has a name with a colon.
const OWNER: &str = "webhook:answers";
/// Exchanges at a time. The others wait.
const AT_ONCE: usize = 64;
/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_millis(5_000);
/// Between an attempt and the next one.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(16)];

/// The webhook.
pub(crate) struct Webhook {
    client: Client,
    target: Target,
    secret: Secret,
    /// Where answers are taken, without a slash at its end.
    answers: String,
    engine: Engine,
    store: Arc<dyn StateStore>,
    at_once: Semaphore,
    pauses: [Duration; 3],
    /// How long one attempt may take.
    patience: Duration,
    /// On whose account its answers are read.
    caller: Principal,
}

/// What becomes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It counts.
    Counted,
    /// Somebody was faster.
    AlreadyAnswered,
    /// No run waits for that, or it is no approval.
    NotOpen,
    /// It is not signed as it must be, and why.
    NotTrusted(&'static str),
    /// The signature has been used for another answer.
    Spent,
    /// It names another run or question than its address does.
    Elsewhere,
    /// What is wrong with it.
    NotAnAnswer(String),
    /// The store does not answer.
    Unavailable,
}

/// The runs that wait for approvals, as far as a webhook knows of them.
pub(crate) trait Waiting {
    /// All of them, whosever they are.
    fn all(&self) -> BoxFuture<'_, Result<Vec<RunView>, NotSeen>>;

    /// Takes an answer to one question.
    fn answer<'a>(
        &'a self,
        owner: &'a str,
        run_id: &'a str,
        answers: String,
        by: AnsweredBy,
    ) -> BoxFuture<'a, Result<Vec<(QuestionId, Took)>, NotSeen>>;
}

impl Waiting for Arc<Runs> {
    fn all(&self) -> BoxFuture<'_, Result<Vec<RunView>, NotSeen>> {
        Box::pin(self.list(None))
    }

    fn answer<'a>(
        &'a self,
        owner: &'a str,
        run_id: &'a str,
        answers: String,
        by: AnsweredBy,
    ) -> BoxFuture<'a, Result<Vec<(QuestionId, Took)>, NotSeen>> {
        let owner = self.principal(owner);
        Box::pin(async move { Runs::answer(self, &owner, run_id, &answers, by).await })
    }
}

impl Webhook {
    /// The webhook of these settings, which answers at `origin`. Its used signatures are remembered in `store`; without one, in this
    /// process.
    ///
    /// # Errors
    /// If its URL cannot be requested.
    pub(crate) fn new(
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

    /// On whose account its answers are read.
    pub(crate) fn caller(&self) -> &Principal {
        &self.caller
    }

    /// Tells it of the approvals that a run waits for, in tasks of their own.
    pub(crate) fn tell(self: &Arc<Self>, run: &RunView) {
        for asked in &run.questions {
            if asked.question.kind != QuestionKind::Approval || asked.answer.is_some() {
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

    /// Takes an answer that came to the address of this run and question.
    pub(crate) async fn take(
        &self,
        runs: &impl Waiting,
        (run_id, question): (&str, &str),
        signature: Option<&HeaderValue>,
        body: &[u8],
    ) -> Taken {
        let signature = match signature::check(&self.secret, signature, body, signature::now_s()) {
            Ok(signature) => signature,
            Err(why) => return Taken::NotTrusted(why),
        };
        let said = match said::Said::read(body) {
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
        // What says which question it answers is an answer to no other one, and questions are answered once.
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
            Err(NotSeen::NotFound) => return Taken::NotOpen,
            Err(NotSeen::Unavailable) => return Taken::Unavailable,
        };
        match took.into_iter().find(|(of, _)| *of == id).map(|(_, took)| took) {
            Some(Took::Counted) => Taken::Counted,
            Some(Took::AlreadyAnswered) => Taken::AlreadyAnswered,
            Some(Took::Misfit(fault)) => Taken::NotAnAnswer(fault),
            Some(Took::NotHere | Took::NotOpen | Took::NoAnswer) | None => Taken::NotOpen,
        }
    }

    /// Whether the signature is used for the first time; `None` if the store does not say.
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
