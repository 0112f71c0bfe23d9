//! The tools besides `lisp_session_eval`, for sessions in a store.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::engine::{SavedFailure, SavedSession, SessionFault, saved};
use ptc_host::state::{Commit, End, Kind, Listed, TOMBSTONE_LIFE, Versioned, Write};
use ptc_vm::Reason;
use ptc_vm::Value;
use ptc_vm::builtins::library;
use ptc_vm::machine::Namespace;
use tracing::info;

use super::super::Directory;
use super::super::directory::{MODE, Refusal, later, new_id};
use super::super::record::Record;
use super::super::text::Values;
use super::saved_record::{bytes_of, record_of};
use super::{NotUsed, Stored, owner_in_store};
use ptc_protocol::principal::{Owner, Principal};

/// The time limit of a change that is not a program.
const CHANGE_LEASE: Duration = Duration::from_secs(15);

impl Directory {
    /// Opens a session in the store and returns its id and its end.
    pub(in super::super) async fn start_stored(
        &self,
        owner: &Owner,
        title: Option<String>,
        ttl: Option<Duration>,
    ) -> Result<(Arc<str>, Timestamp), NotUsed> {
        let Some(stored) = &self.stored else { return Err(NotUsed::Unavailable) };
        let in_store = owner_in_store(owner);
        let has_room = stored.store().has_fewer(&in_store, Kind::Session, self.settings.max_per_owner).await;
        if !has_room.map_err(|error| self.not_used(error, "", owner))? {
            return Err(Refusal::OwnerLimit.into());
        }
        let now = self.now();
        let ttl = ttl.unwrap_or(self.settings.ttl).min(self.settings.ttl);
        let expires = later(now, ttl);
        let id = new_id();
        let record = Record::new(owner.clone(), title, now, expires);
        let nothing = saved::write_session(&Namespace::new(library()), [&Value::Nil; 3], &bytes_of(&record));
        let write = Write::put(Directory::key_of(&id, owner)?, 0, nothing.map_err(|_| NotUsed::NoMemory)?)
            .resting(self.settings.idle)
            .ending(End::After(ttl));
        let committed = stored.store().commit(Commit::one(write)).await;
        committed.map_err(|error| self.not_used(error, &id, owner))?;
        self.note_start();
        let owner_hash = owner.principal.hash();
        info!(event = "ptc_lisp.session.start", count = 1, session_id = &*id, owner_hash, mode = MODE);
        Ok((id, expires))
    }

    /// Summaries of an owner's sessions in the store, the latest used one first.
    pub(in super::super) async fn summaries_stored(&self, owner: &Owner) -> Result<Vec<String>, NotUsed> {
        let Some(stored) = &self.stored else { return Err(NotUsed::Unavailable) };
        let listed = stored.store().list(Some(&owner_in_store(owner)), Kind::Session).await;
        let mut found = Vec::new();
        for listed in listed.map_err(|error| self.not_used(error, "", owner))? {
            if let Some(record) = self.looked_at(stored, &listed, owner).await? {
                let running = listed.lease.is_some();
                found.push((record.updated, record.summary_of(&listed.id, &self.redactor, running)));
            }
        }
        found.sort_by_key(|(updated, _)| std::cmp::Reverse(*updated));
        Ok(found.into_iter().map(|(_, summary)| summary).collect())
    }

    /// The record of a listed session; `None` if it has ended in the meantime, or cannot be read here.
    async fn looked_at(
        &self,
        stored: &Stored,
        listed: &Listed,
        owner: &Owner,
    ) -> Result<Option<Record>, NotUsed> {
        let read = match stored.store().look(listed).await {
            Ok(read) => read,
            Err(error) => match self.not_used(error, &listed.id, owner) {
                NotUsed::Unavailable => return Err(NotUsed::Unavailable),
                _ => return Ok(None),
            },
        };
        let about = read.and_then(|read| read.blob).and_then(|blob| saved::about(&blob).ok());
        Ok(about.and_then(|about| record_of(&about, owner)))
    }

    /// Closes a session in the store, and ends the program that runs on it here. A program elsewhere will not be
    /// committed.
    pub(in super::super) async fn close_stored(&self, id: &str, owner: &Owner) -> Result<(), NotUsed> {
        let Some(stored) = &self.stored else { return Err(NotUsed::Unavailable) };
        let key = Directory::key_of(id, owner)?;
        let read = stored.store().read(&key).await.map_err(|error| self.not_used(error, id, owner))?;
        if read.is_none() {
            let was_here = stored.here.knows(id, owner);
            self.forget_here(id);
            return Err(if was_here { Refusal::Closed } else { Refusal::NotFound }.into());
        }
        let buried = stored.store().commit(Commit::one(Write::bury(key, TOMBSTONE_LIFE))).await;
        buried.map_err(|error| self.not_used(error, id, owner))?;
        self.forget_here(id);
        self.note_end("closed");
        let owner_hash = owner.principal.hash();
        info!(event = "ptc_lisp.session.close", session_id = id, owner_hash, mode = MODE, reason = "closed");
        Ok(())
    }

    /// Closes all sessions of an owner in the store, in the background.
    pub(in super::super) fn owner_gone_stored(self: &Arc<Self>, owner: &Owner) {
        let (directory, owner) = (self.clone(), owner.clone());
        self.engine.spawn_on(0, move || async move {
            let Some(stored) = &directory.stored else { return };
            let listed = stored.store().list(Some(&owner_in_store(&owner)), Kind::Session).await;
            let listed = listed.map_err(|error| directory.not_used(error, "", &owner)).unwrap_or_default();
            for listed in listed {
                if stored.store().erase(&listed).await.is_ok_and(|erased| erased) {
                    directory.note_end("owner_gone");
                }
                directory.forget_here(&listed.id);
            }
        });
    }

    /// Reads a session in the store, which counts as a use of it. Returns its record, the result of `look` on its
    /// values, and whether a program runs on it.
    pub(in super::super) async fn look_stored(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
    ) -> Result<(Record, Values, bool), NotUsed> {
        let principal = Some(owner.principal.shared_name());
        match self.take(id, owner, Duration::ZERO).await {
            Ok(mut taken) => {
                let values = loop {
                    let saved = taken.saved();
                    let look = self.engine.look_at_saved(&taken.id, principal.clone(), saved, Values::of);
                    match look.await {
                        Ok(values) => break values,
                        Err(SavedFailure::Fault(SessionFault::Missing)) if taken.blob.is_none() => {
                            taken.fetch().await?;
                        }
                        Err(failure) => return Err(self.failed(failure, &taken.id, owner)),
                    }
                };
                let record = taken.record.copy();
                taken.give_back_unread().await;
                Ok((record, values, false))
            }
            Err(NotUsed::Refused(Refusal::Busy)) => {
                let Some(stored) = &self.stored else { return Err(NotUsed::Unavailable) };
                let key = Directory::key_of(id, owner)?;
                let read =
                    stored.store().read(&key).await.map_err(|error| self.not_used(error, id, owner))?;
                let Some(Versioned { version, blob: Some(blob), .. }) = read else {
                    return Err(Refusal::Closed.into());
                };
                let record = self.record_in(&blob, id, owner)?;
                let saved = SavedSession { version, blob: Some(blob) };
                let values = self.engine.look_at_saved(id, principal, saved, Values::of).await;
                let values = values.map_err(|failure| self.failed(failure, id, owner))?;
                Ok((record, values, true))
            }
            Err(not_used) => Err(not_used),
        }
    }

    /// Changes a session in the store. `change` modifies the values and the record of the session.
    pub(in super::super) async fn change_stored<R: Send + 'static>(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
        change: impl Fn(&mut ptc_host::engine::SessionState, &mut Record) -> R + Clone + Send + 'static,
    ) -> Result<(R, Record), NotUsed> {
        let principal = Some(owner.principal.shared_name());
        let mut taken = self.take(id, owner, CHANGE_LEASE).await?;
        loop {
            let (change, mut record, of) = (change.clone(), taken.record.copy(), self.clone());
            let changed =
                self.engine.change_saved(&taken.id, principal.clone(), taken.saved(), move |state| {
                    let result = change(state, &mut record);
                    record.updated = of.now();
                    let about = bytes_of(&record);
                    ((result, record), about)
                });
            match changed.await {
                Ok(((result, record), draft)) => {
                    taken.commit(draft.blob.clone(), &record, || draft.keep()).await?;
                    return Ok((result, record));
                }
                Err(SavedFailure::Fault(SessionFault::Missing)) if taken.blob.is_none() => {
                    taken.fetch().await?
                }
                Err(failure) => return Err(self.failed(failure, &taken.id, owner)),
            }
        }
    }

    fn failed(&self, failure: SavedFailure, id: &str, owner: &Owner) -> NotUsed {
        match failure {
            SavedFailure::Fault(fault) => self.fault(fault, id, owner),
            SavedFailure::Failed(failure) if failure.reason == Reason::Timeout => NotUsed::NoTime,
            SavedFailure::Failed(_) => NotUsed::NoMemory,
            SavedFailure::Busy => Refusal::Busy.into(),
            SavedFailure::Gone => Refusal::Closed.into(),
        }
    }

    /// Summaries of a principal's sessions in this process's cache, with the times of their last commits.
    pub(in super::super) fn summaries_here(&self, principal: &Principal) -> Vec<(Timestamp, String)> {
        let Some(stored) = &self.stored else { return Vec::new() };
        let owner = Owner::of(principal.clone());
        let known = stored.here.of(principal).into_iter();
        let told = known.filter_map(|(id, about, running)| {
            let record = record_of(&about, &owner)?;
            Some((record.updated, record.summary_of(&id, &self.redactor, running)))
        });
        told.collect()
    }

    /// The number of stored sessions in this process's cache, how many of them have a running program here, and the
    /// bytes of their definitions.
    pub(in super::super) fn count_here(&self) -> Option<(usize, usize, u64)> {
        self.stored.as_ref().map(|stored| stored.here.count())
    }
}
