//! Sessions in this process: their owners, their lifetimes, and the eviction of idle ones.

use ptc_host::sync::Mutex;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::engine::SessionState;
use ptc_host::time;
use tokio::sync::oneshot;
use tracing::{debug, info};

use super::environment::{Environment, MODE, later};
use super::record::{Description, Record, latest_summaries};
use super::refusal::Refusal;
use super::text::Values;
use ptc_observers::sources::SessionSummaries;
use ptc_protocol::principal::{Owner, Principal};

/// Closed sessions that are still distinguished from unknown ones.
const CLOSED_REMEMBERED: usize = 1024;
/// Sessions that have been idle this long are evicted first.
const LONG_REST: Duration = Duration::from_secs(60);
/// Interval of the search for expired sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// All sessions of a server that are in its process.
pub(super) struct Resident {
    env: Arc<Environment>,
    inner: Mutex<Inner>,
}

/// An open session.
pub(super) struct ResidentSession {
    record: Record,
    /// Present while a program runs; dropping it ends that program.
    running: Option<oneshot::Sender<()>>,
    /// True if it is closed once its program has finished.
    is_revoked: bool,
}

#[derive(Default)]
struct Inner {
    open: HashMap<Arc<str>, ResidentSession>,
    by_owner: HashMap<Owner, HashSet<Arc<str>>>,
    closed: VecDeque<(Arc<str>, Owner)>,
}

impl Inner {
    /// The number of sessions of each principal, by its name.
    fn held(&self) -> HashMap<&str, usize> {
        let mut held = HashMap::new();
        for (owner, ids) in &self.by_owner {
            *held.entry(owner.principal.name()).or_default() += ids.len();
        }
        held
    }

    /// The session to evict for a principal that has `own` sessions. First choice is the longest idle one of those
    /// that are idle for long and whose principals have more sessions. Otherwise it is the longest idle one of the
    /// principal with the most sessions, if that has two more. A session on which a program runs is never evicted.
    fn dispensable(&self, own: usize, now: Timestamp) -> Option<Arc<str>> {
        let held = self.held();
        let at_rest = self.open.iter().filter(|(_, session)| session.running.is_none());
        let ranked = at_rest.filter_map(|(id, ResidentSession { record, .. })| {
            let theirs = held.get(record.owner.principal.name()).copied().unwrap_or(0);
            let is_idle = now >= later(record.updated, LONG_REST);
            let least = if is_idle { own + 1 } else { own + 2 };
            (theirs >= least).then(|| {
                let greed = if is_idle { 0 } else { theirs };
                ((!is_idle, Reverse(greed), record.updated), id)
            })
        });
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, id)| id.clone())
    }
}

impl Resident {
    pub(super) fn new(env: Arc<Environment>) -> Arc<Self> {
        Arc::new(Resident { env, inner: Mutex::default() })
    }

    pub(super) fn env(&self) -> &Arc<Environment> {
        &self.env
    }

    /// Sweeps expired sessions periodically, for as long as the directory is in use.
    pub(super) fn keep_swept(self: &Arc<Self>) {
        let directory: Weak<Resident> = Arc::downgrade(self);
        self.env.engine.spawn_on(0, move || async move {
            loop {
                time::sleep(SWEEP_INTERVAL).await;
                let Some(directory) = directory.upgrade() else { return };
                directory.sweep();
            }
        });
    }

    /// The number of open sessions, how many of them have a running program, and the bytes of their definitions.
    pub(super) fn count(&self) -> (usize, usize, u64) {
        let inner = self.lock();
        let running = inner.open.values().filter(|session| session.running.is_some()).count();
        (inner.open.len(), running, inner.open.values().map(|session| session.record.memory_bytes).sum())
    }

    /// Removes all expired sessions.
    pub(super) fn sweep(&self) {
        let now = self.env.now();
        let mut inner = self.lock();
        let over: Vec<_> = inner
            .open
            .iter()
            .filter_map(|(id, session)| Some((id.clone(), self.is_over(session, now)?)))
            .collect();
        for (id, reason) in over {
            self.remove(&mut inner, &id, reason);
        }
    }

    /// Closes all sessions of an owner.
    pub(super) fn close_all(&self, owner: &Owner) {
        let mut inner = self.lock();
        let ids: Vec<_> = inner.by_owner.get(owner).into_iter().flatten().cloned().collect();
        for id in ids {
            self.remove(&mut inner, &id, "owner_gone");
        }
    }

    /// Closes all sessions of an owner, each once its program has finished.
    pub(super) fn revoke(&self, owner: &Owner) {
        let mut inner = self.lock();
        let ids: Vec<_> = inner.by_owner.get(owner).into_iter().flatten().cloned().collect();
        for id in ids {
            match inner.open.get_mut(&id) {
                Some(session) if session.running.is_some() => session.is_revoked = true,
                _ => self.remove(&mut inner, &id, "owner_gone"),
            }
        }
    }

    /// Adds a session, within the limits.
    pub(super) fn add(&self, id: &Arc<str>, record: Record) -> Result<(), Refusal> {
        let (settings, owner) = (&self.env.settings, record.owner.clone());
        let (most, over) = self.env.most_sessions(&owner);
        let full = |inner: &Inner| {
            if inner.open.len() >= settings.max {
                return Some(Refusal::Limit);
            }
            // The limit covers all conversations of a principal, as it may begin any number of them.
            let of_principal = |(other, ids): (&Owner, &HashSet<_>)| {
                if other.principal == owner.principal { ids.len() } else { 0 }
            };
            let own: usize = inner.by_owner.iter().map(of_principal).sum();
            (own >= most).then_some(over)
        };
        if full(&self.lock()).is_some() {
            self.sweep();
        }
        let mut inner = self.lock();
        match full(&inner) {
            None => {}
            Some(Refusal::Limit) => {
                // A principal at its own limit is refused before it evicts sessions of others.
                let own = inner.held().get(owner.principal.name()).copied().unwrap_or(0);
                let unwanted = inner.dispensable(own, record.created);
                match unwanted.filter(|_| own < most) {
                    Some(id) => self.remove(&mut inner, &id, "evicted"),
                    None => return Err(Refusal::Limit),
                }
            }
            Some(refusal) => return Err(refusal),
        }
        inner.open.insert(id.clone(), ResidentSession { record, running: None, is_revoked: false });
        inner.by_owner.entry(owner).or_default().insert(id.clone());
        Ok(())
    }

    /// Summaries of an owner's sessions with the times of their last uses.
    pub(super) fn summaries(&self, owner: &Owner) -> Vec<(Timestamp, String)> {
        let now = self.env.now();
        let mut inner = self.lock();
        let ids: Vec<_> = inner.by_owner.get(owner).into_iter().flatten().cloned().collect();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(session) = inner.open.get(&id) else { continue };
            match self.is_over(session, now) {
                None => found.push(self.summary(&id, session)),
                Some(reason) => self.remove(&mut inner, &id, reason),
            }
        }
        found
    }

    /// Summaries of the sessions of a principal, or of all callers.
    pub(super) fn summaries_of(&self, principal: Option<&Principal>) -> SessionSummaries {
        let now = self.env.now();
        let inner = self.lock();
        let seen = inner.open.iter().filter(|(_, session)| session.record.is_of(principal));
        let open = seen.filter(|(_, session)| self.is_over(session, now).is_none());
        let listed = open.map(|(id, session)| (&**id, &session.record, session.running.is_some()));
        latest_summaries(listed, &self.env.redactor)
    }

    fn summary(&self, id: &str, session: &ResidentSession) -> (Timestamp, String) {
        let ResidentSession { record, running, .. } = session;
        (record.updated, record.summary(id, &self.env.redactor, running.is_some()))
    }

    /// Changes an open session, whoever owns it and however old it is.
    pub(super) fn with_open<R>(&self, id: &str, work: impl FnOnce(&mut Record) -> R) -> Option<R> {
        self.lock().open.get_mut(id).map(|session| work(&mut session.record))
    }

    /// Reads or changes a session.
    pub(super) fn with<R>(
        &self,
        id: &str,
        owner: &Owner,
        work: impl FnOnce(&Arc<str>, &mut ResidentSession) -> R,
    ) -> Result<R, Refusal> {
        let mut inner = self.lock();
        let (id, session) = self.find(&mut inner, id, owner)?;
        Ok(work(&id, session))
    }

    /// Like [`with`](Self::with), and counts as a use of the session.
    fn touch<R>(
        &self,
        id: &str,
        owner: &Owner,
        work: impl FnOnce(&Arc<str>, &mut ResidentSession) -> R,
    ) -> Result<R, Refusal> {
        let now = self.env.now();
        self.with(id, owner, |id, session| {
            session.record.updated = now;
            work(id, session)
        })
    }

    /// Reads a session, which counts as a use of it.
    pub(super) async fn look(&self, id: &str, owner: &Owner) -> Result<(Record, Values, bool), Refusal> {
        let id = self.touch(id, owner, |id, _| id.clone())?;
        let owner_hash = owner.principal.hash();
        debug!(event = "ptc_lisp.session.inspect", session_id = &*id, owner_hash, mode = MODE);
        let key = id.clone();
        let values = self.env.engine.with_sessions(&id, move |store| match store.get(&key) {
            None => Values::none(),
            Some(place) => place.borrow().view(Values::of).unwrap_or_else(Values::none),
        });
        let values = values.await.ok_or(Refusal::Closed)?;
        self.with(&id, owner, |_, session| (session.record.clone(), values, session.running.is_some()))
    }

    /// Changes the values of a session together with its record, between two programs.
    pub(super) async fn change<R: Send + 'static>(
        self: &Arc<Self>,
        id: &str,
        owner: &Owner,
        change: impl FnOnce(&mut SessionState, &mut Record) -> R + Send + 'static,
    ) -> Result<(R, Record), Refusal> {
        let found = self.touch(id, owner, |id, session| match session.running {
            Some(_) => Err(Refusal::Busy),
            None => Ok(id.clone()),
        });
        let id = found??;
        let owner_hash = owner.principal.hash();
        debug!(event = "ptc_lisp.session.forget", session_id = &*id, owner_hash, mode = MODE);
        let (key, within, owner) = (id.clone(), self.clone(), owner.clone());
        let changed = self.env.engine.with_sessions(&id, move |store| {
            let place = store.get(&key);
            let mut place = place.as_ref().map(|place| place.borrow_mut());
            // A session that never ran a program has none.
            let mut fresh = SessionState::default();
            let state = match &mut place {
                None => &mut fresh,
                Some(place) => place.state_mut().ok_or(Refusal::Busy)?,
            };
            within
                .with(&key, &owner, |_, session| (change(state, &mut session.record), session.record.clone()))
        });
        changed.await.ok_or(Refusal::Closed)?
    }

    /// Closes a session and ends its running program.
    pub(super) fn close(&self, id: &str, owner: &Owner) -> Result<(), Refusal> {
        let mut inner = self.lock();
        let (id, _) = self.find(&mut inner, id, owner)?;
        self.remove(&mut inner, &id, "closed");
        Ok(())
    }

    /// Reserves a session for one program.
    pub(super) fn reserve(self: &Arc<Self>, id: &str, owner: &Owner) -> Result<ResidentReservation, Refusal> {
        let now = self.env.now();
        let mut inner = self.lock();
        let (id, ResidentSession { record, running, .. }) = self.find(&mut inner, id, owner)?;
        if running.is_some() {
            return Err(Refusal::Busy);
        }
        let (sender, killed) = oneshot::channel();
        *running = Some(sender);
        debug!(event = "ptc_lisp.session.eval.start", session_id = &*id, mode = MODE, turn = record.turn);
        let left = record.expires.duration_since(now).try_into().unwrap_or(Duration::ZERO);
        Ok(ResidentReservation {
            directory: self.clone(),
            id,
            owner: owner.clone(),
            killed,
            left,
            ended: false,
        })
    }

    fn find<'i>(
        &self,
        inner: &'i mut Inner,
        id: &str,
        owner: &Owner,
    ) -> Result<(Arc<str>, &'i mut ResidentSession), Refusal> {
        let now = self.env.now();
        let own = inner.open.get_key_value(id).filter(|(_, session)| session.record.owner == *owner);
        let Some((id, over)) = own.map(|(id, session)| (id.clone(), self.is_over(session, now))) else {
            let was_theirs = inner.closed.iter().any(|(closed, of)| &**closed == id && of == owner);
            return Err(if was_theirs { Refusal::Closed } else { Refusal::NotFound });
        };
        if let Some(reason) = over {
            self.remove(inner, &id, reason);
            return Err(Refusal::Closed);
        }
        let session = inner.open.get_mut(&id).ok_or(Refusal::NotFound)?;
        Ok((id, session))
    }

    /// The reason for which a session has expired: its lifetime is over, or it was idle for too long.
    fn is_over(&self, session: &ResidentSession, now: Timestamp) -> Option<&'static str> {
        let ResidentSession { record, running, .. } = session;
        let rested = running.is_none() && now >= later(record.updated, self.env.settings.idle);
        if now >= record.expires { Some("ttl_expired") } else { rested.then_some("idle_expired") }
    }

    fn remove(&self, inner: &mut Inner, id: &Arc<str>, reason: &'static str) {
        let Some(ResidentSession { record, .. }) = inner.open.remove(id) else { return };
        if let Some(own) = inner.by_owner.get_mut(&record.owner) {
            own.remove(id);
            if own.is_empty() {
                inner.by_owner.remove(&record.owner);
            }
        }
        if inner.closed.len() == CLOSED_REMEMBERED {
            inner.closed.pop_front();
        }
        self.env.note_end(reason);
        let (turn, principal) = (record.turn, record.owner.principal.clone());
        let owner_hash = principal.hash();
        inner.closed.push_back((id.clone(), record.owner));
        let event = if reason == "closed" { "ptc_lisp.session.close" } else { "ptc_lisp.session.evict" };
        info!(event, session_id = &**id, owner_hash, mode = MODE, turn, reason);
        self.drop_values(id);
    }

    fn drop_values(&self, id: &Arc<str>) {
        let key = id.clone();
        // The command is sent at once; its execution is not awaited.
        drop(self.env.engine.with_sessions(id, move |store| store.close(&key)));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

/// A session reserved for one program, until this is dropped.
pub(super) struct ResidentReservation {
    pub(super) directory: Arc<Resident>,
    pub(super) id: Arc<str>,
    owner: Owner,
    killed: oneshot::Receiver<()>,
    /// Time until the session ends, at the time of the reservation.
    pub(super) left: Duration,
    ended: bool,
}

impl ResidentReservation {
    /// Completes when the session is closed during the program.
    pub(super) async fn killed(&mut self) {
        // The sender is only ever dropped.
        let _ = (&mut self.killed).await;
    }

    /// Expires the session.
    pub(super) fn expire(&self) {
        self.directory.remove(&mut self.directory.lock(), &self.id, "ttl_expired");
    }

    /// Releases the session and describes it.
    pub(super) fn end(mut self) -> Description {
        self.release();
        let redactor = &self.directory.env.redactor;
        let described =
            self.directory.with(&self.id, &self.owner, |id, session| session.record.describe(id, redactor));
        described.unwrap_or_else(|_| Description::of_closed(&self.id))
    }

    fn release(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let now = self.directory.env.now();
        let mut inner = self.directory.lock();
        match inner.open.get_mut(&self.id) {
            Some(ResidentSession { record, running, is_revoked }) => {
                *running = None;
                record.updated = now;
                let (id, turn) = (&*self.id, record.turn);
                debug!(event = "ptc_lisp.session.eval.stop", session_id = id, mode = MODE, turn);
                if *is_revoked {
                    self.directory.remove(&mut inner, &self.id, "owner_gone");
                }
            }
            // The session was closed in the meantime. A program that started just then may have created its values
            // again.
            None => self.directory.drop_values(&self.id),
        }
    }
}

impl Drop for ResidentReservation {
    fn drop(&mut self) {
        self.release();
    }
}
