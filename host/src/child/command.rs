//! Locating a child's executable.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Resolves a command as a shell would: a name without a slash along `search_path` (the
/// child's `PATH`), a relative path with a slash from `cd`, an absolute path as it is. `None` if there is no such
/// executable file.
pub(crate) fn resolve_command(
    command: &str,
    cd: Option<&Path>,
    search_path: Option<&OsStr>,
) -> Option<PathBuf> {
    if command.contains('/') {
        let path = in_folder(command, cd);
        return is_executable(&path).then_some(path);
    }
    // An empty element of PATH means the current folder; programs must not be picked up there by accident.
    std::env::split_paths(search_path?)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(command))
        .find(|path| is_executable(path))
}

/// A path, from `cd` on if it is relative.
pub(super) fn in_folder(command: &str, cd: Option<&Path>) -> PathBuf {
    match cd {
        Some(folder) if !Path::new(command).is_absolute() => folder.join(command),
        _ => PathBuf::from(command),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// An executable file.
    pub(crate) fn program(path: &Path) {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn resolves_like_a_shell() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| dir.path().join(name));
        std::fs::create_dir_all(&one).unwrap();
        std::fs::create_dir_all(&two).unwrap();
        std::fs::write(one.join("tool"), "not executable").unwrap();
        program(&two.join("tool"));
        let path = std::env::join_paths([&one, &two]).unwrap();
        assert_eq!(resolve_command("tool", None, Some(&path)), Some(two.join("tool")));
        assert_eq!(resolve_command("tool", None, None), None);
        assert_eq!(resolve_command("./tool", Some(&two), None), Some(two.join("./tool")));
        assert_eq!(
            resolve_command(two.join("tool").to_str().unwrap(), Some(&one), None),
            Some(two.join("tool"))
        );
        assert_eq!(resolve_command("missing", None, Some(&path)), None);
    }
}
