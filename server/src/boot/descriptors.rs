//! The process's limit on open files. Each connection takes one descriptor.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tracing::warn;

/// Descriptors for everything but connections.
const OTHERS: u64 = 256;

/// Raises the limit to the system's maximum, and warns if that is too low for this many connections.
pub(super) fn make_room_for(connections: usize) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    let limit =
        if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft };
    if limit < connections as u64 + OTHERS {
        warn!(
            event = "http_max_connections_above_descriptor_limit",
            max_connections = connections,
            descriptors = limit,
            "raise the limit on open files (ulimit -n, LimitNOFILE) or lower --http-max-connections"
        );
    }
}
