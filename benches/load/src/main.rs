//! `ptc` under load, beside the least that could answer: over HTTP a bare hyper server that sends the same bytes, over
//! pipes a loop that reads JSON and sends the same bytes. All in one run, in turns, medians of three rounds.
//!
//! ```text
//! cargo build --release
//! cargo run --release --manifest-path benches/load/Cargo.toml -- target/release/ptc [SECONDS OF A ROUND]
//! ```

mod bare;
mod http;
mod pipes;
mod process;

use std::time::Duration;

/// The request whose answers are counted.
const PROGRAM: &str = "(+ 1 2)";

/// What one round measured.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    requests_per_second: f64,
    /// Microseconds of latency: median, 99th and 99.9th percentile.
    latency: [f64; 3],
    /// CPU seconds of the server for 10 000 requests.
    cpu: f64,
    /// Most memory the server ever had, in MiB.
    memory: f64,
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bare-http", port] => bare::http(port.parse().expect("a port")).await,
        ["bare-pipes"] => bare::pipes(),
        [ptc] => compare(ptc, Duration::from_secs(3)).await,
        [ptc, seconds] => compare(ptc, Duration::from_secs(seconds.parse().expect("seconds"))).await,
        _ => eprintln!("usage: ptc-load PTC [SECONDS]"),
    }
}

async fn compare(ptc: &str, time: Duration) {
    println!(
        "| `lisp_eval` of `{PROGRAM}` | requests/s | p50 µs | p99 µs | p99.9 µs | CPU s per 10 000 | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    for connections in [1, 16, 64, 256] {
        let (mut own, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            own.push(http::round(&process::Server::ptc_http(ptc).await, connections, time).await);
            bare.push(http::round(&process::Server::bare_http(ptc).await, connections, time).await);
        }
        report(&format!("HTTP, {connections} connections"), &own, &bare);
    }
    for in_flight in [1, 64] {
        let (mut own, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            own.push(pipes::round(&[ptc, "start", "--log-level", "warn"], in_flight, time).await);
            let exe = std::env::current_exe().expect("it runs");
            bare.push(pipes::round(&[exe.to_str().expect("UTF-8"), "bare-pipes"], in_flight, time).await);
        }
        report(&format!("stdio, {in_flight} in flight"), &own, &bare);
    }
}

fn report(name: &str, own: &[Round], bare: &[Round]) {
    let (own, bare) = (median(own), median(bare));
    for (who, round) in [("ptc", own), ("bare", bare)] {
        let [p50, p99, p999] = round.latency;
        println!(
            "| {name}, {who} | {:.0} | {p50:.0} | {p99:.0} | {p999:.0} | {:.3} | {:.1} |",
            round.requests_per_second, round.cpu, round.memory
        );
    }
    println!(
        "| {name}, ptc : bare | {:.0} % | | | | {:.2} × | |",
        100.0 * own.requests_per_second / bare.requests_per_second,
        own.cpu / bare.cpu
    );
}

/// The median of each figure.
fn median(rounds: &[Round]) -> Round {
    let of = |figure: fn(&Round) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    Round {
        requests_per_second: of(|round| round.requests_per_second),
        latency: [of(|round| round.latency[0]), of(|round| round.latency[1]), of(|round| round.latency[2])],
        cpu: of(|round| round.cpu),
        memory: of(|round| round.memory),
    }
}

/// Percentiles of latencies in microseconds.
fn percentiles(mut latencies: Vec<u32>) -> [f64; 3] {
    latencies.sort_unstable();
    let at = |q: f64| {
        latencies.get(((latencies.len() as f64 * q) as usize).min(latencies.len().saturating_sub(1)))
    };
    [0.5, 0.99, 0.999].map(|q| at(q).copied().map_or(f64::NAN, f64::from))
}
