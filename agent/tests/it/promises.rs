//! Each promise in the guide names tests that exist.

use std::path::Path;

#[test]
fn every_promise_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let guide = std::fs::read_to_string(root.join("docs/guide/agent.md")).unwrap();
    let (_, section) = guide.split_once("## Guarantees of combined mode").unwrap();
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> =
        section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1)).skip(1).collect();
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let mut names = Vec::new();
        // Names, and behind them the file that they are in.
        for word in row.split('`').skip(1).step_by(2) {
            if !word.contains('/') {
                names.push(word);
                continue;
            }
            let source = std::fs::read_to_string(root.join(word)).unwrap();
            for name in names.drain(..) {
                assert!(source.contains(&format!("fn {name}(")), "{name} is not in {word}");
            }
        }
        assert!(names.is_empty(), "{row}");
    }
}
