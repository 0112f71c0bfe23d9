//! Two servers on one store.

use std::process::Command;

use nix::sys::signal::Signal;
use ptc_test_support::redis_server::RedisServer;
use ptc_tests::replicated::balancer::Balancer;
use ptc_tests::replicated::write_secret;

use super::client::Client;
use ptc_test_support::process::{Http, Launch};
use ptc_test_support::wait_until;

/// A store, and the flags of servers on it.
pub(crate) struct Place {
    pub(crate) redis: RedisServer,
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Option<Place> {
        let place = Place { redis: RedisServer::start()?, folder: tempfile::tempdir().unwrap() };
        write_secret(place.secret().as_ref());
        Some(place)
    }

    fn secret(&self) -> String {
        self.folder.path().join("secret").display().to_string()
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.redis.port)
    }

    /// The flags that name the store.
    pub(super) fn state(&self) -> [String; 4] {
        ["--state-url".to_owned(), self.url(), "--state-secret-file".to_owned(), self.secret()]
    }

    pub(crate) fn launch(&self, more: &[&str]) -> Launch {
        let state = self.state();
        let state = state.each_ref().map(String::as_str);
        Launch::new(&[&["--sessions", "--http-metrics"], &state[..], more].concat())
    }

    pub(crate) fn replica(&self) -> Http {
        self.launch(&[]).on_http()
    }
}

#[test]
fn a_conversation_alternates_between_replicas_until_it_ends_everywhere() {
    let Some(place) = Place::new() else { return };
    let (one, other) = (place.replica(), place.replica());
    let balancer = Balancer::over(&[&one.address, &other.address]);
    let clients: Vec<_> = (0..5).map(|_| Client::begin(&balancer.address)).collect();
    for round in 0..20 {
        for client in &clients {
            let answer = client.eval(&format!("(+ {round} 1)")).unwrap();
            assert_eq!(
                (answer.status, answer.text().contains(&format!("{}", round + 1))),
                (200, true),
                "{answer:?}"
            );
        }
    }
    // Both have taken part.
    for server in [&one, &other] {
        assert!(server.metric("ptc_http_sessions_open") >= 5.0);
    }
    let ended = &clients[0];
    assert_eq!(ended.at(&one.address).end().status, 200);
    assert_eq!(ended.at(&one.address).eval("1").unwrap().status, 404);
    wait_until("the other replica has heard of it", || {
        ended.at(&other.address).eval("1").unwrap().status == 404
    });
    // One that starts later knows it too, and goes on with the others.
    let third = place.replica();
    wait_until("a new replica knows what has ended", || {
        ended.at(&third.address).eval("1").unwrap().status == 404
    });
    assert_eq!(clients[1].at(&third.address).eval("(* 6 7)").unwrap().status, 200);
    // An id that nobody made is none.
    let forged = Client { session: format!("{}A", &clients[1].session), ..clients[1].at(&one.address) };
    assert_eq!(forged.eval("1").unwrap().status, 404);
}

#[test]
fn a_replica_that_is_killed_is_missed_by_nobody() {
    let Some(place) = Place::new() else { return };
    let mut servers = [place.replica(), place.replica()];
    let balancer = Balancer::over(&[&servers[0].address, &servers[1].address]);
    let client = Client::begin(&balancer.address);
    let mut answered = 0;
    for killed in 0..6 {
        servers[killed % 2].server.signal(Signal::SIGKILL);
        for _ in 0..20 {
            // What was on its way to the killed one has no answer; everything else has.
            if let Ok(answer) = client.eval("(reduce + (range 100))") {
                assert_eq!((answer.status, answer.text().contains("4950")), (200, true), "{answer:?}");
                answered += 1;
            }
        }
        servers[killed % 2] = place.replica();
        balancer.replace(killed % 2, &servers[killed % 2].address);
    }
    assert!(answered >= 100, "{answered}");
}

#[test]
fn a_store_that_is_down_is_told_and_everything_else_goes_on() {
    let Some(mut place) = Place::new() else { return };
    let (server, patient) = (place.replica(), place.launch(&["--state-required=false"]).on_http());
    assert_eq!(server.get("/ready").status, 200);
    let client = Client::begin(&server.address);
    place.redis.kill();
    wait_until("it says that it is not ready", || server.get("/ready").status == 503);
    assert!(server.get("/ready").body.contains(r#""status":"state_unavailable""#));
    assert_eq!(server.metric("ptc_state_up"), 0.0);
    assert_eq!(patient.get("/ready").status, 200);
    // What needs no store goes on, in both eras.
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    assert_eq!(client.eval("(+ 1 2)").unwrap().status, 200);
    place.redis.run_again();
    wait_until("it is ready again", || server.get("/ready").status == 200);
    assert_eq!(server.metric("ptc_state_up"), 1.0);
}

#[test]
fn without_its_store_nothing_starts_unless_that_is_allowed() {
    let Some(mut place) = Place::new() else { return };
    place.redis.kill();
    let mut refused = place.launch(&[]).on_pipes();
    assert_eq!(refused.server.ended().code(), Some(1));
    let log = refused.server.launch.log();
    assert!(
        log.contains("--state-url") && log.contains("go on without it with --state-required=false"),
        "{log}"
    );
    let allowed = place.launch(&["--state-required=false"]).on_http();
    assert_eq!(allowed.eval("(+ 1 2)"), "user=> 3");
}

#[test]
fn an_operator_sees_who_is_there() {
    let Some(place) = Place::new() else { return };
    let servers = [place.replica(), place.replica()];
    let listed = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
        .args(["state", "ls", "--json", "--state-url", &place.url(), "--state-secret-file", &place.secret()])
        .env_clear()
        .output()
        .unwrap();
    let text = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.status.success(), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains(r#""replica":"#)).count(), servers.len(), "{text}");
    let wrong = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
        .args([
            "state",
            "rm",
            "session:x",
            "--state-url",
            &place.url(),
            "--state-secret-file",
            &place.secret(),
        ])
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(1));
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(said.contains("`ptc state ls` shows them"), "{said}");
}
