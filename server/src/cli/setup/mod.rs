//! Setting `ptc` up: an upstreams file from what MCP clients have already, and `ptc` in a client's own file.
//!
//! | Command | What it changes |
//! |---|---|
//! | `ptc add`, `ptc remove` | one entry of the upstreams file |
//! | `ptc import` | the upstreams file, by the servers of clients |
//! | `ptc init` | a client's file, by one entry that starts `ptc` |
//!
//! Files keep their comments, their order and all that is not touched. What is overwritten is kept beside it first.

pub mod add;
pub mod import;
pub mod init;
pub mod remove;

mod client_entry;
mod clients;
mod found;
mod json_file;
mod masked;
mod merge;
pub(super) mod stored;
mod upstreams_file;

use std::process::ExitCode;

use ptc_host::visible::visible;

use crate::cli::output::outln;
use crate::cli::report;

/// Tells what a command did, or why it did nothing.
fn tell(done: Result<String, String>) -> ExitCode {
    match done {
        Ok(text) => {
            outln!("{}", visible(text.trim_end_matches('\n')));
            ExitCode::SUCCESS
        }
        Err(fault) => report::fault(&fault),
    }
}

#[cfg(test)]
mod tests;
