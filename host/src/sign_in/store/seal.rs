//! Sealing: AES-256-GCM under keys that are derived from the operator's secret (auth.md 7.3, state.md 7).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use super::folder::{is_private, no_link};
use crate::config_error::os_error_text;

/// What the derived keys are for.
const LABEL: &[u8] = b"ptc sign-in v1";
/// Shortest line of a key file, in bytes.
const MIN_LINE: usize = 32;
/// Largest key file.
const MAX_FILE: u64 = 4096;

/// The keys that seal records: the first seals, all open.
#[derive(Clone)]
pub struct SealingKeys(Arc<[LessSafeKey]>);

impl std::fmt::Debug for SealingKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealingKeys({})", self.0.len())
    }
}

/// Why a file gives no keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealingKeysError {
    /// It cannot be read.
    #[error("{error} ({path})", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The words of the operating system.
        error: String,
    },
    /// Others can read or change it.
    #[error("{path} must belong to you and have mode 0600", path = .0.display())]
    Exposed(PathBuf),
    /// It has no line, more than two, or one that is too short.
    #[error("{path} must have one or two lines of at least 32 bytes each", path = .0.display())]
    Lines(PathBuf),
}

impl SealingKeys {
    /// The keys of a file of one or two lines, each of at least 32 bytes.
    ///
    /// # Errors
    /// Why it gives none.
    pub fn read(path: &Path) -> Result<Self, SealingKeysError> {
        use std::io::Read as _;
        let unreadable = |error: std::io::Error| SealingKeysError::Unreadable {
            path: path.to_owned(),
            error: os_error_text(&error),
        };
        let file = no_link(std::fs::File::options().read(true)).open(path).map_err(unreadable)?;
        if !is_private(&file.metadata().map_err(unreadable)?) {
            return Err(SealingKeysError::Exposed(path.to_owned()));
        }
        let mut text = Zeroizing::new(Vec::new());
        file.take(MAX_FILE + 1).read_to_end(&mut text).map_err(unreadable)?;
        let wrong = || SealingKeysError::Lines(path.to_owned());
        if text.len() as u64 > MAX_FILE {
            return Err(wrong());
        }
        let lines: Vec<&[u8]> = text
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .collect();
        Self::of(&lines).ok_or_else(wrong)
    }

    /// The keys of these secrets; `None` if there are not one or two, or one is too short.
    pub fn of(secrets: &[&[u8]]) -> Option<Self> {
        if !(1..=2).contains(&secrets.len()) || secrets.iter().any(|secret| secret.len() < MIN_LINE) {
            return None;
        }
        secrets.iter().map(|secret| derive(secret)).collect::<Option<Vec<_>>>().map(|keys| Self(keys.into()))
    }

    /// Nonce and sealed bytes; `None` if the system has no random numbers.
    pub(super) fn seal(&self, text: &str, associated: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).ok()?;
        let mut sealed = text.as_bytes().to_vec();
        let key = self.0.first()?;
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(associated), &mut sealed)
            .ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// The text that was sealed with one of the keys and for the same place.
    pub(super) fn open(&self, sealed: &[u8], associated: &[u8]) -> Option<Zeroizing<String>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        self.0.iter().find_map(|key| {
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut bytes = Zeroizing::new(sealed.to_vec());
            let opened = key.open_in_place(nonce, Aad::from(associated), &mut bytes).ok()?;
            Some(Zeroizing::new(std::str::from_utf8(opened).ok()?.to_owned()))
        })
    }
}

fn derive(secret: &[u8]) -> Option<LessSafeKey> {
    let expanded = Salt::new(HKDF_SHA256, &[]).extract(secret);
    let key = expanded.expand(&[LABEL], &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(key)))
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

    #[test]
    fn key_files_have_one_or_two_long_lines_and_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let read = |text: &[u8], mode: u32| {
            std::fs::write(&path, text).unwrap();
            set_mode(&path, mode);
            SealingKeys::read(&path).map(|keys| keys.0.len())
        };
        assert_eq!(read(&[NEW, b"\n"].concat(), 0o600), Ok(1));
        assert_eq!(read(&[NEW, b"\r\n", OLD].concat(), 0o400), Ok(2));
        let lines = Err(SealingKeysError::Lines(path.clone()));
        assert_eq!(read(b"short\n", 0o600), lines);
        assert_eq!(read(b"", 0o600), lines);
        assert_eq!(read(&[NEW, b"\n", OLD, b"\n", OLD].concat(), 0o600), lines);
        assert_eq!(read(&[b'x'; 5000], 0o600), lines);
        #[cfg(unix)]
        {
            assert_eq!(read(NEW, 0o640), Err(SealingKeysError::Exposed(path.clone())));
            set_mode(&path, 0o600);
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert!(matches!(SealingKeys::read(&link), Err(SealingKeysError::Unreadable { .. })));
        }
        let missing = SealingKeys::read(Path::new("/nonexistent/key")).unwrap_err();
        assert_eq!(missing.to_string(), "no such file or directory (/nonexistent/key)");
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[cfg(not(unix))]
    fn set_mode(_path: &Path, _mode: u32) {}
}
