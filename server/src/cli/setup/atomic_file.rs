//! Writes a person's file atomically, with a backup.

use std::fs;
use std::path::{Path, PathBuf};

use ptc_host::ordinary_file;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The text of `path`; `None` if there is no such file.
///
/// # Errors
/// One sentence: the file cannot be read, is not an ordinary one, is too large, or is not text.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
pub(crate) fn read(path: &Path) -> Result<Option<String>, String> {
    match ordinary_file::read_text(path, MAX_BYTES) {
        Ok(text) => Ok(Some(text.to_string())),
        Err(fault) if fault.is_absent() => Ok(None),
        Err(fault) => Err(format!("{}: {fault}", path.display())),
    }
}

/// Restricts the file to its owner, as it now holds a secret. Returns true if that was necessary.
///
/// # Errors
/// One sentence.
pub(super) fn make_private(path: &Path) -> Result<bool, String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let fault = |error: std::io::Error| format!("{}: {error}", path.display());
        let exposed = fs::metadata(path).map_err(fault)?.permissions().mode() & 0o077 != 0;
        if exposed {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(fault)?;
        }
        Ok(exposed)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(false)
    }
}

/// Writes `text` to `path` through a file beside it, so that no reader sees half of it. Links are followed. A new
/// file, and the folders that it needs, are for their owner only: these files hold credentials.
///
/// # Errors
/// One sentence.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", target.display()))?;
    }
    replace(&target, text, 0o600)
}

/// The same for a file of this mode, in a folder that is there.
///
/// # Errors
/// One sentence.
pub(crate) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), String> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    ordinary_file::replace(&target, text, mode).map_err(|error| format!("{}: {error}", target.display()))
}

/// Copies `path` to the first free name of `path.before-ptc`, `path.before-ptc-2` and so on.
///
/// # Errors
/// One sentence.
pub(super) fn keep(path: &Path) -> Result<PathBuf, String> {
    let mut number = 1;
    loop {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(if number == 1 { ".before-ptc".to_owned() } else { format!(".before-ptc-{number}") });
        let copy = path.with_file_name(name);
        if !copy.exists() {
            fs::copy(path, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
            return Ok(copy);
        }
        number += 1;
    }
}
