//! Runs one fixed program under a profiler: `instructions NAME [ROUNDS]`; `instructions --list` names them.
//!
//! Everything of interest happens inside [`measured`], so that `valgrind --tool=callgrind
//! --toggle-collect='*measured*'` counts neither the start of the process nor the warm-up round.

use ptc_benches::{PIPELINE, TINY, WORKLOADS, Workload, compile, run};
use std::hint::black_box;
use std::process::ExitCode;

/// What is counted: compiling the program's text and running it.
#[inline(never)]
fn measured(workload: &Workload) -> String {
    run(&compile(black_box(workload.program)), u64::MAX)
}

fn workloads() -> impl Iterator<Item = &'static Workload> {
    [&TINY, &PIPELINE].into_iter().chain(WORKLOADS)
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (name, rounds) = (args.next().unwrap_or_default(), args.next());
    if name == "--list" {
        workloads().for_each(|workload| println!("{}", workload.name));
        return ExitCode::SUCCESS;
    }
    let found = workloads().find(|workload| workload.name == name);
    let (Some(workload), Ok(rounds)) = (found, rounds.as_deref().unwrap_or("1").parse::<u32>()) else {
        eprintln!("instructions NAME [ROUNDS]; instructions --list");
        return ExitCode::FAILURE;
    };
    // The first round builds what is built once a process: the registry, the tables of names.
    assert_eq!(run(&compile(workload.program), u64::MAX), workload.answer);
    for _ in 0..rounds {
        assert_eq!(measured(workload), workload.answer);
    }
    ExitCode::SUCCESS
}
