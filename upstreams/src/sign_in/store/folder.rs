//! The files of the store: replaced as a whole, private, locked by files beside them.

use std::fs::File;
use std::io;
use std::path::Path;

use super::StoreError;
use ptc_base::config_error::os_error_text;
use ptc_secret::private_file::{is_private, make_private_folder, no_link, sync_folder};

/// Largest record file.
const MAX_RECORD: u64 = 4 * 1024 * 1024;

/// Makes the folder if it is not there, and checks that it is ours alone.
pub(super) fn prepare(folder: &Path) -> Result<(), StoreError> {
    match make_private_folder(folder) {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::Exposed { path: folder.display().to_string(), mode: "0700" }),
        Err(error) => Err(io_error(folder, &error)),
    }
}

/// The content of a private file; `None` if there is none.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub(super) fn read(path: &Path) -> Result<Option<zeroize::Zeroizing<Vec<u8>>>, StoreError> {
    use std::io::Read as _;
    let file = match no_link(File::options().read(true)).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(open_error(path, &error)),
    };
    let metadata = file.metadata().map_err(|error| io_error(path, &error))?;
    if !is_private(&metadata) {
        return Err(exposed(path));
    }
    if metadata.len() > MAX_RECORD {
        return Err(StoreError::Malformed { path: path.display().to_string() });
    }
    let mut bytes = zeroize::Zeroizing::new(Vec::new());
    file.take(MAX_RECORD).read_to_end(&mut bytes).map_err(|error| io_error(path, &error))?;
    Ok(Some(bytes))
}

/// Replaces a file atomically: afterwards it has the old content or the new one, and when this returns it has the new one even
/// after a power failure.
pub(super) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    use std::io::Write as _;
    let path = folder.join(name);
    // The lock of the record is held, so that nobody else writes this file.
    let temporary = folder.join(format!(".{name}.new"));
    let error = |error: io::Error| io_error(&path, &error);
    match std::fs::remove_file(&temporary) {
        Err(failed) if failed.kind() != io::ErrorKind::NotFound => return Err(error(failed)),
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
        error(failed)
    })
}

/// Removes a file, if it is there.
pub(super) fn remove(folder: &Path, name: &str) -> Result<(), StoreError> {
    let path = folder.join(name);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(&path, &error)),
        Ok(()) => {}
    }
    sync_folder(folder).map_err(|error| io_error(folder, &error))
}

/// A lock file, made if it is not there. Lock files are never deleted, since two processes could hold locks on two of one name;
/// but for those of pending sign-ins, whose record does not come back.
pub(super) fn lock_file(path: &Path) -> Result<File, StoreError> {
    let file = no_link(File::options().read(true).write(true).create(true)).open(path);
    let file = file.map_err(|error| open_error(path, &error))?;
    let metadata = file.metadata().map_err(|error| io_error(path, &error))?;
    if is_private(&metadata) { Ok(file) } else { Err(exposed(path)) }
}

fn exposed(path: &Path) -> StoreError {
    StoreError::Exposed { path: path.display().to_string(), mode: "0600" }
}

/// A link is refused like a file of another user.
fn open_error(path: &Path, error: &io::Error) -> StoreError {
    if std::fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        exposed(path)
    } else {
        io_error(path, error)
    }
}

pub(super) fn io_error(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io { path: path.display().to_string(), error: os_error_text(error) }
}
