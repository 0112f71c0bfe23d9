//! A disk that takes no more: files may not grow beyond a few blocks.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::sync::mpsc::Receiver;

use nix::sys::signal::Signal;
use ptc_mcp::json::json;

use ptc_test_support::child_process::lines;
use ptc_test_support::process::{Answer, Http, Launch};
use ptc_test_support::wait_until;

/// A server whose files may have 4 or 8 KiB (the unit of `ulimit -f` is the shell's affair), and where its log comes.
fn limited(folder: &str) -> (Http, Receiver<String>) {
    let flags = ["--http-metrics", "--trace-dir", folder, "--trace-payloads", "full", "--log-level", "warn"];
    // A file of the log would have that limit too.
    let (log, told) = std::io::pipe().expect("a pipe");
    let launch = Launch::of(env!("CARGO_BIN_EXE_ptc"), &flags).after("ulimit -f 8");
    (launch.logging_to(OwnedFd::from(told).into()).on_http(), lines(log))
}

fn eval(listener: &Http, program: &str) -> Answer {
    let body = json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":program},
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}});
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: lisp_eval\r\n";
    listener.post(headers, body.to_string().as_bytes())
}

/// Calls by what became of their trace, once all of `calls` are accounted for.
fn outcomes(listener: &Http, calls: u64) -> [u64; 3] {
    let mut outcomes = [0; 3];
    wait_until("all calls are accounted for", || {
        let metrics = listener.get("/metrics").body;
        let count = |outcome: &str| {
            let start = format!("ptc_traces_total{{outcome=\"{outcome}\"}} ");
            let line = metrics.lines().find_map(|line| line.strip_prefix(&start)).expect("a sample");
            line.parse::<u64>().expect("a count")
        };
        outcomes = ["written", "failed", "dropped"].map(count);
        outcomes.iter().sum::<u64>() == calls
    });
    outcomes
}

#[test]
fn traces_that_cannot_be_written_cost_nothing_but_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let (mut listener, log) = limited(folder.path().to_str().unwrap());
    // Too large from its first line on, too large at its end, each twice; then small ones.
    let long_program = format!("(+ 1 2) ; {}", "x".repeat(20_000));
    let long_answer = "(apply str (repeat 12000 \"x\"))";
    for (program, answer) in [
        (&*long_program, "user=> 3"),
        (&long_program, "user=> 3"),
        (long_answer, "xxx"),
        (long_answer, "xxx"),
        ("(+ 1 2)", "user=> 3"),
    ] {
        let text = eval(&listener, program).json()["result"]["content"][0]["text"].to_string();
        assert!(text.contains(answer), "{text}");
    }
    assert_eq!(outcomes(&listener, 5), [1, 4, 0]);
    let mut lines = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let file = std::fs::File::open(entry.unwrap().path()).unwrap();
        for line in BufReader::new(file).lines() {
            // What is there is whole.
            serde_json::from_str::<ptc_mcp::json::Value>(&line.unwrap()).unwrap();
            lines += 1;
        }
    }
    assert!(lines >= 6, "the small call is traced: {lines} lines");
    // All lines are written before it ends.
    listener.server.signal(Signal::SIGTERM);
    listener.server.ended();
    drop(listener);
    let log: Vec<String> = log.iter().collect();
    let log = log.join("\n");
    for event in ["trace_open_failed", "trace_write_failed"] {
        assert_eq!(log.matches(event).count(), 1, "{event} once: {log}");
    }
}
