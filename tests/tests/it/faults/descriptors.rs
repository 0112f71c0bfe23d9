//! No descriptor is left: the listener neither spins nor dies, and serves whoever asks all the same.

use std::process::Command;

use ptc_test_support::process::{Answer, Launch, descriptors, tool};
use ptc_test_support::wait_until;

#[test]
fn silent_connections_that_take_every_descriptor_give_way() {
    // They would be closed for their silence only after ten minutes.
    let flags = ["--http-metrics", "--http-request-timeout-ms", "600000"];
    let server = Launch::new(&flags).after("ulimit -n 64").on_http();
    let pid = server.server.pid();
    let before = descriptors(pid);
    for _ in 0..3 {
        let silent: Vec<_> = (0..200).map(|_| server.connect()).collect();
        for _ in 0..5 {
            assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
        }
        drop(silent);
        wait_until("all descriptors are closed", || descriptors(pid) <= before);
    }
    let told = || server.server.launch.log().matches("\"event\":\"http_accept_failed\"").count();
    wait_until("it is told", || told() > 0);
    assert!(told() <= 5, "told {} times: once a minute is enough", told());
}

#[test]
fn too_few_descriptors_for_the_threads_are_told() {
    for count in 5..24 {
        let script = format!("ulimit -n {count} && exec \"$0\" eval -e '(+ 1 2)'");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_ptc-under-test")]).env_clear();
        let output = command.output().expect("a shell");
        let told = String::from_utf8_lossy(&output.stderr);
        let fine = if output.status.success() { output.stdout == b"3\n" } else { told.starts_with("ptc: ") };
        assert!(fine && !told.contains("panicked"), "{count} descriptors: {told}");
    }
}

#[test]
fn callers_that_take_every_descriptor_are_served_in_their_turn() {
    let launch = Launch::new(&["--http-metrics"]).after("ulimit -n 64").with_upstream();
    let file = launch.path("now");
    let server = launch.on_http();
    let before = descriptors(server.server.pid());
    let calls: Vec<_> = (0..100).map(|_| server.call(&ptc_test_support::process::until(&file))).collect();
    wait_until("no descriptor is left", || descriptors(server.server.pid()) >= 63);
    std::fs::write(&file, "").unwrap();
    for call in calls {
        assert_eq!(Answer::read(call).expect("an answer").text(), "user=> \"there it is\"");
    }
    wait_until("all descriptors are closed", || descriptors(server.server.pid()) <= before);
}

#[test]
fn callers_beyond_the_places_are_served_in_their_turn() {
    let launch = Launch::new(&["--http-metrics", "--http-max-connections", "20"]).with_upstream();
    let file = launch.path("now");
    let server = launch.on_http();
    let calls: Vec<_> = (0..100).map(|_| server.call(&ptc_test_support::process::until(&file))).collect();
    std::fs::write(&file, "").unwrap();
    for call in calls {
        assert_eq!(Answer::read(call).expect("an answer").text(), "user=> \"there it is\"");
    }
}

#[test]
fn an_upstream_that_cannot_be_started_again_comes_back_with_the_descriptors() {
    let flags = ["--http-metrics", "--http-request-timeout-ms", "600000"];
    let launch = Launch::new(&flags).after("ulimit -n 64").with_upstream();
    let file = launch.path("now");
    let server = launch.on_http();
    let program = format!("(:ok {})", tool("echo", "{}"));
    assert_eq!(server.eval(&program), "user=> true", "it was started while there were descriptors");
    // Waiting callers, so that nothing can be closed to make room.
    let calls: Vec<_> = (0..100).map(|_| server.call(&ptc_test_support::process::until(&file))).collect();
    wait_until("no descriptor is left", || descriptors(server.server.pid()) >= 63);
    let (upstream, _) = ptc_test_support::process::family(server.server.pid())
        .into_iter()
        .find(|(_, name)| name.starts_with("fake-up"))
        .expect("it runs");
    ptc_test_support::process::send(upstream, nix::sys::signal::Signal::SIGKILL);
    std::fs::write(&file, "").unwrap();
    // Those that it had when it died, those whose turn came while it could not be started, and those after that.
    for call in calls {
        let answer = Answer::read(call).expect("an answer");
        assert!(answer.status == 200, "{answer:?}");
    }
    wait_until("the upstream is back", || server.eval(&program) == "user=> true");
}
