//! What a conversation hands on to the other replicas that serve it: replies of its client to requests that another replica has sent, calls
//! that it gives up, and which log messages it wants (state.md 5.2).
//!
//! A reply goes into an inbox of its own, sealed, and is announced by digests alone. Whoever has sent the request takes it out, once. The id
//! of a request proves that one of us has made it for this conversation: nothing else is handed on, and each at most once by a replica.
//!
//! A cancellation is an announcement and nothing else. Whoever runs the call knows it by its digest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_host::digest::sha256_hex;
use ptc_host::state::{Commit, End, Key, Kind, Owner, Secret, StateError, StateStore as _, Write};
use ptc_host::time::{self, Instant};
use ptc_mcp::LogLevel;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::strict::{Incoming, read};
use tracing::{debug, warn};

use super::ended_elsewhere::{Ends, hash_of, key};
use super::sessions::{Session, Sessions};
use crate::principal::Principal;
use crate::protocol::Elsewhere;

/// What announcements of levels, of replies and of cancellations begin with. The digest of the session's id follows, and the level or what
/// stands for the request.
const LEVEL: &str = "http-session-level ";
const REPLY: &str = "http-session-reply ";
const CANCELLED: &str = "http-session-cancelled ";
/// What requests of ours are signed for.
const PURPOSE: &[u8] = b"ptc client-request v1";
/// What the ids of our requests begin with.
const PREFIX: &str = "q_";
/// Bytes of a request's name that no other one has, and of its signature.
const RANDOM: usize = 9;
const TAG: usize = 9;
/// How long a reply waits for whoever has sent the request, who hears of it within a second.
const REPLY_LIFE: Duration = Duration::from_secs(60);
/// Replies that are remembered as handed on.
const HANDED_ON: usize = 256;
/// Cancellations that a replica hands on for one conversation in a second: announcements are remembered by their number, for all conversations.
const CANCELLED_IN_A_SECOND: u32 = 256;
/// Sessions whose levels are remembered.
const REMEMBERED: usize = 1024;

/// A conversation as the other replicas know it.
#[derive(Debug)]
pub(super) struct Siblings {
    ends: Ends,
    secret: Secret,
    principal: Principal,
    /// The id of the session.
    id: Arc<str>,
    handed_on: Mutex<VecDeque<Box<str>>>,
    /// When the present second of cancellations began, and how many it had.
    second: Mutex<Option<(Instant, u32)>>,
}

impl Siblings {
    pub(super) fn new(ends: &Ends, secret: &Secret, principal: &Principal, id: &Arc<str>) -> Siblings {
        Siblings {
            ends: ends.clone(),
            secret: secret.clone(),
            principal: principal.clone(),
            id: id.clone(),
            handed_on: Mutex::default(),
            second: Mutex::default(),
        }
    }

    fn signed<'a>(&'a self, random: &'a [u8]) -> [&'a [u8]; 3] {
        [PURPOSE, self.id.as_bytes(), random]
    }

    /// Whether a replica has made this id for a request of this conversation.
    fn has_made(&self, id: &str) -> bool {
        let name = id.strip_prefix(PREFIX).and_then(|name| URL_SAFE_NO_PAD.decode(name).ok());
        let Some(name) = name.filter(|name| name.len() == RANDOM + TAG) else { return false };
        let (random, tag) = name.split_at(RANDOM);
        self.secret.has_tagged(&self.signed(random), tag)
    }

    /// Notes a reply as handed on. Whether it was not yet.
    fn is_first(&self, id: &str) -> bool {
        let mut handed_on = self.handed_on.lock().unwrap_or_else(PoisonError::into_inner);
        if handed_on.iter().any(|known| **known == *id) {
            return false;
        }
        if handed_on.len() >= HANDED_ON {
            handed_on.pop_front();
        }
        handed_on.push_back(id.into());
        true
    }

    /// Whether one more cancellation may be handed on in this second.
    fn may_cancel(&self) -> bool {
        let mut second = self.second.lock().unwrap_or_else(PoisonError::into_inner);
        let now = time::now();
        let (began, count) = match *second {
            Some((began, count)) if now.duration_since(began) < Duration::from_secs(1) => (began, count),
            _ => (now, 0),
        };
        *second = Some((began, count.saturating_add(1)));
        count < CANCELLED_IN_A_SECOND
    }
}

impl Elsewhere for Siblings {
    fn request_name(&self) -> Option<String> {
        let mut name = [0; RANDOM + TAG];
        getrandom::fill(&mut name[..RANDOM]).ok()?;
        let signature = self.secret.sign(&self.signed(&name[..RANDOM]));
        name[RANDOM..].copy_from_slice(&signature[..TAG]);
        Some(URL_SAFE_NO_PAD.encode(name))
    }

    fn reply_came(&self, id: &str, message: String) {
        if !self.ends.is_shared() || !self.has_made(id) || !self.is_first(id) {
            return;
        }
        let Some(inbox) = inbox(&self.principal, id) else { return };
        let (store, said) = (self.ends.store().clone(), said_of(&self.id, id));
        self.ends.telling(async move {
            let handed_on = store.push(&inbox, message.into(), REPLY_LIFE).await;
            let told = match handed_on {
                Ok(()) => store.announce(&said).await,
                lost => lost,
            };
            if let Err(error) = told {
                warn!(event = "client_reply_not_handed_on", reason = %error);
            }
        });
    }

    fn cancelled(&self, id: &RequestId) {
        if !self.ends.is_shared() || !self.may_cancel() {
            return;
        }
        let store = self.ends.store().clone();
        let said = format!("{CANCELLED}{} {}", hash_of(&self.id), digest_of_call(&self.id, id));
        self.ends.telling(async move {
            if let Err(error) = store.announce(&said).await {
                warn!(event = "cancellation_not_handed_on", reason = %error);
            }
        });
    }

    fn level_set(&self, level: LogLevel) {
        let Some(key) = key(self.principal.name(), &hash_of(&self.id)) else { return };
        let (store, life) = (self.ends.store().clone(), self.ends.life());
        let said = format!("{LEVEL}{} {}", hash_of(&self.id), level.name());
        self.ends.telling(async move {
            let put = |version| {
                let write = Write::put(key.clone(), version, level.name().as_bytes().to_vec());
                Commit::one(write.ending(End::After(life)))
            };
            let mut written = Err(StateError::Conflict);
            // Of two levels that are set at once, at two replicas, the later one stays.
            for _ in 0..3 {
                written = match store.read(&key).await {
                    Ok(known) => store.commit(put(known.map_or(0, |known| known.version))).await,
                    Err(error) => Err(error),
                };
                if !matches!(written, Err(StateError::Conflict | StateError::Gone)) {
                    break;
                }
            }
            if let Err(error) = written.and(store.announce(&said).await) {
                warn!(event = "log_level_not_told", reason = %error);
            }
        });
    }
}

/// The inbox of the reply to a request.
fn inbox(principal: &Principal, request: &str) -> Option<Key> {
    Key::new(&Owner::principal(principal.known_name().clone()), Kind::Run, request).ok()
}

fn said_of(session: &str, request: &str) -> String {
    format!("{REPLY}{} {}", hash_of(session), sha256_hex(request.as_bytes()))
}

/// What stands for a call of a session. The session's id, which nobody else knows, hides the call's, which may be as plain as `7`.
fn digest_of_call(session: &str, call: &RequestId) -> String {
    sha256_hex(format!("{session} {}", call.json()).as_bytes())
}

/// Heeds what another replica has said of a session, if it is about levels, replies or cancellations.
pub(super) fn heed(said: &str, ends: &Ends, sessions: &Sessions) {
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
        debug!(event = "notifications_cancelled", request_id = %id);
    }
}

/// Takes over the level that the client of a session that goes on here has set elsewhere, unless it has set one here.
pub(super) fn take_over(level: &[u8], hash: &str, sessions: &Sessions) {
    let level = std::str::from_utf8(level).ok().and_then(LogLevel::from_name);
    if let (Some(level), Some(session)) = (level, sessions.of_hash(hash))
        && session.connection.log_level().is_none()
    {
        session.connection.set_log_level(level);
    }
}

/// Takes a reply that came to another replica, if its request was sent here and is not answered yet.
#[expect(clippy::disallowed_methods, reason = "entry point: take()")]
fn take(ends: &Ends, session: Arc<Session>, request: &str) {
    let open = session.connection.open_requests();
    let Some(id) = open.into_iter().find(|id| sha256_hex(id.as_bytes()) == request) else { return };
    let Some(inbox) = inbox(&session.connection.owner().principal, &id) else { return };
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

/// The levels that clients have set last, by the digests of their sessions: one may go on here that is not open yet.
#[derive(Debug, Default)]
pub(super) struct Levels(VecDeque<(Box<str>, LogLevel)>);

impl Levels {
    /// Notes a level; the one that was noted longest ago gives up its place.
    pub(super) fn note(&mut self, hash: &str, level: LogLevel) {
        self.0.retain(|(known, _)| **known != *hash);
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((hash.into(), level));
    }

    /// The level of a session.
    pub(super) fn of(&self, hash: &str) -> Option<LogLevel> {
        self.0.iter().find(|(known, _)| **known == *hash).map(|(_, level)| *level)
    }
}
