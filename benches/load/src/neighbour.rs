//! What one program that uses its whole time does to small ones beside it.
//!
//! Small requests come at a fixed rate, far below what the server can do, so that what is measured is how long they
//! wait and not how two processes share two cores under full load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::http::{Client, at_fixed_rate, contains};
use crate::process::Server;
use crate::round::percentiles;
use crate::{PROGRAM, ROUNDS};

/// Runs until its limit stops it: of time or of steps, whichever comes first.
const LONG: &str = "(loop [i 0] (recur (inc i)))";
/// Connections with small requests: enough that each worker has some.
const CONNECTIONS: usize = 8;
/// Between two requests of a connection: 2 000 a second in all.
const PAUSE: Duration = Duration::from_millis(4);

/// Prints latencies of small requests alone and beside a long program.
pub(crate) async fn measure(ptc: &str, time: Duration) {
    println!("\n| small requests, 2 000 a second | p50 µs | p99 µs | p99.9 µs | long programs ended |");
    println!("|---|---|---|---|---|");
    let mut p99 = [Vec::new(), Vec::new()];
    for beside in [false, true] {
        for _ in 0..ROUNDS {
            let server = Server::ptc_http(ptc, &[]).await;
            let (latency, ended) = round(server.port, time, beside).await;
            let name = if beside { "beside a program that uses all it may" } else { "alone" };
            let [p50, p99_now, p999] = latency;
            println!("| {name} | {p50:.0} | {p99_now:.0} | {p999:.0} | {ended} |");
            p99[usize::from(beside)].push(p99_now);
        }
    }
    let median = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let [alone, beside] = &mut p99;
    println!("| medians: the long program moves p99 by | | {:.0} | | |", median(beside) - median(alone));
}

async fn round(port: u16, time: Duration, beside: bool) -> ([f64; 3], usize) {
    let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let long = beside.then(|| {
        let (over, ended) = (over.clone(), ended.clone());
        tokio::spawn(async move {
            let mut client = Client::connect(port).await;
            while !over.load(Ordering::Relaxed) {
                let answer = client.eval(LONG).await;
                assert!(contains(&answer, b"limit") || contains(&answer, b"timeout"), "{answer:?}");
                ended.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let end = Instant::now() + time;
    let small = move |at: usize| {
        let start = Instant::now() + PAUSE * at as u32 / CONNECTIONS as u32;
        at_fixed_rate(port, None, start, PAUSE, end, |client, _| async move {
            let mut client = client;
            let answer = client.eval(PROGRAM).await;
            assert!(contains(&answer, b"user=> 3\""), "{answer:?}");
            client
        })
    };
    let workers: Vec<_> = (0..CONNECTIONS).map(|at| tokio::spawn(small(at))).collect();
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await.expect("a worker that ends"));
    }
    over.store(true, Ordering::Relaxed);
    if let Some(long) = long {
        long.await.expect("a long program that ends");
    }
    (percentiles(latencies), ended.load(Ordering::Relaxed))
}
