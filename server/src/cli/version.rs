//! `ptc version`

use std::process::ExitCode;

use crate::identity;

/// Prints name and version.
pub(super) fn run() -> ExitCode {
    println!("{} {}", identity::PROGRAM_NAME, identity::VERSION);
    ExitCode::SUCCESS
}
