//! Probes have a thread of their own.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ptc_mcp::json::json;

use ptc_test_support::process::Answer;
use ptc_test_support::{PATIENCE, wait_until};

use super::process::on_http;

/// Longest wait for a probe that this test takes for an answer at once: who waited for a program or for a slow client would wait for minutes.
/// The machine runs other tests at the same time.
const SOON: Duration = Duration::from_secs(20);

/// An address that nobody listens on yet.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").to_string()
}

fn probe(address: &str, path: &str) -> Option<(Answer, Duration)> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).ok()?;
    let answer = Answer::read_one(&mut BufReader::new(stream));
    Some((answer, begun.elapsed()))
}

/// Ends what it holds.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn probes_are_answered_at_once_whatever_the_server_does() {
    let address = free();
    let server = on_http(&[
        "--health-listen",
        &address,
        "--http-max-connections",
        "64",
        "--program-timeout-ms",
        "600000",
        "--program-step-limit",
        "100000000000",
    ]);
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params":
        {"name": "lisp_eval", "arguments": {"program": "(loop [] (count (sort (range 100000))) (recur))"}}});
    let mut load = Vec::new();
    for id in 0..16 {
        let mut body = body.clone();
        body["id"] = json!(id);
        let body = body.to_string();
        let mut stream = server.connect();
        let head =
            format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).expect("it reads");
        load.push(stream);
    }
    // All places of the main port are taken, and slow clients hold connections of the probes' port.
    load.extend((0..48).map(|_| server.connect()));
    for _ in 0..600 {
        let mut slow = TcpStream::connect(&address).expect("it listens");
        let _ = slow.write_all(b"GET /hea");
        load.push(slow);
    }
    let mut worst = Duration::ZERO;
    for path in ["/health", "/ready"].repeat(20) {
        let (answer, waited) = probe(&address, path).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        worst = worst.max(waited);
    }
    println!("the worst of 40 probes waited {worst:?}");
    assert!(worst < SOON, "{worst:?}");
    assert_eq!(probe(&address, "/mcp").expect("an answer").0.status, 404);
}

#[test]
fn probes_hear_of_a_start_and_of_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("upstreams.json");
    let upstream = json!({"transport": "mcp_stdio", "command": "sleep", "args": ["60"]});
    std::fs::write(&config, json!({"upstreams": {"asleep": upstream}}).to_string()).expect("written");
    let address = free();
    let child = Command::new(env!("CARGO_BIN_EXE_ptc"))
        .args(["start", "--log-level", "error", "--health-listen", &address, "--upstreams-config"])
        .arg(&config)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut child = Ended(child);
    let mut health = None;
    wait_until("it listens", || {
        health = probe(&address, "/health");
        health.is_some()
    });
    let (health, _) = health.expect("an answer");
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    let (ready, _) = probe(&address, "/ready").expect("an answer");
    assert!([r#""status":"starting""#, r#""status":"ready""#].iter().any(|state| ready.body.contains(state)));
    drop(child.0.stdin.take());
}
