//! Finding the program of a stdio upstream, and refusing our own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::StdioConfig;
use crate::config_error::ConfigError;

/// Resolves the `command` of a stdio upstream as a shell would: a name without a slash along `search_path` (the
/// child's `PATH`), a relative path with a slash from `cd`, an absolute path as it is. `None` if there is no such
/// executable file.
pub fn resolve_command(command: &str, cd: Option<&Path>, search_path: Option<&OsStr>) -> Option<PathBuf> {
    if command.contains('/') {
        let path = match cd {
            Some(folder) if !Path::new(command).is_absolute() => folder.join(command),
            _ => PathBuf::from(command),
        };
        return is_executable(&path).then_some(path);
    }
    // An empty element of PATH means the current folder; programs must not be picked up there by accident.
    std::env::split_paths(search_path?)
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(command))
        .find(|path| is_executable(path))
}

/// Refuses an entry that would start this executable as an upstream of itself: by path with links followed, and by
/// file identity, which also finds hard links. Where the command cannot be found, equal file names are enough.
pub(super) fn refuse_own_executable(
    upstream: &str,
    entry: &StdioConfig,
    own: &Path,
) -> Result<(), ConfigError> {
    let resolved = resolve_command(&entry.command, entry.cd.as_deref(), entry.env.path());
    let is_own = match &resolved {
        Some(path) => same_file(path, own),
        None => Path::new(&entry.command).file_name() == own.file_name(),
    };
    if is_own {
        let shown = resolved.unwrap_or_else(|| PathBuf::from(&entry.command));
        return Err(ConfigError::upstream(
            upstream,
            format_args!(
                "would start PtcRunner itself ({}); self-as-upstream is not allowed",
                shown.display()
            ),
        ));
    }
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    if let (Ok(a), Ok(b)) = (a.canonicalize(), b.canonicalize())
        && a == b
    {
        return true;
    }
    same_inode(a, b)
}

#[cfg(unix)]
fn same_inode(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn same_inode(_a: &Path, _b: &Path) -> bool {
    false
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
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn program(path: &Path) {
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

    #[test]
    fn refuses_itself_through_links_and_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("ptc");
        program(&own);
        symlink(&own, dir.path().join("soft")).unwrap();
        std::fs::hard_link(&own, dir.path().join("hard")).unwrap();
        program(&dir.path().join("other"));
        let check = |command: &str| {
            let entry = StdioConfig::for_command(command);
            refuse_own_executable("x", &entry, &own).map_err(|e| e.to_string())
        };
        for name in ["ptc", "soft", "hard"] {
            let path = dir.path().join(name);
            assert_eq!(
                check(path.to_str().unwrap()).unwrap_err(),
                format!(
                    "upstream x would start PtcRunner itself ({}); self-as-upstream is not allowed",
                    path.display()
                )
            );
        }
        assert!(check("/nowhere/ptc").is_err(), "cannot be resolved: the file name decides");
        check(dir.path().join("other").to_str().unwrap()).unwrap();
        check("/nowhere/other").unwrap();
    }
}
