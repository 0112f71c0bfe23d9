//! Locating a child's executable.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ptc_mcp::text::clip;

use super::ChildEnv;

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

/// Folders of the home folder in which programs lie that a shell finds and a desktop program does not.
const HOME_FOLDERS: [&str; 20] = [
    ".local/bin",
    "bin",
    ".cargo/bin",
    ".bun/bin",
    ".deno/bin",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".pyenv/shims",
    ".npm-global/bin",
    "go/bin",
    ".nix-profile/bin",
    ".local/share/pnpm",
    "Library/pnpm",
    ".yarn/bin",
    ".rbenv/shims",
    ".pixi/bin",
    "miniconda3/bin",
    "anaconda3/bin",
    "n/bin",
];
/// The same of the system.
const SYSTEM_FOLDERS: [&str; 5] = [
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/snap/bin",
    "/run/current-system/sw/bin",
];
/// Folders with one folder for each version of node, and where programs lie in it.
const VERSIONS: [(&str, &str); 3] = [
    (".nvm/versions/node", "bin"),
    (".local/share/fnm/node-versions", "installation/bin"),
    (".local/share/mise/installs/node", "bin"),
];
/// Versions that are looked at.
const MOST_VERSIONS: usize = 100;
/// Characters of `PATH` that are shown.
const MOST_PATH: usize = 500;

/// The explanation for a command that is not found: the `PATH` that was searched, and where the user's shell would find it.
pub(super) fn searched(command: &str, env: &ChildEnv) -> String {
    if command.contains('/') {
        return String::new();
    }
    let path = env.path().map(OsStr::to_string_lossy).unwrap_or_default();
    let mut text = format!("\nThe PATH that was searched is {:?}.", clip(&path, MOST_PATH));
    let home = env.vars().find(|(name, _)| *name == "HOME").map(|(_, home)| PathBuf::from(home));
    let home = home.or_else(|| std::env::var_os("HOME").map(PathBuf::from));
    if let Some(found) = elsewhere(command, home.as_deref()) {
        let _ = write!(
            text,
            " It lies at {}: write that as \"command\", or add its folder to PATH in the \"env\" of the entry.",
            found.display()
        );
    }
    text
}

/// Where a command lies that is not in `PATH`: the latest version, where there are several.
fn elsewhere(command: &str, home: Option<&Path>) -> Option<PathBuf> {
    let of_home = HOME_FOLDERS.iter().filter_map(|folder| Some(home?.join(folder)));
    let of_versions = VERSIONS.iter().flat_map(|(folder, inner)| {
        let folders = home.and_then(|home| std::fs::read_dir(home.join(folder)).ok());
        let mut versions: Vec<PathBuf> = folders
            .into_iter()
            .flatten()
            .take(MOST_VERSIONS)
            .filter_map(|entry| Some(entry.ok()?.path().join(inner)))
            .collect();
        versions.sort_by_key(|path| std::cmp::Reverse(numbers(path)));
        versions
    });
    let of_system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
    of_home
        .chain(of_versions)
        .chain(of_system)
        .map(|folder| folder.join(command))
        .find(|path| is_executable(path))
}

/// The numbers in a path, by which versions are compared.
fn numbers(path: &Path) -> Vec<u64> {
    let text = path.to_string_lossy();
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
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
    fn a_command_out_of_path_is_found_where_the_shell_finds_it() {
        let home = tempfile::tempdir().unwrap();
        let place = |folder: &str| {
            let folder = home.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            program(&folder.join("tool-of-the-user"));
            folder.join("tool-of-the-user")
        };
        let found = || elsewhere("tool-of-the-user", Some(home.path()));
        assert_eq!((found(), elsewhere("tool-of-the-user", None)), (None, None));
        place(".nvm/versions/node/v9.11.2/bin");
        let latest = place(".nvm/versions/node/v22.1.0/bin");
        place(".nvm/versions/node/v22.0.10/bin");
        assert_eq!(found(), Some(latest));
        let own = place(".local/bin");
        assert_eq!(found(), Some(own));
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
