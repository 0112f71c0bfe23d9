//! When the keys of an issuer are fetched, and how long they serve (`auth.md` 13.4).

use std::sync::Arc;
use std::time::Duration;

use super::jws::Jws;
use super::key_set::KeySet;
use crate::timestamp::Timestamp;

/// Least time between two fetches that unknown keys cause, and between one and that of keys that are not fresh any more.
pub const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(60);
/// Least time between two fetches while there are no keys.
pub const RETRY: Duration = Duration::from_secs(5);
/// How long keys serve while they cannot be fetched anew.
pub const MAX_STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// A fetch that has not ended by then was lost with its driver.
const LOST: Duration = Duration::from_secs(60);

/// The keys of one issuer. Its driver fetches when [`KeyAnswer`] says so, and reports the result with
/// [`fetched`](Self::fetched). Times are of a clock that only goes forward.
#[derive(Debug, Default)]
pub struct KeyCache {
    keys: Option<CachedKeys>,
    /// The end of the last fetch, and whether it succeeded.
    last: Option<(Timestamp, bool)>,
    /// The beginning of the fetch that runs.
    fetching: Option<Timestamp>,
    /// Whether an unknown key caused it.
    is_for_unknown: bool,
    /// The end of the last fetch that an unknown key caused.
    last_for_unknown: Option<Timestamp>,
}

#[derive(Debug)]
struct CachedKeys {
    set: Arc<KeySet>,
    fetched: Timestamp,
    fresh_until: Timestamp,
}

/// What is to be done with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyAnswer {
    /// Verify it with these.
    Keys {
        /// The keys.
        keys: Arc<KeySet>,
        /// True if the driver must fetch them anew meanwhile.
        fetch: bool,
    },
    /// Ask again after the fetch that runs.
    Wait {
        /// True if the driver must begin it.
        fetch: bool,
    },
    /// Its key is none of its issuer's.
    Unknown,
    /// Nobody can say whether its key is one of its issuer's.
    Unavailable,
}

impl KeyCache {
    /// What is to be done with `token`, which came at `came`. An answer to fetch is given once until [`fetched`](Self::fetched) is
    /// called.
    pub fn ask(&mut self, token: &Jws<'_>, came: Timestamp, now: Timestamp) -> KeyAnswer {
        if self.keys.as_ref().is_some_and(|keys| now.since(keys.fetched) >= MAX_STALE) {
            self.keys = None;
        }
        let known = self.keys.as_ref().map(|keys| {
            let has_key = keys.set.candidates(token.algorithm, token.key_id.as_deref()).next().is_some();
            (keys.set.clone(), has_key, keys.fresh_until <= now)
        });
        match known {
            Some((keys, true, is_stale)) => {
                let fetch = is_stale && self.rested(UNKNOWN_KEY_PAUSE, now) && self.begin(now);
                KeyAnswer::Keys { keys, fetch }
            }
            Some((_, false, _)) => self.fetch_for_unknown(came, now),
            None if self.is_fetching(now) => KeyAnswer::Wait { fetch: false },
            None if self.rested(RETRY, now) => KeyAnswer::Wait { fetch: self.begin(now) },
            None => KeyAnswer::Unavailable,
        }
    }

    /// Waits for the fetch that runs, begins one, or says what the last one has shown: nothing about a key that came after it, which
    /// the issuer may have published since.
    fn fetch_for_unknown(&mut self, came: Timestamp, now: Timestamp) -> KeyAnswer {
        if self.is_fetching(now) {
            return KeyAnswer::Wait { fetch: false };
        }
        let is_due = self.last_for_unknown.is_none_or(|ended| now.since(ended) >= UNKNOWN_KEY_PAUSE);
        if is_due && self.rested(RETRY, now) {
            self.is_for_unknown = self.begin(now);
            return KeyAnswer::Wait { fetch: self.is_for_unknown };
        }
        match self.last {
            Some((ended, true)) if ended >= came => KeyAnswer::Unknown,
            _ => KeyAnswer::Unavailable,
        }
    }

    fn is_fetching(&self, now: Timestamp) -> bool {
        self.fetching.is_some_and(|begun| now.since(begun) < LOST)
    }

    fn rested(&self, pause: Duration, now: Timestamp) -> bool {
        self.last.is_none_or(|(at, _)| now.since(at) >= pause)
    }

    /// True if a fetch begins now.
    fn begin(&mut self, now: Timestamp) -> bool {
        if self.is_fetching(now) {
            return false;
        }
        self.fetching = Some(now);
        true
    }

    /// True if there are neither keys nor a fetch that just failed or runs: the driver then fetches them before anybody asks.
    pub fn begin_first(&mut self, now: Timestamp) -> bool {
        self.keys.is_none() && self.rested(RETRY, now) && self.begin(now)
    }

    /// The result of a fetch: keys and how long they are fresh, or nothing.
    pub fn fetched(&mut self, result: Option<(KeySet, Duration)>, now: Timestamp) {
        self.fetching = None;
        if std::mem::take(&mut self.is_for_unknown) {
            self.last_for_unknown = Some(now);
        }
        self.last = Some((now, result.is_some()));
        if let Some((set, life)) = result {
            self.keys = Some(CachedKeys { set: Arc::new(set), fetched: now, fresh_until: now + life });
        }
    }
}
