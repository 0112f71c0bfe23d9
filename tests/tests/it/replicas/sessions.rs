//! Sessions of programs on several replicas.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_tests::replicated::balancer::Balancer;

use super::client::{Client, send};
use super::shared::Place;
use ptc_test_support::process::Answer;
use ptc_test_support::wait_until;

/// What is told where a program was not run.
const NOT_RUN: [&str; 2] = ["already running", "the session store is unavailable; nothing was changed"];
/// What is told where it was, and the store gave no answer in time.
const PERHAPS: &str = "the program ran, and its definitions may not have been kept";

impl Client {
    /// Calls a tool; an error if the server went away in the middle of it.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> std::io::Result<Answer> {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        send(&self.address, "POST", Some(&self.session), &message.to_string())
    }

    /// Starts a session of programs.
    pub(crate) fn start(&self) -> String {
        let answer = self.call("lisp_session_start", json!({})).unwrap();
        let text = answer.text();
        let at = text.find("ptcs_").unwrap_or_else(|| panic!("{answer:?}"));
        let id: String = text[at..]
            .chars()
            .take_while(|letter| letter.is_ascii_alphanumeric() || "_-".contains(*letter))
            .collect();
        assert!(id.len() > 8, "{text}");
        id
    }

    pub(crate) fn eval_in(&self, session: &str, program: &str) -> std::io::Result<Answer> {
        self.call("lisp_session_eval", json!({"session_id": session, "program": program}))
    }
}

#[test]
fn sessions_alternate_between_replicas_and_each_eval_sees_what_was_defined_before() {
    let Some(place) = Place::new() else { return };
    let (one, other) = (place.replica(), place.replica());
    let balancer = Balancer::over(&[&one.address, &other.address]);
    let client = Client::begin(&balancer.address);
    let sessions: Vec<_> = (0..20).map(|_| client.start()).collect();
    for session in &sessions {
        let defined = client.eval_in(session, "(def n 0) (defn inc-by [m] (fn [x] (+ x m)))").unwrap();
        assert!(!defined.text().contains("error"), "{defined:?}");
    }
    for round in 1..=10 {
        for session in &sessions {
            let answer = client.eval_in(session, "(def n ((inc-by 1) n)) n").unwrap();
            assert!(answer.text().starts_with(&format!("user=> {round}")), "{round}: {answer:?}");
        }
    }
    let closed = &sessions[0];
    let answer = client.at(&one.address).call("lisp_session_close", json!({"session_id": closed})).unwrap();
    assert_eq!(answer.status, 200);
    let late = client.at(&other.address).eval_in(closed, "n").unwrap();
    assert!(late.text().contains("session_closed") || late.text().contains("session is closed"), "{late:?}");
    // Another conversation of the same caller does not see them.
    let stranger = Client::begin(&balancer.address);
    let foreign = stranger.eval_in(&sessions[1], "n").unwrap();
    assert!(foreign.text().contains("session not found"), "{foreign:?}");
}

#[test]
fn of_two_who_change_a_session_at_once_one_is_told() {
    let Some(place) = Place::new() else { return };
    let (one, other) = (place.replica(), place.replica());
    let client = Client::begin(&one.address);
    let session = client.start();
    client.eval_in(&session, "(def n 0)").unwrap();
    let stored = AtomicU32::new(0);
    let told = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for server in [&one, &other] {
            let (client, session, stored, told) = (client.at(&server.address), &session, &stored, &told);
            scope.spawn(move || {
                for _ in 0..50 {
                    let answer = client.eval_in(session, "(def n (inc n))").unwrap().text();
                    if answer.starts_with("user=> #'n") && !answer.contains("[not stored") {
                        stored.fetch_add(1, Ordering::Relaxed);
                    } else {
                        let is_not_run = NOT_RUN.iter().any(|told| answer.contains(told));
                        assert!(is_not_run || answer.contains("changed by another run"), "{answer}");
                        told.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let answer = client.eval_in(&session, "n").unwrap().text();
    let stored = stored.load(Ordering::Relaxed);
    assert!(
        answer.starts_with(&format!("user=> {stored}\n")) || answer == format!("user=> {stored}"),
        "{stored} {answer}"
    );
    assert_eq!(stored + told.load(Ordering::Relaxed), 100);
}

#[test]
fn a_replica_that_is_killed_loses_no_definition_that_was_answered() {
    let Some(place) = Place::new() else { return };
    let mut servers = [place.replica(), place.replica()];
    let balancer = Balancer::over(&[&servers[0].address, &servers[1].address]);
    let client = Client::begin(&balancer.address);
    let sessions: Vec<_> = (0..4).map(|_| client.start()).collect();
    for session in &sessions {
        client.eval_in(session, "(def n 0)").unwrap();
    }
    // Of each session: how often it was counted up for certain, and how often perhaps.
    let mut counts: BTreeMap<&str, (u32, u32)> = sessions.iter().map(|id| (id.as_str(), (0, 0))).collect();
    let (stop, rounds) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rounds.fetch_add(1, Ordering::Relaxed);
                for (session, (sure, perhaps)) in &mut counts {
                    match client.eval_in(session, "(def n (inc n)) n").map(|answer| answer.text()) {
                        Ok(text) if text.starts_with("user=> ") && !text.contains("[not stored") => {
                            *sure += 1
                        }
                        // The lease of the killed one has to run out first; and a store on a busy machine may take too long.
                        Ok(text) if NOT_RUN.iter().any(|told| text.contains(told)) => {}
                        Ok(text) if text.contains(PERHAPS) => *perhaps += 1,
                        Ok(text) => panic!("{text}"),
                        Err(_) => *perhaps += 1,
                    }
                }
            }
        });
        for killed in 0..4 {
            let begun = rounds.load(Ordering::Relaxed);
            wait_until("they are counted up", || {
                counting.is_finished() || rounds.load(Ordering::Relaxed) > begun + 10
            });
            servers[killed % 2].server.signal(Signal::SIGKILL);
            servers[killed % 2] = place.replica();
            balancer.replace(killed % 2, &servers[killed % 2].address);
        }
        stop.store(true, Ordering::Relaxed);
        counting.join().unwrap();
    });
    for (session, (sure, perhaps)) in &counts {
        let mut text = String::new();
        wait_until("the session is free", || {
            text = client.eval_in(session, "n").map(|answer| answer.text()).unwrap_or_default();
            text.starts_with("user=> ")
        });
        let digits: String = text["user=> ".len()..].chars().take_while(char::is_ascii_digit).collect();
        let found: u32 = digits.parse().unwrap();
        assert!((*sure..=sure + perhaps).contains(&found), "{found} of {sure} and perhaps {perhaps}");
        assert!(*sure > 0);
    }
}

#[test]
fn session_work_is_refused_while_the_store_is_down_and_goes_on_afterwards() {
    let Some(mut place) = Place::new() else { return };
    let server = place.replica();
    let client = Client::begin(&server.address);
    let session = client.start();
    client.eval_in(&session, "(def n 41)").unwrap();
    place.redis.kill();
    let refused = client.eval_in(&session, "(inc n)").unwrap();
    assert!(refused.text().contains("the session store is unavailable; nothing was changed"), "{refused:?}");
    place.redis.run_again();
    wait_until("sessions are there again", || {
        client.eval_in(&session, "(inc n)").is_ok_and(|answer| answer.text().starts_with("user=> 42"))
    });
}

#[test]
fn an_eval_of_a_session_asks_the_store_twice_and_any_other_not_at_all() {
    let Some(place) = Place::new() else { return };
    let (server, other) = (place.replica(), place.replica());
    let client = Client::begin(&server.address);
    let session = client.start();
    client.eval_in(&session, "(def n 0)").unwrap();
    let asked = |server: &ptc_test_support::process::Http| {
        let names = [
            "read", "claim", "renew", "commit", "spend", "push", "drain", "list", "look", "erase", "announce",
        ];
        names.map(|name| server.metric(&format!("ptc_state_operations_total{{operation=\"{name}\"}}")) as u32)
    };
    // Where the values are, and where they have to come from the store.
    for replica in [&server, &other] {
        let client = client.at(&replica.address);
        // Whoever adopts the conversation, at its first request, asks once whether it has ended.
        client.eval("1").unwrap();
        wait_until("the conversation is known", || replica.metric("ptc_http_sessions_open") >= 1.0);
        let adopts = u32::from(!std::ptr::eq(replica, &server));
        wait_until("it is asked whether it has ended", || asked(replica)[0] >= adopts);
        let before = asked(replica);
        for _ in 0..10 {
            assert_eq!(client.eval("(+ 1 2)").unwrap().status, 200);
        }
        assert_eq!(asked(replica), before);
        for _ in 0..10 {
            let answer = client.eval_in(&session, "(def n (inc n)) n").unwrap();
            assert!(answer.text().starts_with("user=> "), "{answer:?}");
        }
        let mut wanted = before;
        wanted[1] += 10;
        wanted[3] += 10;
        assert_eq!(asked(replica), wanted, "one claim and one commit each");
    }
}
