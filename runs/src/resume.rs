//! Stores programs, and resumes those that waited for people (waiting.md 4.4 and state.md 6).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ptc_host::engine::{Asker, EvalOutcome, EvalRequest, ResumeFault, Suspended};
use ptc_host::state::{Commit, End, Key, Kind, Owner as StoreOwner, Room, StateError, Write};
use tracing::info;

use super::active::ActiveRun;
use super::driver::{Driver, ProgramEnd, ResidentQuestions, RunHandle};
use super::lease::{Lease, LeaseGuard};
use super::program::StoredProgram;
use super::record::{RunRecord, Status, StoredCall, Wait};
use super::view::RunView;
use super::{RunError, Runs, key};
use ptc_host::digest::short_hash;
use ptc_protocol::concurrency_limiter::PermitLoan;
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// Makes the programs of runs again, in any process.
pub trait ProgramSource: Send + Sync {
    /// Prepares the program of this call of `tool`; `handle` is its run. Returns `None` if the tool is another's, or its
    /// arguments are no longer valid.
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        handle: &RunHandle,
    ) -> Option<ResumableProgram>;

    /// Prepares the program of a call whose tool is not there any more, by its text, which travelled with it. Returns `None` if it
    /// is no program of this source.
    fn prepare_text(
        &self,
        tool: &str,
        text: &Arc<str>,
        call: &StoredCall,
        principal: &Principal,
        handle: &RunHandle,
    ) -> Option<ResumableProgram> {
        let _ = (tool, text, call, principal, handle);
        None
    }
}

/// Several are asked in turn, until one has the tool.
impl ProgramSource for Vec<Arc<dyn ProgramSource>> {
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        handle: &RunHandle,
    ) -> Option<ResumableProgram> {
        self.iter().find_map(|source| source.prepare_again(tool, call, principal, handle))
    }

    fn prepare_text(
        &self,
        tool: &str,
        text: &Arc<str>,
        call: &StoredCall,
        principal: &Principal,
        handle: &RunHandle,
    ) -> Option<ResumableProgram> {
        self.iter().find_map(|source| source.prepare_text(tool, text, call, principal, handle))
    }
}

/// A program that is ready to resume.
pub struct ResumableProgram {
    /// The request, as its call had it.
    pub request: EvalRequest,
    /// Asks people on its behalf.
    pub asker: Option<Arc<dyn Asker>>,
    /// Makes the reply from its outcome.
    pub shaped: Box<dyn FnOnce(EvalOutcome) -> ToolReply + Send>,
    /// Whether the policy counts it as a program: the call of an exposed tool is none.
    pub is_program: bool,
}

impl Runs {
    /// Creates the record of a run whose program is in this process; with `questions` it waits.
    pub(super) async fn store_running(
        &self,
        driver: &Driver,
        principal: &Principal,
        record: RunRecord,
        questions: Option<ResidentQuestions>,
    ) -> Result<(Arc<ActiveRun>, Lease), RunError> {
        self.knows(principal);
        let key = key(principal, driver.handle().id()).map_err(|_| RunError::NotStored)?;
        self.has_room_in_store(principal, key.owner()).await?;
        let run = Arc::new(ActiveRun::new(key.clone(), driver.began, driver.guard.clone(), record));
        let waits = questions.is_some();
        questions.into_iter().for_each(|questions| self.waits(&run, questions));
        let record = run.record();
        let lease = self.take_lease(key, 0, &record, &driver.guard).await;
        let lease = lease.map_err(|error| RunError::not_stored(&error))?;
        match waits {
            true => self.tells_waiting(&run.key, &record),
            false => self.tells_status(&run.key, &record),
        }
        Ok((run, lease))
    }

    /// Takes the lease of a run whose record is at `version`, and writes the record.
    async fn take_lease(
        &self,
        key: Key,
        version: u64,
        record: &RunRecord,
        guard: &Arc<LeaseGuard>,
    ) -> Result<Lease, StateError> {
        let (store, replica) = (self.store.clone(), self.replica.clone());
        Lease::take(store, replica, key, version, record, self.longest_life(), guard.clone()).await
    }

    /// Stores a suspended program. The replica that takes the last answer resumes it.
    pub(super) async fn store_suspended(
        &self,
        principal: &Principal,
        id: &str,
        record: RunRecord,
        suspended: Suspended,
        call: StoredCall,
    ) -> Result<RunView, RunError> {
        self.knows(principal);
        let key = key(principal, id).map_err(|_| RunError::NotStored)?;
        self.has_room_in_store(principal, key.owner()).await?;
        let (record, bytes) = self.waiting_record(record, suspended, call).await.written().await;
        let write = Write::put(key.clone(), 0, bytes);
        let life = self.waiting_life(&record);
        let write = write.resting(life).ending(End::After(life));
        self.store.commit(Commit::one(write)).await.map_err(|error| RunError::not_stored(&error))?;
        self.tells_waiting(&key, &record);
        Ok(RunView::of(key.id(), &record))
    }

    /// The record of a run whose program was suspended.
    pub(super) async fn waiting_record(
        &self,
        mut record: RunRecord,
        suspended: Suspended,
        call: StoredCall,
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
            program: StoredProgram::packed(suspended.snapshot).await,
            ..record
        }
    }

    /// Resumes a run whose record is `record` at `version`, with all of its answers, in a task of its own.
    ///
    /// # Errors
    /// [`StateError::Conflict`] if another replica resumed or changed it; other errors of the store. Nothing has run
    /// in that case.
    pub(super) async fn resume(
        self: &Arc<Self>,
        key: &Key,
        version: u64,
        record: RunRecord,
    ) -> Result<(), StateError> {
        let principal = self.principal(&record.principal).with_authority(self.authority_of(&record));
        let handle = RunHandle::new(key.id().clone());
        // Its client knows the id.
        handle.tell();
        let source = self.programs.get().zip(record.call.as_ref());
        let again = source
            .and_then(|(programs, call)| programs.prepare_again(&record.tool, call, &principal, &handle));
        let program = match (again, source) {
            (None, Some((programs, call))) => match record.travelling_text().await {
                Some(text) => programs.prepare_text(&record.tool, &text, call, &principal, &handle),
                None => None,
            },
            (again, _) => again,
        };
        let running = RunRecord {
            status: Status::Running,
            wait: None,
            call: None,
            updated_ms: timestamp::shared_now_ms(),
            program: StoredProgram::default(),
            ..record.clone()
        };
        let is_program = program.as_ref().is_some_and(|program| program.is_program);
        let mut request = match &program {
            Some(program) => program.request.clone(),
            None => EvalRequest::new(""),
        };
        if record.call.as_ref().is_some_and(|call| call.is_long) {
            request.limits.timeout = self.settings.timeout;
        }
        let driver = Driver::new(handle, None, &mut request);
        driver.guard.note(record.calls);
        let lease = self.take_lease(key.clone(), version, &running, &driver.guard).await?;
        self.tells_status(key, &running);
        info!(event = "run_goes_on", run_hash = &short_hash(key.id().as_bytes())[..8], tool = record.tool);
        let run = Arc::new(ActiveRun::new(key.clone(), driver.began, driver.guard.clone(), running));
        let loan = PermitLoan::default();
        request.permit = Some(loan.shared());
        let work = match program {
            Some(program) => self.clone().resumed(program, request, record).boxed(),
            None => std::future::ready(ProgramEnd::Replied(other_build())).boxed(),
        };
        driver.spawn(self.clone(), run, lease, work, (is_program, None), loan);
        self.has_changed(key);
        Ok(())
    }

    /// The resumed program.
    fn resumed(
        self: Arc<Self>,
        program: ResumableProgram,
        mut request: EvalRequest,
        record: RunRecord,
    ) -> impl Future<Output = ProgramEnd> + Send {
        request.asker = program.asker;
        async move {
            let call = record.call.clone();
            let Some(resume) = record.into_resume(None).await else {
                return ProgramEnd::Replied(other_build());
            };
            request.resume = Some(Arc::new(resume));
            let outcome = self.engine.eval(request).await;
            match (outcome.suspended, outcome.resume_fault.clone(), call) {
                (Some(suspended), _, Some(call)) => {
                    let call = StoredCall { round: call.round + 1, ..call };
                    ProgramEnd::Suspended(suspended, call)
                }
                (_, Some(ResumeFault::OtherBuild), _) => ProgramEnd::Replied(other_build()),
                (suspended, ..) => {
                    ProgramEnd::Replied((program.shaped)(EvalOutcome { suspended, ..outcome }))
                }
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
    ) -> Result<(), RunError> {
        if !self.has_room(principal) {
            return Err(RunError::TooMany);
        }
        let settings = &self.settings;
        let room =
            Room { records: settings.max_per_owner, bytes: settings.max_bytes_per_owner, all: settings.max };
        match self.store.has_room(owner, Kind::Run, room).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(RunError::TooMany),
            Err(error) => Err(RunError::not_stored(&error)),
        }
    }
}

/// The outcome of a run that this build cannot resume.
fn other_build() -> ToolReply {
    let message = ResumeFault::OtherBuild.to_string();
    ToolReply::failure("invalid_config", &message, &message)
}
