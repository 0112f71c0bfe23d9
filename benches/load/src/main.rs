//! `ptc` under load, beside the least that could answer – over HTTP a bare hyper server that sends the same bytes, over
//! pipes a loop that reads JSON and sends the same bytes – and beside rmcp, the official Rust SDK. All in one run, in
//! turns, medians of three rounds; every table is Markdown.
//!
//! ```text
//! cargo build --release
//! cargo run --release --manifest-path benches/load/Cargo.toml -- target/release/ptc [CASE] [SECONDS OF A ROUND]
//! ```
//!
//! CASE is `http`, `pipes`, `observed`, `neighbour`, `fairness`, `aggregate`, `questions`, `replies`, `reply-sizes`, `sessions`, `stores` or `connections`; all of them without one.

mod aggregate;
mod bare;
mod curves;
mod fairness;
mod http;
mod json_readers;
mod neighbour;
mod pipes;
mod process;
mod questions;
mod replies;
mod rmcp_server;
mod round;
mod stores;
mod upstream;

use std::time::Duration;

use process::Server;
use round::{Round, head, ratio, report};

/// The request whose answers are counted.
const PROGRAM: &str = "(+ 1 2)";
/// Rounds of each side.
const ROUNDS: usize = 3;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["bare-http", port] => bare::http(port.parse().expect("a port")).await,
        ["bare-pipes"] => bare::pipes(),
        ["rmcp-http", port] => rmcp_server::http(port.parse().expect("a port")).await,
        ["rmcp-pipes"] => rmcp_server::pipes().await,
        ["upstream", port] => upstream::http(port.parse().expect("a port")).await,
        ["calls", port, connections, seconds] => {
            let seconds = seconds.parse().expect("seconds");
            let [port, connections] =
                [port, connections].map(|number| number.parse::<u16>().expect("a number"));
            aggregate::calls(port, connections.into(), Duration::from_secs_f64(seconds)).await;
        }
        ["greedy", port, kind] => fairness::greedy(port.parse().expect("a port"), kind).await,
        [ptc, ref rest @ ..] => {
            let seconds = rest.iter().find_map(|text| text.parse::<f64>().ok()).unwrap_or(3.0);
            let case = rest.iter().find(|text| text.parse::<f64>().is_err()).copied();
            measure(ptc, case, Duration::from_secs_f64(seconds)).await;
        }
        [] => eprintln!("usage: ptc-load PTC [CASE] [SECONDS]"),
    }
}

async fn measure(ptc: &str, only: Option<&str>, time: Duration) {
    let wanted = |case: &str| only.is_none_or(|only| only == case);
    if wanted("http") {
        head(&format!("HTTP, `lisp_eval` of `{PROGRAM}`"));
        let answer = http::answer_of_ptc(ptc).await;
        for connections in [1, 16, 64, 256] {
            let mut rounds: [Vec<Round>; 3] = Default::default();
            for _ in 0..ROUNDS {
                let servers = [
                    Server::ptc_http(ptc, &[]).await,
                    Server::bare_http(&answer).await,
                    Server::rmcp_http().await,
                ];
                for (server, rounds) in servers.iter().zip(&mut rounds) {
                    rounds.push(http::round(server, connections, time).await);
                }
            }
            side_by_side(&format!("{connections} connections"), &rounds);
        }
    }
    if wanted("pipes") {
        head(&format!("stdio, `lisp_eval` of `{PROGRAM}`"));
        let commands = [pipes::ptc(ptc), pipes::own("bare-pipes"), pipes::own("rmcp-pipes")];
        for in_flight in [1, 64] {
            let mut rounds: [Vec<Round>; 3] = Default::default();
            for _ in 0..ROUNDS {
                for (command, rounds) in commands.iter().zip(&mut rounds) {
                    rounds.push(pipes::round(command, in_flight, time).await);
                }
            }
            side_by_side(&format!("{in_flight} in flight"), &rounds);
        }
    }
    if wanted("observed") {
        head("what observing costs: HTTP, 64 connections");
        observed(ptc, time).await;
    }
    if wanted("neighbour") {
        neighbour::measure(ptc, time).await;
    }
    if wanted("fairness") {
        fairness::measure(ptc, time).await;
    }
    if wanted("aggregate") {
        aggregate::measure(ptc, time).await;
    }
    if wanted("questions") {
        questions::measure(ptc, time).await;
    }
    if wanted("replies") {
        replies::measure(ptc, time).await;
    }
    if wanted("reply-sizes") {
        replies::curves(ptc, time).await;
    }
    if wanted("sessions") {
        curves::sessions(ptc, time).await;
    }
    if wanted("stores") {
        stores::measure(ptc, time).await;
    }
    if wanted("connections") {
        curves::connections(ptc, time).await;
    }
}

/// The rows of `ptc`, of the bare server and of rmcp, and `ptc` as a part of either.
fn side_by_side(name: &str, [ptc, bare, rmcp]: &[Vec<Round>; 3]) {
    for (side, rounds) in [("ptc", ptc), ("bare", bare), ("rmcp", rmcp)] {
        report(&format!("{name}, {side}"), rounds);
    }
    for (side, rounds) in [("bare", bare), ("rmcp", rmcp)] {
        ratio(name, ("ptc", ptc), (side, rounds));
    }
}

/// The same load with more and more of it being told.
async fn observed(ptc: &str, time: Duration) {
    let folder = std::env::temp_dir().join(format!("ptc-load-{}", std::process::id()));
    let traces = folder.to_str().expect("UTF-8").to_owned();
    let all: [(&str, Vec<&str>); 5] = [
        ("nothing but warnings", vec![]),
        ("the usual log", vec!["--log-level", "info"]),
        ("metrics", vec!["--http-metrics"]),
        ("metrics and lisp_debug", vec!["--http-metrics", "--debug-tool", "--response-profile", "slim"]),
        (
            "metrics, lisp_debug and traces",
            vec!["--http-metrics", "--debug-tool", "--response-profile", "slim", "--trace-dir", &traces],
        ),
    ];
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); all.len()];
    for _ in 0..ROUNDS {
        for ((_, flags), rounds) in all.iter().zip(&mut rounds) {
            rounds.push(http::round(&Server::ptc_http(ptc, flags).await, 64, time).await);
        }
    }
    for ((name, _), rounds) in all.iter().zip(&rounds) {
        report(name, rounds);
    }
    let _ = std::fs::remove_dir_all(folder);
}
