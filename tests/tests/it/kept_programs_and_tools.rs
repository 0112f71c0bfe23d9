//! Kept programs beside tools that change (programs.md 7), through the binary: they are judged by what the upstreams list by now, whatever
//! the catalog shows.

use std::fs;
use std::thread;

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::child_process::program_text;
use ptc_test_support::process::{family, send};
use ptc_test_support::wait_until;

use crate::kept_programs::{TWICE, World, done, text, write};
use crate::reload::{reload, told};

const STALE: &str =
    "twice is stale, and not served: the definition of fake/echo has changed since it was approved";

impl World {
    /// The upstream has other definitions from now on, and says so.
    fn changes_tools(&self) {
        write(&self.home.join("grown"), "");
        self.announces();
    }

    /// The upstream says that its definitions are others.
    fn announces(&self) {
        let announce = json!({"program": "(tool/call {:server \"fake\" :tool \"announce\"})"});
        assert!(self.call("lisp_eval", &announce)["isError"] != true);
    }

    fn log(&self) -> String {
        self.http.server.launch.log()
    }

    /// Ends and starts it again, once its upstream has been `changed`; the upstream says nothing until it is to go on.
    fn again_held(self, changed: impl FnOnce(&Self)) -> World {
        self.http.server.signal(Signal::SIGTERM);
        changed(&self);
        fs::remove_file(self.home.join("goes-on")).expect("it went on");
        let home = self.home.clone();
        World { http: self.http.server.into_launch().on_http(), home }
    }

    /// Calls a program while the upstream says nothing, and lets it go on then.
    fn call_held(&self, tool: &str, arguments: &Value) -> Value {
        thread::scope(|scope| {
            let call = scope.spawn(|| self.call(tool, arguments));
            wait_until("it runs", || self.http.metric("ptc_calls_in_flight") == 1.0);
            write(&self.home.join("goes-on"), "");
            call.join().expect("an answer")
        })
    }
}

#[test]
fn a_changed_tool_makes_a_program_stale_although_the_catalog_is_frozen() {
    let world = World::start(&[("twice", TWICE)], &[]);
    assert_eq!(world.names()[0], "twice");
    let client = world.client();
    let mut channel = client.listen(json!({"toolsListChanged": true}));
    channel.told().expect("it is acknowledged");
    world.changes_tools();
    let heard = channel.told().expect("a message");
    assert_eq!(heard["method"], "notifications/tools/list_changed", "{heard}");
    assert_eq!(world.names()[0], "lisp_eval");
    world.http.server.launch.logged(STALE);
    // Who approves it anew is believed, although the catalog shows the tool as it was.
    done(&world.home, &["approve", "--all"]);
    told(&reload(&world.home, &[]));
    assert_eq!(world.names()[0], "twice");
    let result = world.call("twice", &json!({"n": 4}));
    assert!(text(&result).contains('y'), "it does not give what the tool needs now: {result}");
}

#[test]
fn a_program_calls_no_tool_that_its_upstream_came_back_with_otherwise() {
    let why = "program twice is stale, and ends here: the definition of fake/echo has changed since it was approved";
    let calls = [("twice", json!({"n": 4})), ("lisp_eval", json!({"program": "(program/twice {:n 4})"}))];
    for (mode, (tool, arguments)) in ["frozen", "live"].into_iter().zip(calls) {
        let world = World::start(&[("twice", TWICE)], &["--catalog-snapshot-mode", mode]);
        let result = world.call(tool, &arguments);
        assert!(result["isError"] != true, "{result}");
        write(&world.home.join("grown"), "");
        for (process, name) in family(world.http.server.pid()) {
            if name.starts_with("fake-upstream") {
                send(process, Signal::SIGKILL);
            }
        }
        let is_told = |line: &str| line.contains("upstream_ended") && line.contains("\"fake\"");
        wait_until("its end is told", || world.log().lines().any(is_told));
        let result = world.call(tool, &arguments);
        assert!(result["isError"] == true && text(&result).contains(why), "{mode}: {result}");
    }
}

#[test]
fn an_approval_of_what_a_tool_became_without_a_word_is_served_with_the_reload() {
    let world = World::start(&[("twice", TWICE)], &[]);
    assert_eq!(world.names()[0], "twice");
    write(&world.home.join("grown"), "");
    done(&world.home, &["approve", "--all"]);
    let reloaded = told(&reload(&world.home, &[]));
    assert!(reloaded.contains("1 changed") && !reloaded.contains("stale"), "{reloaded}");
    assert_eq!(world.names()[0], "twice");
    let result = world.call("twice", &json!({"n": 4}));
    assert!(text(&result).contains('y'), "it does not give what the tool needs now: {result}");
    // What is stale by a fresh list is told.
    write(&world.home.join("programs/twice.clj"), &TWICE.replace("Doubles", "Gives twice"));
    done(&world.home, &["approve", "--all"]);
    fs::remove_file(world.home.join("grown")).expect("it was there");
    world.announces();
    let reloaded = told(&reload(&world.home, &[]));
    assert!(reloaded.contains(STALE), "{reloaded}");
    assert_eq!(world.names()[0], "lisp_eval");
}

#[test]
fn lists_of_the_last_start_make_nothing_stale_and_nothing_fresh() {
    let world = World::start(&[("twice", TWICE)], &["--http-metrics"]);
    let cache = world.home.join(".cache/ptc");
    wait_until("the lists are kept", || fs::read_dir(&cache).is_ok_and(|files| files.count() > 0));
    // It was approved with the tool of now; the list of the last start has the former one.
    let world = world.again_held(|world| {
        write(&world.home.join("grown"), "");
        done(&world.home, &["approve", "--all"]);
    });
    assert_eq!(world.names()[0], "twice");
    assert_eq!(world.tools()[0]["annotations"]["readOnlyHint"], false);
    let result = world.call_held("twice", &json!({"n": 4}));
    assert!(text(&result).contains('y'), "it does not give what the tool needs now: {result}");
    assert_eq!(world.names()[0], "twice");
    assert!(!world.log().contains("is stale"), "{}", world.log());
    // The list of the last start is that of the approval, and the tool is another one again.
    let world = world.again_held(|world| fs::remove_file(world.home.join("grown")).expect("it was there"));
    assert_eq!(world.names()[0], "twice");
    let result = world.call_held("twice", &json!({"n": 4}));
    let why = "program twice is stale, and ends here: the definition of fake/echo has changed since it was approved";
    assert!(result["isError"] == true && text(&result).contains(why), "{result}");
    wait_until("it is not served", || world.names()[0] == "lisp_eval");
}

#[test]
fn tools_of_the_last_start_that_are_as_approved_tell_how_a_program_is_listed() {
    let world = World::start(&[], &["--http-metrics"]);
    let rows = json!({"transport": "mcp_stdio", "command": program_text("fake-upstream"), "args": ["--rows"],
        "env": {"HELD": world.home.join("goes-on")}});
    write(&world.home.join("upstreams.json"), &json!({"upstreams": {"shop": rows}}).to_string());
    let reads = "{:description \"Reads.\" :tools [\"shop/rows\"]}\n(:status (tool/call {:server \"shop\" :tool \"rows\" :args {:n 1}}))\n";
    write(&world.home.join("programs/reads.clj"), reads);
    done(&world.home, &["approve", "reads"]);
    told(&reload(&world.home, &[]));
    let only_reads = |world: &World| {
        let tool = &world.tools()[0];
        (tool["name"].clone(), tool["annotations"]["readOnlyHint"].clone())
    };
    let expected = (json!("reads"), json!(true));
    assert_eq!(only_reads(&world), expected);
    let cache = world.home.join(".cache/ptc");
    let is_kept =
        |file: fs::DirEntry| fs::read_to_string(file.path()).is_ok_and(|list| list.contains("picture"));
    wait_until("the lists are kept", || fs::read_dir(&cache).is_ok_and(|files| files.flatten().any(is_kept)));
    let world = world.again_held(|_| ());
    assert_eq!(only_reads(&world), expected);
    let result = world.call_held("reads", &json!({}));
    assert!(result["isError"] != true, "{result}");
    assert_eq!(only_reads(&world), expected);
}

#[test]
fn an_upstream_that_cannot_be_started_is_waited_for_once_in_a_call() {
    let flags = ["--catalog-snapshot-mode", "live"];
    let World { http, home } = World::start(&[("twice", TWICE)], &flags);
    let starts = home.join("starts");
    let fails = json!({"transport": "mcp_stdio", "command": "/bin/sh",
        "args": ["-c", "echo start >> \"$0\"; exit 1", starts]});
    write(&home.join("upstreams.json"), &json!({"upstreams": {"fake": fails}}).to_string());
    http.server.signal(Signal::SIGTERM);
    let world = World { http: http.server.into_launch().on_http(), home };
    let started = || fs::read_to_string(&starts).unwrap_or_default().lines().count();
    assert_eq!(started(), 0);
    for calls in 1..=2 {
        world.call("twice", &json!({"n": 1}));
        assert_eq!(started(), calls);
    }
}

#[test]
fn a_tool_that_the_approval_lacks_is_not_called_by_its_name() {
    let fresh = "{:description \"Asks.\" :tools [\"fake/fresh\" \"fake/echo\"]}\n\
        [(tool/call {:server \"fake\" :tool \"echo\" :args {:n 1}}) (tool/call {:server \"fake\" :tool \"fresh\"})]\n";
    let world = World::start(&[], &[]);
    write(&world.home.join("programs/asks.clj"), fresh);
    write(&world.home.join("grown"), "");
    done(&world.home, &["approve", "asks"]);
    // As approvals were that were made before the tool was there.
    let lock = world.home.join("programs/programs.lock");
    let approved: Value = serde_json::from_str(&fs::read_to_string(&lock).expect("a lock")).expect("JSON");
    let mut edited = approved.clone();
    edited["programs"]["asks"]["tools"] = json!({});
    write(&lock, &edited.to_string());
    fs::remove_file(world.home.join("grown")).expect("it was there");
    told(&reload(&world.home, &[]));
    assert_eq!(world.names()[0], "asks");
    let annotations = &world.tools()[0]["annotations"];
    assert_eq!(
        (&annotations["readOnlyHint"], &annotations["destructiveHint"]),
        (&json!(false), &json!(true))
    );
    let why = "program asks may not call fake/echo: it was not there when the program was approved; approve it again";
    for call in ["asks", "lisp_eval"] {
        let result = world
            .call(call, &if call == "asks" { json!({}) } else { json!({"program": "(program/asks {})"}) });
        assert!(result["isError"] == true && text(&result).contains(why), "{result}");
    }
}
