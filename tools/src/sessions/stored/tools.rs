//! The tools besides `lisp_session_eval`, for sessions in a store.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::engine::{SavedSession, SessionState, saved};
use ptc_host::state::{Commit, End, Kind, Listed, TOMBSTONE_LIFE, Versioned, Write};
use ptc_host::time;
use ptc_vm::Value;
use ptc_vm::builtins::library;
use ptc_vm::machine::Namespace;
use tracing::info;

use super::super::environment::MODE;
use super::super::record::Record;
use super::super::refusal::Refusal;
use super::super::text::Values;
use super::saved_record::{bytes_of, record_of};
use super::{Stored, owner_in_store};
use ptc_observers::sources::SessionSummaries;
use ptc_protocol::principal::{Owner, Principal};

/// The time limit of a change that is not a program.
const CHANGE_LEASE: Duration = Duration::from_secs(15);
/// How often it is looked whether the programs of a revoked owner have finished.
const REVOCATION_INTERVAL: Duration = Duration::from_secs(1);

impl Stored {
    /// Adds a session to the store, within the limits of its owner.
    pub(in super::super) async fn add(
        &self,
        id: &str,
        record: &Record,
        ttl: Duration,
    ) -> Result<(), Refusal> {
        let (owner, settings) = (&record.owner, &self.env.settings);
        let (most, over) = self.env.most_sessions(owner);
        let has_room = self.store().has_fewer(&owner_in_store(owner), Kind::Session, most).await;
        if !has_room.map_err(|error| self.refused(error, "", owner))? {
            return Err(over);
        }
        let nothing = saved::write_session(&Namespace::new(library()), [&Value::Nil; 3], &bytes_of(record));
        let write = Write::put(Stored::key_of(id, owner)?, 0, nothing.map_err(|_| Refusal::NoMemory)?)
            .resting(settings.idle)
            .ending(End::After(ttl));
        let committed = self.store().commit(Commit::one(write)).await;
        committed.map_err(|error| self.refused(error, id, owner))
    }

    /// Summaries of an owner's sessions in the store with the times of their last uses.
    pub(in super::super) async fn summaries(
        &self,
        owner: &Owner,
    ) -> Result<Vec<(Timestamp, String)>, Refusal> {
        let listed = self.store().list(Some(&owner_in_store(owner)), Kind::Session).await;
        let mut found = Vec::new();
        for listed in listed.map_err(|error| self.refused(error, "", owner))? {
            if let Some(record) = self.looked_at(&listed, owner).await? {
                let running = listed.lease.is_some();
                found.push((record.updated, record.summary(&listed.id, &self.env.redactor, running)));
            }
        }
        Ok(found)
    }

    /// The record of a listed session; `None` if it has ended in the meantime, or cannot be read here.
    async fn looked_at(&self, listed: &Listed, owner: &Owner) -> Result<Option<Record>, Refusal> {
        let read = match self.store().look(listed).await {
            Ok(read) => read,
            Err(error) => match self.refused(error, &listed.id, owner) {
                Refusal::Unavailable => return Err(Refusal::Unavailable),
                _ => return Ok(None),
            },
        };
        let about = read.and_then(|read| read.blob).and_then(|blob| saved::about(&blob).ok());
        Ok(about.and_then(|about| record_of(&about, owner)))
    }

    /// Closes a session in the store, and ends the program that runs on it here. A program elsewhere will not be
    /// committed.
    pub(in super::super) async fn close(&self, id: &str, owner: &Owner) -> Result<(), Refusal> {
        let key = Stored::key_of(id, owner)?;
        let read = self.store().read(&key).await.map_err(|error| self.refused(error, id, owner))?;
        if read.is_none() {
            let was_here = self.here.knows(id, owner);
            self.forget_here(id);
            return Err(if was_here { Refusal::Closed } else { Refusal::NotFound });
        }
        let buried = self.store().commit(Commit::one(Write::bury(key, TOMBSTONE_LIFE))).await;
        buried.map_err(|error| self.refused(error, id, owner))?;
        self.forget_here(id);
        self.env.note_end("closed");
        let owner_hash = owner.principal.hash();
        info!(event = "ptc_lisp.session.close", session_id = id, owner_hash, mode = MODE, reason = "closed");
        Ok(())
    }

    /// Closes all sessions of an owner in the store, in the background.
    pub(in super::super) fn close_all(self: &Arc<Self>, owner: &Owner) {
        let (stored, owner) = (self.clone(), owner.clone());
        self.env.engine.spawn_on(0, move || async move {
            let listed = stored.store().list(Some(&owner_in_store(&owner)), Kind::Session).await;
            let listed = listed.map_err(|error| stored.refused(error, "", &owner)).unwrap_or_default();
            for listed in listed {
                if stored.store().erase(&listed).await.is_ok_and(|erased| erased) {
                    stored.env.note_end("owner_gone");
                }
                stored.forget_here(&listed.id);
            }
        });
    }

    /// Closes all sessions of an owner in the store, in the background, each once its program has finished, here or at another
    /// replica.
    pub(in super::super) fn revoke(self: &Arc<Self>, owner: &Owner) {
        let (stored, owner) = (self.clone(), owner.clone());
        self.env.engine.spawn_on(0, move || async move {
            let mut busy: Option<Vec<Arc<str>>> = None;
            loop {
                let listed = stored.store().list(Some(&owner_in_store(&owner)), Kind::Session).await;
                let mut listed =
                    listed.map_err(|error| stored.refused(error, "", &owner)).unwrap_or_default();
                // Those that begin later belong to somebody who has a token again.
                listed.retain(|listed| busy.as_ref().is_none_or(|busy| busy.contains(&listed.id)));
                let (running, at_rest): (Vec<_>, Vec<_>) =
                    listed.into_iter().partition(|listed| listed.lease.is_some());
                for listed in at_rest {
                    if stored.store().erase(&listed).await.is_ok_and(|erased| erased) {
                        stored.env.note_end("owner_gone");
                    }
                    stored.forget_here(&listed.id);
                }
                if running.is_empty() {
                    return;
                }
                busy = Some(running.into_iter().map(|listed| listed.id).collect());
                time::sleep(REVOCATION_INTERVAL).await;
            }
        });
    }

    /// Reads a session in the store, which counts as a use of it. Returns its record, the result of `look` on its
    /// values, and whether a program runs on it.
    pub(in super::super) async fn look(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
    ) -> Result<(Record, Values, bool), Refusal> {
        let principal = Some(owner.principal.shared_name());
        match self.take(id, owner, Duration::ZERO).await {
            Ok(mut taken) => {
                let values = loop {
                    let saved = taken.saved();
                    let look = self.env.engine.look_at_saved(&taken.id, principal.clone(), saved, Values::of);
                    match look.await {
                        Ok(values) => break values,
                        Err(failure) => taken.recover(failure).await?,
                    }
                };
                let record = taken.record.lock().clone();
                taken.give_back().await;
                Ok((record, values, false))
            }
            Err(Refusal::Busy) => {
                let key = Stored::key_of(id, owner)?;
                let read = self.store().read(&key).await.map_err(|error| self.refused(error, id, owner))?;
                let Some(Versioned { version, blob: Some(blob), .. }) = read else {
                    return Err(Refusal::Closed);
                };
                let record = self.record_in(&blob, id, owner)?;
                let saved = SavedSession { version, blob: Some(blob) };
                let values = self.env.engine.look_at_saved(id, principal, saved, Values::of).await;
                let values = values.map_err(|failure| self.failed(failure, id, owner))?;
                Ok((record, values, true))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Changes a session in the store. `change` modifies the values and the record of the session.
    pub(in super::super) async fn change<R: Send + 'static>(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
        change: impl Fn(&mut SessionState, &mut Record) -> R + Clone + Send + 'static,
    ) -> Result<(R, Record), Refusal> {
        let principal = Some(owner.principal.shared_name());
        let mut taken = self.take(id, owner, CHANGE_LEASE).await?;
        loop {
            let (change, mut record, env) = (change.clone(), taken.record.lock().clone(), self.env.clone());
            let changed =
                self.env.engine.change_saved(&taken.id, principal.clone(), taken.saved(), move |state| {
                    let result = change(state, &mut record);
                    record.updated = env.now();
                    let about = bytes_of(&record);
                    ((result, record), about)
                });
            match changed.await {
                Ok(((result, record), draft)) => {
                    taken.commit(draft, &record).await?;
                    return Ok((result, record));
                }
                Err(failure) => taken.recover(failure).await?,
            }
        }
    }

    /// Summaries of the sessions of a principal, or of all callers, in this process's cache.
    pub(in super::super) fn summaries_here(&self, principal: Option<&Principal>) -> SessionSummaries {
        self.here.summaries(principal, &self.env.redactor)
    }

    /// The number of stored sessions in this process's cache, how many of them have a running program here, and the
    /// bytes of their definitions.
    pub(in super::super) fn count_here(&self) -> (usize, usize, u64) {
        self.here.count()
    }
}
