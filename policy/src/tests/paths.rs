//! What `under` accepts lies under the folder, however a server reads it.

use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use crate::path::Folder;

/// Pieces of which paths are made: names, parents, and all that servers read differently.
const PIECES: [&str; 40] = [
    "/", "/", "/", "reports", "a", "etc", "/..", "/..", "..", ".", "/%2e%2e", "/%2e%2e", "%2e", "%2E", "%2f",
    "a%2Fa", "%5c", "%25", "%252e", "%", "%72", "%20", "%00", "%3f", "%3b", "%c0%ae", "\\", " ", ";", "?",
    "#", "~", "$", "+", ":", "\u{ff0e}", "\u{2215}", "\u{200d}", "\u{e4}", "R",
];

/// The pieces of which attacks are made.
const SHORT: [&str; 8] = ["/..", "/..", "/%2e%2e", "/a%2Fa", "/a?", "/a", "//..", "/reports"];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..14);
    let short = prop::collection::vec(prop::sample::select(&SHORT[..]), 0..7);
    let texts =
        prop_oneof![pieces.prop_map(|pieces| pieces.concat()), short.prop_map(|short| short.concat())];
    // Most begin in the folder, so that there is something to accept.
    (prop::sample::select(&["/reports", "/reports/", "", "/a/../reports"][..]), texts)
        .prop_map(|(head, text)| format!("{head}{text}"))
}

/// The path without `.` and `..`, as `std::path` reads it; `None` above the root.
fn normalized(path: &str) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => {
                let above_root = normal.as_os_str().is_empty() || normal == Path::new("/");
                if above_root || !normal.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            component => normal.push(component),
        }
    }
    Some(normal)
}

/// The same as URLs are read, where an empty segment is one that has a parent.
fn normalized_as_url(path: &str) -> Option<PathBuf> {
    let mut segments: Vec<&str> = Vec::new();
    let relative = path.strip_prefix('/');
    for segment in relative.unwrap_or(path).split('/') {
        match segment {
            ".." => {
                segments.pop()?;
            }
            "." => {}
            segment => segments.push(segment),
        }
    }
    let root = if relative.is_some() { "/" } else { "" };
    segments.retain(|segment| !segment.is_empty());
    Some(PathBuf::from(format!("{root}{}", segments.join("/"))))
}

/// Decodes percent signs of which `chosen` says so, one bit each; what encodes nothing stays.
fn decoded(path: &str, mut chosen: u32) -> String {
    let (mut out, mut rest) = (Vec::new(), path.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%');
        match byte {
            Some(byte) => {
                if chosen & 1 == 1 {
                    out.push(byte);
                    rest = &behind[2..];
                } else {
                    out.push(b'%');
                    rest = behind;
                }
                chosen = chosen.rotate_right(1);
            }
            None => {
                out.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What servers make of a path before they look at its segments.
fn readings(path: &str) -> Vec<String> {
    let without_parameters = path.split('/').map(|segment| segment.split(';').next().unwrap_or_default());
    let trimmed = path.split('/').map(|segment| match segment.trim_end_matches(['.', ' ']) {
        "" => segment.trim(),
        name => name,
    });
    vec![
        path.to_owned(),
        path.split(['?', '#']).next().unwrap_or_default().to_owned(),
        without_parameters.collect::<Vec<_>>().join("/"),
        trimmed.collect::<Vec<_>>().join("/"),
        path.replace('\\', "/"),
        path.replace("%2e", ".").replace("%2E", "."),
        path.replace("%2f", "/").replace("%2F", "/"),
        path.replace('\u{ff0e}', ".").replace('\u{2215}', "/"),
        path.replace('\u{200d}', ""),
        path.trim().to_owned(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accepted_paths_lie_under_the_folder_in_every_reading(
        path in text(),
        folder in prop::sample::select(&["/reports", "reports", "/a/reports", "."][..]),
        ignores_case: bool,
        chosen in prop::array::uniform6(any::<u32>()),
    ) {
        let known = Folder::new(folder, ignores_case, false).unwrap();
        if known.holds(&path) {
            let root = normalized(folder).unwrap();
            // Decoded wholly each time, and in parts.
            for chosen in [[u32::MAX; 6], chosen] {
                let mut read = path.clone();
                for chosen in chosen {
                    for reading in readings(&read) {
                        let reading = if ignores_case { reading.to_ascii_lowercase() } else { reading };
                        for normal in [normalized(&reading), normalized_as_url(&reading)] {
                            let lies = normal.is_some_and(|normal| normal.starts_with(&root));
                            prop_assert!(lies, "{path:?} as {reading:?}");
                        }
                        prop_assert!(!reading.contains('\0'));
                    }
                    read = decoded(&read, chosen);
                }
            }
        }
    }

    #[test]
    fn ordinary_paths_of_the_folder_are_accepted(names in prop::collection::vec("[a-zA-Z0-9_][a-zA-Z0-9_ äß-]{0,8}[a-z]", 1..5)) {
        let path = format!("/reports/{}", names.join("/"));
        prop_assert!(Folder::new("/reports", false, false).unwrap().holds(&path), "{}", path);
    }
}

#[test]
fn much_of_what_is_generated_is_accepted() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let folder = Folder::new("/reports", false, false).unwrap();
    let paths = (0..2000).map(|_| text().new_tree(&mut runner).unwrap().current());
    let accepted = paths.filter(|path| folder.holds(path)).count();
    assert!(accepted > 100, "{accepted} of 2000");
}
