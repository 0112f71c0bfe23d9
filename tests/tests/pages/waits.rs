//! `tests/waits.tsv` lists every place of the integration tests where real time may pass, with the reason: this holds the sources against it.
//!
//! A row has four cells between tabs: the file, the line without the space around it, how many such lines the file has, and why it must be.
//! Seconds by which a test sets a clock ahead are no waits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::root;

const LIST: &str = "tests/waits.tsv";
/// What test programs share, besides the folder `tests` of each crate.
const SHARED: [&str; 2] = ["tests/src", "tests/support/src"];
/// This file names what it looks for.
const OWN: &str = "tests/tests/pages/waits.rs";
/// Shorter times are waited for; tests that take longer are found by other means.
const BOUND_MICROS: u64 = 10_000_000;

/// A line of a file.
type Place = (String, String);

static CALL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(sleep|block|sleep_until|recv_timeout|set_read_timeout)\("));
static DURATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(\b(?:advance|advance_while|answer_in_steps)\(\s*(?:std::time::)?)?\bDuration::from_(millis|micros|secs)\(([^)]*)\)",
    )
});
static FLAG: LazyLock<Regex> = LazyLock::new(|| pattern(r#""--[a-z-]+-ms(?:[= ]|",\s*")([0-9]+)"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// The sources of integration tests and of what they share, by their paths from the root.
fn sources() -> BTreeMap<String, String> {
    let mut folders: Vec<PathBuf> = SHARED.iter().map(|folder| root().join(folder)).collect();
    for entry in fs::read_dir(root()).expect("the root").flatten() {
        folders.extend([entry.path().join("tests")].into_iter().filter(|tests| tests.is_dir()));
    }
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(&path).expect("text"));
            }
        }
    }
    found.remove(OWN);
    found
}

/// Whether a duration is that of a wait: what is no number may be any.
fn is_short(found: &Captures<'_>) -> bool {
    let is_step = found.get(1).is_some();
    let micros = found[3].replace('_', "").parse().ok().map(|number: u64| match &found[2] {
        "secs" => number * 1_000_000,
        "millis" => number * 1000,
        _ => number,
    });
    !is_step && micros.is_none_or(|micros| (1..BOUND_MICROS).contains(&micros))
}

/// Where something begins that may wait for real time.
fn begins(text: &str) -> Vec<usize> {
    let at = |found: Captures<'_>| found.get_match().start();
    let is_short_flag =
        |found: &Captures<'_>| found[1].parse().is_ok_and(|number: u64| number * 1000 < BOUND_MICROS);
    let durations = DURATION.captures_iter(text).filter(is_short);
    let flags = FLAG.captures_iter(text).filter(is_short_flag);
    CALL.captures_iter(text).chain(durations).chain(flags).map(at).collect()
}

/// The lines of a file that may wait, and how many of each there are.
fn waits(text: &str) -> BTreeMap<&str, usize> {
    let mut lines: Vec<(usize, &str)> = begins(text)
        .into_iter()
        .map(|at| {
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            (start, text[start..].lines().next().unwrap_or_default().trim())
        })
        .filter(|(_, line)| !line.starts_with("//") && !line.contains("fn "))
        .collect();
    lines.sort_unstable();
    lines.dedup();
    let mut counts = BTreeMap::new();
    for (_, line) in lines {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// The rows of the list.
fn listed() -> BTreeMap<Place, usize> {
    let mut rows = BTreeMap::new();
    for row in fs::read_to_string(root().join(LIST)).expect("the list").lines() {
        let cells: Vec<&str> = row.split('\t').map(str::trim).collect();
        let [file, line, count, reason] = cells[..] else { panic!("four cells between tabs: {row}") };
        assert!(!reason.is_empty(), "no reason: {row}");
        let count = count.parse().unwrap_or_else(|_| panic!("no number: {row}"));
        assert!(rows.insert((file.to_owned(), line.to_owned()), count).is_none(), "twice: {row}");
    }
    rows
}

/// Rows as the list has them.
fn rows<'a>(places: impl Iterator<Item = (&'a Place, &'a usize)>) -> String {
    let mut rows = String::new();
    for ((file, line), count) in places {
        let _ = writeln!(rows, "{file}\t{line}\t{count}\t");
    }
    rows
}

#[test]
fn every_wait_for_real_time_has_a_row_with_its_reason() {
    let listed = listed();
    let mut found = BTreeMap::new();
    for (file, text) in sources() {
        found.extend(waits(&text).into_iter().map(|(line, count)| ((file.clone(), line.to_owned()), count)));
    }
    let differs =
        |there: &BTreeMap<Place, usize>, (place, count): &(&Place, &usize)| there.get(*place) != Some(*count);
    let missing = rows(found.iter().filter(|row| differs(&listed, row)));
    let gone = rows(listed.iter().filter(|row| differs(&found, row)));
    assert!(
        missing.is_empty() && gone.is_empty(),
        "{LIST} lists what waits for real time.\nNot in the list, or another number of times; use the clock (CONTRIBUTING.md, \"Tests\") or give \
         the reason:\n{missing}\nIn the list, and not so in the sources:\n{gone}"
    );
}

#[test]
fn waits_are_found_in_calls_durations_and_flags() {
    let text = r#"
        std::thread::sleep(pause); visit_block(item);
        // sleep(pause)
        clock.advance(Duration::from_secs(2));
        let long = Duration::from_secs(10);
        let short = [Duration::from_millis(9_999), Duration::from_secs(n)];
        let flags = ["--log-level", "error", "--page-wait-ms", "50"];
        let flags = [
            "--page-wait-ms",
            "9999",
            "--question-open-ms",
            "10000",
        ];
        std::thread::sleep(pause); visit_block(item);
    "#;
    let found = waits(text);
    let expected = [
        (r#""--page-wait-ms","#, 1),
        (r#"let flags = ["--log-level", "error", "--page-wait-ms", "50"];"#, 1),
        ("let short = [Duration::from_millis(9_999), Duration::from_secs(n)];", 1),
        ("std::thread::sleep(pause); visit_block(item);", 2),
    ];
    assert_eq!(found, BTreeMap::from(expected));
}
