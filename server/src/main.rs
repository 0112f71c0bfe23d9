//! The `ptc` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else: started as the guard of an upstream's child, this process is nothing but that.
    ptc_host::child::guard::init();
    ptc_server::cli::main()
}
