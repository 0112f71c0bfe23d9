//! What replicas tell each other of HTTP sessions that clients have ended (state.md 5.2).

use std::sync::Arc;
use std::time::Duration;

use ptc_host::state::{
    Commit, Key, Kind, Owner, StateError, StateStore, TOMBSTONE_LIFE, WatchedState, Write,
};
use tracing::warn;

use super::sessions::Sessions;
use crate::digest::sha256;
use crate::principal::Principal;
use crate::server_state::ServerState;

/// How often a replica listens: others hear within a second.
const LISTENING: Duration = Duration::from_millis(500);
/// What announcements of ended sessions begin with.
const SAID: &str = "http-session-ended ";

/// The store as HTTP sessions use it.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    store: WatchedState,
    /// How long an id could be gone on with.
    life: Duration,
}

impl Ends {
    /// The ends of sessions that live so long; `None` if nothing outlives the process.
    pub(super) fn of(state: Option<&ServerState>, ttl: Duration) -> Option<Ends> {
        let store = state?.store.clone()?;
        Some(Ends { store, life: ttl.max(TOMBSTONE_LIFE) })
    }

    /// Remembers that a client has ended a session, and tells the others.
    pub(super) fn tell(&self, id: &str, principal: &Principal) {
        let (ends, name, hash) = (self.clone(), principal.name().to_owned(), hash_of(id));
        spawn(async move {
            let Some(key) = key(&name, &hash) else { return };
            let buried = ends.store.commit(Commit::one(Write::bury(key, ends.life))).await;
            let told = ends.store.announce(&format!("{SAID}{hash}")).await;
            if let Err(error) = buried.and(told) {
                warn!(event = "http_session_end_not_told", reason = %error);
            }
        });
    }

    /// Asks whether a session that was adopted has been ended, and ends it here if so. What was announced lately is known already.
    pub(super) fn check(&self, id: &str, principal: &Principal, sessions: &Arc<Sessions>) {
        let (store, name, hash) = (self.store.clone(), principal.name().to_owned(), hash_of(id));
        let sessions = Arc::downgrade(sessions);
        spawn(async move {
            let Some(key) = key(&name, &hash) else { return };
            if store.read(&key).await == Err(StateError::Gone)
                && let Some(sessions) = sessions.upgrade()
            {
                sessions.ended_elsewhere(&hash);
            }
        });
    }

    /// Listens to what other replicas say, for as long as the sessions are there.
    pub(super) async fn listen(self, sessions: Arc<Sessions>) {
        let mut heard = 0;
        loop {
            if let Ok(news) = self.store.news(heard).await {
                heard = news.until;
                for said in &news.said {
                    if let Some(hash) = said.strip_prefix(SAID) {
                        sessions.ended_elsewhere(hash);
                    }
                }
            }
            tokio::time::sleep(LISTENING).await;
        }
    }
}

/// The name of a session among replicas. Its id is a credential.
pub(super) fn hash_of(id: &str) -> String {
    sha256(id.as_bytes())
}

fn key(principal: &str, hash: &str) -> Option<Key> {
    Key::new(&Owner::principal(principal), Kind::HttpSession, hash).ok()
}

/// Has `work` done meanwhile. Tests end sessions without a runtime.
fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(work);
    }
}
