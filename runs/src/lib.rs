//! Runs: programs that outlive the request that began them (waiting.md 6).
//!
//! A call that may become a run is prepared with [`Runs::lengthen`] and driven by [`Driver::attend`]. Until its time to
//! answer is over, it is a call like any other: dropping it ends its program. After that a record of the run is
//! created in the store; only then does the client get the run's id, and a task of its own drives the program. The
//! process that drives it holds a lease on the record and writes its progress. Any replica that finds a running
//! record without a lease records that the run was interrupted: nothing is started again.
//!
//! A program that waits for people is suspended into its record, and the replica that takes the last answer resumes
//! it ([`Runs::answer`]). A program that cannot be serialized stays resident.
//!
//! [`Runs::wait`] and [`Runs::cancel`] serve any run of a principal, whichever process holds it.

// Tests may read any clock.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod active;
mod answering;
mod driver;
mod id;
mod lease;
mod look;
mod pages;
mod prints;
mod program;
mod record;
mod request_state;
mod resume;
mod shutdown;
mod sweep;
mod task;
mod view;
pub mod webhook;

#[cfg(test)]
mod tests;

use ptc_host::sync::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::Duration;

use ptc_host::credentials::Redactor;
use ptc_host::engine::Engine;
use ptc_host::policy::{Authority, Caller, CurrentPolicy};
use ptc_host::state::{Key, Kind, MemoryState, Owner as StoreOwner, StateStore};
use tokio::sync::broadcast;

use self::active::ActiveRun;
use ptc_protocol::concurrency_limiter::{CapacityError, ConcurrencyLimiter, Permit};
use ptc_protocol::principal::{Principal, Principals};
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings;
use ptc_protocol::timestamp;

pub use answering::{SentAnswers, take_answers};
pub use driver::{Attended, Driver, ProgramEnd, RunHandle};
pub use pages::{Pages, UpstreamPages, accepted, by_page, not_done, pages_of, undone};
pub use program::StoredProgram;
pub use record::{RunRecord, Status, StoredCall, StoredReply};
pub use request_state::{Jti, RequestState, TravellingRun};
pub use resume::{ProgramSource, ResumableProgram};
pub use view::{RunError, RunView};

/// How often the inbox is read and progress is written.
const BEAT: Duration = Duration::from_secs(1);
/// Capacity of the channel of changed runs.
const CHANGES: usize = 1024;
/// How many runs of other replicas are remembered with their count of reported prints.
const TOLD: usize = 1024;

/// The name of a run within this process: its principal and its id.
type RunName = (Arc<str>, Arc<str>);

/// A listener for runs.
type RunListener = Box<dyn Fn(&RunView) + Send + Sync>;

/// The runs that this process holds, and access to those of other replicas.
pub struct Runs {
    store: Arc<dyn StateStore>,
    /// True if other processes use the store too.
    is_shared: bool,
    replica: Arc<str>,
    engine: Engine,
    limiter: Arc<ConcurrencyLimiter>,
    redactor: Redactor,
    settings: settings::Runs,
    /// The time limit of a program whose run could not be stored.
    ordinary: Duration,
    active: Mutex<HashMap<RunName, Arc<ActiveRun>>>,
    /// How many prints of runs on other replicas have been reported.
    told: Mutex<HashMap<RunName, u64>>,
    next_worker: AtomicUsize,
    /// Principals that are in use in this process, so that a resumed program counts against the right limits.
    principals: Principals,
    /// What callers may do; unset without a policy.
    policy: OnceLock<Arc<CurrentPolicy>>,
    /// Makes the programs of runs again.
    programs: OnceLock<Arc<dyn ProgramSource>>,
    /// Knows whether people have finished on pages.
    pages: OnceLock<Arc<dyn Pages>>,
    /// Listener for runs that begin to wait.
    on_waiting: OnceLock<RunListener>,
    /// Listener for runs whose status has changed.
    on_status: OnceLock<RunListener>,
    changes: broadcast::Sender<RunName>,
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runs").field("active", &self.active().len()).finish_non_exhaustive()
    }
}

impl Runs {
    /// Runs in the store of `state`, or in the memory of this process without one.
    pub fn new(
        settings: settings::Runs,
        ordinary: Duration,
        state: &ServerState,
        limits: ptc_host::state::StoreLimits,
        engine: Engine,
        limiter: Arc<ConcurrencyLimiter>,
        redactor: Redactor,
    ) -> Arc<Runs> {
        let store = state.shared_store().unwrap_or_else(|| Arc::new(MemoryState::new(limits)));
        let runs = Arc::new(Runs {
            store,
            is_shared: state.is_shared,
            replica: state.replica.clone(),
            engine,
            limiter,
            redactor,
            settings,
            ordinary,
            active: Mutex::default(),
            told: Mutex::default(),
            next_worker: AtomicUsize::new(0),
            principals: Principals::default(),
            policy: OnceLock::new(),
            programs: OnceLock::new(),
            pages: OnceLock::new(),
            on_waiting: OnceLock::new(),
            on_status: OnceLock::new(),
            changes: broadcast::Sender::new(CHANGES),
        });
        if runs.is_shared {
            let heard = Arc::downgrade(&runs);
            runs.engine.spawn_on(0, move || driver::hear(heard));
        }
        let swept = Arc::downgrade(&runs);
        runs.engine.spawn_on(0, move || sweep::sweep(swept));
        runs
    }

    /// The settings of runs.
    pub fn settings(&self) -> &settings::Runs {
        &self.settings
    }

    /// The default wait for a run that still runs: the ordinary time limit of a program.
    pub fn patience(&self) -> Duration {
        self.ordinary
    }

    /// A permit for a program that may become a run. It is held as long as the program runs.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn enter(&self, principal: &Principal) -> Result<Permit, CapacityError> {
        self.limiter.try_begin(principal)
    }

    /// The same for a program that goes on, which was counted when it began.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn enter_again(&self, principal: &Principal) -> Result<Permit, CapacityError> {
        self.limiter.try_resume(principal)
    }

    /// The same for a call that is no program in the eyes of the policy.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn enter_call(&self, principal: &Principal) -> Result<Permit, CapacityError> {
        self.limiter.try_enter(principal)
    }

    /// True if `principal` may have one more run, as far as this process knows.
    pub fn has_room(&self, principal: &Principal) -> bool {
        let active = self.active();
        let name = principal.known_name();
        let own = active.keys().filter(|(owner, _)| owner == name).count();
        active.len() < self.settings.max && own < self.settings.max_per_owner
    }

    /// The run of that principal and id, if this process holds it.
    fn here(&self, principal: &Principal, id: &str) -> Option<Arc<ActiveRun>> {
        self.active().get(&(principal.shared_name(), id.into())).cloned()
    }

    fn active(&self) -> MutexGuard<'_, HashMap<RunName, Arc<ActiveRun>>> {
        self.active.lock()
    }

    /// Sets the policy under which programs resume.
    pub fn follow_policy(&self, policy: Arc<CurrentPolicy>) {
        // There is one policy, whose rules may change.
        let _ = self.policy.set(policy);
    }

    /// Sets what makes the programs of runs again.
    pub fn resume_from(&self, programs: Arc<dyn ProgramSource>) {
        // There is one tool whose programs can be suspended.
        let _ = self.programs.set(programs);
    }

    /// Sets the listener for runs that begin to wait.
    pub fn on_waiting(&self, told: impl Fn(&RunView) + Send + Sync + 'static) {
        let _ = self.on_waiting.set(Box::new(told));
    }

    /// Sets the listener for runs that begin, wait, resume or end in this process, or whose end is found here.
    pub fn on_status(&self, told: impl Fn(&RunView) + Send + Sync + 'static) {
        let _ = self.on_status.set(Box::new(told));
    }

    /// The names of runs of this process that change, and of those that are answered or cancelled here.
    pub fn changes(&self) -> broadcast::Receiver<RunName> {
        self.changes.subscribe()
    }

    /// Announces that a run has changed.
    fn has_changed(&self, key: &Key) {
        // There may be no receiver.
        let _ = self.changes.send((key.owner().name().clone(), key.id().clone()));
    }

    /// Remembers a principal.
    fn knows(&self, principal: &Principal) {
        self.principals.know(principal);
    }

    /// What the caller of a run may do now, by what is known of it: another policy held when that was written down, or none.
    fn authority_of(&self, record: &RunRecord) -> Option<Arc<Authority>> {
        let known = record.caller.clone().map(Caller::recalled);
        let caller = known.unwrap_or_else(|| Caller::forgotten(record.principal.clone()));
        Some(self.policy.get()?.authority(caller))
    }

    /// The principal of that name, without an authority.
    pub fn principal(&self, name: &str) -> Principal {
        self.principals.named(name)
    }

    /// When a program that begins to wait now expires, in milliseconds since 1970.
    fn expires_at_ms(&self) -> i64 {
        let life = i64::try_from(self.settings.waiting_ttl.as_millis()).unwrap_or(i64::MAX);
        timestamp::shared_now_ms().saturating_add(life)
    }

    /// Forgets a run that is not driven here any more, unless it has been resumed here.
    fn forget(&self, run: &Arc<ActiveRun>) {
        let name = (run.key.owner().name().clone(), run.key.id().clone());
        let mut all = self.active();
        if all.get(&name).is_some_and(|known| Arc::ptr_eq(known, run)) {
            all.remove(&name);
        }
    }

    /// The worker for the next run.
    fn worker(&self) -> usize {
        self.next_worker.fetch_add(1, Ordering::Relaxed)
    }

    /// How long the store keeps the record of a running program if its process is lost.
    fn longest_life(&self) -> Duration {
        self.settings.timeout + self.settings.waiting_ttl + self.settings.ttl + Duration::from_secs(60)
    }
}

/// The key of a run.
///
/// # Errors
/// No run can have that id.
fn key(principal: &Principal, id: &str) -> Result<Key, RunError> {
    Key::new(&StoreOwner::principal(principal.shared_name()), Kind::Run, id).map_err(|_| RunError::NotFound)
}
