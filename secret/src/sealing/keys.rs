//! Keys for one purpose, derived once: AES-256-GCM under random nonces (auth.md 7.3, state.md 7).

use std::path::Path;
use std::sync::Arc;

use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};
use zeroize::Zeroizing;

use super::secret::random;
use super::{Secret, SecretError};

/// The purpose of the derived keys.
const LABEL: &str = "ptc sign-in v1";

/// The keys that seal records: the first seals, all open.
#[derive(Clone)]
pub struct SealingKeys(Arc<[LessSafeKey]>);

impl std::fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealingKeys({})", self.0.len())
    }
}

impl SealingKeys {
    /// The keys of this secret.
    pub fn new(secret: &Secret) -> Self {
        Self(secret.keys(LABEL).into())
    }

    /// The keys of a file of one or two lines, each of at least 32 bytes.
    ///
    /// # Errors
    /// The error of reading it.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        Secret::read(path).map(|secret| Self::new(&secret))
    }

    /// The keys of these secrets; `None` if there are not one or two, or one is too short.
    pub fn of(secrets: &[&[u8]]) -> Option<Self> {
        Secret::of(secrets).map(|secret| Self::new(&secret))
    }

    /// Nonce and sealed bytes; `None` if the system has no random numbers.
    pub fn seal(&self, text: &str, associated: &[u8]) -> Option<Vec<u8>> {
        let nonce = random::<NONCE_LEN>().ok()?;
        let mut sealed = text.as_bytes().to_vec();
        let key = self.0.first()?;
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(associated), &mut sealed)
            .ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// The text that was sealed with one of the keys and for the same place.
    pub fn open(&self, sealed: &[u8], associated: &[u8]) -> Option<Zeroizing<String>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        self.0.iter().find_map(|key| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut bytes = Zeroizing::new(sealed.to_vec());
            let opened = key.open_in_place(nonce, Aad::from(associated), &mut bytes).ok()?;
            Some(Zeroizing::new(std::str::from_utf8(opened).ok()?.to_owned()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"an old secret of at least 32 bytes";
    const NEW: &[u8] = b"a newer secret of at least 32 bytes";

    #[test]
    fn a_seal_holds_for_its_place_and_its_keys() {
        let keys = SealingKeys::of(&[OLD]).unwrap();
        let sealed = keys.seal("{\"a\": 1}", b"token\0a").unwrap();
        assert_eq!(keys.open(&sealed, b"token\0a").as_deref().map(String::as_str), Some("{\"a\": 1}"));
        assert!(keys.open(&sealed, b"token\0b").is_none(), "another principal");
        assert!(SealingKeys::of(&[NEW]).unwrap().open(&sealed, b"token\0a").is_none());
        let rotated = SealingKeys::of(&[NEW, OLD]).unwrap();
        assert!(rotated.open(&sealed, b"token\0a").is_some());
        assert!(keys.open(&rotated.seal("x", b"").unwrap(), b"").is_none(), "the first seals");
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(keys.open(&changed, b"token\0a").is_none(), "{at}");
        }
        assert!(keys.open(b"short", b"").is_none());
        assert_ne!(keys.seal("x", b"").unwrap(), keys.seal("x", b"").unwrap());
    }
}
