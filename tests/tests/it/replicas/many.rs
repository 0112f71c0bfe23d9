//! Many programs that wait for people, on a folder whose process is killed (waiting.md 4.4). Ten thousand are `tests/soak/waiting.py`.

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};

use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Http, Launch};

/// A program for which there is no room.
const ONE_MORE: &str = "(ask {:message \"One more?\"})";
/// Programs that wait at a time.
const MANY: usize = 200;

/// What a tool answers whose client shows its user nothing.
fn tool(server: &Http, name: &str, arguments: Value) -> Value {
    Modern::new(&server.address, json!({})).tool(name, arguments)["structuredContent"].take()
}

fn eval(server: &Http, program: &str) -> Value {
    tool(server, "lisp_eval", json!({"program": program}))
}

fn waits(server: &Http, program: &str) -> String {
    let waiting = eval(server, program);
    assert_eq!(waiting["status"], "waiting", "{waiting}");
    waiting["run_id"].as_str().unwrap().to_owned()
}

fn answer(server: &Http, id: &str, answer: Value) -> Value {
    tool(server, "lisp_resume", json!({"run_id": id, "answers": {"q1": answer}, "wait_ms": 20_000}))
}

#[test]
fn hundreds_wait_and_none_is_lost_by_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let many = MANY.to_string();
    let launch = || {
        let flags =
            ["--questions", "auto", "--response-profile", "structured", "--max-runs-per-owner", &many];
        Launch::new(&[&flags[..], &["--state-dir", folder.to_str().unwrap()]].concat()).on_http()
    };
    let mut first = launch();
    let ids: Vec<String> = (0..MANY)
        .map(|number| waits(&first, &format!("[{number} (:ok (ask {{:message \"Is it {number}?\"}}))]")))
        .collect();
    let full = eval(&first, ONE_MORE);
    assert_eq!(full["reason"], "busy", "{full}");
    first.server.signal(Signal::SIGKILL);
    first.server.ended();
    let second = launch();
    let full = eval(&second, ONE_MORE);
    assert_eq!(full["reason"], "busy", "{full}");
    for (number, id) in ids.iter().enumerate().rev() {
        let end = answer(&second, id, json!({"action": "accept"}));
        assert_eq!(end["result"], format!("user=> [{number} true]"), "{end}");
    }
}

#[test]
fn approvals_alone_have_programs_kept_where_a_restart_does_not_reach_them() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("state");
    let launch = || {
        Launch::new(&["--response-profile", "structured", "--state-dir", folder.to_str().unwrap()])
            .with_upstream_of(&json!({"approve_tools": ["echo"], "approve_level": "model"}))
            .on_http()
    };
    let mut first = launch();
    let id = waits(&first, r#"(:value (tool/call {:server "fake" :tool "echo" :args {:text "hi"}}))"#);
    first.server.signal(Signal::SIGKILL);
    first.server.ended();
    let second = launch();
    let end = answer(&second, &id, json!({"action": "accept", "content": {"decision": "allow"}}));
    assert!(end["result"].as_str().is_some_and(|text| text.contains("hi")), "{end}");
}
