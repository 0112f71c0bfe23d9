//! The command that users run, over its real pipes and sockets.

use ptc_test_support::process::{Http, Launch, Pipes, program_on_http};

const PTC: &str = env!("CARGO_BIN_EXE_ptc");

/// Where it keeps what it may keep.
pub(crate) const HOME: &str = env!("CARGO_TARGET_TMPDIR");

/// `ptc start` with these flags, on pipes.
pub(crate) fn on_pipes(flags: &[&str]) -> Pipes {
    launch(PTC, flags).on_pipes()
}

/// `ptc start --http` with these flags, or what `PTC_TEST_SERVER` names in its place.
pub(crate) fn on_http(flags: &[&str]) -> Http {
    let (program, variables) = program_on_http(PTC);
    let launch = launch(program, flags);
    variables.into_iter().fold(launch, |launch, (name, value)| launch.with_variable(name, value)).on_http()
}

fn launch(program: impl Into<std::ffi::OsString>, flags: &[&str]) -> Launch {
    Launch::of(program, &[flags, &["--log-level", "error"]].concat()).with_variable("HOME", HOME)
}
