//! Receives what other replicas announce (state.md 5.2), and applies it to the sessions of this process.

use std::sync::Arc;

use ptc_host::digest::sha256_hex;
use ptc_host::state::StateStore as _;
use ptc_host::time;
use ptc_mcp::LogLevel;
use ptc_mcp::message::strict::{Incoming, read};
use tracing::{debug, warn};

use super::replica_announcements::{Ends, LISTENING, SAID, hash_of};
use super::sessions::{Session, Sessions};
use super::siblings::{CANCELLED, LEVEL, REPLY, digest_of_call, inbox};

/// Receives announcements of other replicas until the sessions are dropped.
pub(super) async fn listen(ends: Ends, sessions: Arc<Sessions>) {
    let mut heard = 0;
    loop {
        if let Ok(news) = ends.store().news(heard).await {
            // Before its first poll a replica has no session that could have been closed elsewhere.
            if news.missed && heard > 0 {
                check_all(&ends, &sessions).await;
            }
            heard = news.until;
            for said in &news.said {
                match said.strip_prefix(SAID) {
                    Some(hash) => sessions.ended_elsewhere(hash),
                    None => heed(said, &ends, &sessions),
                }
            }
        }
        time::sleep(LISTENING).await;
    }
}

/// Looks up the records of all open sessions after announcements were missed.
async fn check_all(ends: &Ends, sessions: &Sessions) {
    warn!(event = "http_session_news_missed");
    for session in sessions.all_open() {
        if let Some(known) = ends.known(&session.id, &session.principal).await {
            sessions.apply(&known, &hash_of(&session.id));
        }
    }
}

/// Processes an announcement of another replica, if it is about levels, replies or cancellations.
fn heed(said: &str, ends: &Ends, sessions: &Sessions) {
    if let Some((hash, level)) = said.strip_prefix(LEVEL).and_then(|said| said.split_once(' ')) {
        if let Some(level) = LogLevel::from_name(level) {
            sessions.levels().note(hash, level);
            if let Some(session) = sessions.of_hash(hash) {
                session.connection.set_log_level(level);
            }
        }
    } else if let Some((hash, request)) = said.strip_prefix(REPLY).and_then(|said| said.split_once(' '))
        && let Some(session) = sessions.of_hash(hash)
    {
        take(ends, session, request);
    } else if let Some((hash, call)) = said.strip_prefix(CANCELLED).and_then(|said| said.split_once(' '))
        && let Some(session) = sessions.of_hash(hash)
        && let Some(id) = session.connection.cancel_known(|id| digest_of_call(&session.id, id) == call)
    {
        debug!(event = "notifications_cancelled", rpc_id = %id);
    }
}

/// Takes a reply that arrived at another replica, if its request was sent here and is still open.
#[expect(clippy::disallowed_methods, reason = "entry point: take()")]
fn take(ends: &Ends, session: Arc<Session>, request: &str) {
    let open = session.connection.open_requests();
    let Some(id) = open.into_iter().find(|id| sha256_hex(id.as_bytes()) == request) else { return };
    let Some(inbox) = inbox(&session.principal, &id) else { return };
    let store = ends.store().clone();
    ends.telling(async move {
        match store.drain(&inbox).await {
            Ok(replies) => {
                for reply in &replies {
                    if let Ok(Incoming::Single(message)) = read(reply) {
                        session.connection.take_reply(&message);
                    }
                }
            }
            Err(error) => warn!(event = "client_reply_lost", reason = %error),
        }
    });
}
