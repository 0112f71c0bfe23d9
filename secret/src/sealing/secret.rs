//! The operator's secret: a file of one or two lines, of which the first seals and both open.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::digest::hex;
use crate::private_file::{is_guarded, is_private, make_private_folder, no_link, sync_folder};
use ptc_base::config_error::os_error_text;
use ptc_base::ordinary_file::{self, FileFault};

/// Shortest line, in bytes.
const MIN_LINE: usize = 32;
/// Largest file.
const MAX_FILE: u64 = 4096;
/// The name of a secret that was made for a folder.
const MADE: &str = "secret";

/// One or two secrets of the operator: the first seals, both open. Clones are cheap.
#[derive(Clone)]
pub struct Secret(Arc<[SecretLine]>);

pub(super) struct SecretLine {
    /// Tells which line sealed something; it is no secret.
    pub(super) id: [u8; 4],
    text: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.0.len())
    }
}

/// Why a secret cannot be read from a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// It cannot be read or made.
    #[error("{error} ({path})", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The words of the operating system.
        error: String,
    },
    /// Others can read or change it.
    #[error("{path} must belong to you and have mode {mode}", path = .path.display())]
    Exposed {
        /// The file, or the folder that it is to be in.
        path: PathBuf,
        /// The mode that it must have, for instance `0600`.
        mode: &'static str,
    },
    /// It has no line, more than two, or one that is too short.
    #[error("{path} must have one or two lines of at least 32 bytes each", path = .0.display())]
    Lines(PathBuf),
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    NoEntropy,
}

impl Secret {
    /// The secret of a file that the operator names, of one or two lines, each of at least 32 bytes.
    ///
    /// # Errors
    /// The error of reading it.
    pub fn read(path: &Path) -> Result<Self, SecretError> {
        // Links are followed: clusters mount secrets through them.
        let unreadable =
            |fault: FileFault| SecretError::Unreadable { path: path.to_owned(), error: fault.to_string() };
        let file = ordinary_file::open(path).map_err(unreadable)?;
        Self::read_from(file, path, is_guarded, "0600 or 0640")
    }

    /// The secret of a file that was made here, which nobody else touches.
    fn read_own(path: &Path) -> Result<Self, SecretError> {
        let file =
            no_link(File::options().read(true)).open(path).map_err(|error| unreadable(path, &error))?;
        Self::read_from(file, path, is_private, "0600")
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Secret.read_from")]
    fn read_from(
        file: File,
        path: &Path,
        is_right: fn(&Metadata) -> bool,
        mode: &'static str,
    ) -> Result<Self, SecretError> {
        let unreadable = |error: io::Error| unreadable(path, &error);
        if !is_right(&file.metadata().map_err(unreadable)?) {
            return Err(SecretError::Exposed { path: path.to_owned(), mode });
        }
        let mut text = Zeroizing::new(Vec::new());
        file.take(MAX_FILE + 1).read_to_end(&mut text).map_err(unreadable)?;
        let wrong = || SecretError::Lines(path.to_owned());
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

    /// The secret of a folder, which is made at the first time. Of processes that make it at once one does.
    ///
    /// # Errors
    /// The error of reading or making it.
    pub fn read_or_make(folder: &Path) -> Result<Self, SecretError> {
        let path = folder.join(MADE);
        // Looked at before it is read: another process may make it at any moment.
        if is_there(&path) {
            return Self::read_own(&path);
        }
        match make_private_folder(folder) {
            Ok(true) => {}
            Ok(false) => return Err(SecretError::Exposed { path: folder.to_owned(), mode: "0700" }),
            Err(error) => return Err(unreadable(folder, &error)),
        }
        let line = Zeroizing::new(URL_SAFE_NO_PAD.encode(Zeroizing::new(random::<32>()?)) + "\n");
        let temporary = folder.join(format!(".{MADE}.{}", URL_SAFE_NO_PAD.encode(random::<8>()?)));
        let made = (|| {
            let mut file = no_link(File::options().write(true).create_new(true)).open(&temporary)?;
            file.write_all(line.as_bytes())?;
            file.sync_all()?;
            // A name that is taken meanwhile stays that of another process's secret.
            std::fs::hard_link(&temporary, &path)?;
            sync_folder(folder)
        })();
        let _ = std::fs::remove_file(&temporary);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unreadable(&path, &error)),
            _ => Self::read_own(&path),
        }
    }

    /// The secret that was made for a folder, if one was.
    ///
    /// # Errors
    /// It is there and cannot be used.
    pub fn made_for(folder: &Path) -> Result<Option<Self>, SecretError> {
        let path = folder.join(MADE);
        if is_there(&path) { Self::read_own(&path).map(Some) } else { Ok(None) }
    }

    /// A secret of this process, which is gone with it.
    ///
    /// # Errors
    /// [`SecretError::NoEntropy`].
    pub fn random() -> Result<Self, SecretError> {
        let random = Zeroizing::new(random::<32>()?);
        Self::of(&[&random[..]]).ok_or(SecretError::NoEntropy)
    }

    /// The secret of these lines; `None` if there are not one or two, or one is too short.
    pub fn of(lines: &[&[u8]]) -> Option<Self> {
        if !(1..=2).contains(&lines.len()) || lines.iter().any(|line| line.len() < MIN_LINE) {
            return None;
        }
        let line = |text: &&[u8]| {
            // Of a digest that nothing else is made of.
            let named = [b"ptc key id v1\0", *text].concat();
            let named = Zeroizing::new(named);
            let mut id = [0; 4];
            id.copy_from_slice(&digest(&SHA256, &named).as_ref()[..4]);
            SecretLine { id, text: Zeroizing::new(text.to_vec()) }
        };
        Some(Self(lines.iter().map(line).collect()))
    }

    /// The id of the line that seals, in hex digits: it stands in front of whatever is sealed.
    #[must_use]
    pub fn sealing_id(&self) -> String {
        self.0.first().map(|line| hex(&line.id)).unwrap_or_default()
    }

    /// Its lines, the one that seals first.
    pub(super) fn lines(&self) -> &[SecretLine] {
        &self.0
    }

    /// The keys for one purpose, of which the first seals. Their nonces are random.
    pub(super) fn keys(&self, label: &'static str) -> Vec<LessSafeKey> {
        self.0.iter().filter_map(|line| line.key(&[], label)).collect()
    }
}

impl SecretLine {
    /// As it stands in the file.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The key for one purpose and this salt.
    pub(super) fn key(&self, salt: &[u8], label: &'static str) -> Option<LessSafeKey> {
        let expanded = Salt::new(HKDF_SHA256, salt).extract(&self.text);
        let label = [label.as_bytes()];
        let key = UnboundKey::from(expanded.expand(&label, &AES_256_GCM).ok()?);
        Some(LessSafeKey::new(key))
    }
}

/// Random bytes of the system.
pub fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SecretError::NoEntropy)?;
    Ok(bytes)
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn unreadable(path: &Path, error: &io::Error) -> SecretError {
    SecretError::Unreadable { path: path.to_owned(), error: os_error_text(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &[u8] = b"an old secret of at least 32 bytes";
    const NEW: &[u8] = b"a newer secret of at least 32 bytes";

    #[test]
    fn secret_files_have_one_or_two_long_lines_and_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let read = |text: &[u8], mode: u32| {
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, text).unwrap();
            set_mode(&path, mode);
            Secret::read(&path).map(|secret| secret.0.len())
        };
        assert_eq!(read(&[NEW, b"\n"].concat(), 0o600), Ok(1));
        assert_eq!(read(&[NEW, b"\r\n", OLD].concat(), 0o400), Ok(2));
        let lines = Err(SecretError::Lines(path.clone()));
        assert_eq!(read(b"short\n", 0o600), lines);
        assert_eq!(read(b"", 0o600), lines);
        assert_eq!(read(&[NEW, b"\n", OLD, b"\n", OLD].concat(), 0o600), lines);
        assert_eq!(read(&[b'x'; 5000], 0o600), lines);
        #[cfg(unix)]
        {
            assert_eq!(read(NEW, 0o440), Ok(1), "as clusters mount secrets");
            for mode in [0o644, 0o660, 0o604] {
                let exposed = SecretError::Exposed { path: path.clone(), mode: "0600 or 0640" };
                assert_eq!(read(NEW, mode), Err(exposed), "{mode:o}");
                set_mode(&path, 0o600);
            }
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert!(Secret::read(&link).is_ok(), "as clusters mount secrets");
            assert!(matches!(Secret::read_own(&link), Err(SecretError::Unreadable { .. })));
        }
        let missing = Secret::read(Path::new("/nonexistent/key")).unwrap_err();
        assert_eq!(missing.to_string(), "no such file or directory (/nonexistent/key)");
    }

    #[test]
    fn a_folder_has_one_secret_whoever_makes_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        assert!(Secret::made_for(&folder).unwrap().is_none());
        let make = || Secret::read_or_make(&folder).unwrap().0[0].id;
        let ids: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
            all.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]));
        assert_eq!(Secret::made_for(&folder).unwrap().unwrap().0[0].id, ids[0]);
        // Nothing else is left in the folder.
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&folder.join("secret"))), (0o700, 0o600));
            set_mode(&folder.join("secret"), 0o644);
            assert!(matches!(Secret::read_or_make(&folder), Err(SecretError::Exposed { .. })));
        }
    }

    #[cfg(unix)]
    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[cfg(not(unix))]
    fn set_mode(_path: &Path, _mode: u32) {}
}
