//! Whatever acts for a caller sees the upstreams through a view of that caller (auth.md 14.3). These are all places that look at
//! everything, and why each may: a new one has no row.

use std::collections::BTreeMap;
use std::fs;

use regex::Regex;

use crate::root;

/// Uses of `Aggregator::unfiltered`: the file, how many it has, and why.
const UNFILTERED: [(&str, usize, &str); 24] = [
    (
        "host/src/aggregator/approval.rs",
        1,
        "the level and the arguments of an approval that people gave to a call which its caller may not make any more",
    ),
    (
        "host/src/aggregator/current_upstreams.rs",
        1,
        "the sites of the sign-in page, which asks for the caller's grant before it begins",
    ),
    ("observers/src/console/state.rs", 1, "the state of all upstreams, for operators alone"),
    ("observers/src/sources.rs", 1, "the figures of all upstreams, for the operator's monitoring"),
    (
        "protocol/src/exposed_features.rs",
        5,
        "events of upstreams, and the subscriptions of all clients together: each was admitted",
    ),
    (
        "server/src/boot/assembly.rs",
        4,
        "the card of a server without a policy; labels of figures; whether anybody is asked; names of tools at the start",
    ),
    ("server/src/boot/advertised.rs", 3, "card and planner of a server without a policy"),
    (
        "server/src/boot/programs/approving.rs",
        1,
        "the definitions of the tools of an approval, which operators make",
    ),
    (
        "server/src/boot/programs/mod.rs",
        1,
        "whether tools are as programs were approved with that are to be served",
    ),
    ("server/src/boot/reload.rs", 2, "whether anybody is asked, before and after a reload"),
    ("server/src/cli/agent/chat.rs", 1, "the operator's own command"),
    ("server/src/cli/agent/native.rs", 2, "the operator's own command"),
    ("server/src/cli/agent/setup.rs", 1, "the operator's own command"),
    ("server/src/cli/call.rs", 2, "the operator's own command"),
    ("server/src/cli/check.rs", 4, "the operator's own command"),
    ("server/src/cli/demo/mod.rs", 2, "the operator's own command"),
    ("server/src/cli/pin.rs", 1, "the operator's own command"),
    ("server/src/cli/program/definitions.rs", 1, "the operator's own command"),
    ("server/src/cli/program/live.rs", 1, "the operator's own command"),
    ("server/src/cli/repl/mod.rs", 3, "the operator's own command"),
    ("server/src/cli/tools.rs", 3, "the operator's own command"),
    (
        "tools/src/kept/call_check.rs",
        2,
        "whether a tool is as it was when the program was approved that calls it: the call itself is made by its caller's view",
    ),
    (
        "tools/src/exposed/mod.rs",
        2,
        "whether the list has changed for anybody; which upstream a name means that its caller does not see, for the audit log",
    ),
    (
        "tools/src/kept/directory.rs",
        2,
        "how programs stand to the tools of all upstreams; who sees them is asked of views; whether the name of a draft is free, for whoever approves it",
    ),
];

/// Uses of what lies below the views, inside the aggregator: its upstreams and its catalogs.
const BELOW: [(&str, usize, &str); 7] = [
    ("current_upstreams.rs", 7, "which upstreams another set adds, changes and takes out"),
    (
        "runtime.rs",
        16,
        "the catalogs themselves, figures, and what all callers share: starts, lists, patterns that fit no tool, the end",
    ),
    ("sampling.rs", 2, "requests of an upstream in answer to a call that was admitted"),
    ("sign_in.rs", 2, "pages of upstreams about a question that the caller was asked"),
    ("start.rs", 5, "the start of all upstreams"),
    ("upkeep.rs", 2, "the lists of all upstreams"),
    ("view.rs", 13, "the views"),
];

/// The sources below a folder, by their paths from it, without comments. Unit tests in files of their own are left out.
pub(crate) fn sources(folder: &str) -> BTreeMap<String, String> {
    let top = root().join(folder);
    let (mut found, mut waiting) = (BTreeMap::new(), vec![top.clone()]);
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                waiting.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).expect("text");
                let code: Vec<&str> =
                    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                let place = path.strip_prefix(&top).expect("below it").to_string_lossy().into_owned();
                found.insert(place, code.join("\n"));
            }
        }
    }
    found
}

/// The folders `src` of the product's crates.
fn crates() -> Vec<String> {
    let folders = fs::read_dir(root()).expect("the root").flatten();
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let has_sources = |name: &String| root().join(name).join("src").is_dir();
    names.filter(|name| !["tests", "fuzz", "benches"].contains(&name.as_str()) && has_sources(name)).collect()
}

fn counts(sources: &BTreeMap<String, String>, pattern: &str) -> BTreeMap<String, usize> {
    let pattern = Regex::new(pattern).expect("a pattern");
    let counted = sources.iter().map(|(file, text)| (file.clone(), pattern.find_iter(text).count()));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Holds what was found against a table.
fn compare(found: &BTreeMap<String, usize>, table: &[(&str, usize, &str)]) {
    let listed: BTreeMap<String, usize> =
        table.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(
        *found, listed,
        "what acts for a caller asks for `view` of the caller's authority; what may look at everything has a row here with its reason"
    );
}

#[test]
fn everything_is_looked_at_only_for_the_operator_and_for_all_callers_together() {
    let mut all = BTreeMap::new();
    for folder in crates() {
        let named = |(file, text)| (format!("{folder}/src/{file}"), text);
        all.extend(sources(&format!("{folder}/src")).into_iter().map(named));
    }
    assert!(all.contains_key("protocol/src/exposed_features.rs"), "the sources are found");
    compare(&counts(&all, r"\.unfiltered\(\)"), &UNFILTERED);
}

#[test]
fn inside_the_aggregator_callers_are_served_through_views() {
    let all = sources("host/src/aggregator");
    compare(
        &counts(&all, r"\.members\b(?:[^(]|$)|\b(?:self|aggregator)\.(?:catalog|present|advertised)\(\)"),
        &BELOW,
    );
}
