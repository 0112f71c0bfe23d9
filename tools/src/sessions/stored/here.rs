//! The cache of stored sessions that this process has used last.

use ptc_host::sync::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

use ptc_host::credentials::Redactor;
use tokio::sync::oneshot;

use super::super::record::{Record, latest_summaries};
use ptc_observers::sources::SessionSummaries;
use ptc_protocol::principal::{Owner, Principal};

/// The sessions that were used last: a limited number, besides those on which a program runs.
pub(super) struct Here {
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    sessions: HashMap<Arc<str>, Known>,
    /// Counts uses.
    uses: u64,
    /// Counts dropped sessions.
    forgotten: u64,
}

impl Inner {
    /// The session, of which this is a use.
    fn used(&mut self, id: &Arc<str>, owner: &Owner) -> &mut Known {
        self.uses += 1;
        let new = || Known { owner: owner.clone(), version: 0, record: None, used: 0, running: None };
        let known = self.sessions.entry(id.clone()).or_insert_with(new);
        known.used = self.uses;
        known
    }
}

/// A session whose values this process has.
struct Known {
    owner: Owner,
    version: u64,
    /// Its record as this process has last seen it; `None` before it has.
    record: Option<Record>,
    /// The number of its last use.
    used: u64,
    /// The number of the program that runs on it here, and its handle; dropping the handle ends the program.
    running: Option<(u64, oneshot::Sender<()>)>,
}

impl Here {
    pub(super) fn new(most: usize) -> Here {
        Here { most, inner: Mutex::default() }
    }

    /// The version of a session of this owner, with its record.
    pub(super) fn version(&self, id: &str, owner: &Owner) -> Option<(u64, Record)> {
        let inner = self.lock();
        let known = inner.sessions.get(id).filter(|known| known.owner == *owner && known.version > 0)?;
        Some((known.version, known.record.clone()?))
    }

    /// True if this process has used this session.
    pub(super) fn knows(&self, id: &str, owner: &Owner) -> bool {
        self.lock().sessions.get(id).is_some_and(|known| known.owner == *owner)
    }

    /// Sets the version of a session that this process has. Returns the ids whose values are evicted.
    #[must_use]
    pub(super) fn note(&self, id: &Arc<str>, version: u64, record: &Record) -> Vec<Arc<str>> {
        let mut inner = self.lock();
        let known = inner.used(id, &record.owner);
        (known.version, known.record) = (version, Some(record.clone()));
        let mut dropped = Vec::new();
        while inner.sessions.len() > self.most {
            let at_rest = inner.sessions.iter().filter(|(known, of)| of.running.is_none() && *known != id);
            let Some(oldest) = at_rest.min_by_key(|(_, of)| of.used).map(|(id, _)| id.clone()) else { break };
            inner.sessions.remove(&oldest);
            dropped.push(oldest);
        }
        dropped
    }

    /// Notes that a program takes a session. Returns its number, and a receiver that completes when the session is
    /// closed here.
    pub(super) fn run(&self, id: &Arc<str>, owner: &Owner) -> (u64, oneshot::Receiver<()>) {
        let (running, killed) = oneshot::channel();
        let mut inner = self.lock();
        let known = inner.used(id, owner);
        let number = known.used;
        let before = known.running.replace((number, running));
        drop(inner);
        // The lease of this one has expired. It is dropped outside the lock, as that wakes its program.
        drop(before);
        (number, killed)
    }

    /// Notes that the program of that number has released the session.
    pub(super) fn rest(&self, id: &str, number: u64) {
        if let Some(known) = self.lock().sessions.get_mut(id) {
            known.running.take_if(|(running, _)| *running == number);
        }
    }

    /// Notes that the values of a session in this process belong to no version.
    pub(super) fn doubt(&self, id: &str) {
        if let Some(known) = self.lock().sessions.get_mut(id) {
            known.version = 0;
        }
    }

    /// Drops a session, and ends the program that runs on it.
    pub(super) fn forget(&self, id: &str) {
        // Dropped outside the lock, as that wakes the program.
        let mut inner = self.lock();
        inner.forgotten += 1;
        let known = inner.sessions.remove(id);
        drop(inner);
        drop(known);
    }

    /// How many sessions have been dropped so far.
    pub(super) fn forgotten(&self) -> u64 {
        self.lock().forgotten
    }

    /// Summaries of the sessions of a principal, or of all callers.
    pub(super) fn summaries(&self, principal: Option<&Principal>, redactor: &Redactor) -> SessionSummaries {
        let inner = self.lock();
        let known = inner.sessions.iter().filter_map(|(id, known)| {
            let record = known.record.as_ref().filter(|record| record.is_of(principal))?;
            Some((&**id, record, known.running.is_some()))
        });
        latest_summaries(known, redactor)
    }

    /// The number of sessions, how many of them have a running program, and the size of all definitions.
    pub(super) fn count(&self) -> (usize, usize, u64) {
        let inner = self.lock();
        let running = inner.sessions.values().filter(|known| known.running.is_some()).count();
        let records = inner.sessions.values().filter_map(|known| known.record.as_ref());
        (inner.sessions.len(), running, records.map(|record| record.memory_bytes).sum())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}
