//! The sources of the product, for tests that read them.

use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// The folders of the crates that make up the product, the workspace's default members.
pub fn folders() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let members = manifest.split("\ndefault-members = [").nth(1).and_then(|rest| rest.split(']').next());
    members.expect("default members").split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// All source files of these crates.
pub fn sources() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = folders().iter().map(|folder| root().join(folder).join("src")).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
