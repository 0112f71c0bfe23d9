//! The client of the modern era: a suspended program is sent to it in a state, which it returns with answers (waiting.md 4.2 and
//! 5). The program resumes exactly once; a client that returns the state again with the same answers gets the same outcome.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::codec;
use ptc_host::engine::{EvalRequest, Failure, Gate, Resume, ResumeFault, Suspended};
use ptc_host::questions::{Action, Answer, AnsweredBy, Channel, PendingQuestion};
use ptc_host::state::{Commit, End, Key, Kind, Owner, StateError, StateStore, Write};
use ptc_host::sync::Mutex;
use ptc_host::time::timeout;
use ptc_vm::Reason;
use tracing::{debug, info, warn};

use super::{CallAsker, Shaped, refused};
use crate::evaluator::Evaluator;
use ptc_protocol::principal::Principal;
use ptc_protocol::request_state::{NotSealed, Opened, StateBinding, StateRefusal};
use ptc_protocol::tool::{Instead, PageVisits, Retry, ToolReply};
use ptc_runs::{
    Jti, ProgramEnd, SentAnswers, StoredProgram, StoredReply, TravellingRun, by_page, take_answers,
};

/// Largest outcome that is stored, in bytes.
const MOST_OUTCOME_BYTES: usize = 256 << 10;
/// How long a second call waits for the outcome of the first.
const PATIENCE: Duration = Duration::from_secs(15);
/// The version of the format of outcomes.
const VERSION: u8 = 1;
/// How much longer than the state itself the record of its use is stored.
const LONGER: Duration = Duration::from_secs(60);

impl CallAsker {
    /// Sends a suspended program to its client. `round` is the number of this suspension. If that is not possible,
    /// the questions remain unanswered.
    pub(super) async fn send_off(
        &self,
        evaluator: Arc<dyn Evaluator>,
        request: EvalRequest,
        round: u32,
        suspended: Suspended,
        shaped: Shaped,
    ) -> ToolReply {
        let program = StoredProgram::packed(suspended.snapshot.clone()).await;
        if let Some(run) = TravellingRun::new(round, &suspended.questions, program)
            && let Some(reply) = self.required(run, self.asks.context.states.until()).await
        {
            info!(event = "program_waits", tool = &*self.tool, round, questions = suspended.questions.len());
            return ToolReply { eval_id: Some(request.id), ..reply };
        }
        warn!(event = "program_not_sent_off", tool = &*self.tool, bytes = suspended.snapshot.len());
        let by = AnsweredBy { channel: Channel::Client, name: None };
        let nobody =
            Answer { action: Action::Cancel, content: None, by, at_ms: self.asks.context.clock.now() };
        let answers = suspended.questions.iter().map(|open| (open.id, nobody.clone())).collect();
        let resume = Resume { snapshot: suspended.snapshot, answers, gate: None };
        let request = EvalRequest { asker: None, resume: Some(Arc::new(resume)), ..request };
        shaped(evaluator.eval(request).await)
    }

    /// The reply that asks for the missing answers. A program that is too large to be sent is stored, and its handle
    /// is sent.
    async fn required(&self, run: TravellingRun, until: u64) -> Option<ToolReply> {
        let asked = self.context.asked.modes;
        let open = run.record.questions().iter().filter(|open| open.is_open());
        let requests =
            asked.requests(self.context.revision, open.map(|open| (open, open.question.mode.clone())));
        let (mut run, content) = run.written().await;
        let state = match self.sealed(content, until).await {
            Ok(state) => state,
            Err(NotSealed::NoEntropy) => return None,
            Err(NotSealed::TooLarge) => {
                if run.blob.is_some() {
                    return None;
                }
                let program = std::mem::take(&mut run.record.program.bytes);
                run.blob = Some(self.put_blob(program, until).await?);
                self.sealed(run.to_bytes(), until).await.ok()?
            }
        };
        Some(ToolReply::input_required(requests, state))
    }

    /// Seals the content of a state for this call.
    pub(super) async fn sealed(&self, content: Bytes, until: u64) -> Result<String, NotSealed> {
        let digest = self.digest().await;
        let bound = StateBinding {
            principal: self.principal.name(),
            method: "tools/call",
            tool: &self.tool,
            arguments: &digest,
        };
        self.asks.context.states.seal_large(bound, content, until).await
    }

    /// Stores the bytes of a program for as long as its state is valid. Returns their id.
    async fn put_blob(&self, program: Bytes, until: u64) -> Option<String> {
        let mut random = [0; 18];
        getrandom::fill(&mut random).ok()?;
        let id = format!("b_{}", URL_SAFE_NO_PAD.encode(random));
        let key = Key::new(&self.owner(), Kind::Blob, id.as_str()).ok()?;
        let end = End::After(self.left(until));
        match self.asks.context.store.commit(Commit::one(Write::put(key, 0, program).ending(end))).await {
            Ok(()) => Some(id),
            Err(error) => {
                warn!(event = "request_state_not_kept", reason = %error);
                None
            }
        }
    }

    /// Resumes the program of a state, which is `run`, or asks for the missing answers.
    pub(super) async fn go_on(
        &self,
        evaluator: Arc<dyn Evaluator>,
        mut request: EvalRequest,
        retry: &Retry,
        mut run: TravellingRun,
        shaped: Shaped,
    ) -> ProgramEnd {
        let Opened { until, left, .. } = retry.state;
        let visited = retry.visited.clone().unwrap_or_default();
        let responses = retry.responses.as_deref();
        let now = self.asks.context.clock.now();
        take_responses(run.record.questions_mut(), responses, &visited, &self.principal, now);
        // A client that no longer shows any questions cannot be asked again.
        if run.record.questions().iter().any(PendingQuestion::is_open) && self.context.asked.modes.is_any() {
            return ProgramEnd::Replied(match self.required(run, until).await {
                Some(reply) => ToolReply { eval_id: Some(request.id), ..reply },
                None => unavailable(),
            });
        }
        let (jti, round, blob) = (run.id, run.round(), run.blob.clone());
        if let Some(id) = &blob {
            match self.blob(id).await {
                Ok(Some(bytes)) => run.record.program.bytes = bytes,
                // A program that was resumed is deleted.
                Ok(None) => return ProgramEnd::Replied(self.again(retry, &jti).await),
                Err(_) => return ProgramEnd::Replied(unavailable()),
            }
        }
        let once = Arc::new(Once::new(self.asks.context.store.clone(), self.owner(), jti, left));
        let Some(resume) = run.record.into_resume(Some(once.clone())).await else {
            return ProgramEnd::Replied(refused(&self.tool, StateRefusal::Build));
        };
        request.resume = Some(Arc::new(resume));
        request.asker = self.asker(round + 1);
        let again = EvalRequest { resume: None, ..request.clone() };
        let outcome = evaluator.eval(request).await;
        match once.passed() {
            Some(Passed::Spent) => return ProgramEnd::Replied(self.again(retry, &jti).await),
            Some(Passed::Unavailable) => return ProgramEnd::Replied(unavailable()),
            Some(Passed::First) => {}
            None => match &outcome.resume_fault {
                Some(ResumeFault::OtherBuild) => {
                    return ProgramEnd::Replied(refused(&self.tool, StateRefusal::Build));
                }
                Some(ResumeFault::Invalid(part)) => {
                    return ProgramEnd::Replied(refused(&self.tool, StateRefusal::Snapshot(part)));
                }
                // The program could not be read for lack of memory or time; the client can try again.
                None => return ProgramEnd::Replied(shaped(outcome)),
            },
        }
        let ran = match outcome.suspended {
            Some(suspended) => self.leave(evaluator, again, round + 1, *suspended, shaped).await,
            None => ProgramEnd::Replied(shaped(outcome)),
        };
        if let ProgramEnd::Replied(reply) = &ran {
            self.keep_outcome(&jti, &retry.digest, left, reply).await;
        }
        if let Some(id) = &blob {
            self.forget_blob(id).await;
        }
        ran
    }

    /// The reply to a state that was used before.
    async fn again(&self, retry: &Retry, jti: &Jti) -> ToolReply {
        match self.outcome_of_first(jti, &retry.digest).await {
            Ok(Some(reply)) => reply,
            Ok(None) => refused(&self.tool, StateRefusal::Spent),
            Err(_) => unavailable(),
        }
    }

    async fn blob(&self, id: &str) -> Result<Option<Bytes>, StateError> {
        let Ok(key) = Key::new(&self.owner(), Kind::Blob, id) else { return Ok(None) };
        match self.asks.context.store.read(&key).await {
            Ok(kept) => Ok(kept.and_then(|kept| kept.blob)),
            Err(StateError::Unavailable(why)) => Err(StateError::Unavailable(why)),
            Err(_) => Ok(None),
        }
    }

    async fn forget_blob(&self, id: &str) {
        if let Ok(key) = Key::new(&self.owner(), Kind::Blob, id) {
            // It expires by itself as well.
            let _ = self.asks.context.store.commit(Commit::one(Write::remove(key))).await;
        }
    }

    /// The time until then.
    pub(super) fn left(&self, until: u64) -> Duration {
        Duration::from_millis(until.saturating_sub(self.asks.context.clock.now()))
    }

    /// Stores the reply to a call that resumed a program, for as long as its state is valid. `asked` is the digest of
    /// the state and the answers.
    pub(super) async fn keep_outcome(&self, jti: &Jti, asked: &[u8; 32], left: Duration, reply: &ToolReply) {
        let Some(blob) = written_outcome(asked, reply).filter(|blob| blob.len() <= MOST_OUTCOME_BYTES) else {
            return;
        };
        let Some(key) = outcome_key(self, jti) else { return };
        let write = Write::put(key, 0, blob).ending(End::After(left));
        if let Err(error) = self.asks.context.store.commit(Commit::one(write)).await {
            debug!(event = "outcome_not_kept", reason = %error);
        }
    }

    /// The outcome of the state's first use, if the answers are the same. Waits for it.
    ///
    /// # Errors
    /// The store is unavailable.
    pub(super) async fn outcome_of_first(
        &self,
        jti: &Jti,
        asked: &[u8; 32],
    ) -> Result<Option<ToolReply>, StateError> {
        let Some(key) = outcome_key(self, jti) else { return Ok(None) };
        match timeout(PATIENCE, self.asks.context.store.watch(&key, 0)).await {
            Ok(Ok(Some(kept))) => Ok(read_outcome(&kept.blob.unwrap_or_default(), asked)),
            Ok(Err(StateError::Unavailable(why))) => Err(StateError::Unavailable(why)),
            Ok(_) | Err(_) => Ok(None),
        }
    }
}

/// Admits the resumption of a program once: it is checked right before the program runs.
struct Once {
    store: Arc<dyn StateStore>,
    owner: Owner,
    jti: Jti,
    /// The remaining validity of the state.
    left: Duration,
    passed: Arc<Mutex<Option<Passed>>>,
}

/// The result of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passed {
    /// The program may resume.
    First,
    /// The state has been used before.
    Spent,
    /// The store is unavailable.
    Unavailable,
}

impl Once {
    fn new(store: Arc<dyn StateStore>, owner: Owner, jti: Jti, left: Duration) -> Once {
        Once { store, owner, jti, left, passed: Arc::default() }
    }

    /// The result of the check; `None` if it was not made because the program could not be read.
    fn passed(&self) -> Option<Passed> {
        *self.passed.lock()
    }
}

impl Gate for Once {
    fn pass(&self) -> BoxFuture<'static, Result<(), Failure>> {
        let (store, owner, jti) = (self.store.clone(), self.owner.clone(), self.jti);
        let (life, told) = (self.left + LONGER, self.passed.clone());
        async move {
            let passed = match store.spend(&owner, &jti, life).await {
                Ok(true) => Passed::First,
                Ok(false) => Passed::Spent,
                Err(error) => {
                    warn!(event = "request_state_not_spent", reason = %error);
                    Passed::Unavailable
                }
            };
            *told.lock() = Some(passed);
            match passed {
                Passed::First => Ok(()),
                // The caller words the answer itself.
                Passed::Spent | Passed::Unavailable => {
                    Err(Failure::new(Reason::InvalidConfig, "the program does not go on".to_owned()))
                }
            }
        }
        .boxed()
    }
}

/// Takes the answers of a client, and the results of pages. Answers to unknown or answered questions are ignored.
pub(super) fn take_responses(
    questions: &mut [PendingQuestion],
    responses: Option<&str>,
    visited: &PageVisits,
    principal: &Principal,
    at_ms: u64,
) {
    let by = AnsweredBy { channel: Channel::Client, name: Some(principal.shared_name()) };
    let (answers, undone) = (responses.unwrap_or("{}"), visited.undone.clone());
    take_answers(questions, u32::MAX, &SentAnswers { answers, by, at_ms, undone, counts: true });
    for asked in questions.iter_mut().filter(|asked| visited.done.contains(&asked.id)) {
        asked.take_done(by_page(principal), at_ms);
    }
}

fn unavailable() -> ToolReply {
    ToolReply::failure(
        "state_unavailable",
        "the state store is unavailable; the program did not go on",
        "Nothing was changed. Wait a moment and retry the same tools/call with the same requestState and inputResponses.",
    )
}

fn outcome_key(call: &CallAsker, jti: &Jti) -> Option<Key> {
    let id = format!("o_{}", URL_SAFE_NO_PAD.encode(jti));
    Key::new(&call.owner(), Kind::Blob, id).ok()
}

/// The reply, with the digest of what it answers. An error or a task is not kept.
fn written_outcome(asked: &[u8; 32], reply: &ToolReply) -> Option<Vec<u8>> {
    match reply.instead.as_deref() {
        Some(Instead::Refused(_) | Instead::Task(_)) => None,
        _ => Some(codec::encode(VERSION, &(asked, StoredReply::of(reply)), &[])),
    }
}

fn read_outcome(blob: &[u8], asked: &[u8; 32]) -> Option<ToolReply> {
    let (first, reply) = codec::decode_whole::<([u8; 32], StoredReply)>(VERSION, blob)?;
    (first == *asked).then(|| reply.reply())
}
