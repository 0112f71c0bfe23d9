//! Paths of this command: its own executable, and the folder for data that it may lose.

use std::path::{Path, PathBuf};

/// This executable. If the system does not report it, as without `/proc`, the path with which it was started.
///
/// # Errors
/// One sentence.
pub(super) fn own_executable() -> Result<PathBuf, String> {
    let by_system = std::env::current_exe();
    let by_name = || {
        let name = PathBuf::from(std::env::args_os().next()?);
        let path = std::path::absolute(&name).ok()?;
        (name.components().count() > 1 && path.is_file()).then_some(path)
    };
    by_system.or_else(|error| {
        by_name().ok_or_else(|| {
            format!("the path of this executable is not known ({error}): start it by its whole path")
        })
    })
}

/// A file of `$XDG_STATE_HOME/ptc`, else `~/.local/state/ptc`: among the state of programs, not among their settings.
/// `None` without a home.
pub(super) fn file(name: &str) -> Option<PathBuf> {
    let folder =
        |name: &str| std::env::var_os(name).filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("ptc").join(name))
}
