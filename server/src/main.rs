//! The `ptc` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ptc_server::cli::main()
}
