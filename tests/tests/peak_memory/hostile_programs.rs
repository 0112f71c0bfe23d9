//! `hostile/programs.txt`: programs that want to hurt the process. Each ends as the file says, the whole process never
//! takes more than the program's limit plus a constant, and the next program runs as if nothing had been.

use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits};
use std::fmt::Write;
use std::time::Duration;

use super::{ALLOCATOR, ALONE};

/// What the process may take beyond the limit: what is not the program's (its text, its code, the result's rendering),
/// and what the allocator is asked for before the old block is given back when a text or table grows.
const BEYOND_THE_LIMIT: usize = 8 << 20;

/// Writes out `@{text|n}`.
fn expand(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find("@{") {
        let (before, marked) = rest.split_at(start);
        // The text may hold braces of its own: the count is what stands between the last bar and the next brace.
        let bar = marked.find('|').expect("a bar in @{…|n}");
        let end = bar + marked[bar..].find('}').expect("a brace behind @{…|n");
        out.push_str(before);
        out.push_str(&marked[2..bar].repeat(marked[bar + 1..end].parse().expect("a count in @{…|n}")));
        rest = &marked[end + 1..];
    }
    out + rest
}

#[tokio::test]
async fn hostile_programs_end_and_leave_nothing_behind() {
    let _alone = ALONE.lock().await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/hostile/programs.txt");
    let file = std::fs::read_to_string(file).expect("the programs belong to the repository");
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let (mut tried, mut most) = (0, 0);
    let mut wrong = String::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (expected, program) = line.split_once('\t').expect("what it ends with, a tab, the program");
        let mut request = EvalRequest::new(expand(program));
        // Steps and memory decide here, not the clock of a busy machine.
        request.limits = Limits { steps: 500_000, timeout: Duration::from_secs(600), ..Limits::plain() };
        let limit = usize::try_from(request.limits.memory_bytes).expect("fits");
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let outcome = engine.eval(request).await;
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        most = most.max(taken);
        let ended = match &outcome.result {
            Ok(_) => "value",
            Err(failure) => failure.reason.as_str(),
        };
        let fits = match expected {
            "memory" => ended == "memory_exceeded",
            "steps" => ended == "step_limit_exceeded",
            "limit" => matches!(ended, "memory_exceeded" | "step_limit_exceeded"),
            "error" => !matches!(ended, "value" | "memory_exceeded" | "step_limit_exceeded" | "timeout"),
            "value" => ended == "value",
            "ends" => ended != "timeout",
            other => panic!("no such ending: {other}"),
        };
        if !fits {
            let _ = writeln!(wrong, "{ended}, not {expected}: {program}");
        }
        if taken > limit + BEYOND_THE_LIMIT {
            let _ = writeln!(wrong, "took {taken} bytes under a limit of {limit}: {program}");
        }
        drop(outcome);
        let next = engine.eval(EvalRequest::new("(reduce + (map inc [1 2 3]))")).await;
        assert_eq!(next.result.expect("unharmed").text, "9", "after {program}");
        tried += 1;
    }
    println!("{tried} hostile programs; the hungriest took {most} bytes");
    assert!(tried >= 120, "only {tried} programs");
    assert!(wrong.is_empty(), "{wrong}");
}
