//! Reloads of running servers, as their operators, callers and upstreams see them.

mod command;
mod listener;
mod tokens;
mod upstreams;

use std::path::Path;
use std::process::{Command, Output};

use ptc_mcp::json::{Value, json};
use ptc_test_support::child_process::program_text;
use ptc_test_support::process::family;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

/// Runs `ptc reload` with the home of a server, and these arguments.
pub(crate) fn reload(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("reload").args(arguments).env_clear().env("HOME", home);
    command.output().expect("it runs")
}

/// The text of a command that has succeeded.
pub(crate) fn told(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// The text of a command that could not do its work.
pub(crate) fn fault(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// An entry of the tool server of these tests, which differs from others by `mark`.
fn entry(mark: &str) -> Value {
    json!({"transport": "mcp_stdio", "max_concurrency": 1000, "description": mark, "env": {"MARK": mark},
        "command": program_text("fake-upstream")})
}

/// The processes of a server's upstreams, in order.
fn children(server: u32) -> Vec<u32> {
    // Each has a process that ends it with the server.
    let upstreams = family(server).into_iter().filter(|(_, name)| name.starts_with("fake-upstream"));
    let mut children: Vec<u32> = upstreams.map(|(process, _)| process).collect();
    children.sort_unstable();
    children
}
