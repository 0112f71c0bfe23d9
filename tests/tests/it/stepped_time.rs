//! Limits of hours, tested in moments: the server is a process whose clock the test sets ahead.

use std::time::Duration;

use ptc_test_support::process::{Launch, Pipes, tool, waiting};
use ptc_test_support::wait_until;

const HOUR: Duration = Duration::from_secs(3600);

/// A server on pipes, with the tool server of these tests as its upstream, whose calls have ten hours.
fn server(flags: &[&str]) -> Pipes {
    let mut server = Launch::new(flags).with_only_the_upstream().stepped().on_pipes();
    assert_eq!(server.eval("(+ 40 2)"), "user=> 42", "it has started");
    server
}

#[test]
fn a_program_whose_call_hangs_ends_when_its_hour_is_over() {
    let flags = ["--program-timeout-ms", "3600000", "--upstream-call-timeout-ms", "36000000"];
    let mut server = server(&flags);
    server.call("hangs", &tool("hang", "{}"));
    wait_until("the upstream has the call", || server.eval(&waiting()) == "user=> 1");

    server.server.advance(HOUR - Duration::from_secs(600));
    assert_eq!(server.eval(&waiting()), "user=> 1", "ten minutes are left");
    server.server.advance(Duration::from_secs(600));
    let (id, text) = server.answer();
    assert_eq!(id, "hangs");
    assert!(text.contains("timeout"), "{text}");
    assert_eq!(server.eval("(+ 40 2)"), "user=> 42", "the next program has an hour of its own");
}

#[test]
fn a_call_of_an_upstream_ends_when_its_hours_are_over() {
    let flags = ["--program-timeout-ms", "360000000", "--upstream-call-timeout-ms", "36000000"];
    let mut server = server(&flags);
    server.call("hangs", &format!("(:reason {})", tool("hang", "{}")));
    wait_until("the upstream has the call", || server.eval(&waiting()) == "user=> 1");
    server.server.advance(10 * HOUR);
    assert_eq!(server.answer(), ("hangs".into(), "user=> :timeout".to_owned()));
}
