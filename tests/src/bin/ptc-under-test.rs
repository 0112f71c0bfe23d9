//! The `ptc` command, built with the tests: whole-product tests run it as a process of its own.

fn main() -> std::process::ExitCode {
    ptc_host::child::guard::init();
    ptc_server::cli::main()
}
