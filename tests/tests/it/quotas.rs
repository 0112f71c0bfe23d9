//! What a caller may use by the policy (auth.md 14.4), as clients and programs see it.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Answer, Http, Launch, Pipes, call};
use ptc_test_support::wait_until;
use tempfile::TempDir;

/// A server whose callers have these limits, may call everything, and share one clock that is set ahead.
fn launch(limits: &Value, flags: &[&str]) -> (Launch, TempDir) {
    // What else a caller may use besides tools.
    let all = json!({"allow": ["*"], "resources": ["*"], "prompts": ["*"]});
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.json");
    let rule = json!({"match": {}, "upstreams": {"*": all}, "limits": limits});
    fs::write(&policy, json!({"rules": [rule]}).to_string()).expect("written");
    let policy = policy.to_str().expect("UTF-8");
    (Launch::new(&[&["--policy", policy][..], flags].concat()).with_upstream().stepped(), folder)
}

/// The answer to a program in the modern era.
fn answer(server: &Http, program: &str) -> Answer {
    Answer::read(server.call(program)).expect("an answer")
}

/// The value of a program in the handshake era.
fn value(server: &mut Pipes, program: &str) -> String {
    let reply = server.request(&call(1, program));
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
}

/// What a tool gives.
fn tool(server: &mut Pipes, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    server.request(&request)["result"].take()
}

#[test]
fn programs_over_the_limit_are_busy_until_the_minute_has_room() {
    let (launch, _folder) = launch(&json!({"programs_per_minute": 2}), &[]);
    let server = launch.on_http();
    for _ in 0..2 {
        assert_eq!(answer(&server, "(+ 1 2)").status, 200);
    }
    let refused = answer(&server, "(+ 1 2)");
    let seconds: u64 = refused
        .header("retry-after")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{refused:?}"));
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!((28..=30).contains(&seconds), "{refused:?}");
    let text = "this caller may begin 2 programs a minute; the next is free in ";
    assert!(refused.body.contains(text) && refused.body.contains("programs_per_minute"), "{refused:?}");
    server.server.advance(Duration::from_secs(30));
    assert_eq!(answer(&server, "(+ 1 2)").text(), "user=> 3");
    assert_eq!(answer(&server, "(+ 1 2)").status, 429);
}

#[test]
fn a_program_over_the_limit_is_told_so_in_the_handshake_era() {
    let (launch, _folder) = launch(&json!({"programs_per_minute": 1}), &[]);
    let mut server = launch.on_pipes();
    assert_eq!(value(&mut server, "(+ 1 2)"), "user=> 3");
    let refused = server.request(&call(1, "(+ 1 2)"));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let told = refused["result"]["content"][0]["text"].as_str().expect("text");
    assert!(
        told.contains("busy") && told.contains("Wait ") && told.contains("programs_per_minute"),
        "{told}"
    );
    server.finish();
}

#[test]
fn a_program_that_goes_on_takes_nothing_more_of_its_minute() {
    let (launch, _folder) = launch(&json!({"programs_per_minute": 1}), &["--questions", "auto"]);
    let server = launch.on_http();
    let client = Modern::new(&server.address, json!({"elicitation": {"form": {}}}));
    let mut call = json!({"name": "lisp_eval", "arguments": {"program": "(:ok (ask {:message \"Sure?\"}))"}});
    let asked = client.request("tools/call", &call);
    let question = asked["inputRequests"].as_object().and_then(|all| all.keys().next());
    let question = question.unwrap_or_else(|| panic!("{asked}"));
    call["inputResponses"] = json!({question: {"action": "accept", "content": {}}});
    call["requestState"] = asked["requestState"].clone();
    let end = client.request("tools/call", &call);
    assert_eq!(end["content"][0]["text"], "user=> true", "{end}");
    assert_eq!(answer(&server, "1").status, 429, "it was counted when it began");
}

#[test]
fn steps_that_are_owed_delay_the_next_program() {
    let (launch, _folder) = launch(&json!({"steps_per_minute": 100_000}), &[]);
    let server = launch.on_http();
    // More than a minute may have, in several turns: a program that runs goes on.
    let spend = answer(&server, "(loop [n 0] (if (< n 100000) (recur (inc n)) n))");
    assert_eq!(spend.text(), "user=> 100000", "{spend:?}");
    let refused = answer(&server, "1");
    let seconds: u64 = refused
        .header("retry-after")
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{refused:?}"));
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.body.contains("programs of this caller may take 100000 steps a minute"), "{refused:?}");
    server.server.advance(Duration::from_secs(seconds));
    assert_eq!(answer(&server, "1").text(), "user=> 1");
}

#[test]
fn upstream_calls_over_the_limit_are_faults_that_take_nothing_of_the_cap() {
    let flags = ["--max-upstream-calls-per-program", "3"];
    let (launch, _folder) = launch(&json!({"calls_per_minute": 2}), &flags);
    let mut server = launch.on_pipes();
    let program = r#"(loop [n 0 seen []]
        (if (< n 6)
          (let [reply (tool/call {:server "fake" :tool "echo" :args {:n n}})]
            (recur (inc n) (conj seen (if (:ok reply) "ok" (str (:reason reply) ": " (:message reply))))))
          seen))"#;
    let told = value(&mut server, program);
    let text = "this caller may make 2 upstream calls a minute; the next is free in ";
    assert_eq!(told.matches("ok").count(), 2, "{told}");
    assert_eq!(told.matches(text).count(), 4, "{told}");
    assert!(told.contains("rate_limited") && !told.contains("cap_exhausted"), "{told}");
    server.server.advance(Duration::from_secs(60));
    let after = value(&mut server, program);
    assert_eq!(after.matches("ok").count(), 2, "{after}");
    server.finish();
}

#[test]
fn what_clients_read_is_counted_among_their_calls() {
    let (launch, _folder) = launch(&json!({"calls_per_minute": 2}), &["--expose", "resources,prompts"]);
    let mut server = launch.on_pipes();
    let mut ask = |method: &str, params: Value| {
        server.request(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    };
    let uri = json!({"uri": "ptc://fake/text:hello"});
    assert_eq!(ask("resources/read", uri.clone())["result"]["contents"][0]["text"], "hello");
    // Lists are not counted, as those of programs are not.
    for _ in 0..3 {
        assert!(ask("resources/list", json!({}))["result"]["resources"].is_array());
    }
    let second = ask("prompts/get", json!({"name": "fake/absent"})).to_string();
    assert!(!second.contains("a minute"), "{second}");
    let refused = ask("resources/read", uri);
    let text = "this caller may make 2 upstream calls a minute; the next is free in ";
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    assert!(refused["error"]["message"].as_str().expect("text").starts_with(text), "{refused}");
    let program = r#"(:message (tool/call {:server "fake" :tool "echo" :args {:n 1}}))"#;
    assert!(value(&mut server, program).contains(text), "programs and clients have one account");
    server.server.advance(Duration::from_secs(60));
    assert!(value(&mut server, program).contains("nil"));
    server.finish();
}

#[test]
fn upstream_calls_at_a_time_are_counted_over_all_programs() {
    let (launch, _folder) = launch(&json!({"in_flight_calls": 1}), &[]);
    let mut server = launch.on_pipes();
    let program = r#"(frequencies (map (fn [reply] (if (:ok reply) "ok" (:message reply)))
        (pmap (fn [n] (tool/call {:server "fake" :tool "echo" :args {:n n}})) (range 3))))"#;
    let told = value(&mut server, program);
    assert!(told.contains(r#""ok" 1"#), "{told}");
    assert!(told.contains(r#""this caller may have 1 upstream call at a time" 2"#), "{told}");
    let again = value(&mut server, r#"(:ok (tool/call {:server "fake" :tool "echo" :args {}}))"#);
    assert_eq!(again, "user=> true", "calls that have ended are not counted");
    server.finish();
}

#[test]
fn sessions_and_their_memory_have_the_limits_of_the_policy() {
    let limits = json!({"sessions": 1, "session_memory_bytes": 2000});
    let (launch, _folder) = launch(&limits, &["--sessions"]);
    let mut server = launch.on_pipes();
    let session = tool(&mut server, "lisp_session_start", &json!({}));
    let id =
        session["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
    let refused = tool(&mut server, "lisp_session_start", &json!({}));
    assert_eq!(refused["structuredContent"]["reason"], "session_limit_exceeded", "{refused}");
    let message = "the policy of this server permits no more sessions for this owner";
    assert_eq!(refused["structuredContent"]["message"], message);
    let mut eval = |program: &str| {
        tool(&mut server, "lisp_session_eval", &json!({"session_id": id, "program": program}))
    };
    let kept = eval("(def small [1 2 3])");
    assert_eq!(kept["isError"], false, "{kept}");
    let refused = eval("(def large (vec (range 5000)))");
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains("persisted-state limit exceeded"), "{refused}");
    server.finish();
}

#[test]
fn memory_has_the_limit_of_the_policy() {
    let (launch, _folder) = launch(&json!({"memory_bytes": 4_000_000}), &[]);
    let mut server = launch.on_pipes();
    let told = value(&mut server, "(count (mapv (fn [n] (str n)) (range 200000)))");
    assert!(told.contains("may hold 4000000 bytes together (memory_bytes of the policy)"), "{told}");
    assert_eq!(value(&mut server, "(count (vec (range 1000)))"), "user=> 1000");
    server.finish();
}

#[test]
fn a_policy_is_read_again_and_a_bad_one_is_refused_whole() {
    let (launch, folder) = launch(&json!({}), &[]);
    let file = folder.path().join("policy.json");
    let allow = |tools: &str| {
        let rule = json!({"match": {}, "upstreams": {"fake": {"allow": [tools]}}});
        fs::write(&file, json!({"rules": [rule]}).to_string()).expect("written");
    };
    let log = launch.path("log");
    let server = launch.logging_to(fs::File::create(&log).expect("created")).on_http();
    let calls = || answer(&server, r#"(:ok (tool/call {:server "fake" :tool "echo" :args {}}))"#).text();
    let logged = |event: &str| fs::read_to_string(&log).expect("text").contains(event);
    assert_eq!(calls(), "user=> true");
    allow("gather");
    server.server.signal(Signal::SIGHUP);
    wait_until("it is read", || logged("reload_done"));
    assert!(calls().contains("no tool 'echo' in upstream 'fake'"), "{}", calls());
    fs::write(&file, r#"{"rules": [{"match": {}, "upstreams": {"fake": {"allow": ["echo"]}}}, {}]}"#)
        .expect("written");
    server.server.signal(Signal::SIGHUP);
    wait_until("it is refused", || logged("reload_refused"));
    assert!(logged("rules[1].match must be an object"));
    assert!(calls().contains("no tool 'echo' in upstream 'fake'"), "the old one holds");
    allow("echo");
    server.server.signal(Signal::SIGHUP);
    wait_until("it is read again", || calls() == "user=> true");
}

#[test]
fn a_tool_by_its_own_name_is_no_program_and_its_refusal_speaks_of_calls() {
    let limits = json!({"calls_per_minute": 2, "programs_per_minute": 1, "concurrent_programs": 1});
    let (launch, _folder) = launch(&limits, &["--expose", "tools"]);
    let mut server = launch.on_pipes();
    for n in 0..2 {
        let echoed = tool(&mut server, "fake__echo", &json!({"n": n}));
        assert_eq!(echoed["isError"], false, "{echoed}");
    }
    let params = json!({"name": "fake__echo", "arguments": {"n": 2}});
    let refused =
        server.request(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    let told = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(
        told.starts_with("this caller may make 2 upstream calls a minute; the next is free in "),
        "{refused}"
    );
    assert_eq!(value(&mut server, "(+ 1 2)"), "user=> 3", "no program has been counted");
    assert!(value(&mut server, "(+ 1 2)").contains("programs_per_minute"));
    server.finish();
}
