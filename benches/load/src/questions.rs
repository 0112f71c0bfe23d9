//! What it costs programs that ask nobody that they could: `--questions auto`, where each might be kept, beside `--questions off`. The
//! same binary, in turns.

use std::time::Duration;

use crate::aggregate::{IN_TURN, upstreams_file};
use crate::http::{Client, contains, tasks};
use crate::process::Server;
use crate::round::{Round, compare, head};
use crate::{PROGRAM, ROUNDS};

/// Rounds of a side: differences are small.
const TURNS: usize = 3 * ROUNDS;

pub(crate) async fn measure(ptc: &str, time: Duration) {
    head("programs that could ask");
    let upstream = Server::upstream().await;
    let config = upstreams_file(upstream.port);
    let file = config.to_str().expect("UTF-8");
    let with_upstream = ["--http-disable-auth", "--max-concurrent-calls", "1024", "--upstreams-config", file];
    for (name, program, wanted, flags, connections) in [
        ("`(+ 1 2)`, 16 connections", PROGRAM, &b"user=> 3\""[..], &with_upstream[..3], 16),
        ("ten upstream calls in turn, 16 connections", IN_TURN, b"user=> 315\"", &with_upstream, 16),
    ] {
        let mut rounds: [Vec<Round>; 2] = Default::default();
        for _ in 0..TURNS {
            for (mode, rounds) in ["auto", "off"].into_iter().zip(&mut rounds) {
                let server = Server::ptc_http(ptc, &[flags, &["--questions", mode]].concat()).await;
                let task = move |mut client: Client| async move {
                    let answer = client.eval(program).await;
                    assert!(contains(&answer, wanted), "{answer:?}");
                    client
                };
                rounds.push(tasks(server.id(), server.port, connections, time, task).await);
            }
        }
        let [auto, off] = &rounds;
        compare(name, ("auto", auto), ("off", off));
    }
    let _ = std::fs::remove_file(config);
}
