//! The conformance data and the rules by which a result counts as right.
//!
//! `tests/conformance/` holds the programs with their expected results, and `compare.py`, whose rules this
//! module repeats so that `cargo test` needs nothing but Rust. A test holds the two against each other.

mod canon;
mod check;
mod read;

pub use check::{Case, Rules, STEPS_TO_LIMIT, Verdict, check_case};
pub use read::{Tagged, parse};

use ptc_mcp::json::{Value, parse_within};
use std::path::PathBuf;

/// The folder of the conformance data.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// The tags of a case or of one of its steps.
pub fn tags(of: &Value) -> Vec<&str> {
    of["tags"].as_array().map_or_else(Vec::new, |tags| tags.iter().filter_map(Value::as_str).collect())
}

/// The lines of a JSON Lines file of that folder.
///
/// # Panics
/// When the file is missing or a line is not JSON: the data belong to the repository.
pub fn json_lines(name: &str) -> Vec<Value> {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            // Some cases hold Clojure's value of deeply nested data.
            parse_within(line, usize::MAX).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        })
        .collect()
}
