//! `docs/guide/limits.md` has each bound of `docs/spec/server.md` 1.5 that is a number, with the same default.

use crate::root;

/// Flags that are numbers and no limits.
const NO_LIMITS: [&str; 1] = ["--http-port"];

fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The flags of a cell, and the values that stand for them, where these are whole numbers.
fn rows(spec: &str) -> Vec<(String, String)> {
    let begin = spec.find("### 1.5 Flags").expect("the section");
    let end = spec[begin..].find("### 1.6").expect("the next section") + begin;
    let mut rows = Vec::new();
    for line in spec[begin..end].lines().filter(|line| line.starts_with("| `--")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [flags, kind, default, ..] = cells[..] else { continue };
        if !kind.starts_with('I') && kind != "int" {
            continue;
        }
        let flags = flags.split('`').filter(|part| part.starts_with("--"));
        for (flag, value) in flags.zip(default.split('/').map(str::trim)) {
            let number = value.split([';', ' ']).next().unwrap_or_default();
            if number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() {
                rows.push((flag.to_owned(), number.to_owned()));
            }
        }
    }
    rows
}

#[test]
fn the_page_of_limits_has_every_flag_with_its_default() {
    let (spec, limits) = (page("docs/spec/server.md"), page("docs/guide/limits.md"));
    let rows = rows(&spec);
    assert!(rows.len() > 50, "{}", rows.len());
    let mut missing = Vec::new();
    for (flag, default) in rows.iter().filter(|(flag, _)| !NO_LIMITS.contains(&flag.as_str())) {
        let named = format!("`{flag}`");
        let line = limits.lines().find(|line| line.contains(&named));
        let has_default = |line: &str| line.replace(' ', "").contains(default);
        if !line.is_some_and(has_default) {
            missing.push(format!("{flag} {default}: {}", line.unwrap_or("not on the page")));
        }
    }
    assert!(missing.is_empty(), "docs/guide/limits.md:\n{}", missing.join("\n"));
}
