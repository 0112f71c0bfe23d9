//! Runs: programs that outlive the request that began them (waiting.md 6).
//!
//! A call that may become a run is prepared with [`Runs::lengthen`] and driven by [`Runs::attend`]. Until its time to answer is over it is a
//! call like any other: dropping it ends its program. Then a record of it is made in the store, and only behind that a client hears
//! its id; from there on a task of its own drives the program. The process that runs it holds the record by a lease, and writes how
//! far it is. Whoever finds a running record without a lease records that it was interrupted: nothing is started again.
//!
//! [`Runs::wait`] and [`Runs::cancel`] serve any run of a principal, whichever process has it.

mod attend;
mod clock;
mod drive;
mod held;
mod id;
mod lawful;
mod lease;
mod look;
mod prints;
mod record;
mod shutdown;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptc_host::credentials::Redactor;
use ptc_host::engine::Engine;
use ptc_host::state::{Key, Kind, MemoryState, Owner as StoreOwner, StateStore};

use self::held::Held;
use crate::concurrency_limiter::{ConcurrencyLimiter, Full, Permit};
use crate::principal::Principal;
use crate::server_state::ServerState;
use crate::settings;

pub(crate) use attend::{Attended, LongCall, NotKept};
pub(crate) use held::Progress;
pub(crate) use look::{NotSeen, Seen};

/// How often a message of another replica is looked for, and progress written.
const BEAT: Duration = Duration::from_secs(1);
/// Between two looks at a run that another replica has.
const LOOK: Duration = Duration::from_millis(500);
/// Runs of other replicas whose prints are remembered as told.
const TOLD: usize = 1024;

/// What names a run within this process: its principal, and its id.
type Name = (Arc<str>, Arc<str>);

/// The runs that this process has, and the way to those of others.
pub struct Runs {
    store: Arc<dyn StateStore>,
    /// Whether other processes use the store too.
    is_shared: bool,
    replica: Arc<str>,
    engine: Engine,
    limiter: Arc<ConcurrencyLimiter>,
    redactor: Redactor,
    settings: settings::Runs,
    /// The time limit of a program that could not be kept.
    ordinary: Duration,
    held: Mutex<HashMap<Name, Arc<Held>>>,
    /// How many prints were told of runs that other replicas have.
    told: Mutex<HashMap<Name, u64>>,
    next_worker: AtomicUsize,
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runs").field("held", &self.held().len()).finish_non_exhaustive()
    }
}

impl Runs {
    /// Runs over the store of `state`, or in the memory of this process where there is none.
    pub(crate) fn new(
        settings: settings::Runs,
        ordinary: Duration,
        state: &ServerState,
        limits: ptc_host::state::StoreLimits,
        (engine, limiter): (Engine, Arc<ConcurrencyLimiter>),
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
            held: Mutex::default(),
            told: Mutex::default(),
            next_worker: AtomicUsize::new(0),
        });
        if runs.is_shared {
            let heard = Arc::downgrade(&runs);
            runs.engine.spawn_on(0, move || drive::hear(heard));
        }
        runs
    }

    /// How they are kept.
    pub(crate) fn settings(&self) -> &settings::Runs {
        &self.settings
    }

    /// A permit for a program that may become a run: it is held as long as the program runs.
    ///
    /// # Errors
    /// What is exhausted.
    pub(crate) fn enter(&self, principal: &Principal) -> Result<Permit, Full> {
        self.limiter.try_enter(principal)
    }

    /// Whether `principal` may have one more run, as far as this process knows.
    pub(crate) fn has_room(&self, principal: &Principal) -> bool {
        let held = self.held();
        let name = principal.known_name();
        let own = held.keys().filter(|(owner, _)| owner == name).count();
        held.len() < self.settings.max && own < self.settings.max_per_owner
    }

    /// The run of that principal and id, if this process has it.
    fn here(&self, principal: &Principal, id: &str) -> Option<Arc<Held>> {
        self.held().get(&(principal.shared_name(), id.into())).cloned()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Name, Arc<Held>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker for the next run.
    fn worker(&self) -> usize {
        self.next_worker.fetch_add(1, Ordering::Relaxed)
    }

    /// How long the record of a program that runs lies there, whatever becomes of its process.
    fn longest_life(&self) -> Duration {
        self.settings.timeout + self.settings.ttl + Duration::from_secs(60)
    }
}

/// The key of a run.
///
/// # Errors
/// If nothing can have that id.
fn key(principal: &Principal, id: &str) -> Result<Key, NotSeen> {
    Key::new(&StoreOwner::principal(principal.shared_name()), Kind::Run, id).map_err(|_| NotSeen::NotFound)
}
