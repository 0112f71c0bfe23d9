//! A day of an operator, on one server over HTTP: reloads that are refused and that hold, rotation, a tool that fails for one caller
//! and is found, and an end that loses nothing.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Answer, Http, tool, until};
use ptc_test_support::wait_until;
use tempfile::TempDir;

use crate::callers::{eval, launched, of_kind, token};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

/// A server with its files.
struct Day {
    http: Http,
    folder: TempDir,
}

impl Day {
    /// A server whose callers are ann and bob, and whose operator is olga.
    fn begin() -> Day {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        let files = [
            ("--http-auth-token-file", "tokens", format!("ann:{}\nbob:{}\n", token("a"), token("b"))),
            ("--http-operator-token-file", "operators", format!("olga:{}\n", token("o"))),
            ("--policy", "policy.json", policy(&["ann", "bob"])),
        ];
        let mut flags: Vec<String> = ["--http-metrics", "--console"].map(String::from).to_vec();
        flags.extend(["--audit-log".to_owned(), path("audit"), "--trace-dir".to_owned(), path("traces")]);
        let http = launched(folder.path(), flags, files);
        let state = http.server.launch.path(".local/state/ptc");
        let is_socket = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".sock");
        wait_until("it can be controlled", || {
            let mut entries = fs::read_dir(&state).into_iter().flatten().flatten();
            entries.any(|entry| is_socket(&entry.file_name()))
        });
        Day { http, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    fn reload(&self) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("reload").env_clear().env("HOME", self.http.server.launch.path(""));
        command.output().expect("it runs")
    }

    /// Runs a program for the caller with the token of this letter.
    fn eval(&self, letter: &str, program: &str) -> Answer {
        eval(&self.http, letter, program)
    }

    /// What the operator GETs.
    fn look(&self, path: &str) -> String {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token("o")
        );
        let answer = self.http.exchange(head.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }
}

impl Day {
    /// The calls that the operator's console finds.
    fn search(&self, query: &Value) -> Vec<Value> {
        let body = query.to_string();
        let head = format!(
            "POST /console/api/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            token("o"),
            body.len()
        );
        let answer = self.http.exchange(head.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["calls"].as_array().expect("calls").clone()
    }
}

/// A policy by which these callers may call everything.
fn policy(callers: &[&str]) -> String {
    let rule =
        |caller: &&str| json!({"match": {"principal": caller}, "upstreams": {"fake": {"allow": ["*"]}}});
    json!({"rules": callers.iter().map(rule).collect::<Vec<_>>()}).to_string()
}

/// The calls of tools that have failed, as the metrics count them: tool and outcome.
fn failures(metrics: &str) -> Vec<(String, String)> {
    let samples = metrics.lines().filter_map(|line| line.strip_prefix("ptc_upstream_tool_calls_total{"));
    let failed = samples.filter_map(|sample| {
        let (labels, count) = sample.split_once("} ")?;
        let label = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\""))?;
            Some(rest.split('"').next()?.to_owned())
        };
        let outcome = label("outcome")?;
        (count != "0" && outcome != "ok").then_some((label("tool")?, outcome))
    });
    failed.collect()
}

#[test]
fn an_operators_day() {
    let mut day = Day::begin();
    let audit = day.path("audit");
    assert!(day.eval("a", "(+ 1 2)").text().contains('3'));

    // A bad file is refused, and nothing has changed: not even the good file beside it.
    day.write("policy.json", "{\"rules\": [{\"match\": 7}]}");
    day.write("tokens", &format!("ann:{}\n", token("a")));
    let refused = day.reload();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("rules[0].match must be an object"),
        "{refused:?}"
    );
    assert_eq!(day.eval("b", "1").status, 200);
    day.http.server.launch.logged("reload_refused");
    wait_until("and the audit log", || of_kind(&audit, "reload").len() == 1);
    assert_eq!(of_kind(&audit, "reload")[0]["outcome"], "refused");

    // A good one holds. Bob's token is rotated: both hold until the former is taken out; and the audit log is, by the same reload.
    day.write("policy.json", &policy(&["ann", "bob"]));
    day.write("tokens", &format!("ann:{}\nbob:{}\nbob:{}\n", token("a"), token("b"), token("n")));
    fs::rename(&audit, day.path("audit.1")).expect("renamed");
    let done = day.reload();
    assert!(done.status.success(), "{done:?}");
    assert_eq!((day.eval("b", "1").status, day.eval("n", "1").status), (200, 200));
    day.write("tokens", &format!("ann:{}\nbob:{}\n", token("a"), token("n")));
    assert!(day.reload().status.success());
    assert_eq!((day.eval("b", "1").status, day.eval("n", "1").status), (401, 200));

    // One tool fails for bob alone.
    let answers = |result: &str| tool("answer", &format!("{{:result {result:?}}}"));
    let well = answers(r#"{"content":[{"type":"text","text":"fine"}]}"#);
    let ill = answers(r#"{"isError":true,"content":[{"type":"text","text":"no such account"}]}"#);
    assert_eq!(day.eval("a", &well).status, 200);
    let failed = day.eval("n", &ill);
    let eval_id = failed.json()["result"]["_meta"]["eval_id"].as_str().expect("an id").to_owned();

    // The metrics say which tool.
    let metrics = day.look("/metrics");
    assert_eq!(failures(&metrics), [("answer".to_owned(), "tool_error".to_owned())], "{metrics}");
    // The audit log says whose call, and which program.
    let calls = || of_kind(&audit, "upstream_call");
    wait_until("the calls have their lines", || calls().len() == 2);
    let lines: Vec<Value> = calls().into_iter().filter(|line| line["outcome"] != "ok").collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    assert_eq!(
        (&line["principal"], &line["tool"], &line["run"]),
        (&json!("bob"), &json!("answer"), &json!(eval_id))
    );
    // The console shows the operator that call, and what the upstream said.
    let found = day.search(&json!({"principal": "bob", "tool": "answer", "outcome": "upstream_error"}));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["eval_id"], json!(eval_id), "{found:?}");
    assert!(found[0].to_string().contains("no such account"), "{found:?}");
    assert!(day.search(&json!({"principal": "ann", "outcome": "upstream_error"})).is_empty());
    wait_until("and is recorded", || {
        of_kind(&audit, "operator").iter().any(|line| line["use"] == "see_calls")
    });
    // The trace of that program says what the upstream said.
    let trace = || {
        let entries =
            fs::read_dir(day.path("traces")).into_iter().flatten().flatten().map(|entry| entry.path());
        let name = format!("-{eval_id}-ok.jsonl");
        entries.filter(|path| path.to_string_lossy().ends_with(&name)).collect::<Vec<_>>()
    };
    wait_until("the trace is complete", || trace().len() == 1);
    let text = fs::read_to_string(&trace()[0]).expect("a trace");
    assert!(text.contains("no such account") && text.contains("tool_error"), "{text}");

    // It drains: a call that runs is answered, others are refused.
    let gate = day.path("gate");
    let (stop, answer) = std::thread::scope(|scope| {
        let running = scope.spawn(|| day.eval("a", &until(&gate)));
        wait_until("it runs", || day.look("/metrics").contains("\nptc_calls_in_flight 1\n"));
        day.http.server.signal(Signal::SIGTERM);
        wait_until("it drains", || day.http.get("/ready").status == 503);
        let ready = day.http.get("/ready").json();
        fs::write(&gate, "").expect("written");
        (ready, running.join().expect("it was answered"))
    });
    assert_eq!(stop["status"], "draining");
    assert!(stop["reason"].is_string(), "{stop}");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(day.http.server.ended().success());

    // Nothing is missing in what was recorded.
    let files = [day.path("audit.1"), audit];
    let verified = Command::new(PROGRAM).args(["audit", "verify"]).args(files).output().expect("it runs");
    let told = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.status.success() && told.contains("nothing is wrong"), "{verified:?}");
}
