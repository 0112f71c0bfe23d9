//! Circles in a graph of names.

use std::collections::{BTreeMap, BTreeSet};

/// Groups of two nodes or more that all reach each other, each sorted.
pub(crate) fn circles<'a>(arrows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Vec<String>> {
    let mut onward: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows {
        onward.entry(from).or_default().insert(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        onward.keys().map(|node| (*node, reach(&onward, node))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (node, others) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|onward| onward.contains(node));
        let circle: BTreeSet<&str> = others.iter().filter(back).copied().chain([*node]).collect();
        if circle.len() > 1 {
            found.insert(circle.into_iter().map(str::to_owned).collect());
        }
    }
    found.into_iter().collect()
}

fn reach<'a>(onward: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for next in onward.get(node).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    seen
}
