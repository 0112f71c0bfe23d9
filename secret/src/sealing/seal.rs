//! Seals: AES-256-GCM under a separate key for each sealed value.

use ring::aead::{Aad, MAX_TAG_LEN, NONCE_LEN, Nonce};

use super::Secret;
use super::secret::random;

/// Bytes of the id of the line that sealed.
const ID: usize = 4;
/// Bytes of the salt.
const SALT: usize = 16;

/// Seals for one purpose; a value sealed for another one is not opened.
///
/// The form is key id (4 bytes), salt (16), ciphertext and tag (16). The key is made of the operator's secret, the salt and the
/// purpose, and seals once; so its nonce is zero.
#[derive(Clone, Debug)]
pub struct Seals {
    secret: Secret,
    label: &'static str,
}

/// Why something is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOpened {
    /// It is too short for a seal.
    #[error("it is not sealed")]
    Malformed,
    /// It was sealed with a secret that is not at hand.
    #[error("it was sealed with another secret")]
    OtherSecret,
    /// It was changed, or sealed for another place.
    #[error("it was changed, or sealed for another place")]
    Broken,
}

impl Seals {
    /// Bytes that a seal adds.
    pub const OVERHEAD: usize = ID + SALT + MAX_TAG_LEN;
    /// Sealed values of a store.
    pub const STORE: &'static str = "ptc store v1";
    /// Ids of HTTP sessions.
    pub const SESSION_ID: &'static str = "ptc session-id v1";
    /// States of programs that wait, which travel with their clients (waiting.md 5.1).
    pub const REQUEST_STATE: &'static str = "ptc request-state v1";

    /// Seals for the purpose `label`.
    pub fn new(secret: &Secret, label: &'static str) -> Self {
        Self { secret: secret.clone(), label }
    }

    /// `plain`, sealed for the place that `associated` names. `None` if the system has no random numbers.
    #[must_use]
    pub fn seal(&self, plain: &[u8], associated: &[u8]) -> Option<Vec<u8>> {
        let line = self.secret.lines().first()?;
        let salt = random::<SALT>().ok()?;
        let mut sealed = Vec::with_capacity(plain.len() + Self::OVERHEAD);
        sealed.extend_from_slice(&line.id);
        sealed.extend_from_slice(&salt);
        let at = sealed.len();
        sealed.extend_from_slice(plain);
        let key = line.key(&salt, self.label)?;
        let tag = key.seal_in_place_separate_tag(zero(), Aad::from(associated), &mut sealed[at..]).ok()?;
        sealed.extend_from_slice(tag.as_ref());
        Some(sealed)
    }

    /// The value sealed for that place.
    ///
    /// # Errors
    /// Why it is not opened.
    pub fn open(&self, sealed: &[u8], associated: &[u8]) -> Result<Vec<u8>, NotOpened> {
        if sealed.len() < Self::OVERHEAD {
            return Err(NotOpened::Malformed);
        }
        let (id, rest) = sealed.split_at(ID);
        let (salt, rest) = rest.split_at(SALT);
        let mut lines = self.secret.lines().iter().filter(|line| line.id == id).peekable();
        if lines.peek().is_none() {
            return Err(NotOpened::OtherSecret);
        }
        let opened = lines.find_map(|line| {
            let mut bytes = rest.to_vec();
            let key = line.key(salt, self.label)?;
            let length = key.open_in_place(zero(), Aad::from(associated), &mut bytes).ok()?.len();
            bytes.truncate(length);
            Some(bytes)
        });
        opened.ok_or(NotOpened::Broken)
    }
}

fn zero() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"an old secret of at least 32 bytes";
    const NEW: &[u8] = b"a newer secret of at least 32 bytes";

    fn seals(lines: &[&[u8]], label: &'static str) -> Seals {
        Seals::new(&Secret::of(lines).unwrap(), label)
    }

    #[test]
    fn a_seal_holds_for_its_place_its_purpose_and_its_secret() {
        let old = seals(&[OLD], Seals::STORE);
        let sealed = old.seal(b"content", b"place").unwrap();
        assert_eq!(sealed.len(), 7 + Seals::OVERHEAD);
        assert_eq!(old.open(&sealed, b"place").as_deref(), Ok(&b"content"[..]));
        assert_eq!(old.open(&sealed, b"elsewhere"), Err(NotOpened::Broken));
        assert_eq!(seals(&[OLD], Seals::SESSION_ID).open(&sealed, b"place"), Err(NotOpened::Broken));
        assert_eq!(seals(&[NEW], Seals::STORE).open(&sealed, b"place"), Err(NotOpened::OtherSecret));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(old.open(&changed, b"place").is_err(), "{at}");
            assert!(old.open(&sealed[..at], b"place").is_err(), "{at}");
        }
        assert_ne!(old.seal(b"content", b"place"), old.seal(b"content", b"place"));
        assert_eq!(old.open(&old.seal(b"", b"").unwrap(), b"").as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn a_secret_is_rotated_without_a_break() {
        let (old, both, new) = (seals(&[OLD], "x"), seals(&[NEW, OLD], "x"), seals(&[NEW], "x"));
        let before = old.seal(b"content", b"").unwrap();
        let after = both.seal(b"content", b"").unwrap();
        assert!(both.open(&before, b"").is_ok() && both.open(&after, b"").is_ok());
        assert!(new.open(&after, b"").is_ok(), "the first line seals");
        assert_eq!(new.open(&before, b""), Err(NotOpened::OtherSecret));
        assert_eq!(old.open(&after, b""), Err(NotOpened::OtherSecret));
    }
}
