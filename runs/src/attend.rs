//! A call that may become a run, for as long as its client waits for it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ptc_host::engine::{EvalRequest, ObservedCalls};
use ptc_host::state::StateError;
use ptc_host::time::{self, Instant, sleep_until};
use tokio::sync::mpsc;
use tracing::warn;

use super::held::Held;
use super::lease::{Lease, LeaseGuard};
use super::look::Seen;
use super::prints::PrintLog;
use super::record::{RunRecord, Status};
use super::seed::{Pinned, PinnedQuestions, Ran, RunSeed};
use super::{Name, PermitSlot, Runs, drive, key};
use ptc_protocol::concurrency_limiter::Permit;
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;

/// The state of such a call, apart from its work.
pub struct LongCall {
    pub(super) began: Instant,
    pub(super) began_ms: i64,
    /// How long its client waits; `None` means until its program ends.
    wait: Option<Duration>,
    pub(super) guard: Arc<LeaseGuard>,
    pub(super) prints: mpsc::UnboundedReceiver<String>,
    pub(super) seed: RunSeed,
    pub(super) pinned: PinnedQuestions,
    /// True if its client gets a task instead of a run id.
    is_task: bool,
}

impl LongCall {
    /// The run that it may become, for the asker of its program.
    pub fn seed(&self) -> &RunSeed {
        &self.seed
    }

    /// Sets whether the client gets a task when the run outlasts the wait.
    pub fn told_as_task(self, is_task: bool) -> LongCall {
        LongCall { is_task, ..self }
    }

    /// True if its program has the time limit of a run.
    pub fn is_long(&self) -> bool {
        self.wait.is_some()
    }
}

/// Why a run cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotKept {
    /// The limit on runs is reached.
    TooMany,
    /// The store does not answer.
    Unavailable,
}

impl NotKept {
    /// Converts an error of the store.
    pub(super) fn of(error: &StateError) -> NotKept {
        warn!(event = "run_not_kept", reason = %error);
        match error {
            StateError::Full => NotKept::TooMany,
            _ => NotKept::Unavailable,
        }
    }
}

impl Runs {
    /// Adds an observer to the program of `request`, so that the call can become a run. With a time to wait, the
    /// program has the time limit of a run. Returns `None` if the system has no entropy.
    pub fn lengthen(&self, wait: Option<Duration>, request: &mut EvalRequest) -> Option<LongCall> {
        let (seed, pinned) = RunSeed::new()?;
        let call = self.followed(seed, pinned, wait, request);
        if wait.is_some() {
            request.limits.timeout = self.settings.timeout;
        }
        Some(call)
    }

    /// The same for a run that already has an id, under the limits that the request has.
    pub(super) fn followed(
        &self,
        seed: RunSeed,
        pinned: PinnedQuestions,
        wait: Option<Duration>,
        request: &mut EvalRequest,
    ) -> LongCall {
        let guard = Arc::new(LeaseGuard::new(request.progress.clone()));
        let (sink, prints) = mpsc::unbounded_channel();
        request.print_sink = Some(sink);
        request.run_id = Some(seed.id.clone());
        if let Some(upstreams) = request.upstreams.take() {
            request.upstreams = Some(Arc::new(ObservedCalls::new(upstreams, guard.clone())));
        }
        let (began, began_ms) = (time::now(), timestamp::shared_now_ms());
        LongCall { began, began_ms, wait, guard, prints, seed, pinned, is_task: false }
    }

    /// Runs `work` until it ends, waits for people, or the client's wait ends; then a task of its own continues it.
    ///
    /// # Errors
    /// The run could not be stored; its program had the ordinary time limit.
    pub async fn attend(
        self: Arc<Self>,
        call: LongCall,
        principal: Principal,
        tool: &'static str,
        mut work: BoxFuture<'static, Ran>,
        permit: Permit,
    ) -> Result<Seen, NotKept> {
        let LongCall { began, began_ms, wait, guard, mut prints, seed, mut pinned, is_task } = call;
        let redactor = self.redactor.for_principal(Some(principal.name()));
        let mut log = PrintLog::default();
        let questions = loop {
            tokio::select! {
                biased;
                ran = &mut work => return match ran {
                    Ran::Ended(reply) => Ok(Seen::Ended(Status::Done, Box::new(reply))),
                    Ran::Waits(suspended, call) => {
                        while let Ok(print) = prints.try_recv() {
                            log.push(&redactor.scrub(&print));
                        }
                        drop((work, permit));
                        let begun = RunRecord::begun(&principal, tool, began_ms, log);
                        let record = RunRecord { calls: guard.calls(), ..begun };
                        self.keep_program(&principal, &seed.id, record, *suspended, call).await.map(Seen::Waiting)
                    }
                },
                () = patience(began, wait) => break None,
                Some(questions) = pinned.recv() => break Some(questions),
                Some(print) = prints.recv() => log.push(&redactor.scrub(&print)),
            }
        };
        let key = key(&principal, &seed.id).map_err(|_| NotKept::Unavailable)?;
        let held = Held::new(key, began, guard, RunRecord::begun(&principal, tool, began_ms, log));
        if is_task {
            held.promise(self.promised_ms(began_ms));
        }
        let why = match self.keep(held, &principal, questions).await {
            Ok((held, lease)) => {
                seed.tell();
                let permit = PermitSlot::of(permit);
                let work = drive::Driven { held: held.clone(), lease, work, prints, permit, pinned };
                self.begin_driving(principal, work);
                return Ok(match held.waiting() {
                    Some(waiting) => Seen::Waiting(waiting),
                    None => Seen::Running(held.progress()),
                });
            }
            Err(why) => why,
        };
        // A run that cannot be stored has the ordinary time limit, and cannot ask anybody.
        let end = began + self.ordinary.max(wait.unwrap_or_default());
        loop {
            tokio::select! {
                biased;
                ran = &mut work => return match ran {
                    Ran::Ended(reply) => Ok(Seen::Ended(Status::Done, Box::new(reply))),
                    Ran::Waits(..) => Err(why),
                },
                Some(questions) = pinned.recv() => drop(questions),
                () = sleep_until(end) => return Err(why),
            }
        }
    }

    /// Starts a task that drives a run.
    pub(super) fn begin_driving(self: Arc<Self>, principal: Principal, work: drive::Driven) {
        self.knows(&principal);
        let name: Name = (principal.shared_name(), work.held.key.id().clone());
        self.held().insert(name, work.held.clone());
        let worker = self.worker();
        let engine = self.engine.clone();
        engine.spawn_on(worker, move || drive::drive(self, principal, work));
    }

    /// Creates the record of a run whose program is in this process; with `questions` it waits.
    async fn keep(
        &self,
        held: Held,
        principal: &Principal,
        questions: Option<Pinned>,
    ) -> Result<(Arc<Held>, Lease), NotKept> {
        self.has_room_in_store(principal, held.key.owner()).await?;
        let waits = questions.is_some();
        if let Some(questions) = questions {
            let expires_at_ms = self.expires_at_ms();
            held.waits(questions, expires_at_ms);
            self.promises_past(&held, expires_at_ms);
        }
        let held = Arc::new(held);
        let (store, replica) = (self.store.clone(), self.replica.clone());
        let record = held.record();
        let life = self.longest_life();
        let made = Lease::take(store, replica, held.key.clone(), 0, &record, life, held.guard.clone());
        let lease = made.await.map_err(|error| NotKept::of(&error))?;
        match waits {
            true => self.tells_waiting(&held.key, &record),
            false => self.tells_status(&held.key, &record),
        }
        Ok((held, lease))
    }
}

/// Completes when the client's wait is over.
async fn patience(began: Instant, wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep_until(began + wait).await,
        None => std::future::pending().await,
    }
}
