//! Refusing the host's own executable as an upstream.

use std::path::{Path, PathBuf};

use super::transports::StdioConfig;
use crate::child::resolve_command;
use ptc_base::config_error::ConfigError;

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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::child::command::tests::program;
    use std::os::unix::fs::symlink;

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
