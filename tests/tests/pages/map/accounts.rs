//! Whatever can grow and outlasts a program has an account (ruling 66): `docs/reliability.md` lists it under "Accounts", with who pays for
//! it and its bound, and this holds the sources against the list. Thread-locals have a list of their own.

use super::shared_state::{self, Places, Types};
use super::{product_sources, read, root};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// The crates whose code never runs between two charges of a program.
const UNMETERED: [&str; 9] =
    ["agent", "mcp", "oauth", "protocol", "runs", "observers", "transport", "tools", "server"];

#[test]
fn whatever_can_grow_and_is_shared_has_an_account() {
    let listed = rows("### Shared state", 4);
    compare(&FOUND.shared, &listed, "Shared state", "who pays for it, and its bound");
}

#[test]
fn every_thread_local_says_what_becomes_of_it_in_a_pause() {
    let listed = rows("### Thread-locals", 2);
    compare(
        &FOUND.thread_locals,
        &listed,
        "Thread-locals",
        "whether a pause puts it away (`PausedState` in vm/src/meter/pausing.rs) or why it is not held across a charge",
    );
}

/// What the sources of the product have.
struct Found {
    /// What is shared and can grow.
    shared: Places,
    /// The thread-locals of all but [`UNMETERED`].
    thread_locals: Places,
}

/// The sources are parsed once for both tables.
static FOUND: LazyLock<Found> = LazyLock::new(|| {
    let mut files = Vec::new();
    let mut thread_locals = Places::new();
    for source in product_sources(&["oauth"]) {
        let folder = &source.house.folder;
        for (file, text) in &source.files {
            let (path, parsed) =
                (format!("{folder}/src/{file}"), syn::parse_file(text).expect("source that compiles"));
            if !UNMETERED.contains(&folder.as_str()) {
                let names = shared_state::thread_locals(&parsed).into_iter();
                thread_locals.extend(names.map(|name| (path.clone(), name)));
            }
            files.push((path, parsed));
        }
    }
    let mut types = Types::default();
    files.iter().for_each(|(_, file)| types.read(file));
    let shared = files.iter().flat_map(|(path, file)| shared_state::places(path, file, &types)).collect();
    Found { shared, thread_locals }
});

/// The files and names of a table below `heading`, whose first cell has both: `` `path` `name` ``. No cell may be empty.
pub(crate) fn rows(heading: &str, cells: usize) -> Places {
    let page = read(&root().join("docs/reliability.md"));
    let section = page.split_once(heading).unwrap_or_else(|| panic!("{heading} in docs/reliability.md")).1;
    let section = section.split("\n#").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let mut listed = Places::new();
    for line in lines {
        let row: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(row.len() == cells && row.iter().all(|cell| !cell.is_empty()), "{cells} cells: {line}");
        let names: Vec<&str> = row[0].split('`').skip(1).step_by(2).collect();
        let [path, name] = names[..] else { panic!("a path and a name, each in backticks: {line}") };
        assert!(listed.insert((path.to_owned(), name.to_owned())), "twice: {line}");
    }
    listed
}

pub(crate) fn compare(found: &Places, listed: &BTreeSet<(String, String)>, table: &str, what: &str) {
    let tell = |places: Vec<&(String, String)>| -> String {
        places.iter().map(|(path, name)| format!("\n  `{path}` `{name}`")).collect()
    };
    let (missing, gone) =
        (tell(found.difference(listed).collect()), tell(listed.difference(found).collect()));
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/reliability.md, \"{table}\", must tell of each {what}.\nNot in the table:{missing}\nIn the table and not in \
         the sources:{gone}"
    );
}
