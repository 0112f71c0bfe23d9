//! Kept programs of several servers on one store: one set, whatever the folder of each has (programs.md 9).

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nix::sys::signal::Signal;
use ptc_mcp::json::json;
use ptc_test_support::modern::Modern;
use ptc_test_support::process::{Http, Launch, Pipes};
use ptc_test_support::wait_until;

use super::client::Client;
use super::kept::KEPT;
use super::shared::Place;
use crate::reload::{reload, told};

/// Writes these programs into a folder and approves all it has.
fn approve(folder: &Path, programs: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (name, body) in programs {
        fs::write(folder.join(format!("{name}.clj")), format!("{{:description \"x\"}}\n{body}\n")).unwrap();
    }
    program(folder, &["approve", "--all"]);
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    command.arg("program").args(arguments).arg("--programs").arg(folder).env_clear().output().unwrap()
}

fn program(folder: &Path, arguments: &[&str]) {
    let output = output(folder, arguments);
    assert!(output.status.success(), "{output:?}");
}

fn serving(launch: Launch, folder: &Path) -> Launch {
    launch.with_flags(&["--programs", folder.to_str().unwrap()])
}

/// The names of its kept programs.
fn names(server: &Http) -> Vec<String> {
    let result = Modern::new(&server.address, json!({})).request("tools/list", &json!({}));
    let tools = result["tools"].as_array().unwrap().iter();
    let kept = tools.filter(|tool| tool["_meta"]["ptc/program"].is_string());
    kept.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn value(server: &Http, tool: &str) -> String {
    let call = json!({"name": tool, "arguments": {}});
    let result = Modern::new(&server.address, json!({})).request("tools/call", &call);
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

fn reloads(server: &Http) -> String {
    let home = server.server.launch.path("");
    wait_until("it can be reloaded", || reload(&home, &["--check"]).status.success());
    told(&reload(&home, &[]))
}

/// A client on pipes that has begun and knows the tools.
fn on_pipes(launch: Launch) -> Pipes {
    let mut pipes = launch.on_pipe_of(Stdio::piped());
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    pipes.request(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}));
    pipes.send_line(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    pipes
}

#[test]
fn servers_with_different_folders_serve_the_newest_lock_and_follow_each_other() {
    let Some(place) = Place::new() else { return };
    let dirs = tempfile::tempdir().unwrap();
    let [newer, older, none] = ["newer", "older", "none"].map(|name| dirs.path().join(name));
    approve(&newer, &[("one", "1")]);
    approve(&newer, &[("two", "2")]);
    approve(&older, &[("three", "3")]);
    fs::create_dir(&none).unwrap();
    let first = serving(place.launch(&[]), &older).on_http();
    assert_eq!(names(&first), ["three"]);
    let second = serving(place.launch(&[]), &newer).on_http();
    assert_eq!(names(&second), ["one", "two"]);
    wait_until("the older one follows", || names(&first) == ["one", "two"]);
    assert_eq!((value(&first, "two"), value(&second, "two")), ("2".to_owned(), "2".to_owned()));
    first.server.launch.logged("programs_from_store");
    second.server.launch.logged("programs_published");

    // One on a pipe, which tells its client, has no folder at all.
    let third = on_pipes(serving(place.launch(&[]), &dirs.path().join("gone")));
    approve(&newer, &[("two", "22"), ("four", "4")]);
    assert!(reloads(&second).contains("programs: 1 added, 1 changed, 0 removed"));
    let told = third.receive();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    let log = third.server.launch.logged("programs_unreadable");
    assert!(log.contains("of the store are served"), "{log}");
    wait_until("all follow", || names(&first) == ["four", "one", "two"] && value(&first, "two") == "22");
    // What holds outlives who published it.
    drop((second, third));
    let late = serving(place.launch(&[]), &none).on_http();
    assert_eq!((names(&late), value(&late, "four")), (names(&first), "4".to_owned()));
    // A program that is withdrawn is so everywhere.
    program(&newer, &["approve", "--withdraw", "one", "four"]);
    let again = serving(place.launch(&[]), &newer).on_http();
    wait_until("all follow", || [&again, &late, &first].iter().all(|server| names(server) == ["two"]));
}

#[test]
fn two_folders_of_one_revision_are_told_and_the_first_one_stays_until_people_approve() {
    let Some(place) = Place::new() else { return };
    let dirs = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| dirs.path().join(name));
    approve(&one, &[("one", "1")]);
    approve(&other, &[("other", "2")]);
    let first = serving(place.launch(&[]), &one).on_http();
    first.server.launch.logged("programs_published");
    let second = serving(place.launch(&[]), &other).on_http();
    assert_eq!((names(&first), names(&second)), (vec!["one".to_owned()], vec!["one".to_owned()]));
    let log = second.server.launch.logged("programs_disagree");
    assert!(
        log.lines().any(|line| line.contains("programs_disagree") && line.contains(r#""revision":1"#)),
        "{log}"
    );
    program(&other, &["approve", "--all", "--above", "1"]);
    reloads(&second);
    wait_until("the other one follows", || names(&first) == ["other"] && names(&second) == ["other"]);
}

#[test]
fn a_store_that_is_down_at_the_start_gets_the_programs_when_it_is_back() {
    let Some(mut place) = Place::new() else { return };
    let dirs = tempfile::tempdir().unwrap();
    let [own, none] = ["own", "none"].map(|name| dirs.path().join(name));
    approve(&own, &[("one", "1")]);
    fs::create_dir(&none).unwrap();
    place.redis.kill();
    let first = serving(place.launch(&["--state-required=false"]), &own).on_http();
    assert_eq!((names(&first), value(&first, "one")), (vec!["one".to_owned()], "1".to_owned()));
    place.redis.run_again();
    first.server.launch.logged("programs_published");
    let second = serving(place.launch(&[]), &none).on_http();
    assert_eq!(names(&second), ["one"]);
    // While it is down, what there was stays, and what is approved meanwhile comes later.
    place.redis.kill();
    approve(&own, &[("two", "2")]);
    reloads(&first);
    assert_eq!((names(&first).len(), names(&second)), (2, vec!["one".to_owned()]));
    place.redis.run_again();
    wait_until("it follows", || names(&second) == ["one", "two"]);
}

#[test]
fn approvals_of_a_folder_of_state_outlive_a_lock_that_is_cut() {
    let dirs = tempfile::tempdir().unwrap();
    let (folder, state) = (dirs.path().join("programs"), dirs.path().join("state"));
    approve(&folder, &[("one", "1")]);
    let launch = || serving(Launch::new(&["--state-dir", state.to_str().unwrap()]), &folder).on_http();
    let mut first = launch();
    first.server.launch.logged("programs_published");
    first.server.signal(Signal::SIGTERM);
    first.server.ended();
    let lock = folder.join("programs.lock");
    let text = fs::read_to_string(&lock).unwrap();
    fs::write(&lock, &text[..text.len() / 2]).unwrap();
    let second = launch();
    assert_eq!((names(&second), value(&second, "one")), (vec!["one".to_owned()], "1".to_owned()));
    let log = second.server.launch.logged("programs_unreadable");
    assert!(log.contains("no JSON"), "{log}");
}

#[test]
fn a_program_that_was_withdrawn_goes_on_in_another_process() {
    let Some(place) = Place::new() else { return };
    let dirs = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| dirs.path().join(name));
    let body = "(let [a (ask {:message \"Go on?\"})] (str (program/word {}) \" \" (:ok a)))";
    approve(&one, &[("asks", body), ("word", "\"first\"")]);
    fs::create_dir(&other).unwrap();
    let launch = |folder: &Path| serving(place.launch(&KEPT), folder).on_http();
    let mut first = launch(&one);
    let client = Client::begin(&first.address);
    let waiting = client.call("asks", json!({})).unwrap().text();
    let at = waiting.find("run_").unwrap_or_else(|| panic!("{waiting}"));
    let id = &waiting[at..at + 28];
    program(&one, &["approve", "--withdraw", "asks", "word"]);
    reloads(&first);
    assert_eq!(names(&first), Vec::<String>::new());
    first.server.launch.logged(r#"programs_published","fields":{"revision":4"#);
    first.server.signal(Signal::SIGKILL);
    first.server.ended();
    // It never served the program.
    let second = launch(&other);
    assert_eq!(names(&second), Vec::<String>::new());
    let answers = json!({"run_id": id, "answers": {"q1": {"action": "accept"}}, "wait_ms": 20_000});
    let end = client.at(&second.address).call("lisp_resume", answers).unwrap().text();
    assert_eq!(end, "\"first true\"");
}

#[test]
fn the_diff_shows_the_lines_that_have_changed_since_the_approval() {
    let Some(place) = Place::new() else { return };
    let dirs = tempfile::tempdir().unwrap();
    let folder = dirs.path().join("programs");
    approve(&folder, &[("one", "(def a 1)\n(def b 2)\n(+ a b)"), ("two", "2")]);
    let server = serving(place.launch(&[]), &folder).on_http();
    server.server.launch.logged("programs_published");
    fs::write(folder.join("one.clj"), "{:description \"x\"}\n(def a 1)\n(def b 3)\n(+ a b)\n").unwrap();
    let state = place.state();
    let with_store = [&["diff"], &state.each_ref().map(String::as_str)[..]].concat();
    for (arguments, shows_lines) in [(&with_store[..], true), (&["diff"], false)] {
        let output = output(&folder, arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.starts_with("one: its text has changed since it was approved (SHA-256 "), "{text}");
        let lines =
            "  @@ -1 +1 @@\n   {:description \"x\"}\n   (def a 1)\n  -(def b 2)\n  +(def b 3)\n   (+ a b)\n";
        assert_eq!(text.contains(lines), shows_lines, "{text}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    let listed =
        command.args(["state", "ls", "--kind", "program"]).args(&state).env_clear().output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().filter(|line| line.contains("program:")).count(), 4, "{listed}");
}

#[test]
fn programs_of_the_store_outlive_the_line_of_the_secret_that_sealed_them() {
    let Some(place) = Place::new() else { return };
    let dirs = tempfile::tempdir().unwrap();
    let [own, none] = ["own", "none"].map(|name| dirs.path().join(name));
    approve(&own, &[("one", "1")]);
    fs::create_dir(&none).unwrap();
    let published = |server: &Http| server.server.launch.log().matches("programs_published").count();
    let [.., secret] = place.state();
    let old = fs::read_to_string(&secret).unwrap();
    let new = "a line that came in front of the former one, and stays";
    let first = serving(place.launch(&[]), &own).on_http();
    wait_until("it is published", || published(&first) == 1);
    fs::write(&secret, format!("{new}\n{old}")).unwrap();
    // It has the programs from the store alone.
    let second = serving(place.launch(&[]), &none).on_http();
    assert_eq!(names(&second), ["one"]);
    wait_until("it is published with the new line", || published(&second) == 1);
    // One that has the former line alone cannot read it any more, and changes nothing.
    first.server.launch.logged("programs_store_unusable");
    assert_eq!(names(&first), ["one"]);
    fs::write(&secret, format!("{new}\n")).unwrap();
    let third = serving(place.launch(&[]), &none).on_http();
    assert_eq!((names(&third), value(&third, "one"), published(&third)), (names(&second), "1".to_owned(), 0));
}
