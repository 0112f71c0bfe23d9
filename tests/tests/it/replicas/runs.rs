//! Programs that outlive their requests (waiting.md 6): on pipes, on a folder, on two replicas.

use std::path::Path;

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};

use super::client::Client;
use super::shared::Place;
use ptc_test_support::process::{Http, Launch, Pipes, until};
use ptc_test_support::wait_until;

/// The flags of a server whose programs may become runs.
const LONG: [&str; 3] = ["--long-runs", "--response-profile", "structured"];
/// Of one over HTTP, where conversations are told apart.
const WITH_SESSIONS: [&str; 4] = ["--sessions", "--long-runs", "--response-profile", "structured"];

/// A program that ends when there is a file at `path`.
fn ends_at(path: &Path) -> Value {
    json!({"program": format!("(println \"begun\") (def r {}) (str \"r: \" r)", until(path)), "wait_ms": 0})
}

fn structured(answer: &str) -> Value {
    let answer: Value = serde_json::from_str(answer).unwrap_or_else(|_| panic!("no JSON: {answer}"));
    answer["result"]["structuredContent"].clone()
}

/// The tools of a server, whichever way they are called.
pub(super) trait Tools {
    fn tool(&mut self, tool: &str, arguments: &Value) -> Value;

    /// A program that was given its id, once its call waits at the upstream.
    fn begin_run(&mut self, path: &Path) -> String {
        let begun = self.tool("lisp_eval", &ends_at(path));
        assert_eq!(begun["status"], "running", "{begun}");
        let id = begun["run_id"].as_str().unwrap().to_owned();
        assert!(id.starts_with("run_") && id.len() == 28, "{id}");
        let asked = json!({"run_id": id, "wait_ms": 0});
        wait_until("its call is made", || self.tool("lisp_wait", &asked)["upstream_calls"] == 1);
        id
    }

    fn outcome(&mut self, id: &str) -> Value {
        let mut last = Value::Null;
        let asked = json!({"run_id": id, "wait_ms": 20_000});
        wait_until("it ends", || {
            last = self.tool("lisp_wait", &asked);
            last["status"] != "running"
        });
        last
    }
}

impl Tools for Pipes {
    fn tool(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.send(format!("{message}\n").as_bytes());
        structured(&self.line())
    }
}

impl Tools for Client {
    fn tool(&mut self, tool: &str, arguments: &Value) -> Value {
        structured(&self.call(tool, arguments.clone()).unwrap().body)
    }
}

fn tools_of(pipes: &mut Pipes) -> Value {
    pipes.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    let answer: Value = serde_json::from_str(&pipes.line()).unwrap();
    answer["result"]["tools"].clone()
}

#[test]
fn on_pipes_a_program_goes_on_while_its_client_does_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let mut server = Launch::new(&LONG).with_upstream().on_pipes();
    let names = tools_of(&mut server).as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(Value::Array(names), json!(["lisp_eval", "lisp_wait", "lisp_cancel"]));
    let id = server.begin_run(&file);
    let other = server.tool("lisp_eval", &json!({"program": "(+ 1 2)"}));
    assert_eq!(other["result"], "user=> 3");
    std::fs::write(&file, "").unwrap();
    let end = server.outcome(&id);
    assert_eq!((&end["status"], &end["result"]), (&json!("ok"), &json!("user=> \"r: there it is\"")));
    assert_eq!(end["prints"], json!(["begun"]));
    // One that is stopped has no call at its upstream any more.
    let never = server.begin_run(&dir.path().join("never"));
    let stopped = server.tool("lisp_cancel", &json!({"run_id": never}));
    assert_eq!(stopped, json!({"status": "cancelled", "run_id": never}));
    let waiting = json!({"program": ptc_test_support::process::waiting()});
    wait_until("its call is cancelled", || server.tool("lisp_eval", &waiting)["result"] == "user=> 0");
}

#[test]
fn where_runs_are_off_nothing_speaks_of_them() {
    let mut server = Launch::new(&["--sessions", "--response-profile", "structured"]).on_pipes();
    let listing = tools_of(&mut server).to_string();
    for word in ["lisp_wait", "lisp_cancel", "wait_ms", "\"running\""] {
        assert!(!listing.contains(word), "{word}");
    }
    let unknown = server.tool("lisp_wait", &json!({"run_id": "run_x"}));
    assert_eq!(unknown["reason"], "unknown_tool");
}

#[test]
fn a_client_that_goes_away_ends_its_program_until_it_knows_the_id() {
    let dir = tempfile::tempdir().unwrap();
    let server = Launch::new(&WITH_SESSIONS).with_upstream().on_http();
    let mut client = Client::begin(&server.address);
    // The connection that began it is closed with the answer.
    let id = client.begin_run(&dir.path().join("file"));
    let waiting = json!({"program": ptc_test_support::process::waiting()});
    // A call is counted before it is sent.
    wait_until("its call waits", || client.tool("lisp_eval", &waiting)["result"] == "user=> 1");
    // A stranger to its conversation, but of the same principal.
    let mut other = Client::begin(&server.address);
    let cancelled = other.tool("lisp_cancel", &json!({"run_id": id}));
    assert_eq!(cancelled["status"], "cancelled");
}

fn on_folder(folder: &Path) -> Http {
    let folder = folder.to_str().unwrap();
    // No grace: a step past a longer one would be a step past the leases, too.
    Launch::new(&[&WITH_SESSIONS[..], &["--state-dir", folder, "--http-shutdown-grace-ms", "1"]].concat())
        .with_upstream()
        .on_http()
}

#[test]
fn on_a_folder_outcomes_outlive_the_process_and_programs_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, file) = (dir.path().join("state"), dir.path().join("file"));
    let mut first = on_folder(&folder);
    let mut client = Client::begin(&first.address);
    let done = client.begin_run(&file);
    std::fs::write(&file, "").unwrap();
    assert_eq!(client.outcome(&done)["status"], "ok");
    let killed = client.begin_run(&dir.path().join("never"));
    first.server.signal(Signal::SIGKILL);
    first.server.ended();
    let mut second = on_folder(&folder);
    let mut client = Client::begin(&second.address);
    assert_eq!(client.outcome(&done)["result"], "user=> \"r: there it is\"");
    let end = client.outcome(&killed);
    assert_eq!((&end["status"], &end["reason"]), (&json!("error"), &json!("interrupted")));
    let stopped = client.begin_run(&dir.path().join("never"));
    second.server.signal(Signal::SIGTERM);
    assert!(second.server.ended().success());
    let third = on_folder(&folder);
    let end = Client::begin(&third.address).outcome(&stopped);
    assert_eq!(
        end["message"],
        "the server stopped while this program ran; upstream calls up to #1 are known to have been made, later ones may have \
         been. It was not run again."
    );
}

#[test]
fn a_run_is_seen_stopped_and_buried_through_another_replica() {
    let Some(place) = Place::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let launch = || place.launch(&LONG).with_upstream().on_http();
    let (one, other) = (launch(), launch());
    let mut here = Client::begin(&one.address);
    let mut there = here.at(&other.address);
    let file = dir.path().join("file");
    let id = here.begin_run(&file);
    let look = |there: &mut Client| there.tool("lisp_wait", &json!({"run_id": id, "wait_ms": 0}));
    let mut seen = Value::Null;
    // What is printed is written down for other replicas each second.
    wait_until("what is printed is written down", || {
        seen = look(&mut there);
        seen["prints"] != json!([])
    });
    assert_eq!((&seen["status"], &seen["prints"]), (&json!("running"), &json!(["begun"])), "{seen}");
    std::fs::write(&file, "").unwrap();
    assert_eq!(there.outcome(&id)["result"], "user=> \"r: there it is\"");
    let id = here.begin_run(&dir.path().join("never"));
    let stopped = there.tool("lisp_cancel", &json!({"run_id": id}));
    assert_eq!(stopped["status"], "cancelled", "{stopped}");
    // The last word on a program whose process was killed is that of whoever looks after its lease.
    let id = here.begin_run(&dir.path().join("never"));
    one.server.signal(Signal::SIGKILL);
    let end = there.outcome(&id);
    assert_eq!(end["reason"], "interrupted", "{end}");
}
