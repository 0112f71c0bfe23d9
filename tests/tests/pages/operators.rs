//! What operators see and do beyond their own is one list (`OperatorUse`): the specification has each of it, and each is recorded where
//! it happens.

use std::collections::BTreeSet;
use std::fs;

use ptc_server::protocol::operator::OperatorUse;

use crate::root;
use crate::views::sources;

/// The rows of the table in `server.md` 11.7: names, in its order.
fn documented() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/spec/server.md")).expect("the specification");
    let section = text.split("### 11.7 ").nth(1).and_then(|rest| rest.split("\n##").next()).expect("11.7");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name.to_owned()).filter(|name| name != "use").collect()
}

#[test]
fn the_specification_lists_all_that_operators_see_and_do() {
    let all: Vec<String> = OperatorUse::ALL.iter().map(|listed| listed.as_str().to_owned()).collect();
    assert_eq!(documented(), all, "docs/spec/server.md 11.7 has a row for each `OperatorUse`");
}

#[test]
fn all_that_operators_see_and_do_is_recorded_somewhere() {
    let mut used = BTreeSet::new();
    let mut deciding = BTreeSet::new();
    for (path, text) in sources("transport/src") {
        for listed in OperatorUse::ALL {
            if text.contains(&format!("OperatorUse::{listed:?}")) {
                used.insert(listed.as_str());
            }
        }
        // Where it is asked, and not where it is known.
        if text.contains(".is_operator(") && !text.contains("fn is_operator(") {
            deciding.insert((path, text.contains("OperatorUse")));
        }
    }
    let all: BTreeSet<&str> = OperatorUse::ALL.iter().map(|listed| listed.as_str()).collect();
    assert_eq!(used, all, "each is recorded where it happens");
    let silent: Vec<_> = deciding.iter().filter(|(_, records)| !records).map(|(path, _)| &**path).collect();
    assert!(silent.is_empty(), "these ask who is an operator and record nothing of it: {silent:?}");
}
