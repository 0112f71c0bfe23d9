//! Runs one fixed program under a profiler: `instructions NAME [ROUNDS]`; `instructions --list` names them.
//!
//! Everything of interest happens inside [`measured`], so that `valgrind --tool=callgrind
//! --toggle-collect='*measured*'` counts neither the start of the process nor the warm-up round.

use bytes::Bytes;
use ptc_benches::replies::{OVER_REPLIES, run_over};
use ptc_benches::{PIPELINE, TINY, WORKLOADS, compile, run};
use std::hint::black_box;
use std::process::ExitCode;

/// A program, and what answers its calls.
struct Counted {
    name: &'static str,
    program: &'static str,
    answer: &'static str,
    message: Option<fn() -> Bytes>,
}

/// What is counted: compiling the program's text, running it, and reading what its calls are answered with.
#[inline(never)]
fn measured(program: &str, message: Option<&Bytes>) -> String {
    let program = compile(black_box(program));
    match message {
        Some(message) => run_over(&program, message),
        None => run(&program, u64::MAX),
    }
}

fn all() -> impl Iterator<Item = Counted> {
    let alone = [&TINY, &PIPELINE].into_iter().chain(WORKLOADS);
    let alone = alone.map(|w| Counted { name: w.name, program: w.program, answer: w.answer, message: None });
    let over = |o: &'static ptc_benches::replies::OverReply| Counted {
        name: o.name,
        program: o.program,
        answer: o.answer,
        message: Some(o.message),
    };
    alone.chain(OVER_REPLIES.iter().map(over))
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (name, rounds) = (args.next().unwrap_or_default(), args.next());
    if name == "--list" {
        all().for_each(|counted| println!("{}", counted.name));
        return ExitCode::SUCCESS;
    }
    let found = all().find(|counted| counted.name == name);
    let (Some(counted), Ok(rounds)) = (found, rounds.as_deref().unwrap_or("1").parse::<u32>()) else {
        eprintln!("instructions NAME [ROUNDS]; instructions --list");
        return ExitCode::FAILURE;
    };
    let message = counted.message.map(|message| message());
    // The first round builds what is built once a process: the registry, the tables of names. It is not counted.
    let warm_up = match &message {
        Some(message) => run_over(&compile(counted.program), message),
        None => run(&compile(counted.program), u64::MAX),
    };
    assert_eq!(warm_up, counted.answer);
    for _ in 0..rounds {
        assert_eq!(measured(counted.program, message.as_ref()), counted.answer);
    }
    ExitCode::SUCCESS
}
