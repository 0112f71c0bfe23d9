//! A lease on a session in a store.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ptc_host::engine::{SavedSession, SessionFault, saved};
use ptc_host::state::{Claim, Claimed, Commit, End, Key, Kind, StateError, Versioned, Write};
use tokio::sync::oneshot;
use tracing::{debug, error, warn};

use super::super::Directory;
use super::super::directory::{MODE, Refusal};
use super::super::record::Record;
use super::saved_record::{bytes_of, record_of};
use super::{NotUsed, Stored, owner_in_store};
use ptc_host::digest::short_hash;
use ptc_protocol::principal::Owner;

/// A session on which this process has a lease. Dropping it releases the session, and drops its values in this
/// process unless [`commit`](Taken::commit) or [`give_back`](Taken::give_back) came before.
pub(super) struct Taken {
    directory: Arc<Directory>,
    pub(super) id: Arc<str>,
    pub(super) owner: Owner,
    key: Key,
    version: u64,
    fence: u64,
    /// The time until it expires, no matter how often it is used.
    pub(super) left: Duration,
    /// Its record.
    pub(super) record: Record,
    /// Its bytes, unless this process has the values.
    pub(super) blob: Option<Bytes>,
    /// The number of its program here, and a receiver that completes when it is closed.
    running: Option<(u64, oneshot::Receiver<()>)>,
    settled: bool,
}

impl Directory {
    fn in_store(&self) -> &Stored {
        match &self.stored {
            Some(stored) => stored,
            None => unreachable!("sessions are in a store"),
        }
    }

    /// The key of a session.
    pub(super) fn key_of(id: &str, owner: &Owner) -> Result<Key, NotUsed> {
        let key = Key::new(&owner_in_store(owner), Kind::Session, id);
        key.map_err(|_| NotUsed::Refused(Refusal::NotFound))
    }

    /// Converts an error of the store.
    pub(super) fn not_used(&self, error: StateError, id: &str, owner: &Owner) -> NotUsed {
        match error {
            StateError::Gone => {
                self.forget_here(id);
                Refusal::Closed.into()
            }
            StateError::Corrupt => self.corrupt(id, owner, "record"),
            StateError::Conflict | StateError::Fenced => NotUsed::Conflict,
            StateError::Full => NotUsed::Full,
            StateError::Unavailable(why) => {
                let owner_hash = owner.principal.hash();
                warn!(event = "ptc_lisp.session.store_unavailable", owner_hash, mode = MODE, why);
                NotUsed::Unavailable
            }
        }
    }

    /// A session that cannot be decoded counts as absent, and is reported once.
    pub(super) fn corrupt(&self, id: &str, owner: &Owner, part: &str) -> NotUsed {
        let (session, owner_hash) = (short_hash(id.as_bytes()), owner.principal.hash());
        error!(event = "ptc_lisp.session.corrupt", session_hash = &*session, owner_hash, mode = MODE, part);
        Refusal::NotFound.into()
    }

    pub(super) fn fault(&self, fault: SessionFault, id: &str, owner: &Owner) -> NotUsed {
        match fault {
            SessionFault::OtherBuild => NotUsed::OtherBuild,
            SessionFault::Corrupt(part) => self.corrupt(id, owner, part),
            SessionFault::Missing => NotUsed::Unavailable,
        }
    }

    /// Drops the values of a session in this process, and ends the program that runs on it here.
    pub(super) fn forget_here(&self, id: &str) {
        self.in_store().here.forget(id);
        self.engine.drop_saved(id);
    }

    /// The record of a session, from its bytes.
    pub(super) fn record_in(&self, blob: &[u8], id: &str, owner: &Owner) -> Result<Record, NotUsed> {
        let about = saved::about(blob).map_err(|fault| self.fault(fault, id, owner))?;
        record_of(&about, owner).ok_or_else(|| self.corrupt(id, owner, "about"))
    }

    /// Takes a session for `lease`. A lease of zero only reads it, which counts as a use and does not block other
    /// processes.
    pub(super) async fn take(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
        lease: Duration,
    ) -> Result<Taken, NotUsed> {
        let stored = self.in_store();
        let key = Directory::key_of(id, owner)?;
        let here = stored.here.version(id, owner);
        let forgotten = stored.here.forgotten();
        let claim = Claim {
            holder: stored.keeping.replica.clone(),
            lease,
            rest: Some(self.settings.idle),
            known: here.as_ref().map_or(0, |(version, _)| *version),
            creates: false,
        };
        let claimed = stored.store().claim(&key, claim).await;
        let versioned = match claimed.map_err(|error| self.not_used(error, id, owner))? {
            Claimed::Held(_) => return Err(Refusal::Busy.into()),
            Claimed::Absent => {
                let was_here = stored.here.knows(id, owner);
                self.forget_here(id);
                return Err(if was_here { Refusal::Closed } else { Refusal::NotFound }.into());
            }
            Claimed::Taken(versioned) => versioned,
        };
        let Versioned { version, fence, blob, ends_in, .. } = versioned;
        let id: Arc<str> = id.into();
        let running = (!lease.is_zero()).then(|| stored.here.run(&id, owner));
        let mut taken = Taken {
            directory: self.clone(),
            id: id.clone(),
            owner: owner.clone(),
            key,
            version,
            fence,
            left: ends_in.unwrap_or(self.settings.ttl),
            record: Record::new(owner.clone(), None, self.now(), self.now()),
            blob: None,
            running,
            settled: false,
        };
        // From here on a close by this process ends the program. A close since the session was claimed found no
        // program to end.
        if taken.running.is_some() && stored.here.forgotten() != forgotten {
            taken.fetch().await?;
        }
        let about = here.filter(|(known, _)| *known == version && blob.is_none());
        match (blob, about) {
            (None, Some((_, about))) => {
                taken.record = record_of(&about, owner).ok_or_else(|| self.corrupt(&id, owner, "about"))?;
            }
            (blob, _) => {
                taken.blob = blob;
                if taken.blob.is_none() {
                    taken.fetch().await?;
                }
                let blob = taken.blob.clone().unwrap_or_default();
                taken.record = self.record_in(&blob, &id, owner)?;
            }
        }
        debug!(
            event = "ptc_lisp.session.eval.start",
            session_id = &*id,
            mode = MODE,
            turn = taken.record.turn
        );
        Ok(taken)
    }
}

impl Taken {
    /// The session in the form for the engine.
    pub(super) fn saved(&self) -> SavedSession {
        SavedSession { version: self.version, blob: self.blob.clone() }
    }

    /// Reads its bytes, because this process does not have its values after all, or to see whether it still exists.
    pub(super) async fn fetch(&mut self) -> Result<(), NotUsed> {
        let read = self.directory.in_store().store().read(&self.key).await;
        let read = read.map_err(|error| self.directory.not_used(error, &self.id, &self.owner))?;
        match read {
            Some(Versioned { version, blob: Some(blob), .. }) if version == self.version => {
                self.blob = Some(blob);
                Ok(())
            }
            Some(_) => Err(NotUsed::Conflict),
            None => Err(Refusal::Closed.into()),
        }
    }

    /// Completes when the session is closed by this process.
    pub(super) async fn killed(&mut self) {
        // The sender is only ever dropped.
        match &mut self.running {
            Some((_, killed)) => {
                let _ = killed.await;
            }
            None => std::future::pending().await,
        }
    }

    /// Makes `blob` the session's next version, if it is still the one that was taken.
    pub(super) async fn commit(
        mut self,
        blob: Bytes,
        record: &Record,
        keep: impl FnOnce(),
    ) -> Result<(), NotUsed> {
        let directory = self.directory.clone();
        let write = Write::put(self.key.clone(), self.version, blob)
            .under(self.fence)
            .resting(directory.settings.idle)
            .ending(End::Keep);
        let committed = directory.in_store().store().commit(Commit::one(write)).await;
        match committed {
            Ok(()) => {
                keep();
                self.settled = true;
                let here = &directory.in_store().here;
                self.rest();
                let dropped = here.note(
                    &self.id,
                    &self.owner,
                    self.version + 1,
                    bytes_of(record).into(),
                    record.memory_bytes,
                );
                dropped.iter().for_each(|id| directory.engine.drop_saved(id));
                Ok(())
            }
            Err(error) => {
                // The client may use the session as soon as it is answered. A store that is unavailable is not
                // awaited again.
                if !matches!(error, StateError::Unavailable(_)) {
                    self.settled = true;
                    self.forget_values();
                    let _ = directory.in_store().store().renew(&self.key, self.fence, Duration::ZERO).await;
                }
                Err(directory.not_used(error, &self.id, &self.owner))
            }
        }
    }

    /// Releases the session without changes. This process keeps the values that it has read.
    pub(super) async fn give_back(self, record: &Record) {
        let stored = self.directory.in_store();
        let dropped = stored.here.note(
            &self.id,
            &self.owner,
            self.version,
            bytes_of(record).into(),
            record.memory_bytes,
        );
        dropped.iter().for_each(|id| self.directory.engine.drop_saved(id));
        self.give_back_unread().await;
    }

    /// Releases the session without changes. The cache of this process stays as it is.
    pub(super) async fn give_back_unread(mut self) {
        self.settled = true;
        self.rest();
        if self.running.is_some() {
            let stored = self.directory.in_store();
            // A store that does not get this keeps the lease until it expires.
            let _ = stored.store().renew(&self.key, self.fence, Duration::ZERO).await;
        }
    }

    /// Drops the values in this process, which belong to no version.
    fn forget_values(&self) {
        self.rest();
        self.directory.in_store().here.doubt(&self.id);
        self.directory.engine.drop_saved(&self.id);
    }

    fn rest(&self) {
        if let Some((number, _)) = &self.running {
            self.directory.in_store().here.rest(&self.id, *number);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        if self.running.is_none() {
            return;
        }
        self.forget_values();
        let stored = self.directory.in_store();
        let (store, key, fence) = (stored.keeping.store.clone(), self.key.clone(), self.fence);
        self.directory.engine.spawn_on(0, move || async move {
            let _ = store.renew(&key, fence, Duration::ZERO).await;
        });
    }
}
