//! Programs that wait for people although no client of theirs asks (waiting.md 4.4): on pipes, on a folder, on two replicas.

use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};

use super::client::Client;
use super::runs::Tools;
use super::shared::Place;
use ptc_test_support::process::{Launch, Pipes};
use ptc_test_support::wait_until;

/// The flags of a server that keeps programs which wait.
pub(super) const KEPT: [&str; 4] = ["--questions", "auto", "--response-profile", "structured"];

const HOUR: Duration = Duration::from_secs(3600);

/// Asks for a region between two prints, inside `map`.
const ASKS: &str = r#"
(println "begun")
(def answers
  (mapv (fn [n]
          (let [r (ask {:message (str "Which region for " n "?")
                        :schema {:type "object" :properties {:region {:type "string" :enum ["eu" "us"]}}
                                 :required ["region"]}})]
            (if (:ok r) (str n (get (:value r) "region")) (:reason r))))
        [1 2]))
(println "asked")
answers"#;

fn launch(flags: &[&str]) -> Launch {
    Launch::new(&[&KEPT[..], flags].concat())
}

/// A program that was answered with its questions: its run's id.
pub(super) fn begins(server: &mut impl Tools, program: &str) -> (String, Value) {
    let waiting = server.tool("lisp_eval", &json!({"program": program}));
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    let id = waiting["run_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("run_") && id.len() == 28, "{id}");
    (id, waiting)
}

pub(super) fn resume(server: &mut impl Tools, id: &str, answers: Value) -> Value {
    server.tool("lisp_resume", &json!({"run_id": id, "answers": answers, "wait_ms": 20_000}))
}

fn region(name: &str) -> Value {
    json!({"action": "accept", "content": {"region": name}})
}

fn on_pipes(flags: &[&str]) -> Pipes {
    launch(flags).on_pipes()
}

#[test]
fn the_model_brings_the_users_answers_and_gets_the_result() {
    let mut server = on_pipes(&[]);
    let (id, waiting) = begins(&mut server, ASKS);
    let question = &waiting["questions"][0];
    assert_eq!((&question["id"], &question["kind"]), (&json!("q1"), &json!("ask")));
    assert_eq!(question["message"], "A program asks: Which region for 1?");
    assert_eq!(
        (&question["answer"], &question["schema"]["required"]),
        (&json!("lisp_resume"), &json!(["region"]))
    );
    assert!(waiting["expires_at"].as_str().unwrap().ends_with('Z'), "{waiting}");
    // What does not fit is asked again, and what is no question of this run is told.
    let again = resume(&mut server, &id, json!({"q1": region("mars"), "q7": region("eu")}));
    assert_eq!(
        (&again["status"], &again["questions"][0]["id"]),
        (&json!("waiting"), &json!("q1")),
        "{again}"
    );
    let notes = again["notes"].to_string();
    assert!(
        notes.contains("the answer to q1 does not fit") && notes.contains("q7 is no question"),
        "{notes}"
    );
    let next = resume(&mut server, &id, json!({"q1": region("eu")}));
    assert_eq!(next["questions"][0]["message"], "A program asks: Which region for 2?", "{next}");
    // The run is the same one, and an answer counts once.
    assert_eq!(next["run_id"], id);
    let late = resume(&mut server, &id, json!({"q1": region("us")}));
    assert_eq!(late["notes"], json!(["q1 was already answered"]), "{late}");
    let end = resume(&mut server, &id, json!({"q2": {"action": "decline"}}));
    assert_eq!(
        (&end["status"], &end["result"]),
        (&json!("ok"), &json!("user=> [\"1eu\" :declined]")),
        "{end}"
    );
    assert_eq!(end["prints"], json!(["begun", "asked"]));
    // The result is kept for a while.
    assert_eq!(resume(&mut server, &id, json!({}))["result"], end["result"]);
}

#[test]
fn wrong_arguments_are_told_and_nothing_is_known_of_other_runs() {
    let mut server = on_pipes(&[]);
    let (id, _) = begins(&mut server, ASKS);
    for (arguments, message) in [
        (json!({}), "argument `run_id` is required"),
        (json!({"run_id": id, "answers": []}), "argument `answers` must be an object, got array"),
        (
            json!({"run_id": id, "answers": {"x": {}}}),
            "argument `answers` has a key that is no question id, such as q1",
        ),
        (json!({"run_id": id, "wait_ms": 60_000}), "argument `wait_ms` must be an integer from 0 to 50000"),
    ] {
        assert_eq!(server.tool("lisp_resume", &arguments)["message"], message);
    }
    for unknown in ["run_unknown", "", "run_000000000000000000000000"] {
        let seen = server.tool("lisp_resume", &json!({"run_id": unknown}));
        assert_eq!((&seen["reason"], &seen["message"]), (&json!("run_not_found"), &json!("run not found")));
    }
    let none = resume(&mut server, &id, json!({"q1": 7}));
    assert_eq!(
        none["notes"],
        json!(["the answer to q1 has no action (accept, decline or cancel), or a member twice"])
    );
}

#[test]
fn a_program_that_nobody_answers_ends() {
    let mut server = launch(&["--waiting-ttl-ms", "3600000"]).stepped().on_pipes();
    let (id, _) = begins(&mut server, ASKS);
    let look = json!({"run_id": id, "wait_ms": 0});
    server.server.advance(HOUR / 2);
    assert_eq!(server.tool("lisp_resume", &look)["status"], "waiting");
    server.server.advance(HOUR / 2);
    let end = server.tool("lisp_resume", &look);
    assert_eq!(
        (&end["reason"], &end["message"]),
        (&json!("expired"), &json!("nobody answered within 3600000 ms"))
    );
    assert_eq!(resume(&mut server, &id, json!({"q1": region("eu")}))["reason"], "expired");
}

/// How many lines of these audit logs tell that a run has expired.
fn expired(logs: &[&Path]) -> usize {
    let lines = logs.iter().map(|log| std::fs::read_to_string(log).unwrap_or_default());
    let is_it = |line: &&str| line.contains(r#""kind":"run""#) && line.contains(r#""status":"expired""#);
    lines.map(|text| text.lines().filter(is_it).count()).sum()
}

#[test]
fn the_end_of_a_program_at_which_nobody_looks_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    // Its record lies there for a day longer: one of the looks finds it.
    let flags =
        ["--waiting-ttl-ms", "3600000", "--run-ttl-ms", "86400000", "--audit-log", log.to_str().unwrap()];
    let mut server = launch(&flags).stepped().on_pipes();
    begins(&mut server, ASKS);
    server.server.advance(HOUR);
    wait_until("it has expired", || {
        // The time between two looks.
        server.server.advance(Duration::from_secs(60));
        expired(&[&log]) == 1
    });
}

#[test]
fn of_several_replicas_one_writes_down_that_a_program_has_expired() {
    let Some(place) = Place::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let logs = ["one", "other"].map(|name| folder.path().join(name));
    let servers = logs.each_ref().map(|log| {
        let log = ["--audit-log", log.to_str().unwrap()];
        let times = ["--waiting-ttl-ms", "300", "--run-ttl-ms", "4000"];
        place.launch(&[&KEPT[..], &times, &log].concat()).on_http()
    });
    let logs = logs.each_ref().map(|log| &**log);
    let mut clients = servers.each_ref().map(|server| Client::begin(&server.address));
    let (id, _) = begins(&mut clients[0], ASKS);
    wait_until("it has expired", || expired(&logs) > 0);
    // Whoever looks, here or there, finds that it is written down.
    for client in &mut clients {
        let end = client.tool("lisp_resume", &json!({"run_id": id, "wait_ms": 0}));
        assert_eq!(end["status"], "error", "{end}");
    }
    // Another one ends behind it at both: what they had to say of the first one they have said.
    begins(&mut clients[1], ASKS);
    wait_until("the other one has expired", || expired(&logs) > 1);
    assert_eq!(expired(&logs), 2);
}

#[test]
fn the_models_word_is_enough_for_approvals_of_its_level_alone() {
    for (level, asked) in [("model", true), ("client", false), ("out_of_band", false)] {
        let keys = json!({"approve_tools": ["echo"], "approve_level": level});
        let mut server = launch(&[]).with_upstream_of(&keys).on_pipes();
        let program = r#"(let [r (tool/call {:server "fake" :tool "echo" :args {:text "hi"}})] (or (:reason r) (:value r)))"#;
        let answer = server.tool("lisp_eval", &json!({"program": program}));
        if !asked {
            assert_eq!(answer["result"], "user=> :unanswerable", "{level}: {answer}");
            continue;
        }
        let id = answer["run_id"].as_str().unwrap();
        assert_eq!(answer["questions"][0]["kind"], "approval", "{answer}");
        let end =
            resume(&mut server, id, json!({"q1": {"action": "accept", "content": {"decision": "allow"}}}));
        assert!(end["result"].as_str().is_some_and(|text| text.contains("hi")), "{end}");
    }
}

#[test]
fn a_program_of_a_session_waits_where_it_is() {
    let mut server = on_pipes(&["--sessions"]);
    let id = server.tool("lisp_session_start", &json!({}))["session_id"].as_str().unwrap().to_owned();
    let program = json!({"session_id": id, "program": "(def answer (:ok (ask {:message \"Sure?\"})))"});
    let waiting = server.tool("lisp_session_eval", &program);
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    let run = waiting["run_id"].as_str().unwrap();
    let busy = server.tool("lisp_session_eval", &json!({"session_id": id, "program": "1"}));
    assert_eq!(busy["reason"], "session_busy", "{busy}");
    let end = resume(&mut server, run, json!({"q1": {"action": "accept"}}));
    assert_eq!(end["status"], "ok", "{end}");
    let after = server.tool("lisp_session_eval", &json!({"session_id": id, "program": "answer"}));
    assert_eq!(after["result"], "user=> true", "{after}");
}

fn with_folder(folder: &Path) -> Launch {
    launch(&["--sessions", "--state-dir", folder.to_str().unwrap()])
}

#[test]
fn on_a_folder_a_waiting_program_outlives_its_process() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let mut first = with_folder(&folder).on_http();
    let mut client = Client::begin(&first.address);
    let (id, _) = begins(&mut client, ASKS);
    first.server.signal(Signal::SIGKILL);
    first.server.ended();
    let second = with_folder(&folder).on_http();
    let mut client = Client::begin(&second.address);
    let next = resume(&mut client, &id, json!({"q1": region("eu")}));
    assert_eq!(next["questions"][0]["id"], "q2", "{next}");
    let end = resume(&mut client, &id, json!({"q2": region("us")}));
    assert_eq!(end["result"], "user=> [\"1eu\" \"2us\"]", "{end}");
    assert_eq!(end["prints"], json!(["begun", "asked"]));
}

#[test]
fn whichever_replica_has_the_answers_goes_on() {
    let Some(place) = Place::new() else { return };
    let launch = || place.launch(&[&KEPT[..], &["--sessions"]].concat()).on_http();
    let (one, other) = (launch(), launch());
    let mut here = Client::begin(&one.address);
    let mut there = here.at(&other.address);
    let (id, _) = begins(&mut here, ASKS);
    let next = resume(&mut there, &id, json!({"q1": region("eu")}));
    assert_eq!(next["questions"][0]["id"], "q2", "{next}");
    let end = resume(&mut here, &id, json!({"q2": region("us")}));
    assert_eq!(end["result"], "user=> [\"1eu\" \"2us\"]", "{end}");
    // Of one that waits where it is, the answers find their way as well.
    let session = here.tool("lisp_session_start", &json!({}))["session_id"].as_str().unwrap().to_owned();
    let program = json!({"session_id": session, "program": "(:ok (ask {:message \"Sure?\"}))"});
    let waiting = here.tool("lisp_session_eval", &program);
    let run = waiting["run_id"].as_str().unwrap();
    let end = resume(&mut there, run, json!({"q1": {"action": "accept"}}));
    assert_eq!(end["result"], "user=> true", "{end}");
}
