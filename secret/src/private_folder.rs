//! Records in folders that are nobody else's: files replaced as a whole, private, locked by files beside them.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use ptc_base::config_error::os_error_text;
use ptc_base::time;
use zeroize::Zeroizing;

use crate::private_file::{is_private, make_private_folder, no_link, sync_folder};

/// Bounds of the pause between two looks at a lock. It doubles.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Why a record's file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrivateFault {
    /// The file or folder could be read or changed by others.
    #[error("{path} must belong to you and have mode {mode}")]
    Exposed {
        /// Which.
        path: String,
        /// The mode that it must have, for instance `0600`.
        mode: &'static str,
    },
    /// Another process has held the lock for too long.
    #[error("{path} is in use by another process")]
    Busy {
        /// The lock.
        path: String,
    },
    /// The operating system refuses.
    #[error("{path}: {error}")]
    Io {
        /// Which file.
        path: String,
        /// Its words.
        error: String,
    },
    /// The file has more bytes than a record.
    #[error("{path} has more bytes than a record")]
    TooLarge {
        /// Which.
        path: String,
    },
}

impl PrivateFault {
    /// What the operating system said of `path`.
    #[must_use]
    pub fn io(path: &Path, error: &io::Error) -> PrivateFault {
        PrivateFault::Io { path: path.display().to_string(), error: os_error_text(error) }
    }

    fn exposed(path: &Path) -> PrivateFault {
        PrivateFault::Exposed { path: path.display().to_string(), mode: "0600" }
    }
}

/// Makes the folder if it is not there, and checks that it is ours alone.
///
/// # Errors
/// It is not, or it cannot be made.
pub fn prepare(folder: &Path) -> Result<(), PrivateFault> {
    match make_private_folder(folder) {
        Ok(true) => Ok(()),
        Ok(false) => Err(PrivateFault::Exposed { path: folder.display().to_string(), mode: "0700" }),
        Err(error) => Err(PrivateFault::io(folder, &error)),
    }
}

/// The content of a private file of at most `most` bytes; `None` if there is none.
///
/// # Errors
/// It cannot be read, is not private, or is larger.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub fn read(path: &Path, most: u64) -> Result<Option<Zeroizing<Vec<u8>>>, PrivateFault> {
    use std::io::Read as _;
    let file = match no_link(File::options().read(true)).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(open_fault(path, &error)),
    };
    let fault = |error: &io::Error| PrivateFault::io(path, error);
    let metadata = file.metadata().map_err(|error| fault(&error))?;
    if !is_private(&metadata) {
        return Err(PrivateFault::exposed(path));
    }
    if metadata.len() > most {
        return Err(PrivateFault::TooLarge { path: path.display().to_string() });
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(most).read_to_end(&mut bytes).map_err(|error| fault(&error))?;
    Ok(Some(bytes))
}

/// Replaces a file atomically: afterwards it has the old content or the new one, and when this returns it has the new one even
/// after a power failure. Whoever calls it holds the lock of the record, so that nobody else writes this file.
///
/// # Errors
/// It cannot be written; the file of before is untouched then.
pub fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), PrivateFault> {
    use std::io::Write as _;
    let path = folder.join(name);
    let temporary = folder.join(format!(".{name}.new"));
    let fault = |error: io::Error| PrivateFault::io(&path, &error);
    match std::fs::remove_file(&temporary) {
        Err(failed) if failed.kind() != io::ErrorKind::NotFound => return Err(fault(failed)),
        _ => {}
    }
    let write = || {
        let mut file = no_link(File::options().write(true).create_new(true)).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        sync_folder(folder)
    };
    write().map_err(|failed| {
        let _ = std::fs::remove_file(&temporary);
        fault(failed)
    })
}

/// Removes a file. Returns whether it was there.
///
/// # Errors
/// It cannot be removed.
pub fn remove(folder: &Path, name: &str) -> Result<bool, PrivateFault> {
    let path = folder.join(name);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(PrivateFault::io(&path, &error)),
        Ok(()) => {}
    }
    sync_folder(folder).map_err(|error| PrivateFault::io(folder, &error))?;
    Ok(true)
}

/// The lock of a lock file, which is made in `folder` if it is not there; it is waited for at most `patience`. The lock ends when
/// the file is dropped. Lock files are not deleted as long as their name may be used again: two processes could hold locks on two
/// of one name.
///
/// # Errors
/// [`PrivateFault::Busy`], or the file cannot be made.
pub async fn lock(folder: &Path, name: &str, patience: Duration) -> Result<File, PrivateFault> {
    let path = folder.join(name);
    let opened = {
        let (folder, file) = (folder.to_owned(), path.clone());
        time::spawn_blocking(move || {
            prepare(&folder)?;
            lock_file(&file)
        })
        .await
        .unwrap_or_else(|error| {
            Err(PrivateFault::Io { path: path.display().to_string(), error: error.to_string() })
        })?
    };
    hold(&opened, &path, patience).await?;
    Ok(opened)
}

/// Locks an open file or folder, which is waited for at most `patience`. The lock ends when the file is dropped.
///
/// # Errors
/// [`PrivateFault::Busy`], or the file system has no locks.
pub async fn hold(opened: &File, path: &Path, patience: Duration) -> Result<(), PrivateFault> {
    let end = time::now() + patience;
    let mut pause = PAUSE.0;
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(()),
            Err(std::fs::TryLockError::WouldBlock) if time::now() >= end => {
                return Err(PrivateFault::Busy { path: path.display().to_string() });
            }
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(error)) => return Err(PrivateFault::io(path, &error)),
        }
        time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

fn lock_file(path: &Path) -> Result<File, PrivateFault> {
    let file = no_link(File::options().read(true).write(true).create(true)).open(path);
    let file = file.map_err(|error| open_fault(path, &error))?;
    let metadata = file.metadata().map_err(|error| PrivateFault::io(path, &error))?;
    if is_private(&metadata) { Ok(file) } else { Err(PrivateFault::exposed(path)) }
}

/// A link is refused like a file of another user.
fn open_fault(path: &Path, error: &io::Error) -> PrivateFault {
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        PrivateFault::exposed(path)
    } else {
        PrivateFault::io(path, error)
    }
}
