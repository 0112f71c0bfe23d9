//! Installed clients, and what is printed of a command.

use crate::cli::output::outln;
use crate::cli::report;
use ptc_host::visible::visible;
use std::process::ExitCode;

/// The state of an installed client with respect to `ptc`.
pub(in crate::cli) enum ClientState {
    /// Its file cannot be read.
    Broken(String),
    /// It does not start `ptc`.
    Without,
    /// It starts `ptc`.
    Starts {
        /// Files that its entry names and that are not there.
        missing: Vec<String>,
        /// Its own servers that `ptc` reaches as well.
        doubles: Vec<String>,
    },
}

/// Prints the result of a command, or the reason for its failure.
pub(super) fn tell(done: Result<String, String>) -> ExitCode {
    match done {
        Ok(text) => {
            outln!("{}", visible(text.trim_end_matches('\n')));
            ExitCode::SUCCESS
        }
        Err(fault) => report::fault(&fault),
    }
}
