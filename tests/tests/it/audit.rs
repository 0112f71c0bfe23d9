//! The audit log of a whole server (server.md 11.6): who comes in, what is denied, what operators see, what clients ask for; and what
//! becomes of calls while it cannot be written.

use std::fs;
use std::process::{Command, Output};

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Http, Launch, tool};
use ptc_test_support::wait_until;
use tempfile::TempDir;

use crate::callers::{eval, launched, of_kind, token};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");
/// The same with a prompt of an extension.
const FIXTURES: &str = env!("CARGO_BIN_EXE_ptc-with-fixtures");

/// The given members of lines.
fn members(lines: &[Value], keys: &[&str]) -> Vec<Value> {
    lines.iter().map(|line| keys.iter().map(|key| line[*key].clone()).collect()).collect()
}

fn verify(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(["audit", "verify"]).args(arguments).output().expect("it runs")
}

/// A server whose caller `ann` may call `echo` with `hi` alone, and its operator `olga`.
fn governed(folder: &TempDir) -> Http {
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let rule = json!({"match": {"principal": "ann"}, "upstreams": {"fake": {
        "allow": ["echo"], "list": ["gather"], "args": {"echo": {"text": {"in": ["hi"]}}}}}});
    let files = [
        ("--http-auth-token-file", "tokens", format!("ann:{}\n", token("a"))),
        ("--http-operator-token-file", "operators", format!("olga:{}\n", token("o"))),
        ("--policy", "policy.json", json!({"rules": [rule]}).to_string()),
    ];
    let mut flags: Vec<String> = ["--long-runs", "--console", "--audit-log"].map(String::from).to_vec();
    flags.push(path("audit"));
    launched(folder.path(), flags, files)
}

#[test]
fn who_comes_in_what_is_denied_and_what_operators_see_have_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = governed(&folder);
    let log = folder.path().join("audit");
    assert_eq!(eval(&server, "x", "1").status, 401);
    for program in [
        tool("echo", r#"{:text "hi"}"#),
        tool("echo", r#"{:text "no"}"#),
        tool("gather", "{}"),
        tool("bulk", "{}"),
        tool("echo", r#"{:text "hi"}"#),
    ] {
        assert_eq!(eval(&server, "a", &program).status, 200, "{program}");
    }
    for _ in 0..3 {
        let head = format!(
            "GET /console/api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token("o")
        );
        assert_eq!(server.exchange(head.as_bytes()).status, 200);
    }
    for letter in ["o", "a"] {
        let head = format!(
            "POST /console/api/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
            token(letter)
        );
        let found = server.exchange(head.as_bytes());
        assert_eq!((found.status, found.body.contains("\"operator\":true")), (200, letter == "o"));
    }
    for (letter, seen) in
        [("o", json!([["fake", false, "started", []]])), ("a", json!([["fake", true, "started", []]]))]
    {
        let head = format!(
            "GET /console/api/state HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token(letter)
        );
        let state = server.exchange(head.as_bytes()).json();
        let shown = members(
            state["upstreams"].as_array().expect("a list"),
            &["name", "granted", "phase", "messages"],
        );
        assert_eq!(json!(shown), seen, "an operator sees the state of all upstreams: {state}");
    }
    // What operators see is no right to call.
    assert_eq!(eval(&server, "o", &tool("echo", r#"{:text "hi"}"#)).status, 200);
    for (upstream, name) in [("fake", "echo"), ("nowhere", "x")] {
        let body = json!({"upstream": upstream, "tool": name}).to_string();
        let head = format!(
            "POST /console/api/trial HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            token("o"),
            body.len()
        );
        assert_eq!(server.exchange(head.as_bytes()).status, 404);
    }
    wait_until("all has its line", || {
        of_kind(&log, "program").len() == 6 && of_kind(&log, "tool_call").len() == 1
    });
    let unknown = members(&of_kind(&log, "tool_call"), &["principal", "tool", "outcome"]);
    assert_eq!(unknown, [json!(["olga", "nowhere__x", "unknown_tool"])]);
    let signed_in = members(&of_kind(&log, "sign_in"), &["principal", "by", "from", "outcome"]);
    let here = "127.0.0.1";
    assert_eq!(
        signed_in,
        [
            json!([null, null, here, "unknown"]),
            json!(["ann", "token", here, "ok"]),
            json!(["olga", "token", here, "ok"]),
        ]
    );
    let denied = members(&of_kind(&log, "denied"), &["principal", "upstream", "tool", "reason"]);
    assert_eq!(
        denied,
        [
            json!(["ann", "fake", "echo", "argument"]),
            json!(["ann", "fake", "gather", "tool_not_allowed"]),
            json!(["ann", "fake", "bulk", "tool_hidden"]),
            json!(["olga", "fake", "echo", "upstream_hidden"]),
            json!(["olga", "fake", "echo", "upstream_hidden"]),
        ]
    );
    assert_eq!(
        members(&of_kind(&log, "operator"), &["principal", "use"]),
        ["see_runs", "see_calls", "see_load", "see_accounts", "see_upstreams"]
            .map(|seen| json!(["olga", seen]))
    );
    let text = fs::read_to_string(&log).expect("a log");
    assert!(!text.contains(&token("x")) && !text.contains(&token("a")), "{text}");
}

#[test]
fn calls_are_refused_while_the_log_cannot_be_written_and_nothing_of_it_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let (log, copy) = (folder.path().join("audit"), folder.path().join("audit.1"));
    let path = log.to_str().expect("UTF-8");
    let flags = ["--http-disable-auth", "--audit-log", path, "--log-level", "error", "--http-metrics"];
    // Files of this process may have 4 KiB.
    let server = Launch::of(FIXTURES, &flags).with_upstream().after("ulimit -f 8").on_http();
    let program = tool("echo", r#"{:text "hi"}"#);
    let mut answers = Vec::new();
    wait_until("the file is full", || {
        answers.push(server.eval(&program));
        answers.last().is_some_and(|answer| answer.contains("nothing was called"))
    });
    let made = answers.iter().filter(|answer| answer.contains(r#"{"text" "hi"}"#)).count();
    let refused = answers.last().expect("one");
    assert!(refused.contains("its operator has to make room"), "{refused}");
    assert_eq!((server.metric("ptc_audit_up"), server.metric("ptc_audit_refused_calls_total")), (0.0, 1.0));
    let not_ready = server.get("/ready");
    assert_eq!((not_ready.status, &not_ready.json()["status"]), (503, &json!("audit_unavailable")));
    // A prompt of an extension is a program, too.
    let name = "test_input_required_result_prompt";
    let prompt =
        Modern::new(&server.address, json!({})).answer("prompts/get", &json!({"name": name}), Some(name));
    assert!(prompt.1["error"]["message"].to_string().contains("its operator has to make room"), "{prompt:?}");
    fs::copy(&log, &copy).expect("copied");
    fs::File::options().write(true).open(&log).and_then(|file| file.set_len(0)).expect("truncated");
    wait_until("calls work again", || server.eval(&program).contains(r#"{"text" "hi"}"#));
    assert_eq!((server.metric("ptc_audit_up"), server.get("/ready").status), (1.0, 200));
    let all = || [&copy, &log].map(|path| of_kind(path, "upstream_call").len()).iter().sum::<usize>();
    wait_until("each call has its line", || all() == made + 1);
    let names = [log.to_str().expect("UTF-8"), copy.to_str().expect("UTF-8")];
    let whole = verify(&names);
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
    // Any change is found, and said with its place.
    let changed =
        fs::read_to_string(&copy).expect("read").replacen(r#""tool":"echo""#, r#""tool":"ecco""#, 1);
    fs::write(&copy, changed).expect("written");
    let found = verify(&[&names[..], &["--json"]].concat());
    assert_eq!(found.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let finding = &found["findings"][0];
    assert_eq!((&finding["kind"], &finding["file"]), (&json!("changed"), &json!(names[1])), "{found}");
    assert_eq!(found["findings_count"], 1);
    assert_eq!(verify(&[names[1], "--has", "x"]).status.code(), Some(2));
    assert_eq!(verify(&["/nowhere/at/all"]).status.code(), Some(1));
}

#[test]
fn a_reload_goes_on_in_a_new_file_and_has_a_line_whether_it_is_refused_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = governed(&folder);
    let at = |name: &str| folder.path().join(name);
    assert_eq!(eval(&server, "a", "1").status, 200);
    let good = fs::read_to_string(at("policy.json")).expect("read");
    fs::write(at("policy.json"), "{}}").expect("written");
    server.server.signal(Signal::SIGHUP);
    wait_until("the reload is refused", || of_kind(&at("audit"), "reload").len() == 1);
    let refused = of_kind(&at("audit"), "reload").remove(0);
    assert_eq!(refused["outcome"], "refused");
    assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains("policy")), "{refused}");
    fs::write(at("policy.json"), good).expect("written");
    fs::rename(at("audit"), at("audit-20260301")).expect("renamed");
    server.server.signal(Signal::SIGHUP);
    wait_until("the reload is applied", || of_kind(&at("audit"), "reload").len() == 1);
    let applied = of_kind(&at("audit"), "reload").remove(0);
    let changes = json!({"audit_log": "goes on in a new file"});
    assert_eq!(
        (&applied["outcome"], &applied["changes"]),
        (&json!("applied"), &changes),
        "the policy is as before"
    );
    assert_eq!(eval(&server, "a", "1").status, 200);
    wait_until("it is written there", || of_kind(&at("audit"), "program").len() == 1);
    let opened = of_kind(&at("audit"), "log").remove(0);
    assert_eq!((&opened["event"], &opened["after"]), (&json!("opened"), &json!("audit-20260301")));
    let names = ["audit", "audit-20260301"].map(|name| at(name).to_str().expect("UTF-8").to_owned());
    let whole = verify(&names.each_ref().map(String::as_str));
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stdout));
    assert_eq!(verify(&[&names[0]]).status.code(), Some(1), "the older file is missing");
    assert!(verify(&[&names[0], "--partial"]).status.success());
}

#[test]
fn calls_run_unrecorded_where_the_operator_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("audit");
    let log = log.to_str().expect("UTF-8");
    let flags = ["--audit-log", log, "--audit-full", "drop", "--log-level", "error", "--http-metrics"];
    let server = Launch::new(&flags).with_upstream().after("ulimit -f 8").on_http();
    wait_until("lines are lost", || {
        assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
        server.metric(r#"ptc_audit_lines_total{outcome="lost"}"#) > 0.0
    });
    assert_eq!(server.metric("ptc_audit_refused_calls_total"), 0.0);
}

#[test]
fn what_clients_ask_of_resources_and_prompts_has_lines_without_its_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("audit");
    let flags = ["--expose", "resources,prompts", "--audit-log", log.to_str().expect("UTF-8")];
    let mut client = Launch::of(PROGRAM, &flags).with_upstream().on_pipes();
    let mut ask = |id: u32, method: &str, params: Value| {
        client.request(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    ask(1, "resources/list", json!({}));
    ask(2, "resources/read", json!({"uri": "ptc://fake/nowhere"}));
    ask(3, "resources/subscribe", json!({"uri": "ptc://fake/nowhere"}));
    ask(4, "prompts/get", json!({"name": "fake/none"}));
    client.finish();
    let lines = of_kind(&log, "client_request");
    let methods = members(&lines, &["channel", "method"]);
    let wanted = ["resources/list", "resources/read", "resources/subscribe", "prompts/get"];
    assert_eq!(methods, wanted.map(|method| json!(["stdio", method])));
    assert_eq!(lines[1]["subject_digest"], lines[2]["subject_digest"]);
    assert!(!fs::read_to_string(&log).expect("a log").contains("nowhere"));
    // The process has ended, and its log with it.
    assert_eq!(of_kind(&log, "log").last().expect("a line")["event"], "closed");
    assert!(verify(&[log.to_str().expect("UTF-8")]).status.success());
}
