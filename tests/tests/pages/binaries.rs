//! Tests are few binaries, which share what they have in common by a crate: each binary is linked by itself, most of them with the whole
//! engine or the whole server.

use std::fs;
use std::path::Path;

use crate::root;

/// Most binaries of integration tests in the workspace.
const MOST: usize = 20;

/// Where a module is included by its path, and why: an example is a program of its own for `cargo run --example`.
const BY_PATH: [&str; 2] = ["agent/examples/research.rs", "agent/tests/it/examples.rs"];

/// Workspaces of their own, whose tests are no binaries of this one.
const ELSEWHERE: [&str; 5] =
    ["fuzz", "tests/embedding", "tests/interop/rmcp", "benches/peers", "benches/load"];

/// Folders that hold what was built or fetched, not what was written.
const NOT_OURS: [&str; 7] = ["target", "node_modules", "corpus", "artifacts", "coverage", ".git", ".venv"];

/// Everything below the root that was written, by its path from there.
fn files() -> Vec<String> {
    fn collect(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if !path.is_dir() {
                let path = path.strip_prefix(root()).expect("below the root").to_string_lossy();
                found.push(path.into_owned());
            } else if !NOT_OURS.iter().any(|name| path.ends_with(name)) {
                collect(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(root(), &mut found);
    found.sort();
    found
}

/// The integration tests of a package, as cargo finds them: files and folders with a `main.rs` in its `tests`.
fn targets<'a>(files: &'a [String], package: &str) -> Vec<&'a str> {
    let folder = format!("{package}/tests/");
    let all = files.iter().filter(|file| {
        let inside = file.strip_prefix(&folder).and_then(|file| file.strip_suffix(".rs"));
        inside.is_some_and(|stem| match stem.split_once('/') {
            Some((_, rest)) => rest == "main",
            None => true,
        })
    });
    all.map(String::as_str).collect()
}

#[test]
fn integration_test_binaries_are_few() {
    let files = files();
    let packages: Vec<&str> = files
        .iter()
        .filter_map(|file| file.strip_suffix("/Cargo.toml"))
        .filter(|package| !ELSEWHERE.contains(package))
        .collect();
    for package in &packages {
        let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a manifest");
        let sections = manifest.split("\n[[test]]\n").skip(1);
        let is_elsewhere = |section: &str| {
            section.split("\n[").next().unwrap_or_default().lines().any(|line| line.starts_with("path"))
        };
        assert!(!sections.into_iter().any(is_elsewhere), "{package}: a test with a path is not counted here");
    }
    let all: Vec<&str> = packages.iter().flat_map(|package| targets(&files, package)).collect();
    assert!(all.len() > 10, "only {all:#?}");
    assert!(all.len() <= MOST, "{} binaries, at most {MOST}: make it a module of `it`: {all:#?}", all.len());
}

#[test]
fn tests_include_no_module_by_its_path() {
    let is_of_tests = |file: &&String| {
        let folders = ["tests", "examples", "fuzz"];
        file.ends_with(".rs") && file.split('/').any(|part| folders.contains(&part))
    };
    let mut by_path: Vec<String> = Vec::new();
    for file in files().iter().filter(is_of_tests) {
        let text = fs::read_to_string(root().join(file)).expect("a text");
        if text.lines().any(|line| line.trim_start().starts_with("#[path")) {
            by_path.push(file.clone());
        }
    }
    assert_eq!(by_path, BY_PATH, "what several tests share belongs into tests/support");
}
