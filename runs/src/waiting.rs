//! Stores programs that wait for people, and resumes them (waiting.md 4.4 and state.md 6).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ptc_host::engine::{Asker, EvalOutcome, EvalRequest, Resume, ResumeFault, Suspended};
use ptc_host::state::{Commit, End, Key, Kind, Owner as StoreOwner, Room, StateError, Write};
use tracing::info;

use super::attend::{LongCall, NotKept};
use super::held::Held;
use super::lease::Lease;
use super::look::WaitingRun;
use super::record::{KeptCall, RunRecord, Status, Wait};
use super::seed::{Ran, RunSeed};
use super::{PermitSlot, Runs, drive, key};
use ptc_host::digest::short_hash;
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// Prepares the program of a run for resuming, in any process.
pub trait Prepares: Send + Sync {
    /// Prepares the program of this call of `tool`; `seed` is its run. Returns `None` if its arguments are no longer
    /// valid.
    fn prepare_again(
        &self,
        tool: &str,
        call: &KeptCall,
        principal: &Principal,
        seed: &RunSeed,
    ) -> Option<Prepared>;
}

/// A program that is ready to resume.
pub struct Prepared {
    /// The request, as its call had it.
    pub request: EvalRequest,
    /// Asks people on its behalf.
    pub asker: Option<Arc<dyn Asker>>,
    /// Makes the reply from its outcome.
    pub shaped: Box<dyn FnOnce(EvalOutcome) -> ToolReply + Send>,
}

impl Runs {
    /// Stores a suspended program. The replica that takes the last answer resumes it.
    pub(super) async fn keep_program(
        &self,
        principal: &Principal,
        id: &str,
        record: RunRecord,
        suspended: Suspended,
        call: KeptCall,
    ) -> Result<WaitingRun, NotKept> {
        self.knows(principal);
        let key = key(principal, id).map_err(|_| NotKept::Unavailable)?;
        self.has_room_in_store(principal, key.owner()).await?;
        let (record, bytes) = self.waiting_record(record, suspended, call).written().await;
        let write = Write::put(key.clone(), 0, bytes);
        let life = self.waiting_life(&record);
        let write = write.resting(life).ending(End::After(life));
        self.store.commit(Commit::one(write)).await.map_err(|error| NotKept::of(&error))?;
        self.tells_waiting(&key, &record);
        Ok(WaitingRun::of_record(key.id(), &record))
    }

    /// The record of a run whose program was suspended.
    pub(super) fn waiting_record(
        &self,
        mut record: RunRecord,
        suspended: Suspended,
        call: KeptCall,
    ) -> RunRecord {
        let questions = suspended.questions;
        record.has_asked(&questions);
        let expires_at_ms = self.expires_at_ms();
        let until_ms = self.promised_past(record.until_ms, expires_at_ms);
        let tail_ms = u64::try_from(until_ms - expires_at_ms).unwrap_or(0);
        RunRecord {
            status: Status::Waiting,
            call: Some(call),
            wait: Some(Wait { questions, expires_at_ms, is_pinned: false, tail_ms }),
            updated_ms: timestamp::shared_now_ms(),
            until_ms,
            snapshot: suspended.snapshot,
            ..record
        }
    }

    /// Resumes a run whose record is `record` at `version`, with all of its answers, in a task of its own.
    ///
    /// # Errors
    /// [`StateError::Conflict`] if another replica resumed or changed it; other errors of the store. Nothing has run
    /// in that case.
    pub(super) async fn go_on(
        self: &Arc<Self>,
        key: &Key,
        version: u64,
        record: RunRecord,
    ) -> Result<(), StateError> {
        let principal = self.principal(&record.principal);
        let (seed, pinned) = RunSeed::of(key.id().clone());
        // Its client knows the id.
        seed.tell();
        let prepares = self.prepares.get().cloned();
        let prepared = match (&prepares, &record.call) {
            (Some(prepares), Some(call)) => prepares.prepare_again(&record.tool, call, &principal, &seed),
            _ => None,
        };
        let running = RunRecord {
            status: Status::Running,
            wait: None,
            call: None,
            updated_ms: timestamp::shared_now_ms(),
            snapshot: bytes::Bytes::new(),
            ..record.clone()
        };
        let mut request = match &prepared {
            Some(prepared) => prepared.request.clone(),
            None => EvalRequest::new(""),
        };
        let is_long = record.call.as_ref().is_some_and(|call| call.is_long);
        if is_long {
            request.limits.timeout = self.settings.timeout;
        }
        let LongCall { guard, prints, pinned, began, .. } = self.followed(seed, pinned, None, &mut request);
        guard.note(record.calls);
        let (store, replica) = (self.store.clone(), self.replica.clone());
        let life = self.longest_life();
        let taken = Lease::take(store, replica, key.clone(), version, &running, life, guard.clone());
        let lease = taken.await?;
        self.tells_status(key, &running);
        info!(event = "run_goes_on", run_hash = &short_hash(key.id().as_bytes())[..8], tool = record.tool);
        let held = Arc::new(Held::new(key.clone(), began, guard, running));
        let permit = PermitSlot::default();
        let work = match prepared {
            Some(prepared) => {
                self.clone().resumed(prepared, request, record, principal.clone(), permit.clone()).boxed()
            }
            None => std::future::ready(Ran::Ended(other_build())).boxed(),
        };
        self.clone().begin_driving(principal, drive::Driven { held, lease, work, prints, permit, pinned });
        self.has_changed(key);
        Ok(())
    }

    /// The resumed program, as soon as it may run.
    fn resumed(
        self: Arc<Self>,
        prepared: Prepared,
        mut request: EvalRequest,
        record: RunRecord,
        principal: Principal,
        permit: PermitSlot,
    ) -> impl Future<Output = Ran> + Send {
        let answers = record.questions().iter().filter_map(|kept| Some((kept.id, kept.answer.clone()?)));
        let resume = Resume { snapshot: record.snapshot.clone(), answers: answers.collect(), gate: None };
        request.resume = Some(Arc::new(resume));
        request.asker = prepared.asker;
        request.permit = Some(permit.loan().shared());
        let shaped = prepared.shaped;
        async move {
            permit.put(self.limiter.enter(&principal).await);
            let outcome = self.engine.eval(request).await;
            match (outcome.suspended, outcome.resume_fault.clone(), record.call) {
                (Some(suspended), _, Some(call)) => {
                    let call = KeptCall { round: call.round + 1, ..call };
                    Ran::Waits(suspended, call)
                }
                (_, Some(ResumeFault::OtherBuild), _) => Ran::Ended(other_build()),
                (suspended, ..) => Ran::Ended(shaped(EvalOutcome { suspended, ..outcome })),
            }
        }
    }

    /// How long the store keeps the record of a suspended program: its end can be reported for a while after it
    /// expired.
    pub(super) fn waiting_life(&self, record: &RunRecord) -> Duration {
        self.settings.waiting_ttl + record.tail(self.settings.ttl)
    }

    /// True if the store has room for one more run.
    pub(super) async fn has_room_in_store(
        &self,
        principal: &Principal,
        owner: &StoreOwner,
    ) -> Result<(), NotKept> {
        if !self.has_room(principal) {
            return Err(NotKept::TooMany);
        }
        let settings = &self.settings;
        let room =
            Room { records: settings.max_per_owner, bytes: settings.max_bytes_per_owner, all: settings.max };
        match self.store.has_room(owner, Kind::Run, room).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(NotKept::TooMany),
            Err(error) => Err(NotKept::of(&error)),
        }
    }
}

/// The outcome of a run that this build cannot resume.
fn other_build() -> ToolReply {
    let message = ResumeFault::OtherBuild.to_string();
    ToolReply::failure("invalid_config", &message, &message)
}
