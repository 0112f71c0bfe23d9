//! The reading of imports, the table and the rules, on sources of a few lines.

use super::modules::{Crate, Files};
use super::resolve::{self, Imports};
use super::rules;
use super::table::{self, House};
use std::collections::BTreeSet;

fn imports(sources: &[(&str, &str)]) -> Imports {
    let files: Files = sources.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    resolve::imports(&Crate::read("ptc_small", &files).expect("source that parses"))
}

/// Each use of another file as `from:line path to`.
fn arrows(sources: &[(&str, &str)]) -> Vec<String> {
    let tell =
        |import: &resolve::Import| format!("{}:{} {} {}", import.from, import.line, import.path, import.to);
    imports(sources).found.iter().map(tell).collect()
}

fn house(rows: &str) -> House {
    let page = format!(
        "# Design\n\n## Floors\n\nProse.\n\n| Crate | Uses | Floor | Rooms |\n|---|---|---|---|\n{rows}\n\nMore.\n"
    );
    table::read(&page).expect("a table").remove(0)
}

#[test]
fn a_use_leads_to_the_file_that_defines_the_name() {
    let found = arrows(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::Thing;"),
        ("b.rs", "pub struct Thing;"),
    ]);
    assert_eq!(found, ["a.rs:1 crate::b::Thing b.rs"]);
}

#[test]
fn a_use_tree_is_read_branch_by_branch() {
    let found = arrows(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "use crate::{\n    b::{self, One, Two as Three},\n    c::deep,\n};\nuse std::fmt::{self, Debug};",
        ),
        ("b.rs", "pub struct One; pub struct Two;"),
        ("c.rs", "pub fn deep() {}"),
    ]);
    assert_eq!(
        found,
        [
            "a.rs:2 crate::b b.rs",
            "a.rs:2 crate::b::One b.rs",
            "a.rs:2 crate::b::Two b.rs",
            "a.rs:3 crate::c::deep c.rs"
        ]
    );
}

#[test]
fn a_reexport_leads_through_to_the_file_behind_it() {
    let found = arrows(&[
        ("lib.rs", "mod a; mod b; pub use b::Thing;"),
        ("a.rs", "use crate::Thing;\nuse crate::b::Other as Renamed;\nfn f() { Renamed::new() }"),
        ("b/mod.rs", "mod inner;\nmod hidden;\npub use inner::{Thing, Second as Other};"),
        ("b/inner.rs", "pub struct Thing; pub use super::hidden::Second;"),
        ("b/hidden.rs", "pub struct Second;"),
    ]);
    assert_eq!(
        found,
        [
            "a.rs:1 crate::Thing b/inner.rs",
            "a.rs:2 crate::b::Other b/hidden.rs",
            "a.rs:3 Renamed::new b/hidden.rs",
            "b/inner.rs:1 super::hidden::Second b/hidden.rs"
        ]
    );
}

#[test]
fn a_front_pages_table_of_contents_is_no_import_but_its_own_use_is() {
    let page = "mod inner;\npub use inner::Thing;\n\npub fn make() -> Thing { Thing }\nuse inner::private;";
    let found = arrows(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", page),
        ("a/inner.rs", "pub struct Thing; pub fn private() {}"),
    ]);
    assert_eq!(found, ["a/mod.rs:4 Thing a/inner.rs", "a/mod.rs:5 inner::private a/inner.rs"]);
}

#[test]
fn paths_in_code_types_and_macros_are_imports_too() {
    let found = arrows(&[
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "fn f(x: crate::b::Thing) {\n    super::b::go();\n    println!(\"{}\", vec![1, crate::b::number()][0]);\n    let b = 1; b;\n}",
        ),
        ("b.rs", "pub struct Thing; pub fn go() {} pub fn number() -> u8 { 1 }"),
    ]);
    assert_eq!(
        found,
        ["a.rs:1 crate::b::Thing b.rs", "a.rs:2 super::b::go b.rs", "a.rs:3 crate::b::number b.rs"]
    );
}

#[test]
fn self_and_super_start_where_they_stand() {
    let found = arrows(&[
        ("lib.rs", "mod a; pub fn top() {}"),
        ("a/mod.rs", "mod inner; mod other; pub fn here() {}"),
        (
            "a/inner.rs",
            "use super::here;\nuse super::super::top;\nuse super::other::{self, deep};\nmod inline { use super::super::here; }\nuse self::inline as _;",
        ),
        ("a/other.rs", "pub fn deep() {}"),
    ]);
    assert_eq!(
        found,
        [
            "a/inner.rs:1 super::here a/mod.rs",
            "a/inner.rs:2 super::super::top lib.rs",
            "a/inner.rs:3 super::other a/other.rs",
            "a/inner.rs:3 super::other::deep a/other.rs",
            "a/inner.rs:4 super::super::here a/mod.rs"
        ]
    );
}

#[test]
fn a_module_and_a_function_of_one_name_are_told_apart() {
    let found = arrows(&[
        ("lib.rs", "mod a; mod text;"),
        ("a.rs", "use crate::text::text;\nfn f() { crate::text::text(); crate::text::other::deep(); }"),
        ("text/mod.rs", "mod text; pub mod other; pub use text::text;"),
        ("text/text.rs", "pub fn text() {}"),
        ("text/other.rs", "pub fn deep() {}"),
    ]);
    assert_eq!(
        found,
        [
            "a.rs:1 crate::text::text text/text.rs",
            "a.rs:2 crate::text::other::deep text/other.rs",
            "a.rs:2 crate::text::text text/text.rs"
        ]
    );
}

#[test]
fn what_only_tests_see_is_left_out() {
    let found = arrows(&[
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
        (
            "a.rs",
            "#[cfg(test)] use crate::b::Thing; #[cfg(all(unix, test))] mod tests { use crate::b::Thing; }
             struct S; impl S { #[cfg(test)] fn f() { crate::b::go(); } }
             #[cfg(any(test, unix))] use crate::b::go;",
        ),
        ("b.rs", "pub struct Thing; pub fn go() {}"),
        ("tests.rs", "use crate::b::Thing;"),
    ]);
    assert_eq!(found, ["a.rs:3 crate::b::go b.rs"]);
}

#[test]
fn everything_of_a_module_is_refused_and_the_variants_of_a_type_are_not() {
    let found = imports(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::*;\nuse std::collections::*;\nfn f() { use crate::b::Kind::*; }"),
        ("b.rs", "pub enum Kind { One, Two }"),
    ]);
    assert_eq!(found.globs.iter().map(|glob| glob.line).collect::<Vec<_>>(), [1]);
    assert_eq!(found.found.iter().map(|import| import.line).collect::<Vec<_>>(), [3]);
}

#[test]
fn the_binary_uses_its_library_by_name() {
    let found = arrows(&[
        ("lib.rs", "pub mod a;"),
        ("main.rs", "fn main() { ptc_small::a::run() }"),
        ("a.rs", "pub fn run() {}"),
    ]);
    assert_eq!(found, ["main.rs:1 ptc_small::a::run a.rs"]);
}

#[test]
fn the_table_gives_every_file_its_floor() {
    let house = house(
        "| `small` | none | ground (recursive) | `a/`, `b.rs` |\n| | | above | `a/deep/`: for what is big |",
    );
    assert_eq!(
        (house.floors[0].name.as_str(), house.floors[0].recursive, house.floors[1].recursive),
        ("ground", true, false)
    );
    let floor = |file| house.floor(file);
    assert_eq!([floor("a/mod.rs"), floor("a/x/y.rs"), floor("b.rs")], [Some(0); 3]);
    assert_eq!([floor("a/deep/mod.rs"), floor("a/deep/z.rs")], [Some(1); 2]);
    assert_eq!([floor("lib.rs"), floor("ab.rs")], [Some(2), None]);
}

#[test]
fn a_row_without_files_and_a_file_without_a_row_are_told() {
    let house = house("| `small` | `vm` | ground | `a`, `gone` |");
    let files: BTreeSet<String> = ["lib.rs", "a/mod.rs", "new.rs"].map(str::to_owned).into();
    let told = rules::rooms(&house, &files);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("`gone`") && told[1].contains("small/src/new.rs"), "{told:?}");
}

#[test]
fn an_import_that_goes_up_a_floor_is_told_with_its_place() {
    let house = house("| `small` | none | ground | `a` |\n| | | above | `b` |");
    let found = imports(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "\nuse crate::b::Thing;"),
        ("b.rs", "use crate::a; pub struct Thing;"),
    ]);
    let told = rules::upward(&house, &found);
    assert_eq!(told.len(), 1, "{told:?}");
    for part in ["small/src/a.rs:2:", "\"ground\"", "\"above\"", "small/src/b.rs", "crate::b::Thing (line 2)"]
    {
        assert!(told[0].contains(part), "{part}: {}", told[0]);
    }
}

#[test]
fn folders_of_one_floor_may_not_use_each_other_in_a_circle_unless_the_floor_is_recursive() {
    let sources = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod one; mod two; use crate::b::Thing; pub struct Page;"),
        ("a/one.rs", "use super::two::Two; use super::Page; pub struct One;"),
        ("a/two.rs", "use super::one::One; pub struct Two;"),
        ("b.rs", "use crate::c::Link; pub struct Thing;"),
        ("c.rs", "use crate::a::Page; pub struct Link;"),
    ];
    let found = imports(&sources);
    let told = rules::circles_of_folders(&house("| `small` | none | ground | `a`, `b`, `c` |"), &found);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("a, b.rs, c.rs use each other in a circle")
            && told[0].contains("c.rs:1 crate::a::Page"),
        "{}",
        told[0]
    );
    assert!(
        rules::circles_of_folders(&house("| `small` | none | ground (recursive) | `a`, `b`, `c` |"), &found)
            .is_empty()
    );
    assert_eq!(rules::circles_of_files(&found).len(), 2);
}

#[test]
fn folders_inside_a_folder_are_held_to_the_same() {
    let found = imports(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod x; mod y;"),
        ("a/x/mod.rs", "use super::y::Y; pub struct X;"),
        ("a/y/mod.rs", "use super::x::X; pub struct Y;"),
    ]);
    let told = rules::circles_of_folders(&house("| `small` | none | ground | `a` |"), &found);
    assert!(told.len() == 1 && told[0].starts_with("small/src/a/: a/x, a/y use each other"), "{told:?}");
}
