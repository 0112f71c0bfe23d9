//! `ptc version`

use crate::cli::output::outln;
use std::process::ExitCode;

use ptc_protocol::identity;

/// Prints name and version.
pub(super) fn run() -> ExitCode {
    outln!("ptc {}", identity::VERSION);
    ExitCode::SUCCESS
}
