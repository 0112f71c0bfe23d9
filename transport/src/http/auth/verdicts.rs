//! The verdicts on access tokens that came before, so that a request with one costs a hash and no signature.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use ptc_host::sync::Mutex;
use ptc_host::time::Instant;
use siphasher::sip128::SipHasher13;

/// Verdicts that are kept (auth.md 13.4).
const MAX_VERDICTS: usize = 10_000;
/// How many go when there is no room, those that end first.
const EVICTED: usize = MAX_VERDICTS / 16;

/// Verdicts by a keyed hash of 128 bits of the token. The key is random, so that nobody can look for two tokens of one hash; an
/// unkeyed hash that resists that without a key costs ten times as much.
#[derive(Debug)]
pub(super) struct Verdicts<T> {
    /// `None` if the system gave no random bytes: then every request is verified.
    hasher: Option<SipHasher13>,
    known: Mutex<HashMap<u128, Verdict<T>, BuildHasherDefault<HashItself>>>,
}

#[derive(Debug)]
struct Verdict<T> {
    found: T,
    until: Instant,
}

impl<T: Clone> Verdicts<T> {
    pub(super) fn new() -> Self {
        let mut key = [0; 16];
        let has_key = getrandom::fill(&mut key).is_ok();
        Verdicts { hasher: has_key.then(|| SipHasher13::new_with_key(&key)), known: Mutex::default() }
    }

    /// What was found of a token, and still holds.
    pub(super) fn find(&self, token: &[u8], now: Instant) -> Option<T> {
        let hash = self.hasher?.hash(token).as_u128();
        let known = self.known.lock();
        known.get(&hash).filter(|verdict| now < verdict.until).map(|verdict| verdict.found.clone())
    }

    /// When the verdict on a token ends or has ended, if there is one.
    pub(super) fn end_of(&self, token: &[u8]) -> Option<Instant> {
        let hash = self.hasher?.hash(token).as_u128();
        self.known.lock().get(&hash).map(|verdict| verdict.until)
    }

    /// Keeps the verdict on a token.
    pub(super) fn insert(&self, token: &[u8], found: T, until: Instant) {
        let Some(hasher) = self.hasher else { return };
        let hash = hasher.hash(token).as_u128();
        let mut known = self.known.lock();
        if known.len() >= MAX_VERDICTS {
            let mut ends: Vec<Instant> = known.values().map(|verdict| verdict.until).collect();
            let (_, last_evicted, _) = ends.select_nth_unstable(EVICTED);
            let last_evicted = *last_evicted;
            known.retain(|_, verdict| verdict.until > last_evicted);
        }
        known.insert(hash, Verdict { found, until });
    }

    /// Forgets a verdict.
    pub(super) fn remove(&self, token: &[u8]) {
        let Some(hasher) = self.hasher else { return };
        self.known.lock().remove(&hasher.hash(token).as_u128());
    }

    /// True if verdicts can be kept.
    pub(super) fn can_keep(&self) -> bool {
        self.hasher.is_some()
    }

    /// Forgets the verdicts that have ended.
    pub(super) fn sweep(&self, now: Instant) {
        self.known.lock().retain(|_, verdict| now < verdict.until);
    }
}

/// The hash of a key that is a hash already.
#[derive(Debug, Default)]
struct HashItself(u64);

impl Hasher for HashItself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use std::sync::Arc;

    use super::super::HttpCaller;
    use super::*;
    use ptc_observers::audit::SignInWay;
    use ptc_protocol::principal::Principal;

    #[test]
    fn verdicts_end_and_make_room_for_others() {
        let verdicts = Verdicts::new();
        let caller = Arc::new(HttpCaller::new(Principal::named("i|s"), SignInWay::AccessToken, false));
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        verdicts.insert(b"token", caller.clone(), after(60));
        assert!(verdicts.find(b"token", after(59)).is_some());
        assert!(verdicts.find(b"token", after(60)).is_none() && verdicts.find(b"tokem", start).is_none());
        verdicts.sweep(after(60));
        assert!(verdicts.known.lock().is_empty());
        for n in 0..MAX_VERDICTS as u64 + 10 {
            verdicts.insert(&n.to_be_bytes(), caller.clone(), after(100 + n));
        }
        let held = verdicts.known.lock().len();
        assert!((MAX_VERDICTS - EVICTED..=MAX_VERDICTS).contains(&held), "{held}");
        // Those that end first are gone.
        assert!(verdicts.find(&0_u64.to_be_bytes(), start).is_none());
        assert!(verdicts.find(&(MAX_VERDICTS as u64).to_be_bytes(), start).is_some());
    }
}
