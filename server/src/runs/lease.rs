//! The right to write the record of a run that runs here.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::state::{Claim, Claimed, Commit, End, Key, StateError, StateStore, Write};
use tokio::sync::watch;
use tracing::warn;

use super::lawful::{Acknowledged, is_overdue};
use super::record::{Mark, RunRecord};
use ptc_host::digest::short_hash;
use ptc_host::time;

/// How long a holder has a run that it does not tell of (state.md 6).
const LEASE: Duration = Duration::from_secs(30);
/// How often it tells of it.
const RENEWAL: Duration = Duration::from_secs(10);

/// Why a run is not this process's any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost;

/// A run's record, as long as this process holds it.
pub(super) struct Lease {
    store: Arc<dyn StateStore>,
    key: Key,
    version: u64,
    fence: u64,
    /// How long the record may rest.
    life: Duration,
    acknowledged: watch::Sender<Acknowledged>,
    /// How far the record was when it was written last.
    told: Mark,
}

impl Lease {
    /// Makes the record, and holds it.
    ///
    /// # Errors
    /// What the store says: it is not there then.
    pub(super) async fn make(
        store: Arc<dyn StateStore>,
        replica: Arc<str>,
        key: Key,
        record: &RunRecord,
        life: Duration,
        acknowledged: watch::Sender<Acknowledged>,
    ) -> Result<Lease, StateError> {
        let claim = Claim { holder: replica, lease: LEASE, rest: None, known: 0, creates: true };
        let asked = time::now();
        let fence = match store.claim(&key, claim).await? {
            Claimed::Taken(taken) if taken.version == 0 => taken.fence,
            // Ids are random: nobody else has this one.
            Claimed::Taken(_) | Claimed::Held(_) | Claimed::Absent => return Err(StateError::Conflict),
        };
        let mut lease = Lease { store, key, version: 0, fence, life, acknowledged, told: Mark::default() };
        lease.write(record, true, lease.life, End::Never).await?;
        lease.acknowledged.send_replace(Some(asked));
        Ok(lease)
    }

    /// Takes the record of a run that waits at `version`, and writes what becomes of it.
    ///
    /// # Errors
    /// [`StateError::Conflict`] if it is not that version any more, or somebody else has it; what the store says.
    pub(super) async fn take(
        store: Arc<dyn StateStore>,
        replica: Arc<str>,
        key: Key,
        (version, record): (u64, &RunRecord),
        life: Duration,
        acknowledged: watch::Sender<Acknowledged>,
    ) -> Result<Lease, StateError> {
        let claim = Claim { holder: replica, lease: LEASE, rest: None, known: 0, creates: false };
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
        let mut lease = Lease { store, key, version, fence, life, acknowledged, told: Mark::default() };
        lease.write(record, true, lease.life, End::Never).await?;
        lease.acknowledged.send_replace(Some(asked));
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
        self.told = record.mark();
        Ok(())
    }

    /// Says that the run goes on, and how far it is.
    ///
    /// # Errors
    /// The run is somebody else's, or its store has not been heard of for too long.
    pub(super) async fn beat(&mut self, record: impl FnOnce() -> RunRecord) -> Result<(), Lost> {
        let heard = *self.acknowledged.borrow();
        let is_due = heard.is_none_or(|at| time::since(at) >= RENEWAL);
        let asked = time::now();
        if is_due {
            match self.store.renew(&self.key, self.fence, LEASE).await {
                Ok(()) => {
                    self.acknowledged.send_replace(Some(asked));
                }
                Err(error) => return self.judged(&error),
            }
        }
        let record = record();
        if self.told == record.mark() {
            return Ok(());
        }
        match self.write(&record, true, self.life, End::Keep).await {
            // What the store has no room for is told at the end.
            Ok(()) | Err(StateError::Full) => Ok(()),
            Err(error) => self.judged(&error),
        }
    }

    /// Whether the run can go on after this error.
    fn judged(&self, error: &StateError) -> Result<(), Lost> {
        match error {
            StateError::Unavailable(_) | StateError::Full => {
                let acknowledged = *self.acknowledged.borrow();
                if is_overdue(acknowledged) { Err(self.lost(error)) } else { Ok(()) }
            }
            _ => Err(self.lost(error)),
        }
    }

    fn lost(&self, error: &StateError) -> Lost {
        let run_hash = &short_hash(self.key.id().as_bytes())[..8];
        warn!(event = "run_lost", run_hash, reason = %error);
        Lost
    }

    /// Messages of other replicas. Some may be lost where the store fails: their senders look again.
    pub(super) async fn messages(&self) -> Vec<Bytes> {
        self.store.drain(&self.key).await.unwrap_or_default()
    }

    /// Writes the end, and gives the record back.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn settle(&mut self, record: &RunRecord, ttl: Duration) -> Result<(), StateError> {
        self.write(record, false, ttl, End::Keep).await
    }

    /// Writes a program that waits, and gives the record back: it ends after `life` unless somebody goes on with it.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn leave(&mut self, record: &RunRecord, life: Duration) -> Result<(), StateError> {
        self.write(record, false, life, End::After(life)).await
    }
}
