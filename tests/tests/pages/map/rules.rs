//! The rules of the map: what breaks them, told so that whoever reads it knows what to do.

use super::circles::circles;
use super::resolve::{Import, Imports};
use super::table::{House, holds};
use std::collections::{BTreeMap, BTreeSet};

/// Rows without files, and files without a row.
pub(crate) fn rooms(house: &House, files: &BTreeSet<String>) -> Vec<String> {
    let mut broken = Vec::new();
    for room in house.floors.iter().flat_map(|floor| &floor.rooms) {
        if !files.iter().any(|file| holds(room, file.trim_end_matches(".rs").trim_end_matches("/mod"))) {
            broken.push(format!(
                "{}: the table names `{room}`, which is no file: correct its row",
                house.folder
            ));
        }
    }
    // A crate of tests or benchmarks has no floors.
    for file in files.iter().filter(|file| !house.floors.is_empty() && house.floor(file).is_none()) {
        broken.push(format!("{}/src/{file}: stands on no floor: name its folder in the table", house.folder));
    }
    broken
}

/// Imports that go up a floor, one text for each pair of files.
pub(crate) fn upward(house: &House, imports: &Imports) -> Vec<String> {
    let mut pairs: BTreeMap<(&str, &str), Vec<&Import>> = BTreeMap::new();
    for import in &imports.found {
        if let (Some(from), Some(to)) = (house.floor(&import.from), house.floor(&import.to))
            && to > from
        {
            pairs.entry((&import.from, &import.to)).or_default().push(import);
        }
    }
    let tell = |((from, to), imports): (&(&str, &str), &Vec<&Import>)| {
        let floor = |file| house.floor(file).map_or("", |floor| house.floor_name(floor));
        let mut paths = BTreeMap::new();
        for import in imports {
            paths.entry(import.path.as_str()).or_insert(import.line);
        }
        let paths: Vec<String> = paths.iter().map(|(path, line)| format!("{path} (line {line})")).collect();
        format!(
            "{0}/src/{from}:{1}: goes up from floor \"{2}\" to \"{3}\", to {0}/src/{to}, by {4}: move what both need down, or hand it in \
             from above",
            house.folder,
            imports[0].line,
            floor(from),
            floor(to),
            paths.join(", ")
        )
    };
    pairs.iter().map(tell).collect()
}

/// Imports of everything in a module.
pub(crate) fn globs(house: &House, imports: &Imports) -> Vec<String> {
    let tell = |import: &Import| {
        format!(
            "{}/src/{}:{}: imports {}::*: name what is used",
            house.folder, import.from, import.line, import.path
        )
    };
    imports.globs.iter().map(tell).collect()
}

/// Circles between folders that stand on one floor and in one folder. At the top of the crate a file counts as a folder.
pub(crate) fn circles_of_folders(house: &House, imports: &Imports) -> Vec<String> {
    let mut broken = BTreeSet::new();
    for (floor, row) in house.floors.iter().enumerate().filter(|(_, row)| !row.recursive) {
        let level: Vec<&Import> = imports.found.iter().filter(|import| on(house, import, floor)).collect();
        let outer: BTreeSet<&str> = level.iter().flat_map(|import| folders(&import.from)).collect();
        for outer in outer {
            let arrows: Vec<(&str, &str, &Import)> = level
                .iter()
                .filter_map(|import| Some((child(outer, &import.from)?, child(outer, &import.to)?, *import)))
                .collect();
            let arrows: Vec<_> = arrows.into_iter().filter(|(from, to, _)| from != to).collect();
            for circle in circles(arrows.iter().map(|(from, to, _)| (*from, *to))) {
                if outer.is_empty() || circle.iter().filter(|child| !child.ends_with(".rs")).count() > 1 {
                    broken.insert(format!(
                        "{}/src/{outer}: {} use each other in a circle on floor \"{}\": {}",
                        house.folder,
                        circle.join(", "),
                        row.name,
                        ties(&arrows, &circle)
                    ));
                }
            }
        }
    }
    broken.into_iter().collect()
}

/// Circles of files, which only the map shows: between a front page and what stands below it they are how Rust is written.
pub(crate) fn circles_of_files(imports: &Imports) -> Vec<Vec<String>> {
    circles(imports.found.iter().map(|import| (import.from.as_str(), import.to.as_str())))
}

fn on(house: &House, import: &Import, floor: usize) -> bool {
    house.floor(&import.from) == Some(floor) && house.floor(&import.to) == Some(floor)
}

/// The folders around a file, the crate's own first: "", "a/", "a/b/" for `a/b/c.rs`.
fn folders(file: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(file.match_indices('/').map(|(at, _)| &file[..=at]))
}

/// What stands directly in the folder and is, or holds, the file. A folder's front page is the folder itself, so it is no part of it.
fn child<'a>(folder: &str, file: &'a str) -> Option<&'a str> {
    let rest = file.strip_prefix(folder)?;
    match rest.find('/') {
        Some(slash) => Some(&file[..folder.len() + slash]),
        None if rest == "mod.rs" => None,
        None => Some(file),
    }
}

/// Each arrow of a circle by one import, so that one can be chosen to cut.
fn ties(arrows: &[(&str, &str, &Import)], circle: &[String]) -> String {
    let inside = |child: &str| circle.iter().any(|member| member == child);
    let mut told: BTreeMap<(&str, &str), (usize, &Import)> = BTreeMap::new();
    for (from, to, import) in arrows.iter().filter(|(from, to, _)| inside(from) && inside(to)) {
        told.entry((from, to)).or_insert((0, import)).0 += 1;
    }
    let tell = |((from, to), (count, import)): (&(&str, &str), &(usize, &Import))| {
        format!("\n    {from} → {to} ({count}): {}:{} {}", import.from, import.line, import.path)
    };
    told.iter().map(tell).collect()
}
