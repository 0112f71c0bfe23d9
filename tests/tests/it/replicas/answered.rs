//! What is answered on the console is written down, with whoever did: the answer, and the call that it allowed.

use std::io::Write as _;

use ptc_mcp::json::{Value, json};

use crate::reload::{reload, told};

use ptc_test_support::process::{Answer, Http, Launch, tool};
use ptc_test_support::wait_until;

/// Posts JSON to a path of the console.
fn post(server: &Http, path: &str, body: &str) -> Value {
    let mut stream = server.connect();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let answer = Answer::read(stream).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    serde_json::from_str(&answer.body).unwrap()
}

#[test]
fn an_answer_on_the_console_is_audited_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit");
    let keys = json!({"approve_tools": ["echo"], "approve_level": "out_of_band"});
    let flags = ["--console", "--questions", "auto", "--audit-log", log.to_str().unwrap()];
    let server = Launch::new(&flags).with_upstream_of(&keys).on_http();
    let text = server.eval(&tool("echo", "{:text \"hi\"}"));
    let at = text.find("run_").unwrap_or_else(|| panic!("no run in {text}"));
    let id = &text[at..at + 28];
    let listed: Value = serde_json::from_str(&server.get("/console/api/runs").body).unwrap();
    assert_eq!((&listed["runs"][0]["run_id"], &listed["caller"]), (&json!(id), &json!("anonymous")));

    let allow = r#"{"answers":{"q1":{"action":"accept","content":{"decision":"allow"}}}}"#;
    let told = post(&server, &format!("/console/api/runs/{id}/answers"), allow);
    assert_eq!(told["answers"]["q1"]["outcome"], "counted");
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let of = |kind: &str| lines().into_iter().filter(|line| line["kind"] == kind).collect::<Vec<_>>();
    wait_until("the call is made", || !of("upstream_call").is_empty());
    wait_until("the answer is written down", || !of("answer").is_empty());
    let by = json!({"channel": "console", "name": "anonymous"});
    let answers = of("answer");
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(
        (&answers[0]["by"], &answers[0]["decision"], &answers[0]["tool"]),
        (&by, &json!("allow"), &json!("echo"))
    );
    assert_eq!((&of("upstream_call")[0]["by"], of("question").len()), (&by, 1));
}

#[test]
fn an_answer_has_the_digest_of_its_question_although_its_tool_is_hidden_by_then() {
    let folder = tempfile::tempdir().unwrap();
    let (log, policy) = (folder.path().join("audit"), folder.path().join("policy.json"));
    let allows = |tool: &str| {
        let rules = json!({"rules": [{"match": {}, "upstreams": {"fake": {"allow": [tool]}}}]});
        std::fs::write(&policy, rules.to_string()).unwrap();
    };
    allows("echo");
    let keys = json!({"approve_tools": ["echo"], "approve_level": "out_of_band"});
    let files = [log.to_str().unwrap(), policy.to_str().unwrap()];
    let flags = ["--console", "--questions", "auto", "--audit-log", files[0], "--policy", files[1]];
    let launch = Launch::new(&flags).with_upstream_of(&keys);
    let home = launch.path("");
    let server = launch.on_http();
    // An argument that is nil is not sent.
    let text = server.eval(&tool("echo", "{:text \"hi\" :nothing nil}"));
    let at = text.find("run_").unwrap_or_else(|| panic!("no run in {text}"));
    let id = &text[at..at + 28];
    allows("gather");
    told(&reload(&home, &[]));
    let allow = r#"{"answers":{"q1":{"action":"accept","content":{"decision":"allow"}}}}"#;
    let counted = post(&server, &format!("/console/api/runs/{id}/answers"), allow);
    assert_eq!(counted["answers"]["q1"]["outcome"], "counted");
    let lines = |kind: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["kind"] == kind).collect()
    };
    wait_until("the answer is written down", || !lines("answer").is_empty());
    assert_eq!(lines("upstream_call"), [Value::Null; 0], "its caller does not see the tool");
    assert_eq!(lines("denied")[0]["reason"], "tool_hidden");
    let digests = |kind: &str| lines(kind)[0]["arguments_digests"].clone();
    assert_eq!(digests("answer"), digests("question"));
    assert!(digests("answer")[0].is_string());
}
