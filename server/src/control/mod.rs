//! The control socket: how commands of the same user reach a running server.
//!
//! Each server has a Unix socket of its own in the state folder. Both sides write JSON lines: a command sends
//! `{"method":"reload","check":false}` and reads one answer. Nothing travels that is secret, and nothing can be asked for but what
//! SIGHUP does, too.

use std::path::Path;

pub(crate) mod client;
pub(crate) mod listener;
pub(crate) mod message;

/// What the names of all sockets begin with; the process and a random part follow.
const PREFIX: &str = "control-";
/// What they end with.
const SUFFIX: &str = ".sock";

/// Longest path of a socket, in bytes, without the NUL behind it.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The name of the socket of a process.
fn socket_name(pid: u32, number: u32) -> String {
    format!("{PREFIX}{pid}-{number:08x}{SUFFIX}")
}

/// Why no server can listen in a folder, whatever its process is called: the path would be too long.
pub(crate) fn is_too_long(folder: &Path) -> Option<String> {
    let bytes = folder.join(socket_name(std::process::id(), 0)).as_os_str().len();
    (bytes > MAX_PATH).then(|| {
        format!(
            "the path of a control socket in {} would have {bytes} bytes, and the system takes {MAX_PATH}; name a shorter folder with \
             --state-dir, or reload over HTTP with kill -HUP",
            folder.display()
        )
    })
}
