//! The `ptc` command with the tools of the official conformance suite (waiting.md 11), for `tests/interop/conformance/run`.

fn main() -> std::process::ExitCode {
    ptc_host::child::guard::init();
    ptc_server::cli::main()
}
