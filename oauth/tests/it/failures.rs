//! Each of the failures that trip users has its tests, and they exist (auth.md 18.5).

use std::path::Path;

#[test]
fn every_failure_that_trips_users_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = std::fs::read_to_string(root.join("docs/spec/auth.md")).unwrap();
    let (_, section) = page.split_once("\n### 18.5 ").unwrap();
    let section = section.split("\n### ").next().unwrap_or_default();
    let rows: Vec<[&str; 3]> = section
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect::<Vec<_>>().try_into().ok()
        })
        .filter(|[number, ..]: &[&str; 3]| number.parse::<usize>().is_ok())
        .collect();
    let numbers: Vec<String> = rows.iter().map(|[number, ..]| (*number).to_owned()).collect();
    assert_eq!(numbers, (1..=18).map(|number| number.to_string()).collect::<Vec<_>>());
    for [number, _, tests] in rows {
        // Names, and behind them the file that they are in.
        let mut names = Vec::new();
        let mut found = 0;
        for word in tests.split('`').skip(1).step_by(2) {
            if !word.contains('/') {
                names.push(word);
                continue;
            }
            let source =
                std::fs::read_to_string(root.join(word)).unwrap_or_else(|error| panic!("{word}: {error}"));
            for name in names.drain(..) {
                let attribute = source.split(&format!("fn {name}() {{")).next().unwrap_or_default();
                let is_test = attribute.len() < source.len()
                    && attribute.trim_end().trim_end_matches("async").trim_end().ends_with("test]");
                assert!(is_test, "failure {number}: no test {name} in {word}");
                found += 1;
            }
        }
        assert!(found > 0 && names.is_empty(), "failure {number}: {tests}");
    }
}
