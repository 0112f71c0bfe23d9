//! Sets `ptc` up: an upstreams file from the servers of MCP clients, and `ptc` in a client's own file.
//!
//! | Command | What it changes |
//! |---|---|
//! | `ptc add`, `ptc remove` | one entry of the upstreams file |
//! | `ptc import` | the upstreams file, by the servers of clients |
//! | `ptc init` | a client's file, by one entry that starts `ptc` |
//!
//! Files keep their comments, their order and all other keys. A file is backed up beside itself before it is
//! overwritten.

pub mod add;
mod client_state;
pub mod import;
pub mod init;
pub mod remove;

pub(super) mod atomic_file;
mod client_entry;
mod clients;
mod configured_servers;
mod json_file;
mod mask;
mod merge;
mod relative_paths;
mod upstreams_file;

pub(super) use client_state::ClientState;
use std::path::Path;

use ptc_host::config::ProcessEnv;

pub(super) use init::quoted;
pub(super) use upstreams_file::object;

/// The clients with a file of the person here, each with its name and label.
pub(super) fn client_states(
    env: &ProcessEnv,
    folder: &Path,
) -> Vec<(&'static str, &'static str, ClientState)> {
    let own = std::env::current_exe().ok();
    let here = clients::CLIENTS.iter().filter_map(|client| {
        let path = client.own_file(env, folder).filter(|path| path.exists())?;
        Some((client.name, client.label, init::state_of(client, &path, own.as_deref(), env, folder)))
    });
    here.collect()
}

/// True if the upstreams file at `path` holds a secret that other users can read.
pub(super) fn exposes_secret(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_open = std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
        let text = atomic_file::read(path).ok().flatten();
        is_open
            && text
                .and_then(|text| upstreams_file::object(&text).ok())
                .is_some_and(|file| upstreams_file::holds_secret(&file))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

#[cfg(test)]
mod tests;
