//! `docs/guide/functions.md` is made from the registry: this test fails when the file is stale, and rewrites it when the
//! environment variable `UPDATE_DOCS` is set.

use ptc_vm::builtins::{Builtin, library};
use std::fmt::Write as _;
use std::path::Path;

/// Sections in the order of the page: the registry's word, the heading.
const SECTIONS: &[(&str, &str)] = &[
    ("arith", "Arithmetic"),
    ("compare", "Comparison"),
    ("logic", "Logic"),
    ("math", "Mathematics"),
    ("chars", "Characters"),
    ("edn", "Data as text"),
    ("encoding", "Base64 and URLs"),
    ("bits", "Bits"),
    ("numpreds", "Questions about numbers"),
    ("types", "Kinds and conversions"),
    ("parse", "Reading numbers and booleans from text"),
    ("strings", "Strings"),
    ("jstr", "Methods of strings and other Java spellings"),
    ("regex", "Regular expressions"),
    ("print", "Printing and formatting"),
    ("json", "JSON"),
    ("csv", "CSV"),
    ("dates", "Dates, instants, durations"),
    ("zones", "Time zones, and times without one"),
    ("access", "Parts of collections"),
    ("subset", "Taking, dropping, partitioning"),
    ("transform", "Mapping and filtering"),
    ("aggregate", "Reducing, summing, grouping"),
    ("order", "Ordering"),
    ("combine", "Putting collections together"),
    ("gen", "Generating"),
    ("preds", "Questions about collections"),
    ("maps", "Maps"),
    ("sets", "Sets"),
    ("walk", "Trees"),
    ("comb", "Functions from functions"),
    ("apply", "Application"),
    ("transducers", "Transducers"),
    ("par", "Parallel calls"),
    ("Waiting", "Waiting"),
    ("disc", "Tools and discovery"),
    ("Servers", "Resources, prompts and attachments"),
    ("Questions", "Questions to the user"),
    ("Control", "Steps of an agent"),
];

const HEAD: &str = "# Functions

Every function of the library, with its calls, what it does and what it gives. Made from the library's
table (`vm/src/builtins`) by `tests/tests/pages/functions_doc.rs`, which checks that this page is current; to rewrite it:
`UPDATE_DOCS=1 cargo test -p ptc-tests --test pages functions_doc::`. The examples are run by `tests/tests/language/registry.rs`.

[language.md](language.md) teaches the language and its special forms; [divergences.md](divergences.md) tells Clojure
programmers what is different. Names are usable bare and under every spelling listed after \"also\".

Three conventions hold throughout. A collection argument may be a vector, a list, a map (its `[key value]` pairs in key
order), a set (in order), a string (its characters) or `nil` (empty), and results are vectors unless the line says
otherwise; `nth`, `peek`, `pop` and `subvec` refuse maps and sets, which have no positions.
Functions that are fed data they cannot use answer `nil`, `\"\"`, `false` or an empty collection; wrong argument counts,
arithmetic on something that is no number and calls of something that is no function end the program with an error.
Wherever a function is expected, a keyword, a map or a set does as well.
";

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Text as a code span in a cell, whatever backquotes it holds.
fn code(text: &str) -> String {
    let fence = if text.contains('`') { "``" } else { "`" };
    format!("{fence}{}{fence}", cell(text))
}

fn row(out: &mut String, builtin: &Builtin) {
    let calls: Vec<String> = builtin.signatures().iter().map(|call| code(call)).collect();
    let calls = if calls.is_empty() { code(builtin.name) } else { calls.join("<br>") };
    let aliases: Vec<String> = library()
        .aliases(builtin)
        .iter()
        .filter(|alias| !alias.starts_with("clojure.core/") && !alias.starts_with("core/"))
        .map(|alias| code(alias))
        .collect();
    let mut doc = cell(builtin.doc);
    if !aliases.is_empty() {
        let _ = write!(doc, " (also {})", aliases.join(", "));
    }
    let examples: Vec<String> = builtin
        .examples
        .iter()
        .map(|example| format!("{} → {}", code(example.program), code(example.value)))
        .collect();
    let _ = writeln!(out, "| {calls} | {doc} | {} |", examples.join("<br>"));
}

fn page() -> String {
    let mut out = HEAD.to_owned();
    for (section, heading) in SECTIONS {
        let mut builtins: Vec<_> = library().all().iter().filter(|b| b.section.name == *section).collect();
        assert!(!builtins.is_empty(), "section {section} is empty");
        builtins.sort_by_key(|builtin| builtin.name);
        let _ = write!(out, "\n## {heading}\n\n| Calls | What it does | Examples |\n|---|---|---|\n");
        for builtin in builtins {
            row(&mut out, builtin);
        }
    }
    out
}

#[test]
fn every_section_has_its_heading() {
    for builtin in library().all() {
        assert!(
            SECTIONS.iter().any(|(section, _)| *section == builtin.section.name),
            "{}: section {:?} has no heading",
            builtin.name,
            builtin.section.name
        );
    }
}

#[test]
fn the_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/functions.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("docs/ can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = page.lines().zip(found.lines()).find(|(made, found)| made != found);
    assert!(
        page == found,
        "docs/guide/functions.md is stale; UPDATE_DOCS=1 cargo test -p ptc-tests --test pages functions_doc:: rewrites it. \
         First difference: {stale:?}"
    );
}
