//! What replicas tell each other of HTTP sessions: which of them clients have ended, and what [`siblings`] hand on (state.md 5.2).

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ptc_host::state::{
    Commit, Key, Kind, Owner, StateError, StateStore, TOMBSTONE_LIFE, Versioned, WatchedState, Write,
};
use tokio::sync::Notify;
use tracing::warn;

use super::sessions::Sessions;
use super::siblings;
use crate::principal::Principal;
use crate::server_state::ServerState;
use ptc_host::digest::sha256_hex;
use ptc_host::time;

/// How often a replica listens: others hear within a second.
const LISTENING: Duration = Duration::from_millis(500);
/// What a replica may need to hear, once it listens.
const HEARING: Duration = Duration::from_millis(100);
/// How long a process that stops waits until ends are told.
const SETTLING: Duration = Duration::from_secs(2);
/// What announcements of ended sessions begin with.
const SAID: &str = "http-session-ended ";

/// The store as HTTP sessions use it.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    store: WatchedState,
    /// How long an id could be gone on with.
    life: Duration,
    /// Whether there may be others.
    is_shared: bool,
    /// What is being told now.
    telling: Arc<Telling>,
}

#[derive(Debug, Default)]
struct Telling {
    count: AtomicUsize,
    told: Notify,
}

impl Ends {
    /// The ends of sessions that live so long; `None` if nothing outlives the process.
    pub(super) fn of(state: Option<&ServerState>, ttl: Duration) -> Option<Ends> {
        let state = state?;
        let store = state.store.clone()?;
        let is_shared = state.is_shared;
        Some(Ends { store, life: ttl.max(TOMBSTONE_LIFE), is_shared, telling: Arc::default() })
    }

    /// Whether other processes may be told.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The store.
    pub(super) fn store(&self) -> &WatchedState {
        &self.store
    }

    /// How long what is known of a session is remembered.
    pub(super) fn life(&self) -> Duration {
        self.life
    }

    /// Waits until every replica has heard what was told so far, so that a client that has its answer meets it everywhere.
    pub(super) async fn heard(&self) {
        self.settled().await;
        time::sleep(LISTENING + HEARING).await;
    }

    /// Remembers that a client has ended a session, and tells the others.
    pub(super) fn tell(&self, id: &str, principal: &Principal) {
        let (store, life, name, hash) =
            (self.store.clone(), self.life, principal.name().to_owned(), hash_of(id));
        self.telling(async move {
            if let Some(key) = key(&name, &hash) {
                let buried = store.commit(Commit::one(Write::bury(key, life))).await;
                let told = store.announce(&format!("{SAID}{hash}")).await;
                if let Err(error) = buried.and(told) {
                    warn!(event = "http_session_end_not_told", reason = %error);
                }
            }
        });
    }

    /// Has others told of something meanwhile.
    pub(super) fn telling(&self, work: impl Future<Output = ()> + Send + 'static) {
        let telling = self.telling.clone();
        telling.count.fetch_add(1, Ordering::AcqRel);
        spawn(async move {
            work.await;
            if telling.count.fetch_sub(1, Ordering::AcqRel) == 1 {
                telling.told.notify_waiters();
            }
        });
    }

    /// Whether something is being told.
    pub(super) fn is_telling(&self) -> bool {
        self.telling.count.load(Ordering::Acquire) > 0
    }

    /// Waits until all is told, at most for a moment: the process is about to stop.
    pub(super) async fn settled(&self) {
        let told = async {
            loop {
                let mut told = pin!(self.telling.told.notified());
                told.as_mut().enable();
                if self.telling.count.load(Ordering::Acquire) == 0 {
                    return;
                }
                told.await;
            }
        };
        // Whoever is not told by then finds a session that nobody names any more.
        let _ = time::timeout(SETTLING, told).await;
    }

    /// Asks what is remembered of a session that was adopted. What was announced lately is known already.
    pub(super) fn check(&self, id: &str, principal: &Principal, sessions: &Arc<Sessions>) {
        let (ends, id, principal) = (self.clone(), Arc::<str>::from(id), principal.clone());
        let sessions = Arc::downgrade(sessions);
        spawn(async move {
            let known = ends.known(&id, &principal).await;
            if let (Some(known), Some(sessions)) = (known, sessions.upgrade()) {
                known.applied(&hash_of(&id), &sessions);
            }
        });
    }

    /// What is remembered of a session, if anything is.
    async fn known(&self, id: &str, principal: &Principal) -> Option<Known> {
        match self.store.read(&key(principal.name(), &hash_of(id))?).await {
            Err(StateError::Gone) => Some(Known::Ended),
            Ok(Some(Versioned { blob: Some(level), .. })) => Some(Known::Level(level)),
            _ => None,
        }
    }

    /// Asks what is remembered of all open sessions, since what others have said of them is forgotten.
    async fn check_all(&self, sessions: &Sessions) {
        warn!(event = "http_session_news_missed");
        for session in sessions.all_open() {
            if let Some(known) = self.known(&session.id, &session.principal).await {
                known.applied(&hash_of(&session.id), sessions);
            }
        }
    }

    /// Listens to what other replicas say, for as long as the sessions are there.
    pub(super) async fn listen(self, sessions: Arc<Sessions>) {
        let mut heard = 0;
        loop {
            if let Ok(news) = self.store.news(heard).await {
                // Before it first listens a replica has no session that could have ended.
                if news.missed && heard > 0 {
                    self.check_all(&sessions).await;
                }
                heard = news.until;
                for said in &news.said {
                    match said.strip_prefix(SAID) {
                        Some(hash) => sessions.ended_elsewhere(hash),
                        None => siblings::heed(said, &self, &sessions),
                    }
                }
            }
            time::sleep(LISTENING).await;
        }
    }
}

/// What the store remembers of a session.
enum Known {
    /// Its client has ended it.
    Ended,
    /// The level of messages that its client has set.
    Level(Bytes),
}

impl Known {
    /// Has it hold here.
    fn applied(&self, hash: &str, sessions: &Sessions) {
        match self {
            Known::Ended => sessions.ended_elsewhere(hash),
            Known::Level(level) => siblings::take_over(level, hash, sessions),
        }
    }
}

/// The name of a session among replicas. Its id is a credential.
pub(super) fn hash_of(id: &str) -> String {
    sha256_hex(id.as_bytes())
}

/// The record of a session: that it has ended, or what its client has settled for all of its requests.
pub(super) fn key(principal: &str, hash: &str) -> Option<Key> {
    Key::new(&Owner::principal(principal), Kind::HttpSession, hash).ok()
}

/// Has `work` done meanwhile. Where there is no runtime there is no listener, and nobody to be told.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}
