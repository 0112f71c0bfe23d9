//! How a conversation ends, and where it is kept.

use std::path::PathBuf;
use std::process::ExitCode;

/// The exit status of a conversation: a person has seen the failures, a script has not.
pub(super) fn conclusion(has_failed: bool, terminal: bool) -> ExitCode {
    if has_failed && !terminal { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The default location of the history.
pub(super) fn default_history() -> Option<PathBuf> {
    crate::cli::state::file("history")
}
