//! Kept programs in the texts of callers and in discovery (language.md 12), through the binary: over a pipe and over HTTP, for
//! callers who are served different ones.

use std::fs;

use ptc_mcp::json::{Value, json};
use ptc_test_support::modern::Modern;
use ptc_test_support::process::Launch;
use ptc_test_support::wait_until;
use regex::Regex;

use crate::kept_programs::{TWICE, approve, upstream, write};
use crate::reload::{reload, told};

/// Calls no tool, but another program.
const SUM: &str = "{:description \"Doubles and adds one.\" :input {:properties {:n {:type \"integer\"}}} :tools [\"fake/echo\"]}\n\
    (inc (:twice (program/twice {:n data/n})))\n";

/// Calls a tool of another upstream.
const OTHER: &str = "{:description \"Asks the other one.\" :tools [\"other/*\"]}\n\
    (:value (tool/call {:server \"other\" :tool \"echo\" :args {:a 1}}))\n";

/// Writes these programs and upstreams into the launch's home, approves them, and gives the flags that serve them.
fn served(launch: Launch, programs: &[(&str, &str)], has_upstreams: bool) -> Launch {
    let home = launch.path("");
    let file = home.join("upstreams.json");
    let entries = json!({"fake": upstream(&home.join("grown")), "other": upstream(&home.join("never"))});
    write(&file, &json!({"upstreams": entries}).to_string());
    for (name, text) in programs {
        write(&home.join(format!("programs/{name}.clj")), text);
    }
    approve(&home);
    let folder = home.join("programs");
    let launch = launch.with_flags(&["--programs", folder.to_str().expect("UTF-8")]);
    match has_upstreams {
        true => launch.with_flags(&["--upstreams-config", file.to_str().expect("UTF-8")]),
        false => launch,
    }
}

fn text(result: &Value) -> &str {
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"));
    text.strip_prefix("user=> ").unwrap_or(text)
}

fn eval(client: &Modern, program: &str) -> String {
    let params = json!({"name": "lisp_eval", "arguments": {"program": program}});
    text(&client.request("tools/call", &params)).to_owned()
}

/// The description of `lisp_eval` for a client.
fn description(client: &Modern) -> String {
    let tools = client.request("tools/list", &json!({}));
    let tools = tools["tools"].as_array().expect("tools");
    let tool = tools.iter().find(|tool| tool["name"] == "lisp_eval").expect("lisp_eval");
    tool["description"].as_str().expect("text").to_owned()
}

#[test]
fn callers_call_and_find_the_programs_that_they_are_served() {
    let launch = Launch::of(env!("CARGO_BIN_EXE_ptc-under-test"), &[]);
    let tokens = ["ann", "bob"].map(|name| format!("{name}-0123456789abcdef0123456789abcdef"));
    let file = launch.path("tokens");
    write(&file, &format!("ann:{}\nbob:{}\n", tokens[0], tokens[1]));
    let policy = launch.path("policy.json");
    let rule = |name: &str, upstreams: Value| json!({"match": {"principal": name}, "upstreams": upstreams});
    let rules = [
        rule("ann", json!({"fake": {"allow": ["echo"]}})),
        rule("bob", json!({"fake": {"allow": ["echo"]}, "other": {"allow": ["*"]}})),
    ];
    write(&policy, &json!({"rules": rules}).to_string());
    let flags = [
        "--policy",
        policy.to_str().expect("UTF-8"),
        "--http-auth-token-file",
        file.to_str().expect("UTF-8"),
    ];
    let programs = [("twice", TWICE), ("sum", SUM), ("other", OTHER)];
    let launch = served(launch.with_flags(&flags), &programs, true);
    let http = launch.on_http();
    let [ann, bob] = tokens.map(|token| Modern::new(&http.address, json!({})).with_token(&token));
    for caller in [&ann, &bob] {
        assert_eq!(eval(caller, "(map program/sum [{:n 1} {:n 2}])"), "[3 5]");
    }
    assert_eq!(eval(&bob, "(program/other {})"), "{\"a\" 1}");
    let refused = eval(&ann, "(+ 1\n   (program/other {}))");
    assert!(refused.contains("no program is named other; there are sum, twice"), "{refused}");
    assert!(refused.contains("at line 2, column 5"), "with the place in the caller's text: {refused}");
    assert_eq!(eval(&ann, "(count (dir 'program))"), "2");
    assert_eq!(eval(&bob, "(count (dir 'program))"), "3");
    assert!(eval(&ann, "(doc 'program/other)").contains("no program is named other"));
    assert!(eval(&bob, "(doc 'program/twice)").contains("(program/twice {:n ...})"));
    assert!(eval(&bob, "(first (apropos \"asks other\"))").contains("program/other - Asks"));
    let (of_ann, of_bob) = (description(&ann), description(&bob));
    assert!(of_ann.contains("program/twice") && !of_ann.contains("program/other"), "{of_ann}");
    assert!(of_bob.contains("program/other"), "{of_bob}");
    let (programs, servers) = (of_bob.find("program/twice"), of_bob.find("Configured upstream"));
    assert!(programs < servers, "programs come first: {of_bob}");
    // A fault in a file names it, and a misfit says where.
    let failed = eval(&ann, "(program/twice {:n \"x\"})");
    assert!(failed.contains("arguments do not fit the input schema of program/twice"), "{failed}");
}

#[test]
fn without_upstreams_programs_are_called_listed_and_described() {
    let inc = "{:description \"Adds one.\" :input {:properties {:n {:type \"integer\"}}}}\n(inc data/n)\n";
    let launch = served(Launch::new(&["--sessions"]), &[("add-one", inc)], false);
    let home = launch.path("");
    let http = launch.on_http();
    let client = Modern::new(&http.address, json!({}));
    assert_eq!(eval(&client, "(program/add-one {:n 1})"), "2");
    assert_eq!(eval(&client, "(dir 'program)"), "[\"program/add-one - Adds one.\"]");
    assert!(
        description(&client).contains("\n- program/add-one - Adds one.\n  {n? int}"),
        "{}",
        description(&client)
    );
    let big = format!("(do \"{}\" (program/add-one {{:n 1}}))", "x".repeat(70_000));
    assert!(eval(&client, &big).contains("exceeds max_program_bytes"));

    // A session keeps the program that a function was defined with, whatever is served later.
    let session = client.request("tools/call", &json!({"name": "lisp_session_start", "arguments": {}}));
    let id = Regex::new("ptcs_[A-Za-z0-9_-]+").expect("a pattern");
    let session = id.find(text(&session)).expect("an id").as_str().to_owned();
    let in_session = |program: &str| {
        let arguments = json!({"session_id": session, "program": program});
        let params = json!({"name": "lisp_session_eval", "arguments": arguments});
        text(&client.request("tools/call", &params)).to_owned()
    };
    in_session("(defn next [n] (program/add-one {:n n}))");
    write(&home.join("programs/add-one.clj"), &inc.replace("(inc data/n)", "(+ 10 data/n)"));
    approve(&home);
    told(&reload(&home, &[]));
    assert!(in_session("(next 1)").contains('2'), "{}", in_session("(next 1)"));
    assert!(in_session("(program/add-one {:n 1})").contains("11"));
    fs::remove_file(home.join("programs/add-one.clj")).expect("removed");
    told(&reload(&home, &[]));
    assert!(
        in_session("(program/add-one {:n 1})").contains("no program is named add-one; there are none here")
    );
    assert!(in_session("(next 1)").contains('2'));
    assert!(!description(&client).contains("Kept programs"), "{}", description(&client));
}

#[test]
fn a_text_that_waits_for_a_person_ends_with_the_programs_that_it_began_with() {
    let asks = |word: &str| {
        format!(
            "{{:description \"Asks.\"}}\n(let [a (ask {{:message \"Go on?\"}})] {{:went (:ok a) :word \"{word}\"}})\n"
        )
    };
    let launch = served(Launch::new(&[]), &[("asks", &asks("first"))], true);
    let home = launch.path("");
    let http = launch.on_http();
    let client = Modern::new(&http.address, json!({"elicitation": {"form": {}}}));
    let mut params = json!({"name": "lisp_eval", "arguments": {"program": "(:word (program/asks {}))"}});
    let asked = client.request("tools/call", &params);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    for change in [asks("second"), String::new()] {
        match change.is_empty() {
            true => fs::remove_file(home.join("programs/asks.clj")).expect("removed"),
            false => {
                write(&home.join("programs/asks.clj"), &change);
                approve(&home);
            }
        }
        told(&reload(&home, &[]));
    }
    let keys = asked["inputRequests"].as_object().expect("questions").keys();
    let responses = keys.map(|key| (key.clone(), json!({"action": "accept", "content": {}})));
    params["inputResponses"] = Value::Object(responses.collect());
    params["requestState"] = asked["requestState"].clone();
    assert_eq!(text(&client.request("tools/call", &params)), "\"first\"");
}

#[test]
fn over_a_pipe_a_head_refuses_and_the_audit_log_says_so() {
    let launch = Launch::new(&[]);
    let audit = launch.path("audit.jsonl");
    let bad = "{:description \"Calls what it does not name.\"}\n(tool/call {:server \"fake\" :tool \"echo\" :args {:n 1}})\n";
    let flags = ["--audit-log", audit.to_str().expect("UTF-8")];
    let mut server = served(launch.with_flags(&flags), &[("bad", bad), ("twice", TWICE)], true).on_pipes();
    assert_eq!(server.eval("(program/twice {:n 4})"), "user=> {:twice 8}");
    let refused = server.eval("(program/bad {})");
    assert!(refused.contains("program bad may not call fake/echo: its :tools do not name it"), "{refused}");
    assert!(refused.contains("(in bad.clj:2:1)"), "{refused}");
    let mut rows = Vec::new();
    wait_until("the refusal is written", || {
        let lines = fs::read_to_string(&audit).unwrap_or_default();
        rows = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect();
        rows.iter().any(|row| row["kind"] == "denied")
    });
    let row = rows.iter().find(|row| row["kind"] == "denied").expect("a row");
    assert_eq!(
        (&row["upstream"], &row["tool"], &row["reason"]),
        (&json!("fake"), &json!("echo"), &json!("program_head"))
    );
}
