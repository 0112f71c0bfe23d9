//! The lease on a run: the right to write its record.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::state::{Claim, Claimed, Commit, End, Key, StateError, StateStore, Write};
use tokio::sync::watch;
use tracing::warn;

use super::lawful::is_overdue;
use super::record::RunRecord;
use ptc_host::digest::short_hash;
use ptc_host::time::{self, Instant};

/// How long a lease lasts without renewal (state.md 6).
const LEASE: Duration = Duration::from_secs(30);
/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(10);

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
    acknowledged: watch::Sender<Option<Instant>>,
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
        acknowledged: watch::Sender<Option<Instant>>,
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
        let mut lease = Lease { store, key, version, fence, life, acknowledged, written: record.clone() };
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
        self.written = record.clone();
        Ok(())
    }

    /// Renews the lease, and writes the progress if it has changed.
    ///
    /// # Errors
    /// Another replica has the lease, or the store has not acknowledged it for too long.
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
