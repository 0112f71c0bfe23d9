//! Programs that wait while replicas read their files again (server.md 1.6, waiting.md 3.3).

use std::fs;

use ptc_mcp::json::{Value, json};
use ptc_test_support::child_process::program_text;
use ptc_test_support::process::Http;
use ptc_test_support::wait_until;

use super::client::Client;
use super::kept::{KEPT, begins, resume};
use super::runs::Tools;
use super::shared::Place;
use crate::reload::{reload, told};

/// Calls a tool that needs an approval.
const CALLS: &str = r#"(:value (tool/call {:server "fake" :tool "echo" :args {:text "hi"}}))"#;

/// The keys of an upstream of which these tools need an approval.
fn approved(tools: &[&str]) -> Value {
    json!({"approve_tools": tools, "approve_level": "model"})
}

/// Has a server read its upstreams file again, with these upstreams.
fn reloads(server: &Http, upstreams: &Value) -> String {
    let launch = &server.server.launch;
    fs::write(launch.path("upstreams.json"), json!({"upstreams": upstreams}).to_string()).expect("written");
    told(&reload(&launch.path(""), &[]))
}

fn allow(waiting: &Value) -> Value {
    let question = waiting["questions"][0]["id"].as_str().unwrap_or_else(|| panic!("no question: {waiting}"));
    json!({question: {"action": "accept", "content": {"decision": "allow"}}})
}

#[test]
fn a_waiting_program_asks_again_where_the_rules_have_changed_and_a_pinned_one_keeps_its_upstreams() {
    let Some(place) = Place::new() else { return };
    let launch = || place.launch(&KEPT).with_upstream_of(&approved(&["echo"])).on_http();
    let (one, other) = (launch(), launch());
    for server in [&one, &other] {
        let home = server.server.launch.path("");
        wait_until("it can be reloaded", || reload(&home, &["--check"]).status.success());
    }
    let mut here = Client::begin(&one.address);
    let mut there = here.at(&other.address);
    let (kept, as_before) = (begins(&mut here, CALLS), begins(&mut here, CALLS));
    let session = here.tool("lisp_session_start", &json!({}))["session_id"].as_str().unwrap().to_owned();
    let pinned = here.tool("lisp_session_eval", &json!({"session_id": session, "program": CALLS}));
    assert_eq!(pinned["status"], "waiting", "{pinned}");

    // The other replica has other rules by now: what was allowed by the former ones is asked again, once.
    let mut entry = approved(&["echo", "bulk"]);
    entry["transport"] = "mcp_stdio".into();
    entry["max_concurrency"] = 1000.into();
    entry["command"] = program_text("fake-upstream").into();
    assert!(reloads(&other, &json!({"fake": entry})).contains("upstreams changed in place: fake"));
    let again = resume(&mut there, &kept.0, allow(&kept.1));
    assert_eq!((&again["status"], &again["questions"][0]["kind"]), (&json!("waiting"), &json!("approval")));
    let end = resume(&mut there, &kept.0, allow(&again));
    assert!(end["result"].as_str().is_some_and(|text| text.contains("hi")), "{end}");
    // Where nothing has changed, it is not.
    let end = resume(&mut here, &as_before.0, allow(&as_before.1));
    assert!(end["result"].as_str().is_some_and(|text| text.contains("hi")), "{end}");

    // A pinned one goes on with the upstreams that it began with, wherever its answer is brought.
    assert!(reloads(&one, &json!({})).contains("upstreams removed: fake"));
    assert_eq!(here.tool("lisp_eval", &json!({"program": "(count (tool/servers))"}))["result"], "user=> 0");
    let id = pinned["run_id"].as_str().unwrap();
    let end = resume(&mut there, id, allow(&pinned));
    assert!(end["result"].as_str().is_some_and(|text| text.contains("hi")), "{end}");
}
