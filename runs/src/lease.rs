//! The lease on a run: the right to write its record. Upstream calls of the run are gated on it, so that no call is made after
//! another replica may have recorded its end (state.md 6).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use ptc_host::engine::{CallObserver, CallsSoFar, RunContext};
use ptc_host::state::{Claim, Claimed, Commit, End, Key, StateError, StateStore, Write};
use ptc_host::sync::Mutex;
use ptc_vm::machine::HostRequest;
use tokio::sync::{Notify, watch};
use tracing::warn;

use super::record::RunRecord;
use ptc_host::digest::short_hash;
use ptc_host::time::{self, Instant};

/// How long a lease lasts without renewal (state.md 6).
const LEASE: Duration = Duration::from_secs(30);
/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(10);

/// How long a holder may continue without an acknowledgement of its store, by its own clock: less than the lease lasts.
const UNHEARD: Duration = Duration::from_secs(25);

/// This process does not hold the lease any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// The record of a run, while this process holds its lease.
pub(super) struct Lease {
    store: Arc<dyn StateStore>,
    key: Key,
    version: u64,
    fence: u64,
    /// How long the store keeps the record after a write.
    life: Duration,
    guard: Arc<LeaseGuard>,
    /// The record at the last write.
    written: RunRecord,
}

impl Lease {
    /// Takes the lease of a run whose record is at `version`, 0 for one that is created, and writes its new record.
    ///
    /// # Errors
    /// [`StateError::Conflict`] if the version has changed or another replica holds the lease; other errors of the
    /// store.
    pub(super) async fn take(
        store: Arc<dyn StateStore>,
        replica: Arc<str>,
        key: Key,
        version: u64,
        record: &RunRecord,
        life: Duration,
        guard: Arc<LeaseGuard>,
    ) -> Result<Lease, StateError> {
        let claim = Claim { holder: replica, lease: LEASE, rest: None, known: 0, creates: version == 0 };
        let asked = time::now();
        let taken = match store.claim(&key, claim).await? {
            Claimed::Taken(taken) => taken,
            Claimed::Held(_) => return Err(StateError::Conflict),
            Claimed::Absent => return Err(StateError::Gone),
        };
        if taken.version != version {
            store.renew(&key, taken.fence, Duration::ZERO).await?;
            return Err(StateError::Conflict);
        }
        let fence = taken.fence;
        let mut lease = Lease { store, key, version, fence, life, guard, written: record.clone() };
        lease.write(record, true, lease.life, End::Never).await?;
        lease.guard.acknowledge(asked);
        Ok(lease)
    }

    async fn write(
        &mut self,
        record: &RunRecord,
        keeps: bool,
        rest: Duration,
        end: End,
    ) -> Result<(), StateError> {
        let (_, bytes) = record.clone().written().await;
        let write = Write::put(self.key.clone(), self.version, bytes).under(self.fence);
        let write = write.resting(rest).ending(end);
        let write = if keeps { write.keeping_lease() } else { write };
        self.store.commit(Commit::one(write)).await?;
        self.version += 1;
        self.written = record.clone();
        Ok(())
    }

    /// Renews the lease, and writes the progress if it has changed.
    ///
    /// # Errors
    /// Another replica has the lease, or the store has not acknowledged it for too long.
    pub(super) async fn beat(&mut self, record: impl FnOnce() -> RunRecord) -> Result<(), Lost> {
        let asked = time::now();
        if self.guard.is_older_than(RENEWAL) != Some(false) {
            match self.store.renew(&self.key, self.fence, LEASE).await {
                Ok(()) => self.guard.acknowledge(asked),
                Err(error) => return self.judged(&error),
            }
        }
        let record = record();
        if self.written == record {
            return Ok(());
        }
        match self.write(&record, true, self.life, End::Keep).await {
            // Progress that the store has no room for is written with the end.
            Ok(()) | Err(StateError::Full) => Ok(()),
            Err(error) => self.judged(&error),
        }
    }

    /// Decides whether the run can continue after this error.
    fn judged(&self, error: &StateError) -> Result<(), Lost> {
        match error {
            StateError::Unavailable(_) | StateError::Full => {
                if self.guard.is_overdue() {
                    Err(self.lost(error))
                } else {
                    Ok(())
                }
            }
            _ => Err(self.lost(error)),
        }
    }

    fn lost(&self, error: &StateError) -> Lost {
        let run_hash = &short_hash(self.key.id().as_bytes())[..8];
        warn!(event = "run_lost", run_hash, reason = %error);
        Lost
    }

    /// Messages of other replicas. Some may be lost if the store fails: their senders check the result themselves.
    pub(super) async fn messages(&self) -> Vec<Bytes> {
        self.store.drain(&self.key).await.unwrap_or_default()
    }

    /// Writes the end and releases the lease.
    ///
    /// # Errors
    /// An error of the store.
    pub(super) async fn settle(&mut self, record: &RunRecord, ttl: Duration) -> Result<(), StateError> {
        self.write(record, false, ttl, End::Keep).await
    }

    /// Writes a suspended program and releases the lease: the run expires after `life` unless it is resumed.
    ///
    /// # Errors
    /// An error of the store.
    pub(super) async fn leave(&mut self, record: &RunRecord, life: Duration) -> Result<(), StateError> {
        self.write(record, false, life, End::After(life)).await
    }
}

/// Counts the upstream calls of a program that may become a run, and holds them back while its lease may have expired.
pub(super) struct LeaseGuard {
    /// When the store last acknowledged the lease; `None` as long as there is none, and none is needed.
    acknowledged: Mutex<Option<Instant>>,
    /// Notified of each acknowledgement.
    renewed: Notify,
    /// How many calls were made: the program itself reports calls only at its next turn.
    calls: AtomicU32,
    /// Reports progress to the client, if it asked for it.
    progress: Option<watch::Sender<CallsSoFar>>,
}

impl LeaseGuard {
    pub(super) fn new(progress: Option<watch::Sender<CallsSoFar>>) -> LeaseGuard {
        LeaseGuard {
            acknowledged: Mutex::default(),
            renewed: Notify::new(),
            calls: AtomicU32::new(0),
            progress,
        }
    }

    /// How many calls were made.
    pub(super) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Raises the count of calls to at least `made`.
    pub(super) fn note(&self, made: u32) {
        self.calls.fetch_max(made, Ordering::Relaxed);
    }

    /// Notes that the store acknowledged the lease then.
    pub(super) fn acknowledge(&self, at: Instant) {
        *self.acknowledged.lock() = Some(at);
        self.renewed.notify_waiters();
    }

    /// Whether the last acknowledgement is older than that; `None` before there is one.
    fn is_older_than(&self, age: Duration) -> Option<bool> {
        self.acknowledged.lock().map(|at| time::since(at) >= age)
    }

    /// True if the lease may have expired.
    pub(super) fn is_overdue(&self) -> bool {
        self.is_older_than(UNHEARD) == Some(true)
    }
}

impl CallObserver for LeaseGuard {
    type Call = ();

    /// A process that was paused, or cannot reach its store, renews the lease first. If it has lost the lease, the program is
    /// dropped.
    fn gate(self: &Arc<Self>) -> Option<LocalBoxFuture<'static, ()>> {
        let guard = self.is_overdue().then(|| self.clone())?;
        let renewed = async move {
            loop {
                let renewed = guard.renewed.notified();
                if !guard.is_overdue() {
                    return;
                }
                renewed.await;
            }
        };
        Some(renewed.boxed_local())
    }

    fn before(&self, _: &HostRequest) -> Option<()> {
        None
    }

    fn sent(&self, run: &RunContext, is_answered: bool) {
        let made = run.calls.get();
        self.note(made);
        let Some(progress) = self.progress.as_ref().filter(|_| !is_answered) else { return };
        progress.send_if_modified(|so_far| {
            let is_news = made > so_far.made;
            so_far.made = so_far.made.max(made);
            is_news
        });
    }
}
