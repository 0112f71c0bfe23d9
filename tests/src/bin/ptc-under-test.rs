//! The `ptc` command, built with the tests: whole-product tests run it as a process of its own, whose clock they can set ahead.

fn main() -> std::process::ExitCode {
    ptc_host::child::guard::init();
    if let Err(error) = ptc_tests::stepped_time::follow_steps() {
        eprintln!("{}: {error}", ptc_test_support::steps::VARIABLE);
        return std::process::ExitCode::FAILURE;
    }
    ptc_server::cli::main()
}
