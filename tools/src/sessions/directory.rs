//! All sessions, their owners and their lifetimes.

use ptc_host::sync::Mutex;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{CallRecord, Engine, SessionLimits, SessionReport, SessionRules};
use ptc_host::state::store_time;
use ptc_host::time::{self, Clock};
use ptc_mcp::json::object_text;
use tokio::sync::oneshot;
use tracing::{debug, info};

use super::record::Record;
use super::stored::{Keeping, Stored};
use ptc_observers::metrics::{Exposition, MetricKind};
use ptc_observers::sources::SessionSource;
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::settings::Sessions;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// Maximum number of a principal's sessions shown.
const MAX_LISTED: usize = 200;
/// Closed sessions that are still distinguished from unknown ones.
const CLOSED_REMEMBERED: usize = 1024;
/// Sessions that have been idle this long are evicted first.
const LONG_REST: Duration = Duration::from_secs(60);
/// Interval of the search for expired sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// The clock by which sessions expire; injected, so that tests can set it.
pub(crate) type SessionTime = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The clock of the store that replicas share. Without one it is the time of day at creation, and a monotonic clock
/// from then on: no session expires early or late because the machine's clock jumps.
pub fn system_clock() -> SessionTime {
    let (clock, made, since) = (Clock::current(), timestamp::now(), time::now());
    let shared = || Timestamp::from_millisecond(i64::try_from(store_time()?).ok()?).ok();
    Arc::new(move || shared().unwrap_or_else(|| later(made, clock.since(since))))
}

/// Why a session cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No session has that id, or it belongs to another owner.
    NotFound,
    /// The session is closed.
    Closed,
    /// A program runs on it.
    Busy,
    /// The server has its maximum of sessions.
    Limit,
    /// The owner has its maximum of sessions.
    OwnerLimit,
}

impl Refusal {
    /// The failure for a client.
    pub(super) fn reply(self, id: &str) -> ToolReply {
        let (reason, message) = match self {
            Refusal::NotFound => ("session_not_found", "session not found"),
            Refusal::Closed => ("session_closed", "session is closed"),
            Refusal::Limit => ("session_limit_exceeded", "maximum number of sessions reached"),
            Refusal::OwnerLimit => {
                ("session_limit_exceeded", "maximum number of sessions for this owner reached")
            }
            Refusal::Busy => {
                let message = "an eval is already running for this session";
                let structured = object_text(|object| {
                    object.string("status", "error");
                    object.string("reason", "session_busy");
                    object.string("message", message);
                    object.string("feedback", message);
                    object.string("session_id", id);
                });
                return ToolReply::mirrored(true, structured);
            }
        };
        ToolReply::failure(reason, message, message)
    }
}

/// All sessions of a server.
pub struct Directory {
    pub(super) engine: Engine,
    pub(super) settings: Sessions,
    pub(super) redactor: Redactor,
    clock: SessionTime,
    /// The store of sessions, if they are not in this process.
    pub(super) stored: Option<Stored>,
    inner: Mutex<Inner>,
    started: AtomicU64,
    /// Counts by [`ENDS`].
    ended: [AtomicU64; ENDS.len()],
}

/// Why sessions end: `lisp_session_close`, the end of their owner, expiry, idleness, and eviction.
const ENDS: [&str; 5] = ["closed", "owner_gone", "ttl_expired", "idle_expired", "evicted"];
/// How telemetry describes the access of sessions to the server.
pub(super) const MODE: &str = "read_only";

#[derive(Default)]
struct Inner {
    open: HashMap<Arc<str>, Record>,
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
        let at_rest = self.open.iter().filter(|(_, record)| record.running.is_none());
        let ranked = at_rest.filter_map(|(id, record)| {
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

impl Directory {
    /// An empty directory. The values of its sessions will be on `engine`.
    pub fn new(engine: Engine, settings: Sessions, redactor: Redactor, clock: SessionTime) -> Arc<Self> {
        Directory::made(engine, settings, redactor, clock, None)
    }

    /// A directory of sessions in a store. The values of recently used ones are on `engine`.
    pub fn kept_in(
        keeping: Keeping,
        engine: Engine,
        settings: Sessions,
        redactor: Redactor,
        clock: SessionTime,
    ) -> Arc<Self> {
        let stored = Stored::new(keeping, settings.max);
        Directory::made(engine, settings, redactor, clock, Some(stored))
    }

    fn made(
        engine: Engine,
        settings: Sessions,
        redactor: Redactor,
        clock: SessionTime,
        stored: Option<Stored>,
    ) -> Arc<Self> {
        Arc::new(Directory {
            engine,
            settings,
            redactor,
            clock,
            stored,
            inner: Mutex::default(),
            started: AtomicU64::new(0),
            ended: Default::default(),
        })
    }

    /// Sweeps expired sessions periodically, for as long as the directory is in use.
    pub fn keep_swept(self: &Arc<Self>) {
        let directory: Weak<Directory> = Arc::downgrade(self);
        self.engine.spawn_on(0, move || async move {
            loop {
                time::sleep(SWEEP_INTERVAL).await;
                let Some(directory) = directory.upgrade() else { return };
                directory.sweep();
            }
        });
    }

    /// The time of day.
    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Limits of one session.
    pub(super) fn session_limits(&self) -> SessionLimits {
        SessionLimits {
            bindings: self.settings.bindings,
            memory_bytes: self.settings.memory_bytes,
            binding_bytes: self.settings.binding_bytes,
            history_entry_bytes: self.settings.history_entry_bytes,
        }
    }

    /// Most bytes of source text that the functions of one session may need, if sessions are in a store.
    pub(super) fn most_source_bytes(&self) -> Option<u64> {
        self.stored.as_ref().map(|_| self.settings.source_bytes)
    }

    /// Counts a session that was opened.
    pub(super) fn note_start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a session that has ended.
    pub(super) fn note_end(&self, reason: &str) {
        if let Some(end) = ENDS.iter().position(|end| *end == reason) {
            self.ended[end].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Names that programs chose, with secrets removed.
    pub(super) fn names(&self, owner: &Owner, names: &[String]) -> Vec<String> {
        let redactor = self.redactor_of(owner);
        names.iter().map(|name| redactor.scrub(name).into_owned()).collect()
    }

    /// Removes secrets from texts for this owner.
    pub(super) fn redactor_of(&self, owner: &Owner) -> Redactor {
        self.redactor.for_principal(Some(owner.principal.name()))
    }

    /// The number of open sessions.
    pub fn len(&self) -> usize {
        self.lock().open.len()
    }

    /// True if no session is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all expired sessions.
    pub(crate) fn sweep(&self) {
        let now = (self.clock)();
        let mut inner = self.lock();
        let over: Vec<_> = inner
            .open
            .iter()
            .filter_map(|(id, record)| Some((id.clone(), self.is_over(record, now)?)))
            .collect();
        for (id, reason) in over {
            self.remove(&mut inner, &id, reason);
        }
    }

    /// Closes all sessions of an owner.
    pub(super) fn owner_gone(&self, owner: &Owner) {
        let mut inner = self.lock();
        let ids: Vec<_> = inner.by_owner.get(owner).into_iter().flatten().cloned().collect();
        for id in ids {
            self.remove(&mut inner, &id, "owner_gone");
        }
    }

    /// Opens a session and returns its id and its end. A requested lifetime can only shorten it.
    pub(super) fn start(
        &self,
        owner: &Owner,
        title: Option<String>,
        ttl: Option<Duration>,
    ) -> Result<(Arc<str>, Timestamp), Refusal> {
        let now = (self.clock)();
        let full = |inner: &Inner| {
            if inner.open.len() >= self.settings.max {
                return Some(Refusal::Limit);
            }
            // The limit covers all conversations of a principal, as it may begin any number of them.
            let of_principal = |(other, ids): (&Owner, &HashSet<_>)| {
                if other.principal == owner.principal { ids.len() } else { 0 }
            };
            let own: usize = inner.by_owner.iter().map(of_principal).sum();
            (own >= self.settings.max_per_owner).then_some(Refusal::OwnerLimit)
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
                let unwanted = inner.dispensable(own, now);
                match unwanted.filter(|_| own < self.settings.max_per_owner) {
                    Some(id) => self.remove(&mut inner, &id, "evicted"),
                    None => return Err(Refusal::Limit),
                }
            }
            Some(refusal) => return Err(refusal),
        }
        let ttl = ttl.unwrap_or(self.settings.ttl).min(self.settings.ttl);
        let expires = later(now, ttl);
        let id = new_id();
        inner.open.insert(id.clone(), Record::new(owner.clone(), title, now, expires));
        inner.by_owner.entry(owner.clone()).or_default().insert(id.clone());
        self.note_start();
        let owner_hash = owner.principal.hash();
        info!(event = "ptc_lisp.session.start", count = 1, session_id = &*id, owner_hash, mode = MODE);
        Ok((id, expires))
    }

    /// Summaries of an owner's sessions, the latest used one first.
    pub(super) fn summaries(&self, owner: &Owner) -> Vec<String> {
        let now = (self.clock)();
        let mut inner = self.lock();
        let ids: Vec<_> = inner.by_owner.get(owner).into_iter().flatten().cloned().collect();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(record) = inner.open.get(&id) else { continue };
            match self.is_over(record, now) {
                None => found.push((record.updated, record.summary(&id, &self.redactor))),
                Some(reason) => self.remove(&mut inner, &id, reason),
            }
        }
        found.sort_by_key(|(updated, _)| std::cmp::Reverse(*updated));
        found.into_iter().map(|(_, summary)| summary).collect()
    }

    /// Reads or changes a session.
    pub(super) fn with<R>(
        &self,
        id: &str,
        owner: &Owner,
        work: impl FnOnce(&Arc<str>, &mut Record) -> R,
    ) -> Result<R, Refusal> {
        let mut inner = self.lock();
        let (id, record) = self.find(&mut inner, id, owner)?;
        Ok(work(&id, record))
    }

    /// Like [`with`](Self::with), and counts as a use of the session.
    pub(super) fn touch<R>(
        &self,
        id: &str,
        owner: &Owner,
        work: impl FnOnce(&Arc<str>, &mut Record) -> R,
    ) -> Result<R, Refusal> {
        let now = (self.clock)();
        self.with(id, owner, |id, record| {
            record.updated = now;
            work(id, record)
        })
    }

    /// Closes a session and ends its running program.
    pub(super) fn close(&self, id: &str, owner: &Owner) -> Result<(), Refusal> {
        let mut inner = self.lock();
        let (id, _) = self.find(&mut inner, id, owner)?;
        self.remove(&mut inner, &id, "closed");
        Ok(())
    }

    /// Reserves a session for one program.
    pub(super) fn reserve(self: &Arc<Self>, id: &str, owner: &Owner) -> Result<Reservation, Refusal> {
        let now = (self.clock)();
        let mut inner = self.lock();
        let (id, record) = self.find(&mut inner, id, owner)?;
        if record.running.is_some() {
            return Err(Refusal::Busy);
        }
        let (running, killed) = oneshot::channel();
        record.running = Some(running);
        debug!(event = "ptc_lisp.session.eval.start", session_id = &*id, mode = MODE, turn = record.turn);
        let left = record.expires.duration_since(now).try_into().unwrap_or(Duration::ZERO);
        Ok(Reservation { directory: self.clone(), id, owner: owner.clone(), killed, left, ended: false })
    }

    fn find<'i>(
        &self,
        inner: &'i mut Inner,
        id: &str,
        owner: &Owner,
    ) -> Result<(Arc<str>, &'i mut Record), Refusal> {
        let now = (self.clock)();
        let own = inner.open.get_key_value(id).filter(|(_, record)| record.owner == *owner);
        let Some((id, over)) = own.map(|(id, record)| (id.clone(), self.is_over(record, now))) else {
            let was_theirs = inner.closed.iter().any(|(closed, of)| &**closed == id && of == owner);
            return Err(if was_theirs { Refusal::Closed } else { Refusal::NotFound });
        };
        if let Some(reason) = over {
            self.remove(inner, &id, reason);
            return Err(Refusal::Closed);
        }
        let record = inner.open.get_mut(&id).ok_or(Refusal::NotFound)?;
        Ok((id, record))
    }

    /// The reason for which a session has expired: its lifetime is over, or it was idle for too long.
    fn is_over(&self, record: &Record, now: Timestamp) -> Option<&'static str> {
        let rested = record.running.is_none() && now >= later(record.updated, self.settings.idle);
        if now >= record.expires { Some("ttl_expired") } else { rested.then_some("idle_expired") }
    }

    fn remove(&self, inner: &mut Inner, id: &Arc<str>, reason: &'static str) {
        let Some(record) = inner.open.remove(id) else { return };
        if let Some(own) = inner.by_owner.get_mut(&record.owner) {
            own.remove(id);
            if own.is_empty() {
                inner.by_owner.remove(&record.owner);
            }
        }
        if inner.closed.len() == CLOSED_REMEMBERED {
            inner.closed.pop_front();
        }
        self.note_end(reason);
        let (turn, principal) = (record.turn, record.owner.principal.clone());
        let owner_hash = principal.hash();
        inner.closed.push_back((id.clone(), record.owner));
        if reason == "closed" {
            info!(
                event = "ptc_lisp.session.close",
                session_id = &**id,
                owner_hash,
                mode = MODE,
                turn,
                reason
            );
        } else {
            info!(
                event = "ptc_lisp.session.evict",
                session_id = &**id,
                owner_hash,
                mode = MODE,
                turn,
                reason
            );
        }
        self.drop_values(id);
    }

    fn drop_values(&self, id: &Arc<str>) {
        let key = id.clone();
        // The command is sent at once; its execution is not awaited.
        drop(self.engine.with_sessions(id, move |store| store.close(&key)));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl SessionSource for Directory {
    fn summaries_of(&self, principal: &Principal) -> Vec<String> {
        let now = (self.clock)();
        let mut found = self.summaries_here(principal);
        let inner = self.lock();
        let own = inner
            .open
            .iter()
            .filter(|(_, record)| record.owner.principal == *principal && self.is_over(record, now).is_none())
            .map(|(id, record)| (record.updated, record.summary(id, &self.redactor)));
        found.extend(own);
        found.sort_by_key(|(updated, _)| std::cmp::Reverse(*updated));
        found.into_iter().map(|(_, summary)| summary).take(MAX_LISTED).collect()
    }

    fn is_part(&self) -> bool {
        self.stored.is_some()
    }

    fn write_metrics(&self, to: &mut Exposition) {
        let (open, running, bytes) = {
            let inner = self.lock();
            let running = inner.open.values().filter(|record| record.running.is_some()).count();
            (inner.open.len(), running, inner.open.values().map(|record| record.memory_bytes).sum::<u64>())
        };
        let (open, running, bytes) = self.count_here().unwrap_or((open, running, bytes));
        // The store knows of more sessions, but a scrape of metrics does not search it.
        let [of_open, of_running, of_bytes] = match self.is_part() {
            false => [
                "Open sessions.",
                "Sessions on which a program runs.",
                "Size of the definitions of all sessions.",
            ],
            true => [
                "Sessions of the store that this process has used last.",
                "Sessions of the store on which a program of this process runs.",
                "Size of the definitions of the sessions that this process has used last.",
            ],
        };
        to.family("ptc_sessions_open", of_open, MetricKind::Gauge).sample(&[], open);
        to.family("ptc_sessions_running", of_running, MetricKind::Gauge).sample(&[], running);
        to.family("ptc_session_memory_bytes", of_bytes, MetricKind::Gauge).sample(&[], bytes);
        to.family("ptc_sessions_started", "Sessions opened.", MetricKind::Counter)
            .sample(&[], self.started.load(Ordering::Relaxed));
        let mut family = to.family("ptc_sessions_ended", "Sessions ended, by reason.", MetricKind::Counter);
        for (reason, count) in ENDS.iter().zip(&self.ended) {
            family.sample(&[("reason", reason)], count.load(Ordering::Relaxed));
        }
    }
}

/// A session reserved for one program, until this is dropped.
pub(super) struct Reservation {
    directory: Arc<Directory>,
    pub(super) id: Arc<str>,
    owner: Owner,
    killed: oneshot::Receiver<()>,
    /// Time until the session ends, at the time of the reservation.
    pub(super) left: Duration,
    ended: bool,
}

impl Reservation {
    /// Completes when the session is closed during the program.
    pub(super) async fn killed(&mut self) {
        // The sender is only ever dropped.
        let _ = (&mut self.killed).await;
    }

    /// Expires the session.
    pub(super) fn expire(&self) {
        let mut inner = self.directory.lock();
        self.directory.remove(&mut inner, &self.id, "ttl_expired");
    }

    /// Releases the session and describes it, for a success and for a failure. `None` if it is closed.
    pub(super) fn end(mut self) -> Option<(String, String)> {
        self.release();
        let described = self.directory.with(&self.id, &self.owner, |id, record| {
            (record.brief(id), record.summary(id, &self.directory.redactor))
        });
        described.ok()
    }

    fn release(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let now = (self.directory.clock)();
        match self.directory.lock().open.get_mut(&self.id) {
            Some(record) => {
                record.running = None;
                record.updated = now;
                let (id, turn) = (&*self.id, record.turn);
                debug!(event = "ptc_lisp.session.eval.stop", session_id = id, mode = MODE, turn);
            }
            // The session was closed in the meantime. A program that started just then may have created its values
            // again.
            None => self.directory.drop_values(&self.id),
        }
    }

    /// The rules by which the engine decides whether to store the program's result.
    pub(super) fn rules(&self) -> Arc<dyn SessionRules> {
        Arc::new(Rules { directory: self.directory.clone(), id: self.id.clone() })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

struct Rules {
    directory: Arc<Directory>,
    id: Arc<str>,
}

impl SessionRules for Rules {
    fn limits(&self) -> SessionLimits {
        self.directory.session_limits()
    }

    fn commit(&self, report: &SessionReport, prints: &[String], calls: &[CallRecord]) -> bool {
        let directory = &self.directory;
        let mut inner = directory.lock();
        let Some(record) = inner.open.get_mut(&self.id) else { return false };
        record.committed(report);
        let redactor = directory.redactor_of(&record.owner);
        record.journal.note(prints, calls, &directory.settings, &redactor);
        true
    }
}

pub(super) fn later(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// `ptcs_` and 18 random bytes.
pub(super) fn new_id() -> Arc<str> {
    let mut bytes = [0; 18];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    format!("ptcs_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)).into()
}
