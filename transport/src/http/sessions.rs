//! HTTP sessions of the handshake era.
//!
//! An idle session can be evicted for a new one: sessions that never made a call first, then those that have been
//! idle longest. A session that has made calls is evicted for another principal only after it has been idle for a
//! while. A session with a portable id loses nothing: the next request that names it resumes it. A principal at its
//! limit evicts its own sessions; if all places are taken, the principal with the most sessions loses one.

use ptc_host::sync::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_mcp::{LogLevel, Revision};
use tracing::info;

use super::portable_id::{ClosedIds, Facts};
use super::replica_announcements::{Ends, SessionFact, hash_of, spawn};
use super::sealed_id::SealedIds;
use super::siblings::{Levels, Siblings};
use ptc_host::digest::short_hash;
use ptc_host::state::Secret;
use ptc_host::time::{self, Instant};
use ptc_observers::metrics::{Exposition, MetricKind};
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::server_state::ServerState;
use ptc_protocol::usage::Count;
use ptc_protocol::{ClientFacts, Connection};

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    /// Its id for the client; as secret as a credential.
    pub(super) id: Arc<str>,
    /// Its id in logs.
    pub(super) hash: String,
    /// Its conversation.
    pub(super) connection: Arc<Connection>,
    pub(super) principal: Principal,
    is_portable: bool,
    created: Instant,
    last_seen: Mutex<Instant>,
}

impl Session {
    /// The owner of its calls.
    pub(super) fn owner(&self) -> Owner {
        Owner { principal: self.principal.clone(), http_session: Some(self.id.clone()) }
    }

    /// Marks the session as used.
    pub(super) fn touch(&self, now: Instant) {
        *self.last_seen.lock() = now;
    }

    /// Its rank for eviction, lowest first; `None` if it must stay.
    fn rank(&self, spared: EvictionShield) -> Option<(bool, Instant)> {
        let last_seen = *self.last_seen.lock();
        let has_called = self.connection.has_called();
        let is_spared = match spared {
            EvictionShield::No => false,
            EvictionShield::At(now) => has_called && now.saturating_duration_since(last_seen) < SPARED,
        };
        let stays = self.connection.running() > 0 || is_spared;
        (!stays).then_some((has_called, last_seen))
    }

    fn idle_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.last_seen.lock())
    }
}

/// How long a session that has made calls must be idle before it is evicted for another principal.
const SPARED: Duration = Duration::from_secs(5);

/// Protects sessions that have just made calls.
#[derive(Clone, Copy)]
enum EvictionShield {
    /// No protection: the principal evicts one of its own.
    No,
    /// Protection at this moment: another principal needs the place.
    At(Instant),
}

/// Why there is no new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewSessionError {
    /// The server has this many sessions, and none can be evicted.
    Saturated(usize),
    /// The principal has this many sessions, and none can be evicted.
    OwnerLimit(usize),
    /// The system returned no random bytes.
    NoEntropy,
}

/// Limits on sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLimits {
    pub(super) max: usize,
    pub(super) max_per_owner: usize,
    pub(super) ttl: Duration,
    pub(super) idle: Duration,
    pub(super) max_in_flight: usize,
}

/// All sessions of a listener.
pub(super) struct Sessions {
    limits: SessionLimits,
    instance: String,
    open: Mutex<HashMap<Arc<str>, Arc<Session>>>,
    /// Portable and sealed ids that their clients have closed, by their digests.
    ended: Mutex<ClosedIds>,
    /// Log levels that clients have set at any replica.
    levels: Mutex<Levels>,
    /// Makes ids that other replicas can resume, if the operator has a secret.
    sealed: Option<SealedIds>,
    secret: Option<Secret>,
    /// Announces closed sessions, if any state outlives the process.
    ends: Option<Ends>,
    /// The number of open sessions, for readers that must not wait for the lock.
    count: Count,
    /// Called with every owner whose session has ended.
    gone: Box<dyn Fn(&Owner) + Send + Sync>,
    created: AtomicU64,
    /// Counts by [`ENDS`].
    closed: [AtomicU64; ENDS.len()],
}

/// Why sessions end.
const ENDS: [&str; 8] = ["delete", "exit", "ttl", "idle", "evicted", "shutdown", "elsewhere", "revoked"];

impl Sessions {
    pub(super) fn new(
        limits: SessionLimits,
        instance: String,
        gone: impl Fn(&Owner) + Send + Sync + 'static,
    ) -> Self {
        Sessions {
            limits,
            instance,
            open: Mutex::default(),
            ended: Mutex::default(),
            levels: Mutex::default(),
            sealed: None,
            secret: None,
            ends: None,
            count: Count::default(),
            gone: Box::new(gone),
            created: AtomicU64::new(0),
            closed: Default::default(),
        }
    }

    /// Lets other replicas resume its ids, and announces closed sessions to them.
    pub(super) fn sharing(mut self, state: Option<&ServerState>) -> Self {
        self.secret = state.and_then(|state| state.secret.clone());
        self.sealed = self.secret.as_ref().map(SealedIds::new);
        self.ends = Ends::of(state, self.limits.ttl).filter(|_| self.sealed.is_some());
        self
    }

    /// True if ids contain the facts of their sessions.
    pub(super) fn seals(&self) -> bool {
        self.sealed.is_some()
    }

    /// Announces closed sessions, if there are other replicas.
    pub(super) fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// Looks up the record of a session that was adopted. Recent announcements are known already.
    fn check(self: &Arc<Self>, ends: &Ends, id: &str, principal: &Principal) {
        let (ends, id, principal) = (ends.clone(), Arc::<str>::from(id), principal.clone());
        let sessions = Arc::downgrade(self);
        spawn(async move {
            let known = ends.known(&id, &principal).await;
            if let (Some(known), Some(sessions)) = (known, sessions.upgrade()) {
                sessions.apply(&known, &hash_of(&id));
            }
        });
    }

    /// Applies a stored fact about a session. A level counts unless the client has set one here.
    pub(super) fn apply(&self, fact: &SessionFact, hash: &str) {
        match fact {
            SessionFact::Ended => self.ended_elsewhere(hash),
            SessionFact::Level(level) => {
                let level = std::str::from_utf8(level).ok().and_then(LogLevel::from_name);
                if let (Some(level), Some(session)) = (level, self.of_hash(hash))
                    && session.connection.log_level().is_none()
                {
                    session.connection.set_log_level(level);
                }
            }
        }
    }

    /// The number of open sessions.
    pub(super) fn len(&self) -> usize {
        self.open().len()
    }

    /// The number of open sessions of `principal`.
    pub(super) fn len_of(&self, principal: &Principal) -> usize {
        self.open().values().filter(|session| session.principal == *principal).count()
    }

    /// True if no further session fits for any caller: all places are taken by sessions that cannot be evicted.
    pub(super) fn is_saturated(&self) -> bool {
        if self.count.get() < self.limits.max {
            return false;
        }
        let (open, now) = (self.open(), time::now());
        open.len() >= self.limits.max
            && !open.values().any(|session| session.rank(EvictionShield::At(now)).is_some())
    }

    /// The session among `of` that is evicted first.
    fn least_missed<'s>(
        of: impl Iterator<Item = &'s Arc<Session>>,
        spared: EvictionShield,
    ) -> Option<Arc<Session>> {
        let resting = of.filter_map(|session| Some((session.rank(spared)?, session)));
        resting.min_by_key(|(rank, _)| *rank).map(|(_, session)| session.clone())
    }

    /// The session that is evicted for a further one of `principal`, which has `own` of them, when all places are
    /// taken.
    fn of_greediest(&self, principal: &Principal, own: usize, now: Instant) -> Option<Arc<Session>> {
        let open = self.open();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for session in open.values() {
            *counts.entry(session.principal.name()).or_default() += 1;
        }
        // If no other principal has more sessions than the caller would have, the caller evicts its own.
        let mut holders: Vec<_> = counts.into_iter().filter(|(_, count)| *count > own + 1).collect();
        holders.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let names = holders.iter().map(|(name, _)| *name).chain([principal.name()]);
        names
            .filter_map(|name| {
                let spared =
                    if name == principal.name() { EvictionShield::No } else { EvictionShield::At(now) };
                Self::least_missed(open.values().filter(|session| session.principal.name() == name), spared)
            })
            .next()
    }

    /// Evicts idle sessions until a further one of `principal` fits.
    fn make_room(&self, principal: &Principal, now: Instant) -> Result<(), NewSessionError> {
        let own = || -> Vec<_> {
            let open = self.open();
            open.values().filter(|session| session.principal == *principal).cloned().collect()
        };
        let theirs = own();
        if theirs.len() >= self.limits.max_per_owner {
            let least = Self::least_missed(theirs.iter(), EvictionShield::No);
            let least = least.ok_or(NewSessionError::OwnerLimit(self.limits.max_per_owner))?;
            self.close(&least, "evicted");
        } else if self.open().len() >= self.limits.max {
            let least = self.of_greediest(principal, theirs.len(), now);
            let least = least.ok_or(NewSessionError::Saturated(self.limits.max))?;
            self.close(&least, "evicted");
        }
        Ok(())
    }

    /// Opens a session, with a portable id if `client` is all there is to know.
    pub(super) fn create(
        &self,
        principal: &Principal,
        revision: Revision,
        client: ClientFacts,
        is_all: bool,
    ) -> Result<Arc<Session>, NewSessionError> {
        if let Some(sealed) = &self.sealed {
            let id = sealed.make(principal, revision, client).ok_or(NewSessionError::NoEntropy)?;
            return self.open_as(id.into(), principal, revision, client, true, Duration::ZERO);
        }
        let id = match is_all {
            true => random_text::<16>().map(|random| Facts { revision, client }.id(&random)),
            false => random_text::<24>().map(|random| format!("mcp_{random}")),
        };
        let id = id.ok_or(NewSessionError::NoEntropy)?.into();
        self.open_as(id, principal, revision, client, is_all, Duration::ZERO)
    }

    fn open_as(
        &self,
        id: Arc<str>,
        principal: &Principal,
        revision: Revision,
        client: ClientFacts,
        is_portable: bool,
        age: Duration,
    ) -> Result<Arc<Session>, NewSessionError> {
        let now = time::now();
        // Expired sessions must not block new ones until the next sweep.
        if self.count.get() >= self.limits.max {
            self.sweep(now);
        }
        // Other sessions may begin at the same moment: the room is taken by one of them, and the next one makes its
        // own.
        let mut open = loop {
            self.make_room(principal, now)?;
            let open = self.open();
            // Two requests may have named the same portable id at once.
            if let Some(session) = open.get(&id) {
                return Ok(session.clone());
            }
            let own = open.values().filter(|session| session.principal == *principal).count();
            if open.len() < self.limits.max && own < self.limits.max_per_owner {
                break open;
            }
        };
        let connection = Connection::of_session(id.clone(), self.limits.max_in_flight);
        connection.set_revision(revision);
        connection.set_client(client.known);
        connection.set_elicitation(client.elicitation);
        if let (Some(ends), Some(secret)) = (&self.ends, &self.secret) {
            connection.goes_on_elsewhere(Arc::new(Siblings::new(ends, secret, principal, &id)));
            if let Some(level) = self.levels().of(&hash_of(&id)) {
                connection.set_log_level(level);
            }
        }
        let session = Arc::new(Session {
            hash: short_hash(id.as_bytes()),
            connection,
            principal: principal.clone(),
            is_portable,
            created: now.checked_sub(age).unwrap_or(now),
            last_seen: Mutex::new(now),
            id: id.clone(),
        });
        open.insert(id, session.clone());
        self.count.take(1);
        drop(open);
        self.created.fetch_add(1, Ordering::Relaxed);
        info!(
            event = "http_session_created",
            instance = self.instance,
            owner_hash = principal.hash(),
            session_hash = session.hash,
            protocol_version = revision.name()
        );
        Ok(session)
    }

    /// The session of that id, if it belongs to `principal` and has not expired. Marks it as used.
    pub(super) fn get(&self, id: &str, principal: &Principal) -> Option<Arc<Session>> {
        let now = time::now();
        let session = self.open().get(id).cloned().filter(|session| session.principal == *principal)?;
        if let Some(reason) = self.is_over(&session, now) {
            self.close(&session, reason);
            return None;
        }
        session.touch(now);
        Some(session)
    }

    /// Like [`get`](Self::get), but resumes a portable or sealed id that is not open.
    pub(super) fn get_or_adopt(
        self: &Arc<Self>,
        id: &str,
        principal: &Principal,
    ) -> Result<Option<Arc<Session>>, NewSessionError> {
        if let Some(session) = self.get(id, principal) {
            return Ok(Some(session));
        }
        if self.open().contains_key(id) || self.ended().contains(&hash_of(id)) {
            return Ok(None);
        }
        if let Some(told) = self.sealed.as_ref().and_then(|sealed| sealed.open(id, principal)) {
            if told.age >= self.limits.ttl {
                return Ok(None);
            }
            let session = self.open_as(id.into(), principal, told.revision, told.client, true, told.age)?;
            if let Some(ends) = &self.ends {
                self.check(ends, id, principal);
            }
            return Ok(Some(session).filter(|session| session.principal == *principal));
        }
        let Some(Facts { revision, client }) = Facts::of(id) else { return Ok(None) };
        let session = self.open_as(id.into(), principal, revision, client, true, Duration::ZERO)?;
        Ok(Some(session).filter(|session| session.principal == *principal))
    }

    /// Closes the sessions of a caller who has no token any more, and returns them. Their calls run to their ends, and what is kept for
    /// them stays until the caller of this drops it.
    pub(super) fn revoke(&self, principal: &Principal) -> Vec<Arc<Session>> {
        let open = self.open();
        let theirs: Vec<_> =
            open.values().filter(|session| session.principal == *principal).cloned().collect();
        drop(open);
        theirs.iter().for_each(|session| self.close(session, "revoked"));
        theirs
    }

    /// Closes a session: its calls are cancelled and its state is dropped.
    pub(super) fn close(&self, session: &Session, reason: &'static str) {
        if self.open().remove(&session.id).is_none() {
            return;
        }
        self.count.give_back(1);
        if session.is_portable && matches!(reason, "delete" | "exit") {
            self.ended().add(&hash_of(&session.id).into());
            if let Some(ends) = &self.ends {
                ends.tell(&session.id, &session.principal);
            }
        }
        session.connection.drain();
        // The calls of a caller whose token was revoked run to their ends, and so do those on its `ptc` sessions.
        let is_revoked = reason == "revoked";
        if is_revoked {
            self.ended().add(&hash_of(&session.id).into());
        } else {
            session.connection.cancel_all();
        }
        if let Some(end) = ENDS.iter().position(|end| *end == reason) {
            self.closed[end].fetch_add(1, Ordering::Relaxed);
        }
        // With a sealed id the client may return, here or at another replica, and find its definitions.
        let comes_back = self.seals() && matches!(reason, "idle" | "evicted" | "shutdown");
        if !comes_back && !is_revoked {
            (self.gone)(&session.owner());
        }
        info!(
            event = "http_session_closed",
            instance = self.instance,
            owner_hash = session.principal.hash(),
            session_hash = session.hash,
            reason
        );
    }

    /// Closes a session that its client has closed at another replica.
    pub(super) fn ended_elsewhere(&self, hash: &str) {
        self.ended().add(&hash.into());
        if let Some(session) = self.of_hash(hash) {
            self.close(&session, "elsewhere");
        }
    }

    /// The open session whose id has this digest.
    pub(super) fn of_hash(&self, hash: &str) -> Option<Arc<Session>> {
        // The hash in logs is a prefix of the same digest.
        let is_it = |session: &Session| hash.starts_with(&session.hash) && hash_of(&session.id) == hash;
        self.open().values().find(|session| is_it(session)).cloned()
    }

    /// The open sessions.
    pub(super) fn all_open(&self) -> Vec<Arc<Session>> {
        self.open().values().cloned().collect()
    }

    /// The levels of log messages that clients have set at any replica.
    pub(super) fn levels(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock()
    }

    /// Closes the expired sessions.
    pub(super) fn sweep(&self, now: Instant) {
        let over: Vec<_> = self
            .open()
            .values()
            .filter_map(|session| Some((session.clone(), self.is_over(session, now)?)))
            .collect();
        over.iter().for_each(|(session, reason)| self.close(session, reason));
    }

    /// Writes the metric families of sessions.
    pub(super) fn write_metrics(&self, to: &mut Exposition) {
        to.family("ptc_http_sessions_open", "Open HTTP sessions.", MetricKind::Gauge)
            .sample(&[], self.open().len());
        to.family("ptc_http_sessions_created", "HTTP sessions opened.", MetricKind::Counter)
            .sample(&[], self.created.load(Ordering::Relaxed));
        let mut family =
            to.family("ptc_http_sessions_closed", "HTTP sessions ended, by reason.", MetricKind::Counter);
        for (reason, count) in ENDS.iter().zip(&self.closed) {
            family.sample(&[("reason", reason)], count.load(Ordering::Relaxed));
        }
    }

    /// Closes all sessions.
    pub(super) fn close_all(&self, reason: &'static str) {
        let all: Vec<_> = self.open().values().cloned().collect();
        all.iter().for_each(|session| self.close(session, reason));
    }

    /// The reason for which a session has expired. One with running calls is not idle.
    fn is_over(&self, session: &Session, now: Instant) -> Option<&'static str> {
        if now.saturating_duration_since(session.created) >= self.limits.ttl {
            Some("ttl")
        } else if session.idle_for(now) >= self.limits.idle && session.connection.running() == 0 {
            Some("idle")
        } else {
            None
        }
    }

    fn ended(&self) -> MutexGuard<'_, ClosedIds> {
        self.ended.lock()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Session>>> {
        self.open.lock()
    }
}

/// `N` random bytes as base64url text.
fn random_text<const N: usize>() -> Option<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;
    use ptc_mcp::json::Raw;
    use ptc_mcp::message::id::RequestId;

    use super::*;

    fn sessions(gone: Arc<AtomicUsize>) -> Sessions {
        let limits = SessionLimits {
            max: 3,
            max_per_owner: 2,
            ttl: Duration::from_secs(100),
            idle: Duration::from_secs(10),
            max_in_flight: 4,
        };
        Sessions::new(limits, "test".into(), move |_| {
            gone.fetch_add(1, Ordering::Relaxed);
        })
    }

    #[test]
    fn caps_ownership_and_ends() {
        let gone = Arc::new(AtomicUsize::new(0));
        let sessions = sessions(gone.clone());
        let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
        let first = sessions.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        assert!(first.id.starts_with("mcp_") && first.id.len() == 36);
        let second = sessions.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        let id = RequestId::from_raw(Raw::parse("1").unwrap()).unwrap();
        let (_ticket, mut cancelled) = first.connection.enter(&id).unwrap();
        let _running = second.connection.enter(&id).unwrap();
        assert_eq!(
            sessions.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap_err(),
            NewSessionError::OwnerLimit(2)
        );
        let third = sessions.create(&bob, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        assert!(!sessions.is_saturated());
        let _running = third.connection.enter(&id).unwrap();
        assert!(sessions.is_saturated());
        assert_eq!(
            sessions.create(&bob, Revision::V2025_06_18, ClientFacts::default(), false).unwrap_err(),
            NewSessionError::Saturated(3)
        );
        assert!(sessions.get(&first.id, &bob).is_none() && sessions.get(&first.id, &alice).is_some());
        sessions.close(&first, "delete");
        assert!((&mut cancelled).now_or_never().is_some() && sessions.get(&first.id, &alice).is_none());
        assert_eq!(gone.load(Ordering::Relaxed), 1);
        assert!(sessions.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).is_ok());
    }

    #[test]
    fn sessions_at_rest_give_up_their_places_and_those_that_never_called_go_first() {
        let limits = SessionLimits {
            max: 6,
            max_per_owner: 4,
            ttl: Duration::from_secs(100),
            idle: Duration::from_secs(10),
            max_in_flight: 4,
        };
        let sessions = Sessions::new(limits, "test".into(), |_| {});
        let [alice, bob, carol] = ["alice", "bob", "carol"].map(Principal::named);
        let create = |who: &Principal| {
            sessions.create(who, Revision::V2025_06_18, ClientFacts::default(), false).unwrap()
        };
        let is_open = |session: &Session| sessions.get(&session.id, &session.principal).is_some();
        let id = RequestId::from_raw(Raw::parse("1").unwrap()).unwrap();
        let used = create(&alice);
        drop(used.connection.enter(&id).unwrap());
        let unused = create(&alice);
        for _ in 0..100 {
            create(&alice);
        }
        assert!(is_open(&used) && !is_open(&unused));
        // All places are taken; the principal with the most sessions loses one to a principal with fewer.
        let theirs = [create(&bob), create(&bob)];
        let one = create(&carol);
        assert_eq!((sessions.len(), is_open(&one)), (6, true));
        assert!(theirs.iter().all(|session| is_open(session)) && is_open(&used));
        // Among equals, the caller evicts its own.
        create(&carol);
        let other = create(&carol);
        assert!(theirs.iter().all(|session| is_open(session)) && is_open(&used) && is_open(&other));
        assert!(!is_open(&one) && !sessions.is_saturated());
    }

    #[test]
    fn sessions_that_nobody_ends_lead_to_no_refusal() {
        let sessions = sessions(Arc::default());
        let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
        let create =
            |who: &Principal| sessions.create(who, Revision::V2025_06_18, ClientFacts::default(), false);
        let id = RequestId::from_raw(Raw::parse("1").unwrap()).unwrap();
        let called = |who: &Principal| {
            let session = create(who).unwrap();
            drop(session.connection.enter(&id).unwrap());
            session
        };
        let theirs = called(&bob);
        for _ in 0..100 {
            let before = called(&alice);
            // The session that was used last stays.
            called(&alice);
            assert!(sessions.get(&before.id, &alice).is_some());
        }
        assert!(sessions.get(&theirs.id, &bob).is_some() && sessions.len() == 3);
    }

    #[test]
    fn replicas_go_on_with_each_others_sessions_until_they_end() {
        use ptc_host::state::Secret;
        let secret = Secret::of(&[b"a secret of at least 32 bytes, so long"]);
        let state = ServerState { secret, ..ServerState::none() };
        let replica = || Arc::new(sessions(Arc::default()).sharing(Some(&state)));
        let (one, other) = (replica(), replica());
        let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
        let session = one.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        assert!(session.id.starts_with("mcp_") && session.id.len() <= 160);
        assert!(other.get_or_adopt(&session.id, &bob).unwrap().is_none());
        let adopted = other.get_or_adopt(&session.id, &alice).unwrap().unwrap();
        assert_eq!(adopted.connection.revision(), session.connection.revision());
        assert_eq!(adopted.hash, session.hash);
        assert_eq!(adopted.owner(), session.owner());
        // The other replica is notified, as `listen` does, and does not resume the session any more.
        one.close(&session, "delete");
        assert!(one.get_or_adopt(&session.id, &alice).unwrap().is_none());
        other.ended_elsewhere(&hash_of(&session.id));
        assert!(other.get_or_adopt(&session.id, &alice).unwrap().is_none());
        assert_eq!((one.len(), other.len()), (0, 0));
        // Without a secret an id is known only where it was made.
        let alone = Arc::new(sessions(Arc::default()));
        let session = alone.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        assert!(other.get_or_adopt(&session.id, &alice).unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_that_hears_too_late_asks_which_of_its_sessions_have_ended() {
        use ptc_host::state::{MemoryState, Secret, StateStore as _, WatchedState};
        let store = WatchedState::new(Arc::new(MemoryState::default()));
        let state = ServerState {
            secret: Secret::of(&[b"a secret of at least 32 bytes, so long"]),
            store: Some(store.clone()),
            is_shared: true,
            ..ServerState::none()
        };
        let replica = || Arc::new(sessions(Arc::default()).sharing(Some(&state)));
        let (one, other) = (replica(), replica());
        let alice = Principal::named("alice");
        let create = || one.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        let (ended, goes_on) = (create(), create());
        let adopt = |id: &str| other.get_or_adopt(id, &alice).unwrap().is_some();
        assert!(adopt(&ended.id) && adopt(&goes_on.id));
        store.announce("something").await.unwrap();
        tokio::spawn(crate::http::replica_listener::listen(other.ends().unwrap().clone(), other.clone()));
        tokio::time::sleep(Duration::from_millis(100)).await;
        one.ends().unwrap().tell(&ended.id, &alice);
        one.ends().unwrap().settled().await;
        // More than a store remembers between two polls.
        for _ in 0..5000 {
            store.announce("something else").await.unwrap();
        }
        assert!(other.get(&ended.id, &alice).is_some(), "it has not heard of it yet");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(other.get(&ended.id, &alice).is_none() && other.get(&goes_on.id, &alice).is_some());
    }

    #[test]
    fn a_session_with_running_calls_is_not_idle() {
        let sessions = sessions(Arc::default());
        let alice = Principal::named("alice");
        let busy = sessions.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        let idle = sessions.create(&alice, Revision::V2025_06_18, ClientFacts::default(), false).unwrap();
        let id = RequestId::from_raw(Raw::parse("1").unwrap()).unwrap();
        let _running = busy.connection.enter(&id).unwrap();
        sessions.sweep(Instant::now() + Duration::from_secs(11));
        assert!(sessions.get(&busy.id, &alice).is_some() && sessions.get(&idle.id, &alice).is_none());
        sessions.sweep(Instant::now() + Duration::from_secs(101));
        assert!(sessions.get(&busy.id, &alice).is_none());
    }
}
