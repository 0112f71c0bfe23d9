//! Kept programs served as tools (server.md 4.9), through the binary: from the file of a program to its call by other clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ptc_mcp::json::{Value, json};
use ptc_test_support::child_process::program_text;
use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Http, Launch};
use ptc_test_support::wait_until;

use crate::reload::{fault, reload, told};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

/// Doubles a number by way of the upstream.
pub(super) const TWICE: &str = r#"{:description "Doubles a number."
 :title "Twice"
 :input {:type "object" :properties {:n {:type "integer"}} :required ["n"]}
 :output {:type "object" :properties {:twice {:type "integer"}} :required ["twice"]}
 :tools ["fake/echo"]
 :tests [{:input {:n 2} :replies [{:tool "fake/echo" :args {:n 2} :value {:n 2}}] :value {:twice 4}}]}
(let [reply (tool/call {:server "fake" :tool "echo" :args {:n data/n}})]
  {:twice (* 2 (:n (:value reply)))})
"#;

/// Calls a tool of another upstream, and has no output schema.
const OTHER: &str = "{:description \"Asks the other one.\" :tools [\"other/*\"]}\n\
    (:value (tool/call {:server \"other\" :tool \"echo\" :args {:a 1}}))\n";

/// Has a value that its schema does not allow.
const MISFIT: &str = "{:description \"Is wrong.\" :output {:type \"object\" :properties {:n {:type \"integer\"}}}}\n\
    {:n \"x\"}\n";

/// A server with a folder of programs.
pub(super) struct World {
    pub(super) http: Http,
    pub(super) home: PathBuf,
}

pub(super) fn upstream(grown: &Path) -> Value {
    json!({"transport": "mcp_stdio", "command": program_text("fake-upstream"), "args": [grown]})
}

pub(super) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("written");
}

/// Runs `ptc program` in this home.
pub(super) fn program(home: &Path, arguments: &[&str]) -> Output {
    let (programs, upstreams) = (home.join("programs"), home.join("upstreams.json"));
    let mut command = Command::new(PROGRAM);
    command.arg("program").args(arguments).env_clear().env("HOME", home);
    command.env("PTC_PROGRAMS", programs).env("PTC_UPSTREAMS", upstreams);
    command.output().expect("it runs")
}

pub(super) fn done(home: &Path, arguments: &[&str]) -> String {
    let output = program(home, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Approves the programs of a home.
pub(super) fn approve(home: &Path) {
    done(home, &["approve", "--all"]);
}

/// Accepts the tools of the upstreams.
fn pin(home: &Path) {
    let mut command = Command::new(PROGRAM);
    command.args(["pin", "--upstreams-config"]).arg(home.join("upstreams.json"));
    let output = command.env_clear().env("HOME", home).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

impl World {
    pub(super) fn start(programs: &[(&str, &str)], flags: &[&str]) -> World {
        let launch = Launch::new(flags);
        let home = launch.path("");
        let grown = home.join("grown");
        let mut fake = upstream(&grown);
        write(&home.join("goes-on"), "");
        fake["env"] = json!({"HELD": home.join("goes-on")});
        let upstreams = json!({"upstreams": {"fake": fake, "other": upstream(&home.join("never"))}});
        let file = home.join("upstreams.json");
        write(&file, &upstreams.to_string());
        for (name, text) in programs {
            write(&home.join(format!("programs/{name}.clj")), text);
        }
        let folder = home.join("programs");
        fs::create_dir_all(&folder).expect("a folder");
        if !programs.is_empty() {
            approve(&home);
        }
        let files = ["--programs", folder.to_str().expect("UTF-8"), "--upstreams-config"];
        let launch = launch.with_flags(&files).with_flags(&[file.to_str().expect("UTF-8")]);
        World { http: launch.on_http(), home }
    }

    pub(super) fn client(&self) -> Modern {
        Modern::new(&self.http.address, json!({}))
    }

    pub(super) fn tools(&self) -> Vec<Value> {
        let result = self.client().request("tools/list", &json!({}));
        result["tools"].as_array().expect("tools").clone()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    pub(super) fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.client().request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }
}

pub(super) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn approved_programs_are_tools_before_all_others() {
    let world = World::start(&[("add-twice", TWICE), ("wrong", MISFIT)], &[]);
    let tools = world.tools();
    let tool = &tools[0];
    assert_eq!((&tool["name"], &tool["title"]), (&json!("add_twice"), &json!("Twice")));
    assert_eq!(tool["inputSchema"]["required"], json!(["n"]));
    assert_eq!(tool["outputSchema"]["required"], json!(["twice"]));
    assert_eq!(tool["annotations"]["readOnlyHint"], false, "the upstream says nothing of its tool");
    assert_eq!(tool["_meta"]["ptc/program"], "add-twice");
    let wrong = &tools[1];
    assert_eq!(wrong["annotations"]["readOnlyHint"], true, "what calls nothing changes nothing");
    assert_eq!(tools[2]["name"], "lisp_eval");

    let result = world.call("add_twice", &json!({"n": 21}));
    assert_eq!(result["structuredContent"], json!({"twice": 42}), "{result}");
    assert_eq!(text(&result), r#"{"twice":42}"#);
    let result = world.call("add_twice", &json!({"n": "x"}));
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("arguments do not fit the input schema: "), "{result}");
    let result = world.call("wrong", &json!({}));
    assert_eq!(result["isError"], true);
    assert_eq!(text(&result), "validation_error: expected integer at $.n, got a string");
    // Arguments that lisp_eval has are none of a program's own.
    assert_eq!(world.call("wrong", &json!({"program": "1"}))["isError"], true);
}

#[test]
fn a_program_is_served_as_it_was_approved_and_after_each_approval() {
    let world = World::start(&[("one", "{:description \"x\"}\n{:n 1}\n")], &[]);
    assert_eq!(world.call("one", &json!({}))["structuredContent"], json!({"n": 1}));
    let file = world.home.join("programs/one.clj");
    write(&file, "{:description \"x\"}\n{:n 2}\n");
    write(&world.home.join("programs/two.clj"), "{:description \"x\"}\n[2]\n");
    assert!(told(&reload(&world.home, &["--check"])).contains("programs: 0 added, 0 changed, 1 removed"));
    assert_eq!(world.names()[0], "one", "a check changes nothing");
    told(&reload(&world.home, &[]));
    assert!(!world.names().contains(&"one".to_owned()), "its text is not the approved one");
    world.http.server.launch.logged("one is not served: its text has changed");
    done(&world.home, &["approve", "--all"]);
    assert!(told(&reload(&world.home, &[])).contains("programs: 2 added"));
    assert_eq!(world.names()[..2], ["one", "two"]);
    assert_eq!(world.call("one", &json!({}))["structuredContent"], json!({"n": 2}));
    let list = world.call("two", &json!({}));
    assert_eq!((text(&list), list.get("structuredContent")), ("[2]", None));
    // What was approved stays although something else is broken.
    let lock = world.home.join("programs/programs.lock");
    let at_fault = |arguments: &[&str]| {
        let fault = fault(&reload(&world.home, arguments));
        assert!(fault.starts_with("ptc: programs: stay as they were: "), "{fault}");
        fault
    };
    fs::remove_file(&lock).expect("removed");
    assert!(at_fault(&[]).contains("programs.lock is gone, and the one that is served has revision 3"));
    fs::write(&lock, "{").expect("written");
    at_fault(&["--check"]);
    at_fault(&[]);
    fs::remove_dir_all(world.home.join("programs")).expect("removed");
    at_fault(&[]);
    assert_eq!(world.names()[..2], ["one", "two"]);
    assert_eq!(world.call("one", &json!({}))["structuredContent"], json!({"n": 2}));
}

#[test]
fn a_program_is_a_tool_of_those_who_may_call_all_that_it_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.json");
    let rules = |upstreams: Value| json!({"rules": [{"match": {}, "upstreams": upstreams}]}).to_string();
    write(&policy, &rules(json!({"fake": {"allow": ["echo"]}, "other": {"allow": ["echo"]}})));
    let flags = ["--policy", policy.to_str().expect("UTF-8")];
    let world = World::start(&[("twice", TWICE), ("other", OTHER), ("alone", MISFIT)], &flags);
    assert_eq!(world.names()[..3], ["alone", "twice", "lisp_eval"], "it may call all tools of one only");
    assert_eq!(world.call("twice", &json!({"n": 1}))["structuredContent"], json!({"twice": 2}));
    let unknown = |name: &str| {
        let (status, error) = world.client().error("tools/call", &json!({"name": name, "arguments": {}}));
        (status, error.to_string().replace(name, "NAME"))
    };
    assert_eq!(unknown("other"), unknown("there_is_none"), "it is told from what does not exist");
    write(&policy, &rules(json!({"*": {"allow": ["*"]}})));
    told(&reload(&world.home, &[]));
    assert_eq!(world.names()[..4], ["alone", "other", "twice", "lisp_eval"]);
    assert_eq!(text(&world.call("other", &json!({}))), r#"{"a":1}"#);
}

#[test]
fn a_changed_tool_makes_a_program_stale_and_the_diff_says_why() {
    let world = World::start(&[("twice", TWICE), ("alone", MISFIT)], &[]);
    assert_eq!(world.names()[..2], ["alone", "twice"]);
    assert!(done(&world.home, &["diff", "--live"]).contains("all is as it was approved"));
    pin(&world.home);
    let lists = || done(&world.home, &["list"]);
    assert!(
        lists().lines().any(|line| line.starts_with("twice") && line.contains("approved")),
        "{}",
        lists()
    );

    // The upstream has another definition from now on, and is started anew as its entry changes.
    write(&world.home.join("grown"), "");
    let mut other = upstream(&world.home.join("grown"));
    other["max_concurrency"] = 7.into();
    other["pin"] = "warn".into();
    let entries = json!({"upstreams": {"fake": other, "other": upstream(&world.home.join("never"))}});
    write(&world.home.join("upstreams.json"), &entries.to_string());
    told(&reload(&world.home, &[]));
    wait_until("it is not served", || world.names()[..2] == ["alone", "lisp_eval"]);
    let why = "twice is stale, and not served: the definition of fake/echo has changed since it was approved";
    let log = world.http.server.launch.logged(why);
    assert!(log.contains("input_schema:"), "with what has changed: {log}");
    let diff = program(&world.home, &["diff", "--live"]);
    assert_eq!(diff.status.code(), Some(1), "{diff:?}");
    let diff = String::from_utf8(diff.stdout).expect("UTF-8");
    assert!(diff.starts_with("twice: the definition of fake/echo has changed"), "{diff}");
    assert!(diff.contains("+     \"y\": {"), "{diff}");

    // Who accepts the tool may approve the program with it.
    pin(&world.home);
    let why = "stale     the definition of fake/echo has changed since it was approved (input_schema)";
    assert!(lists().lines().any(|line| line.starts_with("twice") && line.contains(why)), "{}", lists());
    let diff = program(&world.home, &["diff"]);
    assert_eq!(diff.status.code(), Some(1), "{diff:?}");
    let diff = String::from_utf8(diff.stdout).expect("UTF-8");
    let with_lines = |text: &str| text.contains("input_schema:\n") && text.contains("+     \"y\": {");
    assert!(with_lines(&diff), "the approval holds what it was approved with: {diff}");
    assert!(with_lines(&done(&world.home, &["show", "twice"])));
    let shown: Value = serde_json::from_str(&done(&world.home, &["show", "twice", "--json"])).expect("JSON");
    assert!(shown["why_stale"][0].as_str().is_some_and(with_lines), "{shown}");
    done(&world.home, &["approve", "twice"]);
    told(&reload(&world.home, &[]));
    assert_eq!(world.names()[..2], ["alone", "twice"]);
    let result = world.call("twice", &json!({"n": 4}));
    assert!(text(&result).contains('y'), "it does not give what the tool needs now: {result}");
}

#[test]
fn records_name_the_program_and_its_digest() {
    let folder = tempfile::tempdir().expect("a folder");
    let audit = folder.path().join("audit.jsonl");
    let flags = ["--audit-log", audit.to_str().expect("UTF-8"), "--debug-tool", "--http-metrics"];
    let world = World::start(&[("twice", TWICE)], &flags);
    world.call("twice", &json!({"n": 1}));
    let mut row = None;
    wait_until("its line is written", || {
        let lines = fs::read_to_string(&audit).unwrap_or_default();
        let rows = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        row = rows.into_iter().find(|row| row["tool"] == "twice");
        row.is_some()
    });
    let row = row.expect("a line");
    let digest = world.tools()[0]["_meta"]["ptc/digest"].clone();
    assert_eq!((&row["kind"], &row["kept_program"]), (&json!("program"), &json!("twice")), "{row}");
    assert_eq!(row["program_digest"], digest);
    let metrics = world.http.get("/metrics").body;
    let count = r#"ptc_kept_program_calls_total{program="twice",outcome="ok"} 1"#;
    assert!(metrics.contains(count), "{metrics}");
    let debug = world.call("lisp_debug", &json!({"op": "recent"}));
    assert!(debug.to_string().contains(digest.as_str().expect("text")), "{debug}");
}

#[test]
fn a_program_that_waits_for_a_person_ends_with_the_text_that_it_began_with() {
    let text_of = |word: &str| {
        format!(
            "{{:description \"Asks.\"}}\n(let [a (ask {{:message \"Go on?\"}})] {{:went (:ok a) :word \"{word}\"}})\n"
        )
    };
    let world = World::start(&[("asks", &text_of("first"))], &[]);
    let client = Modern::new(&world.http.address, json!({"elicitation": {"form": {}}}));
    let mut params = json!({"name": "asks", "arguments": {}});
    let begin = |params: &Value| {
        let asked = client.request("tools/call", params);
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        asked
    };
    let asked = begin(&params);
    let reply = |asked: &Value, params: &mut Value| {
        let keys = asked["inputRequests"].as_object().expect("questions").keys();
        let responses = keys.map(|key| (key.clone(), json!({"action": "accept", "content": {}})));
        params["inputResponses"] = Value::Object(responses.collect());
        params["requestState"] = asked["requestState"].clone();
        client.request("tools/call", params)["structuredContent"].take()
    };
    write(&world.home.join("programs/asks.clj"), &text_of("second"));
    done(&world.home, &["approve", "asks"]);
    told(&reload(&world.home, &[]));
    let fresh = begin(&params);
    assert_eq!(reply(&asked, &mut params), json!({"went": true, "word": "first"}));
    assert_eq!(reply(&fresh, &mut params), json!({"went": true, "word": "second"}));
}

#[test]
fn what_waits_fits_the_schema_of_its_tool() {
    let asks = "{:description \"Asks.\" :output {:type \"object\" :properties {:went {\"$ref\" \"#/$defs/yes\"}} :required [\"went\"] \
        \"$defs\" {:yes {:type \"boolean\"}}}}\n{:went (:ok (ask {:message \"Go on?\"}))}\n";
    let world = World::start(&[("asks", asks)], &["--questions", "auto"]);
    let client = Modern::new(&world.http.address, json!({}));
    let tools = client.request("tools/list", &json!({}));
    let schema = &tools["tools"][0]["outputSchema"];
    assert_eq!(
        (&schema["type"], schema["anyOf"].as_array().map(Vec::len)),
        (&json!("object"), Some(2)),
        "{schema}"
    );
    assert_eq!(schema["anyOf"][0]["properties"]["went"]["$ref"], "#/anyOf/0/$defs/yes");
    let waiting = client.request("tools/call", &json!({"name": "asks", "arguments": {}}));
    let status = &schema["anyOf"][1]["properties"]["status"]["enum"];
    let structured = &waiting["structuredContent"];
    assert_eq!((&waiting["isError"], &structured["status"]), (&json!(false), &status[0]), "{waiting}");
    let answers = json!({"run_id": structured["run_id"], "answers": {"q1": {"action": "accept"}}});
    let done = client.request("tools/call", &json!({"name": "lisp_resume", "arguments": answers}));
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("\"went\":true")), "{done}");
}
