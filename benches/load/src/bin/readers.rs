//! Large replies in one process: our reader and a machine that runs a program over what it reads, beside readers of JSON that make
//! values of the same bytes, the message and then its text. They take turns. Every line is
//! `workload TAB reader TAB median in nanoseconds TAB fastest in nanoseconds`, as those of `benches/peers`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ptc_benches::replies::{OVER_REPLIES, run_over};

#[path = "../json_readers.rs"]
mod json_readers;

use json_readers::JSON_READERS;

/// That of the command, for all readers.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of each reply, unless the environment says `PEERS_ROUNDS`.
const ROUNDS: usize = 31;
/// What one round takes at least.
const ROUND: Duration = Duration::from_millis(20);

/// A reader's part: reads a message once.
type Reader<'a> = (&'a str, Box<dyn Fn() + 'a>);

fn main() {
    let rounds = std::env::var("PEERS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(ROUNDS).max(1);
    for (over, name, program, is_text) in [
        ("json_text_2mb", "as text", r#"(count (:value (tool/call {:server "s" :tool "t"})))"#, true),
        (
            "json_structured_2mb",
            "as structured content",
            r#"(count (get (:value (tool/call {:server "s" :tool "t"})) "rows"))"#,
            false,
        ),
    ] {
        let over = OVER_REPLIES.iter().find(|reply| reply.name == over).expect("a reply of this name");
        let message = (over.message)();
        let what = format!("{:.2} MB {name}", message.len() as f64 / 1e6);
        for (task, program) in [("count", program), ("filter and sum", over.program)] {
            let program = ptc_benches::compile(program);
            let mut readers: Vec<Reader<'_>> = vec![(
                "ptc",
                Box::new(|| {
                    black_box(run_over(&program, &message));
                }),
            )];
            if task == "count" {
                for (reader, read) in JSON_READERS {
                    let message = &message;
                    readers.push((reader, Box::new(move || read(message, is_text))));
                }
            }
            in_turn(&format!("{what}: {task}"), &readers, rounds);
        }
    }
}

fn in_turn(workload: &str, readers: &[Reader<'_>], rounds: usize) {
    let mut times = vec![Vec::with_capacity(rounds); readers.len()];
    for _ in 0..=rounds {
        for ((_, read), times) in readers.iter().zip(&mut times) {
            let (begun, mut count) = (Instant::now(), 0_u32);
            while begun.elapsed() < ROUND {
                read();
                count += 1;
            }
            times.push(begun.elapsed() / count);
        }
    }
    for ((reader, _), mut times) in readers.iter().zip(times) {
        // The first round warms up.
        times.remove(0);
        times.sort_unstable();
        println!("{workload}\t{reader}\t{}\t{}", times[times.len() / 2].as_nanos(), times[0].as_nanos());
    }
}
