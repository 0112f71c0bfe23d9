//! One program that makes ten upstream calls, beside a client that makes them itself. Both come to the same sum over
//! the same upstream. CPU is what `ptc` takes for a program, and what the client, a process of its own, takes for its ten calls: the
//! upstream's work is the same for both.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::http::{Client, contains, tasks};
use crate::process::Server;
use crate::round::{compare, head};
use crate::{ROUNDS, round::Round};

/// Ten calls one after the other, and all at once.
pub(crate) const IN_TURN: &str = "(reduce + (map (fn [id] (get-in (tool/call {:server \"bench\" :tool \"get\" :args {:id id}}) [:value :total])) (range 10)))";
const AT_ONCE: &str = "(reduce + (pmap (fn [id] (get-in (tool/call {:server \"bench\" :tool \"get\" :args {:id id}}) [:value :total])) (range 10)))";

/// Prints tasks a second both ways.
pub(crate) async fn measure(ptc: &str, time: Duration) {
    head("a task of ten upstream calls, each answered with 1 KiB");
    let upstream = Server::upstream().await;
    let config = upstreams_file(upstream.port);
    let flags = [
        "--http-disable-auth",
        "--upstreams-config",
        config.to_str().expect("UTF-8"),
        "--max-concurrent-calls",
        "1024",
    ];
    for connections in [1, 16] {
        let mut rounds: [Vec<Round>; 3] = Default::default();
        for _ in 0..ROUNDS {
            for (at, program) in [IN_TURN, AT_ONCE].into_iter().enumerate() {
                let server = Server::ptc_http(ptc, &flags).await;
                let task = move |mut client: Client| async move {
                    let answer = client.eval(program).await;
                    assert!(contains(&answer, b"user=> 315\""), "{answer:?}");
                    client
                };
                rounds[at].push(tasks(server.id(), server.port, connections, time, task).await);
            }
            rounds[2].push(bare_client(upstream.port, connections, time).await);
        }
        let [in_turn, at_once, client] = &rounds;
        let name = |what: &str| format!("{connections} clients, {what}");
        compare(&name("in turn"), ("one program", in_turn), ("ten calls of the client", client));
        compare(&name("at once (`pmap`)"), ("one program", at_once), ("ten calls of the client", client));
    }
    let _ = std::fs::remove_file(config);
}

/// A file that names the upstream on this port.
pub(crate) fn upstreams_file(port: u16) -> PathBuf {
    let config = std::env::temp_dir().join(format!("ptc-load-{}.json", std::process::id()));
    let text = format!(
        r#"{{"upstreams":{{"bench":{{"transport":"mcp_http","url":"http://127.0.0.1:{port}/mcp","allow_insecure_http":true,"max_concurrency":1024}}}}}}"#
    );
    std::fs::write(&config, text).expect("a temporary folder");
    config
}

/// A round of the client that makes its calls itself.
async fn bare_client(port: u16, connections: usize, time: Duration) -> Round {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    let [port, connections] = [port.to_string(), connections.to_string()];
    command.args(["calls", &port, &connections, &time.as_secs_f64().to_string()]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().await.expect("it runs");
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    let figures: Vec<f64> = told.split_whitespace().map(|figure| figure.parse().expect("a figure")).collect();
    let [requests_per_second, p50, p99, p999, cpu, memory] = figures[..] else {
        panic!("six figures: {told}")
    };
    Round { requests_per_second, latency: [p50, p99, p999], cpu, memory }
}

/// Plays that client, and prints the figures of its round.
pub(crate) async fn calls(port: u16, connections: usize, time: Duration) {
    let task = |mut client: Client| async move {
        for id in 0..10 {
            let answer = client.call("get", &format!(r#"{{"id":{id}}}"#)).await;
            assert!(contains(&answer, b"total"), "{answer:?}");
        }
        client
    };
    let round = tasks(std::process::id(), port, connections, time, task).await;
    let [p50, p99, p999] = round.latency;
    println!("{} {p50} {p99} {p999} {} {}", round.requests_per_second, round.cpu, round.memory);
}
