//! The memory available to this process.

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use std::fs;
use std::path::Path;

/// The assumed size if the system reports none.
const UNKNOWN: u64 = 1 << 30;

/// The machine's memory in bytes, or the limit of this process or its control group if that is lower.
#[expect(clippy::disallowed_methods, reason = "entry point: available()")]
pub(super) fn available() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|path| limit(&fs::read_to_string(path).ok()?));
    limits.chain(own_limits()).chain(machine).min().unwrap_or(UNKNOWN)
}

/// The limits on memory that the process may map (`ulimit -v`, `ulimit -d`). Allocations beyond them fail, which ends
/// the process.
fn own_limits() -> impl Iterator<Item = u64> {
    [Resource::RLIMIT_AS, Resource::RLIMIT_DATA]
        .into_iter()
        .filter_map(|resource| getrlimit(resource).ok())
        .map(|(soft, _)| soft)
        .filter(|soft| *soft != RLIM_INFINITY)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The number in a limit file; `None` for no limit.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| *bytes > 0)
}

/// The files that may limit the memory of the groups of `/proc/self/cgroup`: those of each group and of its ancestors,
/// and those at the root, because a container often sees only its own group.
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // A path outside the visible part of the file system is of no use here.
        let inside = Path::new(path.trim_start_matches('/'));
        let around = inside.ancestors().filter(|path| !path.starts_with(".."));
        files.extend(around.map(|path| Path::new(root).join(path).join(name).to_string_lossy().into_owned()));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_how_much_there_is() {
        assert_eq!(total("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!((limit("max\n"), limit("1048576\n"), limit("0")), (None, Some(1 << 20), None));
        assert!(available() >= 1 << 20);
    }

    #[test]
    fn every_group_around_the_process_counts() {
        assert_eq!(
            limit_files("0::/a.slice/b.service\n"),
            [
                "/sys/fs/cgroup/a.slice/b.service/memory.max",
                "/sys/fs/cgroup/a.slice/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        assert_eq!(
            limit_files("5:cpu:/x\n4:memory,pids:/x\n"),
            ["/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
        assert_eq!(limit_files("0::/../other\n"), ["/sys/fs/cgroup/memory.max"]);
    }
}
