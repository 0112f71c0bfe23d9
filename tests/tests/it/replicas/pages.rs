//! Pages that upstreams send people to, and their word that what is done there is done (waiting.md 3.2): it ends the wait of whoever has said
//! that the page was opened, and nobody need say so.

use std::path::Path;

use ptc_mcp::json::{Value, json};

use super::runs::Tools as _;
use ptc_test_support::process::{Launch, Pipes, tool};
use ptc_test_support::wait_until;

/// A server whose upstream sends people to pages.
fn launch(flags: &[&str]) -> Launch {
    let pages = json!({"args": ["--pages"]});
    // As long as it may be: only the upstream's word ends the wait in time.
    let all = ["--response-profile", "structured", "--page-wait-ms", "50000", "--question-open-ms", "600000"];
    Launch::new(&[&all[..], flags].concat()).with_upstream_of(&pages)
}

/// A call of a tool that is done once there is a file.
fn pays(name: &str, file: &Path) -> String {
    format!("(:value {})", tool(name, &format!("{{:path {:?}}}", file.to_str().unwrap())))
}

/// The next message of the server.
fn message(pipes: &Pipes) -> Value {
    serde_json::from_str(&pipes.line()).unwrap()
}

/// A client of the handshake era that opens pages.
fn opens_pages(launch: Launch) -> Pipes {
    let mut pipes = launch.on_pipes();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}, "url": {}}},
        "clientInfo": {"name": "test", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    pipes.send(format!("{hello}\n").as_bytes());
    assert_eq!(message(&pipes)["id"], 0);
    pipes
}

/// What the user is sent to.
fn asked(pipes: &Pipes) -> Value {
    let asked = message(pipes);
    let params = &asked["params"];
    assert_eq!(
        (&asked["method"], &params["mode"], &params["url"], &params["message"]),
        (
            &json!("elicitation/create"),
            &json!("url"),
            &json!("https://pay.example/"),
            &json!("fake asks: Please pay.")
        ),
        "{asked}"
    );
    asked
}

/// The next message, which tells that the user is done there.
fn is_told(pipes: &Pipes, asked: &Value) {
    let told = message(pipes);
    assert_eq!(
        (&told["method"], &told["params"]["elicitationId"]),
        (&json!("notifications/elicitation/complete"), &asked["params"]["elicitationId"]),
        "{told}"
    );
}

#[test]
fn whoever_has_opened_a_page_waits_until_it_is_done_and_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("paid");
    let mut pipes = opens_pages(launch(&[]));
    pipes.call(1, &pays("pay", &file));
    let question = asked(&pipes);
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    pipes.send(format!("{reply}\n").as_bytes());
    std::fs::write(&file, "").unwrap();
    is_told(&pipes, &question);
    let answer = message(&pipes);
    assert_eq!(answer["result"]["structuredContent"]["result"], "user=> \"paid\"", "{answer}");
}

#[test]
fn what_is_done_on_a_page_needs_nobody_who_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (name, result) in [("pay", "\"paid\""), ("pay_held", "{\"action\" \"accept\"}")] {
        let file = folder.path().join(name);
        let mut pipes = opens_pages(launch(&[]));
        pipes.call(1, &pays(name, &file));
        let question = asked(&pipes);
        std::fs::write(&file, "").unwrap();
        is_told(&pipes, &question);
        let taken_back = message(&pipes);
        assert_eq!(
            (&taken_back["method"], &taken_back["params"]["requestId"]),
            (&json!("notifications/cancelled"), &question["id"]),
            "{taken_back}"
        );
        let answer = message(&pipes);
        assert_eq!(answer["result"]["structuredContent"]["result"], format!("user=> {result}"), "{answer}");
    }
}

#[test]
fn a_page_that_is_opened_while_its_call_is_held_is_told_to_the_upstream_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut pipes = opens_pages(launch(&[]));
    pipes.call(1, &pays("pay_held", &folder.path().join("never")));
    let question = asked(&pipes);
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    pipes.send(format!("{reply}\n").as_bytes());
    is_told(&pipes, &question);
    let answer = message(&pipes);
    assert_eq!(answer["result"]["structuredContent"]["result"], "user=> {\"action\" \"accept\"}", "{answer}");
}

#[test]
fn a_kept_program_goes_on_once_its_page_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let audited = || std::fs::read_to_string(&log).unwrap_or_default();
    let flags = ["--questions", "auto", "--audit-log", log.to_str().unwrap()];
    let mut pipes = launch(&flags).on_pipes();
    for (name, result) in [("pay", "\"paid\""), ("pay_held", "{\"action\" \"accept\"}")] {
        let file = folder.path().join(name);
        let waiting = pipes.tool("lisp_eval", &json!({"program": pays(name, &file)}));
        let question = &waiting["questions"][0];
        assert_eq!(
            (&waiting["status"], &question["open"]),
            (&json!("waiting"), &json!("https://pay.example/")),
            "{waiting}"
        );
        std::fs::write(&file, "").unwrap();
        if name == "pay_held" {
            // It goes on where it is, whether or not anybody looks.
            wait_until("the answer is written down", || {
                audited().matches(r#""channel":"page""#).count() == 2
            });
        }
        let look = json!({"run_id": waiting["run_id"], "wait_ms": 20_000});
        let mut seen = Value::Null;
        wait_until("it goes on", || {
            seen = pipes.tool("lisp_resume", &look);
            !["waiting", "running"].contains(&seen["status"].as_str().unwrap())
        });
        assert_eq!(seen["result"], format!("user=> {result}"), "{seen}");
    }
}

#[test]
fn the_model_brings_the_word_that_a_page_was_opened_and_the_program_waits_for_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("paid");
    let mut pipes = launch(&["--questions", "auto"]).on_pipes();
    let waiting = pipes.tool("lisp_eval", &json!({"program": pays("pay", &file)}));
    let answers = json!({"q1": {"action": "accept"}});
    let resume = json!({"run_id": waiting["run_id"], "answers": answers, "wait_ms": 50_000});
    let params = json!({"name": "lisp_resume", "arguments": resume});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    pipes.send(format!("{call}\n").as_bytes());
    std::fs::write(&file, "").unwrap();
    // Had it not been waited for, the upstream would ask a second time.
    let answer = message(&pipes);
    assert_eq!(answer["result"]["structuredContent"]["result"], "user=> \"paid\"", "{answer}");
}
