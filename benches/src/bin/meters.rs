//! Times fixed programs, compiled beforehand, for `benches/meters`: `name nanoseconds` for each, the fastest of many runs.
//!
//! The script runs this program as it is and as a build without meters, in turn, and compares.

use ptc_benches::{PIPELINE, TINY, WORKLOADS, compile, run};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long a program is run again and again.
const WINDOW: Duration = Duration::from_millis(250);

/// Runs that are timed together, so that reading the clock does not count.
const SHORTEST: Duration = Duration::from_micros(200);

fn main() {
    for workload in [&TINY, &PIPELINE].into_iter().chain(WORKLOADS) {
        let program = compile(workload.program);
        let time = |runs: u32| {
            let start = Instant::now();
            for _ in 0..runs {
                // In slices, as a server runs programs.
                black_box(run(black_box(&program), 20_000));
            }
            start.elapsed()
        };
        assert_eq!(run(&program, 20_000), workload.answer);
        let mut runs = 1;
        while time(runs) < SHORTEST {
            runs *= 2;
        }
        let begin = Instant::now();
        let mut fastest = time(runs);
        while begin.elapsed() < WINDOW {
            fastest = fastest.min(time(runs));
        }
        println!("{} {:.1}", workload.name, fastest.as_secs_f64() * 1e9 / f64::from(runs));
    }
}
