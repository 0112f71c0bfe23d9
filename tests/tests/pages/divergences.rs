//! Runs `docs/guide/divergences.md`: our value of each row of its closed list, and each pair of `program` → `value`.
//! Clojure's values are checked by `tests/clojure/divergences`.

use ptc_host::engine::{Engine, EngineOptions, EvalRequest};
use std::fmt::Write as _;
use std::time::Duration;

const PAGE: &str = include_str!("../../../docs/guide/divergences.md");

/// The header of the tables of the closed list.
const HEADER: &str = "| Program | Clojure | Here | Why |";

/// The reasons that a value may differ for, apart from Clojure having none.
const REASONS: [&str; 8] =
    ["determinism", "metering", "authority", "JSON", "graphemes", "order", "integers", "given"];

/// A row of the closed list: what Clojure gives and what a program gets here.
struct Row<'a> {
    line: usize,
    program: &'a str,
    clojure: &'a str,
    here: &'a str,
    reason: &'a str,
}

/// The rows of all tables with the header.
fn rows(page: &str) -> Vec<Row<'_>> {
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in page.lines().enumerate() {
        inside = line == HEADER || inside && line.starts_with('|');
        if !inside || line == HEADER || line.starts_with("|--") {
            continue;
        }
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [program, clojure, here, reason] = cells[..] else {
            panic!("docs/guide/divergences.md:{}: {} cells", at + 1, cells.len())
        };
        let [program, clojure, here] = [program, clojure, here].map(|cell| {
            let code = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
            code.unwrap_or_else(|| panic!("docs/guide/divergences.md:{}: {cell} is no code", at + 1))
        });
        found.push(Row { line: at + 1, program, clojure, here, reason });
    }
    found
}

/// The pairs `` `program` → `value` `` of a page: the line, the program, the value.
fn pairs(page: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let mut before = None;
        let mut rest = line;
        while let Some((gap, behind)) = rest.split_once('`') {
            let Some((code, after)) = behind.split_once('`') else { break };
            if gap.trim() == "→"
                && let Some(program) = before.take()
            {
                found.push((at + 1, program, code));
            } else {
                before = Some(code);
            }
            rest = after;
        }
    }
    found
}

#[test]
fn every_row_has_two_values_and_a_reason() {
    for Row { line, program, clojure, here, reason } in rows(PAGE) {
        let reason = reason.split(':').next().unwrap_or_default();
        // Where Clojure throws there is no value to differ from.
        let known = if clojure.starts_with('!') { reason.is_empty() } else { REASONS.contains(&reason) };
        assert!(known, "docs/guide/divergences.md:{line}: {program} differs because of {reason:?}");
        assert_ne!(clojure, here, "docs/guide/divergences.md:{line}: {program} does not differ");
    }
}

#[tokio::test]
async fn our_values_of_the_page_are_true() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("threads");
    let rows = rows(PAGE);
    let pairs = pairs(PAGE);
    assert!(rows.len() > 100, "only {} rows", rows.len());
    assert!(pairs.len() > 50, "only {} pairs", pairs.len());
    let mut faults = String::new();
    for (line, program, value) in rows.iter().map(|row| (row.line, row.program, row.here)).chain(pairs) {
        let mut request = EvalRequest::new(program);
        // What ends by its memory or its steps must not end by the time of a slow machine.
        request.limits.timeout = Duration::from_secs(30);
        let found = match engine.eval(request).await.result {
            Ok(answer) => answer.text,
            Err(failure) => format!("!{}", failure.reason.as_str()),
        };
        if found != value {
            let _ =
                writeln!(faults, "docs/guide/divergences.md:{line}: {program} gives {found}, not {value}");
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
