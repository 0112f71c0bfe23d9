//! A server that is asked to end while it works: every call that it took on is answered, or refused in the
//! documented way, and it ends with status 0.

use std::time::Duration;

use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

use ptc_test_support::process::{Answer, Launch, family, tool, until, waiting};
use ptc_test_support::wait_until;

const CALLS: usize = 40;
/// Less than calls may take.
const GRACE: Duration = Duration::from_secs(60);

#[test]
fn on_pipes_calls_that_end_in_time_are_answered() {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        let launch = Launch::new(&[]).with_upstream();
        let file = launch.path("now");
        let mut server = launch.on_pipes();
        for id in 0..CALLS {
            server.call(id, &until(&file));
        }
        server.call("never", &tool("hang", "{}"));
        loop {
            server.call("waiting", &waiting());
            if server.answer().1 == format!("user=> {}", CALLS + 1) {
                break;
            }
        }
        let children = family(server.server.pid());
        for ignored in [SIGUSR1, SIGUSR2] {
            server.server.signal(ignored);
        }
        server.call("after", "(+ 1 2)");
        assert_eq!(server.answer(), ("after".into(), "user=> 3".to_owned()));
        server.server.signal(signal);
        std::fs::write(&file, "").unwrap();
        let mut rest = server.rest();
        rest.sort_by_key(|(id, _)| id.as_u64());
        let expected: Vec<_> =
            (0..CALLS).map(|id| (id.into(), "user=> \"there it is\"".to_owned())).collect();
        // What does not end within two seconds is left without an answer, as after `exit`.
        assert_eq!(rest, expected);
        assert!(server.server.ended().success());
        let left = children.iter().filter(|(child, _)| ptc_test_support::process::is_alive(*child));
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn a_listener_answers_what_it_took_on_and_refuses_the_rest() {
    let launch = Launch::new(&["--http-shutdown-grace-ms", "600000"]).with_upstream();
    let file = launch.path("now");
    let mut server = launch.on_http();
    let calls: Vec<_> = (0..CALLS).map(|_| server.call(&until(&file))).collect();
    wait_until("all wait", || server.eval(&waiting()) == format!("user=> {CALLS}"));
    for harmless in [SIGHUP, SIGUSR1, SIGUSR2] {
        server.server.signal(harmless);
        assert_eq!(server.get("/ready").status, 200);
    }
    server.server.signal(SIGTERM);
    wait_until("it is not ready any more", || server.get("/ready").status == 503);
    assert_eq!(server.get("/health").status, 200);
    let refused = Answer::read(server.call("1")).expect("an answer");
    assert_eq!(refused.status, 503);
    assert!(
        refused.header("retry-after") == Some("1") && refused.body.contains("server draining"),
        "{refused:?}"
    );
    std::fs::write(&file, "").unwrap();
    for call in calls {
        let answer = Answer::read(call).expect("an answer");
        assert_eq!((answer.status, answer.text().as_str()), (200, "user=> \"there it is\""));
    }
    // It does not wait for the rest of its grace once nothing is running.
    assert!(server.server.ended().success());
}

#[test]
fn calls_that_do_not_end_within_the_grace_are_told_so() {
    // Once by the end of the grace, once by a second signal.
    for signals in [1, 2] {
        let grace = GRACE.as_millis().to_string();
        let flags = ["--http-shutdown-grace-ms", &grace];
        let mut server = Launch::new(&flags).with_upstream().stepped().on_http();
        let mut calls: Vec<_> = (0..CALLS).map(|_| server.call(&tool("hang", "{}"))).collect();
        calls.push(server.call("(loop [] (recur))"));
        wait_until("all wait", || server.eval(&waiting()) == format!("user=> {CALLS}"));
        server.server.signal(SIGTERM);
        // A second one that comes before the first one was taken would be the same signal; and the grace begins with the first one.
        wait_until("it was taken", || server.get("/ready").status == 503);
        if signals == 2 {
            server.server.signal(SIGTERM);
        } else {
            server.server.advance(GRACE);
        }
        for call in calls {
            let answer = Answer::read(call).expect("an answer");
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.body.contains(r#""reason":"cancelled""#), "{answer:?}");
        }
        assert!(server.server.ended().success());
    }
}
