//! Drafts (programs.md 11), through the binary: a model's run becomes a draft, a person approves it, and others call it as a tool.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_mcp::json::{Value, json};
use ptc_test_support::child_process::program_text;
use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Http, Launch};
use ptc_test_support::wait_until;

use crate::kept_programs::{done, program, text, write};
use crate::reload::{reload, told};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

/// Doubles what the upstream says of a number.
const TWICE: &str = r#"(let [reply (tool/call {:server "fake" :tool "echo" :args {:n data/n}})]
  {:twice (* 2 (:n (:value reply)))})"#;

/// A server whose models may propose programs.
struct World {
    http: Http,
    home: PathBuf,
}

fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = program(home, arguments);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

impl World {
    /// One whose callers need no token.
    fn start(flags: &[&str]) -> World {
        World::launch(Launch::new(flags))
    }

    fn launch(launch: Launch) -> World {
        let home = launch.path("");
        let upstreams = json!({"upstreams": {"fake": {"transport": "mcp_stdio",
            "command": program_text("fake-upstream"), "args": [home.join("never")]}}});
        let file = home.join("upstreams.json");
        fs::write(&file, upstreams.to_string()).expect("written");
        let folder = home.join("programs");
        fs::create_dir_all(&folder).expect("a folder");
        let files = ["--program-drafts", "--programs", folder.to_str().expect("UTF-8"), "--upstreams-config"];
        let launch = launch.with_flags(&files).with_flags(&[file.to_str().expect("UTF-8")]);
        World { http: launch.on_http(), home }
    }

    fn client(&self) -> Modern {
        Modern::new(&self.http.address, json!({}))
    }

    fn names(&self) -> Vec<String> {
        let result = self.client().request("tools/list", &json!({}));
        let tools = result["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.client().request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Keeps a run of `TWICE`.
    fn keep_twice(&self, name: &str) -> Value {
        let run = json!({"program": TWICE, "context": {"n": 21}, "record": true});
        let result = self.call("lisp_eval", &run);
        assert_eq!(text(&result), "user=> {:twice 42}", "{result}");
        let keep = json!({"name": name, "description": "Doubles a number.",
            "output": {"type": "object", "properties": {"twice": {"type": "integer"}}, "required": ["twice"]}});
        self.call("lisp_keep", &keep)
    }
}

#[test]
fn a_recorded_run_becomes_a_draft_that_a_person_approves_by_a_command() {
    let world = World::start(&[]);
    assert_eq!(world.names(), ["lisp_eval", "lisp_keep"]);
    let kept = world.keep_twice("add-twice");
    let told_of = text(&kept);
    assert!(told_of.starts_with("draft add-twice, with 1 test\nIt is no tool yet: a person must approve it, by `ptc program approve --draft add-twice` with the --programs and --state-dir of this server."), "{told_of}");
    for part in [
        ":description \"Doubles a number.\"",
        ":input {:type \"object\" :properties {:n {:type \"number\"}} :required [\"n\"]}",
        ":tools [\"fake/echo\"]",
        ":replies [{:tool \"fake/echo\" :args {:n 21} :value {:n 21}}]",
        TWICE,
    ] {
        assert!(told_of.contains(part), "{part}: {told_of}");
    }
    assert_eq!(world.names(), ["lisp_eval", "lisp_keep"], "a draft is no tool");

    // No program reaches the tool.
    let called =
        world.call("lisp_eval", &json!({"program": "(tool/lisp_keep {:name \"a\" :description \"x\"})"}));
    assert_eq!(called["isError"], true, "{called}");

    // Another process sees it while the server runs.
    let listed = done(&world.home, &["drafts"]);
    assert!(listed.starts_with("add-twice") && listed.contains("anonymous"), "{listed}");
    let shown = done(&world.home, &["drafts", "add-twice"]);
    assert!(shown.starts_with("; draft add-twice of anonymous, ") && shown.contains(TWICE), "{shown}");
    let why = refused(&world.home, &["drafts", "none"]);
    assert!(
        why.starts_with("ptc: there is no draft none in ")
            && why.contains(".local/state/ptc/drafts: `ptc program drafts` lists them; --state-dir "),
        "{why}"
    );
    // What somebody wrote and nobody approved is not lost, and no folder is made elsewhere.
    let file = world.home.join("programs/add-twice.clj");
    write(&file, "; two days of work");
    let why = refused(&world.home, &["approve", "--draft", "add-twice"]);
    assert!(why.contains("the folder has another add-twice.clj that nobody has approved"), "{why}");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "; two days of work");
    fs::remove_file(&file).expect("removed");
    let elsewhere = world.home.join("elsewhere");
    let flags = ["approve", "--draft", "add-twice", "--programs", elsewhere.to_str().expect("UTF-8")];
    let why = refused(&world.home, &flags);
    assert!(
        why.contains("elsewhere: no such file or directory; name the folder with --programs DIR"),
        "{why}"
    );
    assert!(!elsewhere.exists());
    let approved = done(&world.home, &["approve", "--draft", "add-twice"]);
    assert!(approved.starts_with("add-twice: approved\n"), "{approved}");
    assert!(done(&world.home, &["drafts"]).starts_with("no drafts"), "what was approved is no draft");
    told(&reload(&world.home, &[]));
    assert_eq!(world.names()[0], "add_twice");
    let result = world.call("add_twice", &json!({"n": 4}));
    assert_eq!(result["structuredContent"], json!({"twice": 8}), "{result}");
}

#[test]
fn what_cannot_be_a_draft_is_told_with_what_to_change() {
    let world = World::start(&["--response-profile", "structured", "--expose", "tools"]);
    let keep = |arguments: Value| world.call("lisp_keep", &arguments);
    let said =
        |result: &Value| result["structuredContent"]["message"].as_str().expect("a message").to_owned();
    let none = keep(json!({"name": "a", "description": "x"}));
    assert_eq!(said(&none), "no program of this conversation has ended well");
    world.call("lisp_eval", &json!({"program": "(fail \"no\")"}));
    assert_eq!(
        said(&keep(json!({"name": "a", "description": "x"}))),
        said(&none),
        "a failed program is not kept"
    );

    world.call("lisp_eval", &json!({"program": "(+ 1 2)"}));
    world.call("lisp_eval", &json!({"program": "[data/x]", "context": {"x": [1]}}));
    for (arguments, told) in [
        (json!({"name": "A", "description": "x"}), "argument `name`: a name has a letter from a to z"),
        (json!({"name": "lisp-a", "description": "x"}), "argument `name`: names that begin with lisp-"),
        (json!({"name": "fake--echo", "description": "x"}), "another tool has the name fake__echo"),
        (
            json!({"name": "a", "description": "x", "program": "(+ 1 3)"}),
            "no program of this text is among the last ones of this conversation that ended well",
        ),
        (
            json!({"name": "a", "description": "x", "output": {"typ": "array"}}),
            "the draft cannot be used: a.clj:",
        ),
        (json!({"name": "a", "description": "y".repeat(1 << 20)}), "the draft has 10"),
        (
            json!({"name": "a", "description": "y".repeat(5000)}),
            "the draft cannot be used: a.clj:1:15 :description has 5000 characters",
        ),
    ] {
        let result = keep(arguments);
        assert!(said(&result).starts_with(told), "{told}: {result}");
        assert!(result["structuredContent"]["feedback"].as_str().is_some_and(|advice| !advice.is_empty()));
    }
    let kept = keep(json!({"name": "sum", "description": "Adds.", "program": "(+ 1 2)"}));
    let content = &kept["structuredContent"];
    assert_eq!(
        (&content["status"], &content["tests"], &content["replaced"]),
        (&json!("ok"), &json!(0), &json!(false))
    );
    assert!(content["program"].as_str().is_some_and(|text| text.ends_with("\n\n(+ 1 2)\n")), "{content}");
    let again = keep(json!({"name": "sum", "description": "Adds again."}));
    assert_eq!(again["structuredContent"]["replaced"], true);

    // A run that cannot be a test says why, and so does what is kept of it.
    let looked = world.call("lisp_eval", &json!({"program": "(count (tool/servers))", "record": true}));
    let notes = looked["structuredContent"]["notes"].to_string();
    let why = "it looks into the catalog (tool/servers), which tests do not have";
    assert!(notes.contains(&format!("this run was not recorded as a test: {why}")), "{looked}");
    let kept = keep(json!({"name": "servers", "description": "Counts."}));
    assert_eq!(kept["structuredContent"]["untested"], why, "{kept}");
    assert_eq!(
        said(&world.call("lisp_eval", &json!({"program": "1", "record": "yes"}))),
        "argument `record` must be true or false, got string"
    );
    // A run that failed, or that no tool could give, is not passed over for the one before it.
    for failed in ["(/ 1 0)", "(fn [x] x)"] {
        world.call("lisp_eval", &json!({"program": "(+ 1 2)", "record": true}));
        world.call("lisp_eval", &json!({"program": failed, "record": true}));
        let refused = said(&keep(json!({"name": "a", "description": "x"})));
        assert!(
            refused.starts_with("the last run of this conversation did not end well, "),
            "{failed}: {refused}"
        );
        let named = keep(json!({"name": "a", "description": "x", "program": "(+ 1 2)"}));
        assert_eq!(named["isError"], false, "{named}");
    }
}

#[test]
fn without_drafts_there_is_neither_tool_nor_argument() {
    let launch = Launch::new(&[]).with_upstream();
    let http = launch.on_http();
    let client = Modern::new(&http.address, json!({}));
    let tools = client.request("tools/list", &json!({})).to_string();
    assert!(!tools.contains("lisp_keep") && !tools.contains("\"record\""), "{tools}");
    for (flags, told) in [
        (&["--program-drafts"][..], "--program-drafts / PTC_PROGRAM_DRAFTS needs --programs"),
        (
            &["--program-drafts", "--programs", "p", "--expose-only", "--expose", "tools"],
            " leaves out what --program-drafts",
        ),
    ] {
        let mut command = Command::new(PROGRAM);
        command.arg("start").args(flags).env_clear().env("HOME", "/nonexistent");
        let output = command.output().expect("it runs");
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(said.contains(told), "{said}");
    }
}

/// A token of 32 characters and more.
fn token(name: &str) -> String {
    format!("{name}-0123456789abcdef0123456789abcdef")
}

/// Sends `body` to a path as the caller of that name.
fn post(server: &Http, name: &str, path: &str, further: &str, body: &Value) -> (u16, Value) {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         {further}Content-Length: {}\r\nConnection: close\r\n\r\n",
        token(name),
        body.len()
    );
    let answer = server.exchange(&[head.as_bytes(), body.as_bytes()].concat());
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

/// The result of a request of MCP.
fn request(server: &Http, name: &str, method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let tool = params["name"].as_str().map(|tool| format!("Mcp-Name: {tool}\r\n")).unwrap_or_default();
    let further = format!(
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{tool}"
    );
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let (status, answer) = post(server, name, "/mcp", &further, &message);
    assert_eq!(status, 200, "{answer}");
    answer["result"].clone()
}

fn call_as(server: &Http, name: &str, tool: &str, arguments: &Value) -> Value {
    request(server, name, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

#[test]
fn an_operator_approves_a_draft_on_the_console_and_others_call_it_as_a_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (tokens, operators, audit) = (path("tokens"), path("operators"), path("audit"));
    fs::write(&tokens, format!("ann:{}\nben:{}\n", token("ann"), token("ben"))).expect("written");
    fs::write(&operators, format!("olga:{}\n", token("olga"))).expect("written");
    let flags = [
        "--console",
        "--http-auth-token-file",
        &tokens,
        "--http-operator-token-file",
        &operators,
        "--audit-log",
        &audit,
    ];
    let world = World::launch(Launch::of(PROGRAM, &flags));
    let server = &world.http;
    let run = json!({"program": TWICE, "context": {"n": 21}, "record": true});
    call_as(server, "ann", "lisp_eval", &run);
    let keep = json!({"name": "add-twice", "description": "Doubles a number.",
        "output": {"type": "object", "properties": {"twice": {"type": "integer"}}, "required": ["twice"]}});
    let kept = call_as(server, "ann", "lisp_keep", &keep);
    assert!(text(&kept).contains("a person must approve it, on the console at http"), "{kept}");
    // What ran is each caller's own.
    let of_ben = call_as(server, "ben", "lisp_keep", &keep);
    assert_eq!(of_ben["isError"], true, "{of_ben}");

    let list = |name: &str| {
        let head = format!(
            "GET /console/api/drafts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token(name)
        );
        server.exchange(head.as_bytes()).json()
    };
    assert_eq!((&list("ben")["drafts"], &list("ben")["may_approve"]), (&json!([]), &json!(false)));
    assert_eq!(list("ann")["drafts"][0]["name"], "add-twice");
    let seen = list("olga");
    assert_eq!((&seen["may_approve"], &seen["drafts"][0]["principal"]), (&json!(true), &json!("ann")));

    let work = |name: &str, does: &str, body: Value| {
        post(server, name, &format!("/console/api/drafts/{does}"), "", &body)
    };
    let whose = json!({"name": "add-twice", "principal": "ann"});
    assert_eq!(work("ben", "show", whose.clone()).0, 404, "another's draft is none");
    let (status, shown) = work("olga", "show", whose);
    assert_eq!(status, 200, "{shown}");
    assert_eq!((&shown["tools"], &shown["tests"][0]["ok"]), (&json!(["fake/echo"]), &json!(true)), "{shown}");
    assert!(shown["text"].as_str().is_some_and(|text| text.contains(TWICE)), "{shown}");
    assert_eq!(shown["served"], Value::Null);
    let with = |digest: &Value| json!({"name": "add-twice", "principal": "ann", "digest": digest});
    let digest = shown["digest"].clone();
    for (name, does, body, status) in [
        ("ann", "approve", with(&digest), 403),
        ("ben", "approve", with(&digest), 404),
        ("ben", "discard", with(&digest), 404),
        ("olga", "approve", json!({"name": "add-twice", "principal": "ann"}), 400),
        ("olga", "approve", json!({"name": "add-twice", "principal": "ben", "digest": digest}), 404),
        ("olga", "approve", with(&json!("0".repeat(64))), 409),
        ("olga", "approval", with(&digest), 404),
    ] {
        let answer = work(name, does, body);
        assert_eq!(answer.0, status, "{name} {does}: {answer:?}");
    }
    // A page of another origin, and a form of it.
    let (approve, foreign) = ("/console/api/drafts/approve", "Origin: https://evil.example\r\n");
    assert_eq!(post(server, "olga", approve, foreign, &with(&digest)).0, 403);
    let form = format!(
        "POST {approve} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: text/plain\r\n\
         Content-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        token("olga")
    );
    assert_eq!(server.exchange(form.as_bytes()).status, 415);

    let (status, approved) = work("olga", "approve", with(&digest));
    assert_eq!((status, &approved["revision"], &approved["digest"]), (200, &json!(1), &digest), "{approved}");
    assert_eq!(list("olga")["drafts"], json!([]));
    let file = fs::read_to_string(world.home.join("programs/add-twice.clj")).expect("a file");
    assert!(file.contains(TWICE), "{file}");
    assert!(done(&world.home, &["list"]).contains("approved"), "the command knows it, too");
    let tools = request(server, "ben", "tools/list", &json!({}));
    assert_eq!(tools["tools"][0]["name"], "add_twice", "served at once: {tools}");
    let result = call_as(server, "ben", "add_twice", &json!({"n": 4}));
    assert_eq!(result["structuredContent"], json!({"twice": 8}), "{result}");

    // A tool that is named and not there is told where the draft is shown, and refused. What the upstreams list by now is approved.
    fs::write(world.home.join("never"), "").expect("written");
    let announce = json!({"program": "(tool/call {:server \"fake\" :tool \"announce\"})"});
    call_as(server, "ann", "lisp_eval", &announce);
    let names = |tools: &Value| tools["tools"].as_array().expect("tools").len();
    wait_until("it is stale", || names(&request(server, "ben", "tools/list", &json!({}))) == 2);
    call_as(server, "ann", "lisp_eval", &json!({"program": "(+ 1 1)"}));
    for (tools, why) in [
        (
            json!(["fake/ecko", "fake/echo"]),
            Some(
                "fake has no tool ecko, which its :tools name; correct the name, or approve it once the tool is there",
            ),
        ),
        (json!(["fake/ecko*", "fake/echo"]), None),
    ] {
        call_as(
            server,
            "ann",
            "lisp_keep",
            &json!({"name": "two", "description": "Is two.", "tools": tools}),
        );
        let mut draft = json!({"name": "two", "principal": "ann"});
        let (_, shown) = work("olga", "show", draft.clone());
        let remark = why.unwrap_or("fake/ecko* fits no tool that is listed now");
        assert_eq!(shown["remarks"], json!([remark]), "{shown}");
        draft["digest"] = shown["digest"].clone();
        let (status, answer) = work("olga", "approve", draft);
        match why {
            Some(why) => assert!(status == 422 && answer.to_string().contains(why), "{answer}"),
            None => assert_eq!((status, &answer["no_longer_approved"]), (200, &json!([])), "{answer}"),
        }
    }
    let tools = request(server, "ben", "tools/list", &json!({}));
    assert_eq!(tools["tools"][0]["name"], "two", "it is not stale: {tools}");
    fs::remove_file(world.home.join("never")).expect("it was there");
    call_as(server, "ann", "lisp_eval", &announce);
    wait_until("it is stale", || {
        !request(server, "ben", "tools/list", &json!({})).to_string().contains("\"two\"")
    });

    // The next draft of the name shows what it would change.
    call_as(server, "ann", "lisp_eval", &run);
    let keep = json!({"name": "add-twice", "description": "Doubles any number."});
    call_as(server, "ann", "lisp_keep", &keep);
    let (_, shown) = work("ann", "show", json!({"name": "add-twice"}));
    let diff = shown["served"]["diff"].as_str().expect("a diff");
    assert!(
        diff.contains("-{:description \"Doubles a number.\"")
            && diff.contains("+{:description \"Doubles any number.\""),
        "{diff}"
    );
    assert_eq!(shown["served"]["by"], "olga");
    assert_eq!(work("ann", "discard", json!({"name": "add-twice", "digest": shown["digest"]})).0, 200);

    wait_until("all has its line", || {
        fs::read_to_string(&audit).is_ok_and(|log| log.contains("approve_program"))
    });
    let log = fs::read_to_string(&audit).expect("a log");
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let uses: Vec<String> = lines
        .filter(|line| line["kind"] == "operator" && line["program"] == "add-twice")
        .map(|line| format!("{} {} {}", line["principal"], line["use"], line["owner"]))
        .collect();
    for used in [r#""olga" "see_draft" "ann""#, r#""olga" "approve_program" "ann""#] {
        assert!(uses.iter().any(|line| line == used), "{used}: {uses:?}");
    }
}
