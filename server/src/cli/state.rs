//! The folder where commands keep what they may lose.

use std::path::{Path, PathBuf};

/// A file of `$XDG_STATE_HOME/ptc`, else `~/.local/state/ptc`: with the state of programs, not with their settings. `None`
/// without a home.
pub(super) fn file(name: &str) -> Option<PathBuf> {
    let folder =
        |name: &str| std::env::var_os(name).filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("ptc").join(name))
}
