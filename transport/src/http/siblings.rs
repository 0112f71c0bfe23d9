//! Forwards messages of a conversation to the other replicas that serve it: the client's replies to requests that
//! another replica has sent, cancellations of calls, and log levels (state.md 5.2).
//!
//! A reply is put into an inbox of its own, sealed, and only its digests are announced. The replica that has sent the
//! request takes it out, once. The id of a request proves that one of the replicas has made it for this conversation:
//! no other reply is forwarded, and each at most once by a replica.
//!
//! A cancellation is only an announcement. The replica that runs the call recognises it by its digest.

use ptc_host::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_host::digest::sha256_hex;
use ptc_host::state::{Commit, End, Key, Kind, Owner, Secret, StateError, StateStore as _, Write};
use ptc_host::time::{self, Instant};
use ptc_mcp::LogLevel;
use ptc_mcp::message::id::RequestId;
use tracing::warn;

use super::replica_announcements::{Ends, hash_of, key};
use ptc_protocol::Elsewhere;
use ptc_protocol::principal::Principal;

/// The prefixes of announcements of levels, of replies and of cancellations. The digest of the session's id follows,
/// then the level or the digest of the request.
pub(super) const LEVEL: &str = "http-session-level ";
pub(super) const REPLY: &str = "http-session-reply ";
pub(super) const CANCELLED: &str = "http-session-cancelled ";
/// The purpose of the signature in ids of our requests.
const PURPOSE: &[u8] = b"ptc client-request v1";
/// The prefix of the ids of our requests.
const PREFIX: &str = "q_";
/// Random bytes of a request's name, and bytes of its signature.
const RANDOM: usize = 9;
const TAG: usize = 9;
/// How long a reply waits for the replica that has sent the request, which hears of it within a second.
const REPLY_LIFE: Duration = Duration::from_secs(60);
/// How many forwarded replies are remembered.
const HANDED_ON: usize = 256;
/// Cancellations that a replica forwards for one conversation in a second: the store keeps a limited number of
/// announcements, for all conversations.
const CANCELLED_IN_A_SECOND: u32 = 256;
/// Sessions whose levels are remembered.
const REMEMBERED: usize = 1024;

/// A conversation, as seen by the other replicas.
#[derive(Debug)]
pub(super) struct Siblings {
    ends: Ends,
    secret: Secret,
    principal: Principal,
    /// The id of the session.
    id: Arc<str>,
    handed_on: Mutex<VecDeque<Box<str>>>,
    /// When the current second of cancellations began, and how many it had.
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

    /// True if a replica has made this id for a request of this conversation.
    fn has_made(&self, id: &str) -> bool {
        let name = id.strip_prefix(PREFIX).and_then(|name| URL_SAFE_NO_PAD.decode(name).ok());
        let Some(name) = name.filter(|name| name.len() == RANDOM + TAG) else { return false };
        let (random, tag) = name.split_at(RANDOM);
        self.secret.has_tagged(&self.signed(random), tag)
    }

    /// Marks a reply as forwarded. Returns whether it was not yet.
    fn is_first(&self, id: &str) -> bool {
        let mut handed_on = self.handed_on.lock();
        if handed_on.iter().any(|known| **known == *id) {
            return false;
        }
        if handed_on.len() >= HANDED_ON {
            handed_on.pop_front();
        }
        handed_on.push_back(id.into());
        true
    }

    /// True if one more cancellation may be forwarded in this second.
    fn may_cancel(&self) -> bool {
        let mut second = self.second.lock();
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
            // If two replicas set a level at once, the later one stays.
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
pub(super) fn inbox(principal: &Principal, request: &str) -> Option<Key> {
    Key::new(&Owner::principal(principal.known_name().clone()), Kind::Run, request).ok()
}

fn said_of(session: &str, request: &str) -> String {
    format!("{REPLY}{} {}", hash_of(session), sha256_hex(request.as_bytes()))
}

/// The digest that identifies a call of a session. The call's id may be as plain as `7`; the session's id, which is
/// secret, hides it.
pub(super) fn digest_of_call(session: &str, call: &RequestId) -> String {
    sha256_hex(format!("{session} {}", call.json()).as_bytes())
}

/// The levels that clients have set last, by the digests of their sessions: a session may be resumed here later.
#[derive(Debug, Default)]
pub(super) struct Levels(VecDeque<(Box<str>, LogLevel)>);

impl Levels {
    /// Notes a level; the oldest one is dropped.
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
