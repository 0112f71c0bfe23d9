//! What comments and pages point at exists: sections of the specification (`upstreams.md 8.3`), decisions (ruling 12), headings
//! (`README.md, "Share it"`), links between pages, and the paths and tests that pages name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path};
use std::sync::LazyLock;

use regex::Regex;

use crate::root;

/// Folders that hold what was built or fetched, not what was written.
const NOT_OURS: &[&str] = &["target", "node_modules", "corpus", "artifacts", "coverage", ".git"];

/// Methods of MCP that look like paths of ours.
const METHODS: &[&str] = &["server/discover"];

/// Longer files are data.
const LONGEST: u64 = 512 * 1024;

/// A text of the repository and its path from the root.
struct Text {
    path: String,
    text: String,
}

impl Text {
    fn is_page(&self) -> bool {
        self.path.ends_with(".md")
    }

    /// `path:line` of a position.
    fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path, self.text[..at].matches('\n').count() + 1)
    }

    /// Texts of headings, without their marks.
    fn headings(&self) -> impl Iterator<Item = &str> {
        let mut in_code = false;
        self.text.lines().filter_map(move |line| {
            in_code ^= line.starts_with("```");
            let text = line.trim_start_matches('#');
            (!in_code && text.len() < line.len() && text.starts_with(' ')).then(|| text.trim())
        })
    }
}

/// All texts below the root, in order of their paths. They are read once for all tests.
static TEXTS: LazyLock<Vec<Text>> = LazyLock::new(|| {
    fn collect(folder: &Path, root: &Path, found: &mut Vec<Text>) {
        let mut entries: Vec<_> =
            fs::read_dir(folder).expect("folder").map(|entry| entry.expect("entry")).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let kind = entry.file_type().expect("kind");
            if kind.is_dir() && !NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                collect(&path, root, found);
            } else if kind.is_file()
                && entry.metadata().expect("metadata").len() <= LONGEST
                && let Ok(text) = fs::read_to_string(&path)
            {
                let path = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
                found.push(Text { path, text });
            }
        }
    }
    let mut found = Vec::new();
    collect(root(), root(), &mut found);
    found
});

/// The numbers at the start of headings: `2.11` of `### 2.11 Order`, `12` of `## 12. Writing to a map`.
fn numbers(page: &Text) -> BTreeSet<String> {
    page.headings()
        .filter_map(|heading| {
            let number = heading.split(' ').next()?.trim_end_matches('.');
            number
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
                .then_some(number)
        })
        .map(str::to_owned)
        .collect()
}

/// Numbers of a list such as `8.3, 9 and 10` or `64–67`. An end of a range stands for itself: what lies between need not exist.
fn listed(list: &str) -> impl Iterator<Item = &str> {
    list.split(|c: char| !c.is_ascii_digit() && c != '.')
        .map(|n| n.trim_end_matches('.'))
        .filter(|n| !n.is_empty())
}

/// A list of numbers, as [`listed`] reads it.
const LIST: &str = r"(\d+(?:\.\d+)*(?:(?:, | and | to | ?– ?)\d+(?:\.\d+)*)*)";

/// Room between words, over the end of a line of comment too.
const ROOM: &str = r"(?:\s|//[/!]?|#)+";

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("pattern")
}

fn expect_none(what: &str, faults: &[String]) {
    let mut list = String::new();
    for fault in faults {
        let _ = writeln!(list, "  {fault}");
    }
    assert!(faults.is_empty(), "{what}:\n{list}");
}

#[test]
fn sections_exist() {
    let texts = &*TEXTS;
    let sections: BTreeMap<&str, BTreeSet<String>> = texts
        .iter()
        .filter_map(|text| Some((text.path.strip_prefix("docs/spec/")?, numbers(text))))
        .collect();
    assert!(
        sections.len() >= 8 && sections.values().all(|numbers| numbers.len() > 5),
        "{:?}",
        sections.keys()
    );
    let cited = pattern(&format!(r"\b(\w+\.md)`?,?{ROOM}(?:sections? )?{LIST}"));
    let own = pattern(&format!(r"\bsections? {LIST}"));
    let mut faults = Vec::new();
    let mut seen = 0;
    for text in texts {
        for found in cited.captures_iter(&text.text) {
            let Some(numbers) = sections.get(&found[1]) else { continue };
            for number in listed(&found[2]) {
                seen += 1;
                if !numbers.contains(number) {
                    faults.push(format!("{}: {} {number}", text.place(found.get_match().start()), &found[1]));
                }
            }
        }
        let Some(numbers) = text.path.strip_prefix("docs/spec/").and_then(|name| sections.get(name)) else {
            continue;
        };
        for found in own.captures_iter(&text.text) {
            let at = found.get_match().start();
            if text.text[..at].ends_with(".md ") || text.text[..at].ends_with(".md` ") {
                continue;
            }
            faults.extend(
                listed(&found[1])
                    .filter(|number| !numbers.contains(*number))
                    .map(|number| format!("{}: section {number}", text.place(at))),
            );
        }
    }
    expect_none("sections that are not in docs/spec", &faults);
    assert!(seen > 100, "only {seen} citations were found");
}

#[test]
fn decisions_exist() {
    let texts = &*TEXTS;
    let mut decisions = BTreeSet::new();
    for page in texts.iter().filter(|text| text.path.starts_with("docs/decisions/")) {
        for number in numbers(page) {
            assert!(decisions.insert(number.clone()), "ruling {number} stands twice");
        }
    }
    let cited = pattern(&format!(r"\b[Rr]ulings?{ROOM}{LIST}"));
    let mut faults = Vec::new();
    let mut seen = 0;
    for text in texts {
        for found in cited.captures_iter(&text.text) {
            for number in listed(&found[1]) {
                seen += 1;
                if !decisions.contains(number) {
                    faults.push(format!("{}: ruling {number}", text.place(found.get_match().start())));
                }
            }
        }
    }
    expect_none("rulings that are not in docs/decisions", &faults);
    assert!(seen > 50, "only {seen} citations were found");
}

#[test]
fn headings_exist() {
    let texts = &*TEXTS;
    let cited = pattern(r#"\b([\w/-]+\.md), "([^"\n]+)""#);
    let mut faults = Vec::new();
    for text in texts {
        for found in cited.captures_iter(&text.text) {
            let page = texts.iter().find(|page| page.path == found[1]);
            if !page.is_some_and(|page| page.headings().any(|heading| heading == &found[2])) {
                faults.push(format!(
                    "{}: {}, {:?}",
                    text.place(found.get_match().start()),
                    &found[1],
                    &found[2]
                ));
            }
        }
    }
    expect_none("headings that do not exist", &faults);
}

/// The anchor of a heading, as forges make it.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Where a relative link leads, from the root; `None` outside the repository.
fn followed(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in Path::new(from).parent()?.join(link).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(parts.pop()?),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

#[test]
fn links_lead_somewhere() {
    let texts = &*TEXTS;
    let link = pattern(r"\]\(([^()\s]+)\)");
    let mut faults = Vec::new();
    for page in texts.iter().filter(|text| text.is_page()) {
        for found in link.captures_iter(&page.text) {
            let (target, heading) = found[1].split_once('#').unwrap_or((&found[1], ""));
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = if target.is_empty() { Some(page.path.clone()) } else { followed(&page.path, target) };
            let exists = path.as_ref().is_some_and(|path| root().join(path).exists());
            let found_heading = heading.is_empty()
                || path
                    .as_ref()
                    .and_then(|path| texts.iter().find(|text| text.path == *path))
                    .is_some_and(|page| page.headings().any(|text| anchor(text) == heading));
            if !exists || !found_heading {
                faults.push(format!("{}: {}", page.place(found.get_match().start()), &found[1]));
            }
        }
    }
    expect_none("links that lead nowhere", &faults);
}

#[test]
fn paths_and_tests_that_pages_name_exist() {
    let texts = &*TEXTS;
    let path = pattern(
        r"`((?:vm|mcp|compiler|host|agent|server|tests|benches|fuzz|docs|deploy|dist|\.ci|\.github)/[\w./-]*\w)/?(?: [^`]*)?`",
    );
    let test = pattern(r"`([a-z0-9]+(?:_[a-z0-9]+){2,})`");
    let functions: BTreeSet<&str> = texts
        .iter()
        .filter(|text| text.path.ends_with(".rs"))
        .flat_map(|text| text.text.split("fn ").skip(1))
        .filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .collect();
    let mut faults = Vec::new();
    // The journal and the list of changes speak of what was; the specification of wires and values.
    let past = |page: &&Text| page.path.starts_with("docs/journal/") || page.path == "CHANGELOG.md";
    for page in texts.iter().filter(|text| text.is_page() && !text.path.starts_with("docs/spec/")) {
        if past(&page) {
            continue;
        }
        let missing = |path: &str| !METHODS.contains(&path) && !root().join(path).exists();
        for found in path.captures_iter(&page.text).filter(|found| missing(&found[1])) {
            faults.push(format!("{}: {}", page.place(found.get_match().start()), &found[1]));
        }
        if page.path == "SECURITY.md" {
            for found in test.captures_iter(&page.text).filter(|found| !functions.contains(&found[1])) {
                faults.push(format!("{}: {}", page.place(found.get_match().start()), &found[1]));
            }
        }
    }
    expect_none("paths and tests that do not exist", &faults);
}
