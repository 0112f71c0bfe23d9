//! The map of the house is true: `docs/design.md` says under "Floors" which crates and floors there are, and this reads the imports
//! of every crate and holds them against it.
//!
//! `cargo test -p ptc-tests --test pages map:: -- --nocapture` prints the map as well, with the imports that make circles of files.

mod accounts;
mod circles;
mod entry_points;
mod manifest;
mod modules;
mod paths;
mod resolve;
mod rules;
mod shared_state;
mod small_sources;
mod table;

use crate::root;
use modules::{Crate, Files};
use resolve::Imports;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use table::House;

#[test]
fn every_import_keeps_to_the_floors_that_the_design_shows() {
    let mut broken = Vec::new();
    for Source { house, files, imports } in &*SOURCES {
        broken.extend(rules::rooms(house, &files.keys().cloned().collect()));
        broken.extend(rules::globs(house, imports));
        broken.extend(rules::upward(house, imports));
        broken.extend(rules::circles_of_folders(house, imports));
    }
    assert!(
        broken.is_empty(),
        "\n{}\n\nThe floors and their rules: docs/design.md, \"Floors\".",
        broken.join("\n")
    );
}

#[test]
fn every_crate_uses_the_crates_that_the_design_lists_and_no_others() {
    let houses = houses();
    let members = manifest::members(&read(&root().join("Cargo.toml")));
    let mut rows: Vec<String> = houses.iter().map(|house| house.folder.clone()).collect();
    rows.sort();
    assert_eq!(rows, members, "the crates in \"Floors\" of docs/design.md, and the members of the workspace");
    for house in &houses {
        let mut listed: Vec<String> = house.uses.iter().map(|folder| name(folder)).collect();
        listed.sort();
        let used = manifest::uses(&read(&root().join(&house.folder).join("Cargo.toml")));
        assert_eq!(
            listed, used,
            "crates that `{0}` uses: in \"Floors\" of docs/design.md, and in {0}/Cargo.toml",
            house.folder
        );
    }
}

#[test]
fn the_map_is_printed() {
    for Source { house, files, imports } in &*SOURCES {
        let lines = |file: &String| files[file].lines().count();
        println!(
            "\n{}: {} files, uses {}",
            house.folder,
            files.len(),
            if house.uses.is_empty() { "nobody".into() } else { house.uses.join(", ") }
        );
        for (at, floor) in house.floors.iter().enumerate().rev() {
            let here: Vec<&String> = files.keys().filter(|file| house.floor(file) == Some(at)).collect();
            let total: usize = here.iter().map(|file| lines(file)).sum();
            println!("  {}: {} ({} files, {total} lines)", floor.name, floor.rooms.join(", "), here.len());
        }
        for circle in rules::circles_of_files(imports) {
            println!("  circle of {} files: {}", circle.len(), circle.join(", "));
            let mut arrows: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
            for import in &imports.found {
                if import.from != import.to && circle.contains(&import.from) && circle.contains(&import.to) {
                    let used = import.path.rsplit("::").next();
                    arrows.entry((&import.from, &import.to)).or_default().extend(used);
                }
            }
            for ((from, to), used) in arrows {
                println!("    {from} uses {to}: {}", used.into_iter().collect::<Vec<_>>().join(", "));
            }
        }
    }
}

/// The table, as it stands.
fn houses() -> Vec<House> {
    table::read(&read(&root().join("docs/design.md"))).expect("a table of crates and floors")
}

/// The name of the crate in a folder.
fn name(folder: &str) -> String {
    manifest::name(&read(&root().join(folder).join("Cargo.toml")))
}

/// A crate of the table.
struct Source {
    house: House,
    /// Its files, without those of tests.
    files: Files,
    /// Their use of each other.
    imports: Imports,
}

/// All crates of the table. They are read once for all tests.
static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let source = |house| {
        let (files, krate) = product(&house);
        let imports = resolve::imports(&krate);
        Source { house, files, imports }
    };
    houses().into_iter().map(source).collect()
});

/// The sources of the crates that make up the product, but for those in `without`.
fn product_sources(without: &[&str]) -> impl Iterator<Item = &'static Source> {
    let mut folders = ptc_tests::product::folders();
    folders.retain(|folder| !without.contains(&folder.as_str()));
    SOURCES.iter().filter(move |source| folders.contains(&source.house.folder))
}

fn product(house: &House) -> (Files, Crate) {
    let mut files = Files::new();
    let folder = root().join(&house.folder).join("src");
    collect(&folder, &folder, &mut files);
    let krate = Crate::read(&name(&house.folder).replace('-', "_"), &files).expect("source that compiles");
    // What no module of the product names is a file of tests.
    files.retain(|file, _| krate.modules.iter().any(|module| module.file == *file));
    (files, krate)
}

fn collect(folder: &Path, src: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            collect(&path, src, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(src).expect("a file below").to_str().expect("UTF-8").to_owned();
            files.insert(name, read(&path));
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
