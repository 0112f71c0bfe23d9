//! Trace files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use ptc_host::credentials::{Redactor, Secret};
use ptc_mcp::json::{Value, json};
use ptc_server::observers::metrics::{Exposition, Format};
use tempfile::TempDir;

use ptc_test_support::in_process::{Listener, Pipe, assembly, assert_has, fake_upstream, settings};

/// A server that writes traces into a folder, and the folder.
struct Traced {
    pipe: Pipe,
    telemetry: std::sync::Arc<ptc_server::observers::Telemetry>,
    _engine: ptc_host::engine::Engine,
    folder: TempDir,
}

impl Traced {
    fn start(flags: &[&str], redactor: &Redactor) -> Traced {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/traces");
        let mut all = vec!["--trace-dir", path.to_str().unwrap()];
        all.extend(flags);
        let (server, engine) = assembly(&settings(&all), None, redactor);
        Traced { pipe: Pipe::open(server.service), telemetry: server.telemetry, _engine: engine, folder }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("deep/traces")
    }

    /// The names of the files that are there once everything is written.
    fn files(&self) -> Vec<String> {
        self.telemetry.flush(Duration::from_secs(30));
        names(&self.path())
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_call_is_six_lines_in_a_file_of_its_own() {
    let mut traced = Traced::start(&[], &Redactor::new());
    let answer = traced.pipe.eval(7, "(println \"p\") (+ 1 2)").await;
    let eval_id = answer["_meta"]["eval_id"].as_str().unwrap();
    let files = traced.files();
    assert_eq!(files.len(), 1);
    assert!(files[0].ends_with(&format!("Z-7902699b-{eval_id}-ok.jsonl")), "{files:?}");
    let metadata = fs::metadata(traced.path().join(&files[0])).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(traced.path()).unwrap().permissions().mode() & 0o777, 0o700);

    let lines = traced.lines(&files[0]);
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        [
            "trace.start",
            "ptc_lisp.call.start",
            "ptc_runner.lisp.execute.start",
            "ptc_runner.lisp.execute.stop",
            "ptc_lisp.call.stop",
            "trace.stop"
        ]
    );
    for (at, line) in lines.iter().enumerate() {
        assert_has(line, &json!({"schema_version": 2, "seq": at, "trace_id": lines[0]["trace_id"]}));
    }
    assert_eq!(lines[0]["trace_id"].as_str().unwrap().len(), 32);
    assert_has(
        &lines[0],
        &json!({"trace_kind": "mcp_call", "producer": "ptc_lisp", "trace_label": "7", "data": null}),
    );
    let query: Value = serde_json::from_str(lines[0]["query"].as_str().unwrap()).unwrap();
    assert_has(&query, &json!({"preview": "(println \"p\") (+ 1 2)", "bytes": 21}));
    assert_has(
        &lines[1]["metadata"],
        &json!({"request_id": "7", "eval_id": eval_id, "tool_name": "lisp_eval", "program_bytes": 21,
                "context_bytes": 0, "signature_present?": false, "protocol_version": "2025-11-25", "transport": "stdio"}),
    );
    assert_has(&lines[3]["metadata"], &json!({"caller": "mcp", "profile": "mcp_no_tools"}));
    assert_has(&lines[3]["measurements"], &json!({"result_bytes": 8, "prints_count": 1}));
    assert_has(
        &lines[4],
        &json!({"metadata": {"status": "ok", "is_error": false, "validated_present?": false},
                "data": {"context": null, "result": {"preview": "user=> 3", "bytes": 8}, "validated": null,
                         "prints": {"count": 1, "items": ["p"]}, "upstream_calls": [], "ptc_metrics": null}}),
    );
    assert!(lines.iter().all(|line| line["metadata"].get("program").is_none()));
}

#[tokio::test]
async fn what_is_traced_and_what_is_not() {
    let mut traced = Traced::start(&["--debug-tool", "--sessions"], &Redactor::new());
    traced.pipe.eval(1, "(/ 1 0)").await;
    traced.pipe.eval(2, " ").await;
    traced.pipe.call(3, "lisp_session_list", json!({})).await;
    traced.pipe.call(4, "lisp_session_list", json!({"x": 1})).await;
    traced.pipe.call(5, "nope", json!({})).await;
    traced.pipe.debug(json!({"op": "stats"})).await;
    let files = traced.files();
    assert_eq!(files.len(), 3, "{files:?}");
    let of = |id: &str| {
        let lines = files.iter().map(|file| (file, traced.lines(file)));
        lines.into_iter().find(|(_, lines)| lines[0]["trace_label"] == id).unwrap()
    };
    let (file, lines) = of("1");
    assert!(file.ends_with("-error.jsonl"));
    assert_has(
        &lines[4]["metadata"],
        &json!({"status": "error", "is_error": true, "reason": "runtime_error"}),
    );
    let (file, lines) = of("3");
    assert!(file.ends_with("-ok.jsonl") && lines.len() == 4, "no program, no execution");
    let (file, lines) = of("5");
    assert!(file.ends_with("-error.jsonl"));
    assert_has(&lines[2]["metadata"], &json!({"tool_name": "nope", "reason": "unknown_tool"}));
}

#[tokio::test]
async fn a_cancelled_call_is_closed_properly() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream(&redactor).await;
    let folder = tempfile::tempdir().unwrap();
    let (server, _engine) =
        assembly(&settings(&["--trace-dir", folder.path().to_str().unwrap()]), Some(&aggregator), &redactor);
    let mut pipe = Pipe::open(server.service);
    let hang = json!({"name": "lisp_eval", "arguments": {"program": "(tool/call {:server \"fake\" :tool \"hang\"})"}});
    pipe.send(&json!({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": hang})).await;
    let (_, handle) = aggregator.unfiltered().upstreams().next().unwrap();
    while handle.health().in_flight == 0 {
        tokio::task::yield_now().await;
    }
    server.telemetry.flush(Duration::from_secs(30));
    assert!(names(folder.path())[0].ends_with("-pending.jsonl"));
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "h"}}))
        .await;
    while handle.health().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    // The answer to this call comes behind the end of the other one.
    pipe.eval("next", "1").await;
    server.telemetry.flush(Duration::from_secs(30));
    let files = names(folder.path());
    let cancelled = files.iter().find(|file| file.ends_with("-cancelled.jsonl")).expect("closed");
    let text = fs::read_to_string(folder.path().join(cancelled)).unwrap();
    assert!(text.lines().last().unwrap().contains("\"trace.stop\""));
    assert!(!files.iter().any(|file| file.contains("pending")), "{files:?}");
    aggregator.shutdown().await;
}

#[tokio::test]
async fn payload_policies_and_secrets() {
    let redactor = Redactor::new();
    redactor.register([&Secret::new("hunter2-hunter2")]).unwrap();
    let program = "(println data/key) {:secret data/key}";
    let arguments = json!({"program": program, "context": {"key": "hunter2-hunter2"}, "output_schema": {"type": "object"}});
    for policy in ["none", "summary", "full"] {
        let mut traced = Traced::start(&["--trace-payloads", policy], &redactor);
        traced.pipe.call("hunter2-hunter2", "lisp_eval", arguments.clone()).await;
        let files = traced.files();
        let text = fs::read_to_string(traced.path().join(&files[0])).unwrap();
        assert!(!text.contains("hunter2"), "{policy}: {text}");
        let lines = traced.lines(&files[0]);
        let data = &lines[4]["data"];
        match policy {
            "none" => {
                assert!(!text.contains("preview"));
                assert_eq!(data["context"], json!({"<bytes>": 25}));
                assert_eq!(data["prints"], json!({"count": 1}));
                assert_eq!(data["validated"], json!({"type": "object", "keys": ["secret"]}));
            }
            "summary" => {
                assert_eq!(data["context"], json!({"key": {"type": "string", "count": null}}));
                assert_eq!(data["prints"], json!({"count": 1, "items": ["[REDACTED]"]}));
            }
            _ => {
                assert_eq!(lines[0]["query"], program);
                assert_eq!(data["context"], json!({"key": "[REDACTED]"}));
                assert_eq!(data["prints"], json!(["[REDACTED]"]));
                assert_eq!(data["validated"], json!({"secret": "[REDACTED]"}));
                assert_eq!(data["result"], "user=> {:secret \"[REDACTED]\"}");
            }
        }
    }
}

#[tokio::test]
async fn trimming_touches_only_files_of_ours_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("[tr*ces]");
    fs::create_dir(&path).unwrap();
    let outside = folder.path().join("precious");
    fs::write(&outside, "precious").unwrap();
    let old = "2020-01-01T00-00-00.000000Z-00000000-ok.jsonl";
    let link = "2020-01-01T00-00-01.000000Z-00000000-ok.jsonl";
    fs::write(path.join(old), "{}").unwrap();
    fs::write(path.join("notes.jsonl"), "mine").unwrap();
    symlink(&outside, path.join(link)).unwrap();
    let flags = ["--trace-dir", path.to_str().unwrap(), "--trace-max-files", "3"];
    let (server, _engine) = assembly(&settings(&flags), None, &Redactor::new());
    let mut pipe = Pipe::open(server.service);
    for id in 0..6 {
        pipe.eval(id, "1").await;
    }
    server.telemetry.flush(Duration::from_secs(30));
    let files = names(&path);
    assert!(files.contains(&"notes.jsonl".to_owned()) && files.contains(&link.to_owned()), "{files:?}");
    assert!(!files.contains(&old.to_owned()), "the oldest of ours went first");
    assert_eq!(files.len(), 5, "three of ours, and two that are not: {files:?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
}

/// Bytes of all files in a folder.
fn size(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

fn figures(traced: &Traced) -> String {
    let mut figures = Exposition::new(Format::Text);
    traced.telemetry.write_metrics(&mut figures);
    figures.finish()
}

#[tokio::test]
async fn traces_are_bounded_by_bytes_and_the_oldest_make_room() {
    let flags = ["--trace-payloads", "full", "--trace-max-bytes", "100000"];
    let mut traced = Traced::start(&flags, &Redactor::new());
    // What others have left behind in the folder counts as well.
    let left = traced.path().join("2020-01-01T00-00-00.000000Z-00000000-ok.jsonl");
    traced.files();
    fs::write(&left, "x".repeat(90_000)).unwrap();
    let long = format!("(count \"{}\")", "x".repeat(10_000));
    for id in 0..20 {
        traced.pipe.eval(id, &long).await;
        traced.telemetry.flush(Duration::from_secs(30));
        assert!(size(&traced.path()) <= 100_000, "after {id}: {}", size(&traced.path()));
    }
    assert!(!left.exists());
    let files = traced.files();
    assert!(files.len() >= 4, "{files:?}");
    let labels: Vec<_> = files.iter().map(|file| traced.lines(file)[0]["trace_label"].clone()).collect();
    let newest: Vec<_> = (20 - files.len()..20).map(|id| json!(id.to_string())).collect();
    assert_eq!(labels, newest, "the oldest went first, and those that are left are whole");
    let text = figures(&traced);
    assert!(text.contains(&format!("ptc_trace_bytes {}\n", size(&traced.path()))), "{text}");
    assert!(text.contains(&format!("ptc_traces_evicted_total {}\n", 21 - files.len())), "{text}");
    assert!(text.contains("ptc_trace_waiting_bytes 0\n"), "{text}");
}

#[tokio::test]
async fn a_trace_with_more_bytes_than_all_may_have_is_given_up_and_counted() {
    let flags = ["--trace-payloads", "full", "--trace-max-bytes", "8000"];
    let mut traced = Traced::start(&flags, &Redactor::new());
    traced.pipe.eval("small", "1").await;
    let small = traced.files();
    // Its beginning is too long; of the next one, what comes at the end.
    traced.pipe.eval("program", &format!("(count \"{}\")", "x".repeat(9_000))).await;
    traced.pipe.eval("result", "(apply str (repeat 25000 \"y\"))").await;
    assert_eq!(traced.files(), small, "they cost no other trace its place, and nothing is left of them");
    let text = figures(&traced);
    assert!(text.contains("ptc_traces_total{outcome=\"written\"} 1\n"), "{text}");
    assert!(text.contains("ptc_traces_total{outcome=\"failed\"} 2\n"), "{text}");
    assert_eq!(traced.pipe.eval("next", "(+ 1 2)").await["content"][0]["text"], "user=> 3");
    assert_eq!(traced.files().len(), 2);
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_costs_traces_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let (server, _engine) =
        assembly(&settings(&["--trace-dir", file.to_str().unwrap(), "--debug-tool"]), None, &Redactor::new());
    let mut pipe = Pipe::open(server.service);
    for id in 0..3 {
        assert_eq!(pipe.eval(id, "(+ 1 2)").await["structuredContent"]["result"], "user=> 3");
    }
    let get = pipe.debug(json!({"op": "get", "request_id": "1"})).await;
    assert_has(&get, &json!({"found": true, "source": "ring_buffer"}));
    let mut figures = Exposition::new(Format::Text);
    server.telemetry.write_metrics(&mut figures);
    assert!(figures.finish().contains("ptc_traces_total{outcome=\"failed\"} 3\n"));
}

#[tokio::test]
async fn lisp_debug_finds_traces() {
    let mut traced = Traced::start(&["--debug-tool", "--trace-payloads", "full"], &Redactor::new());
    let answer = traced.pipe.eval("a", "(str \"from\" \" the trace\")").await;
    let get = traced.pipe.debug(json!({"op": "get", "request_id": "a"})).await;
    assert_has(&get, &json!({"found": true, "source": "trace_file", "payload_policy": "full"}));
    let record = get["record"].as_array().unwrap();
    assert_eq!(record.len(), 6);
    assert_eq!(record[4]["data"]["result"], "user=> \"from the trace\"");
    let by_eval = traced.pipe.debug(json!({"op": "get", "request_id": answer["_meta"]["eval_id"]})).await;
    assert_eq!(by_eval["record"], get["record"]);
    assert_has(
        &traced.pipe.debug(json!({"op": "get", "request_id": "b"})).await,
        &json!({"found": false, "source": "ring_buffer"}),
    );
    traced.pipe.eval("big", &format!("(count \"{}\")", "x".repeat(60_000))).await;
    let big = traced.pipe.debug(json!({"op": "get", "request_id": "big"})).await;
    assert_has(&big, &json!({"found": true, "source": "trace_file", "truncated": true}));
    assert!(big["note"].as_str().unwrap().contains("exceeds --max-debug-response-bytes"), "{big}");

    // A laxer run's file stays out of the answers of a stricter one.
    let folder = traced.path();
    let flags = ["--debug-tool", "--trace-dir", folder.to_str().unwrap()];
    let mut strict = Pipe::to(&flags);
    let get = strict.debug(json!({"op": "get", "request_id": "a"})).await;
    assert_has(&get, &json!({"found": true, "source": "trace_file"}));
    assert!(get.get("record").is_none() && get["note"].as_str().unwrap().contains("not inlined"), "{get}");
    strict.eval("a", "2").await;
    let get = strict.debug(json!({"op": "get", "request_id": "a"})).await;
    assert_has(&get, &json!({"found": true, "source": "ring_buffer", "record": {"request_id": "a"}}));
    // A damaged line is shown as what it is.
    let eval_id = answer["_meta"]["eval_id"].as_str().unwrap();
    let file = names(&folder).into_iter().find(|name| name.contains(eval_id)).unwrap();
    let text = fs::read_to_string(folder.join(&file)).unwrap();
    fs::write(folder.join(&file), format!("{text}half a li")).unwrap();
    let damaged = traced.pipe.debug(json!({"op": "get", "request_id": answer["_meta"]["eval_id"]})).await;
    assert_eq!(damaged["record"][6], json!({"_raw": "half a li"}));
}

#[tokio::test]
async fn over_http_a_trace_names_the_request_and_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    let (alice, bob) = ("a".repeat(32), "b".repeat(32));
    fs::write(&tokens, format!("alice:{alice}\nbob:{bob}\n")).unwrap();
    let traces = folder.path().join("traces");
    let flags = [
        "--http",
        "--http-auth-token-file",
        tokens.to_str().unwrap(),
        "--trace-dir",
        traces.to_str().unwrap(),
        "--debug-tool",
        "--trace-payloads",
        "full",
    ];
    let listener = Listener::start(&flags, None, &Redactor::new());
    listener.call(Some(&alice), "lisp_eval", json!({"program": "1"})).await;
    let get = json!({"op": "get", "request_id": "1"});
    let own = listener.call(Some(&alice), "lisp_debug", get.clone()).await;
    let record = &own["structuredContent"]["record"];
    let metadata = &record[1]["metadata"];
    assert_eq!(metadata["transport"], "http");
    assert_eq!(metadata["transport_request_id"].as_str().unwrap().len(), 16);
    assert_eq!(metadata["owner_hash"].as_str().unwrap().len(), 16);
    let foreign = listener.call(Some(&bob), "lisp_debug", get).await;
    assert_has(&foreign["structuredContent"], &json!({"found": false, "source": "ring_buffer"}));
    listener.stop().await;
}
