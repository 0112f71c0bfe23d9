//! Files of the operator's, and those that others may have put in their place: ordinary ones alone, up to a size.
//!
//! A device has no end, and a pipe blocks its opener. So a file is opened without blocking, checked once it is open, and read
//! up to one byte beyond its limit. Links are followed: mounted secrets are links.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::config_error::os_error_text;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// The operating system's own fault.
    #[error("{}", os_error_text(.0))]
    Io(#[from] io::Error),
    /// A folder, a device, a pipe or a socket.
    #[error("it is no ordinary file")]
    NotOrdinary,
    /// It has more bytes than such a file may have.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    /// It holds something else than text.
    #[error("not UTF-8 text")]
    NoText,
}

impl FileFault {
    /// Whether there is no such file.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

/// Largest file of certificates or a key, in bytes: those of a system have a quarter of a megabyte.
pub const MAX_PEM_BYTES: u64 = 4 << 20;

/// The bytes of a file of at most `most_bytes`. They may be secret.
///
/// # Errors
/// Why they are not read.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub fn read(path: &Path, most_bytes: u64) -> Result<Zeroizing<Vec<u8>>, FileFault> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileFault::NotOrdinary);
    }
    // What the system says of a file is no promise, but spares copies of what may be secret.
    let size = metadata.len().min(most_bytes).saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(size).unwrap_or(0)));
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes { Err(FileFault::TooLarge(most_bytes)) } else { Ok(bytes) }
}

/// As [`read`], for text. A byte order mark in front is not part of it.
///
/// # Errors
/// Why it is not read.
#[expect(clippy::disallowed_methods, reason = "entry point: read_text()")]
pub fn read_text(path: &Path, most_bytes: u64) -> Result<Zeroizing<String>, FileFault> {
    let bytes = read(path, most_bytes)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| FileFault::NoText)?;
    Ok(Zeroizing::new(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()))
}

/// Writes a file through one beside it, so that no reader sees half of it. A file that is there keeps its permissions; a new one
/// has those of `mode`, less what the process masks. Links are not followed.
///
/// # Errors
/// That of the operating system. The file is as it was then.
pub fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options
        .open(&beside)
        .and_then(|mut file| {
            if let Ok(before) = fs::metadata(path) {
                file.set_permissions(before.permissions())?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| {
        // The temporary file is useless, and a failed removal does not matter.
        let _ = fs::remove_file(&beside);
    })
}

/// Whether everybody on this machine can read the file.
#[must_use]
pub fn is_readable_by_all(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Opens a file, which may be anything, without waiting for it.
///
/// # Errors
/// That of the operating system.
#[cfg(unix)]
pub fn open(path: &Path) -> Result<File, FileFault> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    Ok(File::options().read(true).custom_flags(flags).open(path)?)
}

/// Opens a file.
///
/// # Errors
/// That of the operating system, or that it is no ordinary one.
#[cfg(not(unix))]
pub fn open(path: &Path) -> Result<File, FileFault> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(FileFault::NotOrdinary);
    }
    Ok(File::open(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_up_to_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "\u{feff}four").unwrap();
        assert_eq!(read(&path, 7).unwrap().len(), 7);
        assert_eq!(*read_text(&path, 7).unwrap(), "four");
        assert!(matches!(read(&path, 6), Err(FileFault::TooLarge(6))));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read_text(&path, 6), Err(FileFault::NoText)));
        assert!(read(&folder.path().join("none"), 6).unwrap_err().is_absent());
        assert!(matches!(read(folder.path(), 6), Err(FileFault::NotOrdinary | FileFault::Io(_))));
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_pipes_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [pipe, link] {
            assert!(matches!(read(&path, 6), Err(FileFault::NotOrdinary)), "{path:?}");
        }
    }
}
