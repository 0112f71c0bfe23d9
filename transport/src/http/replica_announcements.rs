//! Replica announcements: closed HTTP sessions, and the messages that [`siblings`](super::siblings) forward (state.md 5.2).

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

use ptc_host::digest::sha256_hex;
use ptc_host::time;
use ptc_protocol::principal::Principal;
use ptc_protocol::server_state::ServerState;

/// The interval of polls: other replicas hear of an end within a second.
pub(super) const LISTENING: Duration = Duration::from_millis(500);
/// The time for a replica to process an announcement after its poll.
const HEARING: Duration = Duration::from_millis(100);
/// How long a stopping process waits for its announcements to be sent.
const SETTLING: Duration = Duration::from_secs(2);
/// The prefix of announcements of closed sessions.
pub(super) const SAID: &str = "http-session-ended ";

/// The store, as HTTP sessions use it.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    store: WatchedState,
    /// How long an id could be resumed.
    life: Duration,
    /// True if there may be other replicas.
    is_shared: bool,
    /// The announcements in progress.
    telling: Arc<Telling>,
}

#[derive(Debug, Default)]
struct Telling {
    count: AtomicUsize,
    told: Notify,
}

impl Ends {
    /// The closed sessions, remembered that long; `None` if no state outlives the process.
    pub(super) fn of(state: Option<&ServerState>, ttl: Duration) -> Option<Ends> {
        let state = state?;
        let store = state.store.clone()?;
        let is_shared = state.is_shared;
        Some(Ends { store, life: ttl.max(TOMBSTONE_LIFE), is_shared, telling: Arc::default() })
    }

    /// True if other processes may need to hear.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// The store.
    pub(super) fn store(&self) -> &WatchedState {
        &self.store
    }

    /// How long facts about a session are remembered.
    pub(super) fn life(&self) -> Duration {
        self.life
    }

    /// Waits until every replica has processed the announcements so far, so that a client that has its answer finds
    /// their effect everywhere.
    pub(super) async fn heard(&self) {
        self.settled().await;
        time::sleep(LISTENING + HEARING).await;
    }

    /// Records that a client has closed a session, and announces it.
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

    /// Runs an announcement in the background.
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

    /// True if an announcement is in progress.
    pub(super) fn is_telling(&self) -> bool {
        self.telling.count.load(Ordering::Acquire) > 0
    }

    /// Waits for all announcements, with a time limit: the process is about to stop.
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
        // A replica that was not reached keeps a session whose id no client uses any more.
        let _ = time::timeout(SETTLING, told).await;
    }

    /// The record of a session, if there is one.
    pub(super) async fn known(&self, id: &str, principal: &Principal) -> Option<SessionFact> {
        match self.store.read(&key(principal.name(), &hash_of(id))?).await {
            Err(StateError::Gone) => Some(SessionFact::Ended),
            Ok(Some(Versioned { blob: Some(level), .. })) => Some(SessionFact::Level(level)),
            _ => None,
        }
    }
}

/// The stored fact about a session.
pub(super) enum SessionFact {
    /// Its client has closed it.
    Ended,
    /// The level of log messages that its client has set.
    Level(Bytes),
}

/// The name of a session among replicas: a digest, as the id is a credential.
pub(super) fn hash_of(id: &str) -> String {
    sha256_hex(id.as_bytes())
}

/// The record of a session: that it is closed, or the log level that its client has set for all of its requests.
pub(super) fn key(principal: &str, hash: &str) -> Option<Key> {
    Key::new(&Owner::principal(principal), Kind::HttpSession, hash).ok()
}

/// Runs `work` in the background. Without a runtime there is no listener, and no replica to notify.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}
