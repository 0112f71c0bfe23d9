//! Load over pipes: so many requests are always under way.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use crate::PROGRAM;
use crate::process::{cpu_seconds, peak_mib};
use crate::round::{Round, percentiles};

/// `ptc start`.
pub(crate) fn ptc(ptc: &str) -> Vec<String> {
    [ptc, "start", "--log-level", "warn"].map(str::to_owned).to_vec()
}

/// One of the servers that are here.
pub(crate) fn own(role: &str) -> Vec<String> {
    let exe = std::env::current_exe().expect("it runs");
    vec![exe.to_str().expect("UTF-8").to_owned(), role.to_owned()]
}

/// Counts what a server answers within `time`.
pub(crate) async fn round(command: &[String], in_flight: usize, time: Duration) -> Round {
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let process = child.id().expect("it runs");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped"));
    let request = |id: usize| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"lisp_eval\",\"arguments\":{{\"program\":\"{PROGRAM}\"}}}}}}\n"
        )
    };
    // Servers that insist on it are greeted first.
    let hello = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;
    if !command[1].starts_with("bare") {
        input.write_all(hello.as_bytes()).await.expect("it reads");
        output.read_line(&mut String::new()).await.expect("it answers");
    }
    let mut sent = vec![Instant::now(); in_flight];
    for id in 0..in_flight {
        input.write_all(request(id).as_bytes()).await.expect("it reads");
    }
    let begin = Instant::now() + Duration::from_millis(500);
    let end = begin + time;
    let (mut before, mut latencies, mut line) = (None, Vec::new(), String::new());
    loop {
        line.clear();
        output.read_line(&mut line).await.expect("it answers");
        let now = Instant::now();
        let id: usize = line
            .split("\"id\":")
            .nth(1)
            .and_then(|rest| rest.split([',', '}']).next()?.parse().ok())
            .expect("an id");
        if now >= begin {
            before.get_or_insert_with(|| cpu_seconds(process));
            latencies.push(u32::try_from((now - sent[id]).as_micros()).unwrap_or(u32::MAX));
        }
        if now >= end {
            break;
        }
        sent[id] = now;
        input.write_all(request(id).as_bytes()).await.expect("it reads");
    }
    let cpu = cpu_seconds(process) - before.unwrap_or_default();
    let count = latencies.len() as f64;
    Round {
        requests_per_second: count / time.as_secs_f64(),
        latency: percentiles(latencies),
        cpu: cpu / count * 10_000.0,
        memory: peak_mib(process),
    }
}
