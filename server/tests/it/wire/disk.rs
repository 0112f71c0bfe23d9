//! A disk that takes no more: files may not grow beyond a few blocks.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ptc_mcp::json::json;

use crate::process::{Answer, Listener};

/// A server whose files may have 4 or 8 KiB (the unit of `ulimit -f` is the shell's affair), and its log.
fn limited(folder: &str) -> (Listener, impl FnOnce(Child) -> String) {
    let flags = ["--http-metrics", "--trace-dir", folder, "--trace-payloads", "full", "--log-level", "warn"];
    let listener = Listener::start_by(|all| {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -f 8; exec \"$0\" start \"$@\"", env!("CARGO_BIN_EXE_ptc")])
            .args(all)
            .args(flags);
        command.env_clear().env("HOME", env!("CARGO_TARGET_TMPDIR")).stderr(Stdio::piped());
        command
    });
    let log = |mut child: Child| {
        let mut text = String::new();
        let stderr = child.stderr.take().expect("piped");
        // All lines are written before it ends.
        let process = Pid::from_raw(child.id().try_into().expect("a process id"));
        kill(process, Signal::SIGTERM).expect("it runs");
        child.wait().expect("it ran");
        BufReader::new(stderr).read_to_string(&mut text).expect("UTF-8");
        text
    };
    (listener, log)
}

fn eval(listener: &Listener, program: &str) -> Answer {
    let body = json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":program},
        "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}});
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: lisp_eval\r\n";
    listener.post(headers, body.to_string().as_bytes())
}

/// Calls by what became of their trace, once all of `calls` are accounted for.
fn outcomes(listener: &Listener, calls: u64) -> [u64; 3] {
    loop {
        let metrics =
            listener.exchange(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").body;
        let count = |outcome: &str| {
            let start = format!("ptc_traces_total{{outcome=\"{outcome}\"}} ");
            let line = metrics.lines().find_map(|line| line.strip_prefix(&start)).expect("a sample");
            line.parse::<u64>().expect("a count")
        };
        let all = ["written", "failed", "dropped"].map(count);
        if all.iter().sum::<u64>() == calls {
            return all;
        }
    }
}

#[test]
fn traces_that_cannot_be_written_cost_nothing_but_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, log) = limited(folder.path().to_str().unwrap());
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
    let log = log(listener.into_child());
    for event in ["trace_open_failed", "trace_write_failed"] {
        assert_eq!(log.matches(event).count(), 1, "{event} once: {log}");
    }
}
