//! A lease on a session in a store.

use ptc_host::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::engine::{SavedFailure, SavedSession, SessionDraft, SessionFault, saved};
use ptc_host::state::{Claim, Claimed, Commit, End, Key, Kind, StateError, Versioned, Write};
use ptc_vm::Reason;
use tokio::sync::oneshot;
use tracing::{debug, error, warn};

use super::super::environment::{Environment, MODE};
use super::super::record::{Description, Record};
use super::super::refusal::Refusal;
use super::saved_record::record_of;
use super::{Stored, owner_in_store};
use ptc_host::digest::short_hash;
use ptc_protocol::principal::Owner;

/// A session on which this process has a lease. Dropping it releases the session, and drops its values in this
/// process unless [`settle`](Taken::settle), [`commit`](Taken::commit) or [`give_back`](Taken::give_back) came before.
pub(in super::super) struct Taken {
    stored: Arc<Stored>,
    pub(in super::super) id: Arc<str>,
    pub(super) owner: Owner,
    key: Key,
    version: u64,
    fence: u64,
    /// The time until it expires, no matter how often it is used.
    pub(in super::super) left: Duration,
    /// Its record, which changes with its program.
    pub(in super::super) record: Arc<Mutex<Record>>,
    /// Its bytes, unless this process has the values.
    pub(in super::super) blob: Option<Bytes>,
    /// The number of its program here, and a receiver that completes when it is closed.
    running: Option<(u64, oneshot::Receiver<()>)>,
    settled: bool,
}

impl Stored {
    /// The key of a session.
    pub(super) fn key_of(id: &str, owner: &Owner) -> Result<Key, Refusal> {
        let key = Key::new(&owner_in_store(owner), Kind::Session, id);
        key.map_err(|_| Refusal::NotFound)
    }

    /// Converts an error of the store.
    pub(super) fn refused(&self, error: StateError, id: &str, owner: &Owner) -> Refusal {
        match error {
            StateError::Gone => {
                self.forget_here(id);
                Refusal::Closed
            }
            StateError::Corrupt => self.corrupt(id, owner, "record"),
            StateError::Conflict | StateError::Fenced => Refusal::Conflict,
            StateError::Full => Refusal::Full,
            StateError::Unavailable(why) => {
                let owner_hash = owner.principal.hash();
                warn!(event = "ptc_lisp.session.store_unavailable", owner_hash, mode = MODE, why);
                Refusal::Unavailable
            }
        }
    }

    /// A session that cannot be decoded counts as absent, and is reported once.
    pub(super) fn corrupt(&self, id: &str, owner: &Owner, part: &str) -> Refusal {
        let (session, owner_hash) = (short_hash(id.as_bytes()), owner.principal.hash());
        error!(event = "ptc_lisp.session.corrupt", session_hash = &*session, owner_hash, mode = MODE, part);
        Refusal::NotFound
    }

    pub(super) fn fault(&self, fault: SessionFault, id: &str, owner: &Owner) -> Refusal {
        match fault {
            SessionFault::OtherBuild => Refusal::OtherBuild,
            SessionFault::Corrupt(part) => self.corrupt(id, owner, part),
            SessionFault::Missing => Refusal::Unavailable,
        }
    }

    /// Converts a failure of the engine.
    pub(super) fn failed(&self, failure: SavedFailure, id: &str, owner: &Owner) -> Refusal {
        match failure {
            SavedFailure::Fault(fault) => self.fault(fault, id, owner),
            SavedFailure::Failed(failure) if failure.reason == Reason::Timeout => Refusal::NoTime,
            SavedFailure::Failed(_) => Refusal::NoMemory,
            SavedFailure::Busy => Refusal::Busy,
            SavedFailure::Gone => Refusal::Closed,
        }
    }

    /// Drops the values of a session in this process, and ends the program that runs on it here.
    pub(super) fn forget_here(&self, id: &str) {
        self.here.forget(id);
        self.env.engine.drop_saved(id);
    }

    /// The record of a session, from its bytes.
    pub(super) fn record_in(&self, blob: &[u8], id: &str, owner: &Owner) -> Result<Record, Refusal> {
        let about = saved::about(blob).map_err(|fault| self.fault(fault, id, owner))?;
        record_of(&about, owner).ok_or_else(|| self.corrupt(id, owner, "about"))
    }

    /// Takes a session for `lease`. A lease of zero only reads it, which counts as a use and does not block other
    /// processes.
    pub(in super::super) async fn take(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
        lease: Duration,
    ) -> Result<Taken, Refusal> {
        let key = Stored::key_of(id, owner)?;
        let here = self.here.version(id, owner);
        let forgotten = self.here.forgotten();
        let claim = Claim {
            holder: self.keeping.replica.clone(),
            lease,
            rest: Some(self.env.settings.idle),
            known: here.as_ref().map_or(0, |(version, _)| *version),
            creates: false,
        };
        let claimed = self.store().claim(&key, claim).await;
        let versioned = match claimed.map_err(|error| self.refused(error, id, owner))? {
            Claimed::Held(_) => return Err(Refusal::Busy),
            Claimed::Absent => {
                let was_here = self.here.knows(id, owner);
                self.forget_here(id);
                return Err(if was_here { Refusal::Closed } else { Refusal::NotFound });
            }
            Claimed::Taken(versioned) => versioned,
        };
        let Versioned { version, fence, blob, ends_in, .. } = versioned;
        let id: Arc<str> = id.into();
        let running = (!lease.is_zero()).then(|| self.here.run(&id, owner));
        let mut taken = Taken {
            stored: self.clone(),
            id: id.clone(),
            owner: owner.clone(),
            key,
            version,
            fence,
            left: ends_in.unwrap_or(self.env.settings.ttl),
            record: Arc::new(Mutex::new(Record::new(owner.clone(), None, self.env.now(), self.env.now()))),
            blob: None,
            running,
            settled: false,
        };
        // From here on a close by this process ends the program. A close since the session was claimed found no
        // program to end.
        if taken.running.is_some() && self.here.forgotten() != forgotten {
            taken.fetch().await?;
        }
        let known = here.filter(|(known, _)| *known == version && blob.is_none());
        let record = match (blob, known) {
            (None, Some((_, record))) => record,
            (blob, _) => {
                taken.blob = blob;
                if taken.blob.is_none() {
                    taken.fetch().await?;
                }
                let blob = taken.blob.clone().unwrap_or_default();
                self.record_in(&blob, &id, owner)?
            }
        };
        debug!(event = "ptc_lisp.session.eval.start", session_id = &*id, mode = MODE, turn = record.turn);
        *taken.record.lock() = record;
        Ok(taken)
    }
}

impl Taken {
    pub(in super::super) fn env(&self) -> &Arc<Environment> {
        &self.stored.env
    }

    /// The session in the form for the engine.
    pub(in super::super) fn saved(&self) -> SavedSession {
        SavedSession { version: self.version, blob: self.blob.clone() }
    }

    /// Reads the bytes of a session whose values were evicted for other sessions. Fails for any other failure.
    pub(in super::super) async fn recover(&mut self, failure: SavedFailure) -> Result<(), Refusal> {
        match failure {
            SavedFailure::Fault(SessionFault::Missing) if self.blob.is_none() => self.fetch().await,
            failure => Err(self.stored.failed(failure, &self.id, &self.owner)),
        }
    }

    /// Drops the values of a session whose time is over.
    pub(in super::super) fn expire(&self) {
        self.stored.forget_here(&self.id);
    }

    /// Reads its bytes, because this process does not have its values after all, or to see whether it still exists.
    async fn fetch(&mut self) -> Result<(), Refusal> {
        let read = self.stored.store().read(&self.key).await;
        let read = read.map_err(|error| self.stored.refused(error, &self.id, &self.owner))?;
        match read {
            Some(Versioned { version, blob: Some(blob), .. }) if version == self.version => {
                self.blob = Some(blob);
                Ok(())
            }
            Some(_) => Err(Refusal::Conflict),
            None => Err(Refusal::Closed),
        }
    }

    /// Completes when the session is closed by this process.
    pub(in super::super) async fn killed(&mut self) {
        // The sender is only ever dropped.
        match &mut self.running {
            Some((_, killed)) => {
                let _ = killed.await;
            }
            None => std::future::pending().await,
        }
    }

    /// Makes `draft` the session's next version, if it is still the one that was taken.
    pub(super) async fn commit(mut self, draft: SessionDraft, record: &Record) -> Result<(), Refusal> {
        let stored = self.stored.clone();
        let write = Write::put(self.key.clone(), self.version, draft.blob.clone())
            .under(self.fence)
            .resting(stored.env.settings.idle)
            .ending(End::Keep);
        match stored.store().commit(Commit::one(write)).await {
            Ok(()) => {
                draft.keep();
                self.settled = true;
                self.rest();
                self.note(self.version + 1, record);
                Ok(())
            }
            Err(error) => {
                // The client may use the session as soon as it is answered. A store that is unavailable is not
                // awaited again.
                if !matches!(error, StateError::Unavailable(_)) {
                    self.settled = true;
                    self.forget_values();
                    let _ = stored.store().renew(&self.key, self.fence, Duration::ZERO).await;
                }
                Err(stored.refused(error, &self.id, &self.owner))
            }
        }
    }

    /// Commits what a program has changed, if anything, releases the session and describes it. The description comes
    /// with the refusal of a store that did not accept the changes.
    pub(in super::super) async fn settle(
        self,
        draft: Option<SessionDraft>,
    ) -> Result<(Description, Option<Refusal>), Refusal> {
        let record = self.record.lock().clone();
        let description = record.describe(&self.id, &self.stored.env.redactor);
        let Some(draft) = draft else {
            // This process keeps the values that it has read.
            self.note(self.version, &record);
            self.give_back().await;
            return Ok((description, None));
        };
        match self.commit(draft, &record).await {
            Ok(()) => Ok((description, None)),
            Err(refusal @ (Refusal::NotFound | Refusal::Closed)) => Err(refusal),
            Err(refusal) => Ok((description, Some(refusal))),
        }
    }

    /// Notes the version whose values this process has, and drops the values that this evicts.
    fn note(&self, version: u64, record: &Record) {
        let dropped = self.stored.here.note(&self.id, version, record);
        dropped.iter().for_each(|id| self.stored.env.engine.drop_saved(id));
    }

    /// Releases the session without changes. The cache of this process stays as it is.
    pub(super) async fn give_back(mut self) {
        self.settled = true;
        self.rest();
        if self.running.is_some() {
            // A store that does not get this keeps the lease until it expires.
            let _ = self.stored.store().renew(&self.key, self.fence, Duration::ZERO).await;
        }
    }

    /// Drops the values in this process, which belong to no version.
    fn forget_values(&self) {
        self.rest();
        self.stored.here.doubt(&self.id);
        self.stored.env.engine.drop_saved(&self.id);
    }

    fn rest(&self) {
        if let Some((number, _)) = &self.running {
            self.stored.here.rest(&self.id, *number);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.settled || self.running.is_none() {
            return;
        }
        self.forget_values();
        let (store, key, fence) = (self.stored.keeping.store.clone(), self.key.clone(), self.fence);
        self.stored.env.engine.spawn_on(0, move || async move {
            let _ = store.renew(&key, fence, Duration::ZERO).await;
        });
    }
}
