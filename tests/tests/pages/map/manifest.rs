//! What the manifests say of the workspace's own crates.

/// Folders of the members, sorted.
pub(crate) fn members(manifest: &str) -> Vec<String> {
    let list =
        manifest.split("\nmembers = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let mut members: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    members.sort();
    members
}

/// The name of a crate.
pub(crate) fn name(manifest: &str) -> String {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    line.expect("a name").trim_matches('"').to_owned()
}

/// What integration tests alone share: any crate's tests may use it.
const SHARED_BY_TESTS: [&str; 2] = ["ptc-oauth-simulation", "ptc-test-support"];

/// The workspace's crates that a crate depends on, for itself or for its tests, sorted by name.
pub(crate) fn uses(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut uses = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && line.starts_with("ptc-") {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !(section == "[dev-dependencies]" && SHARED_BY_TESTS.contains(&name)) {
                uses.push(name.to_owned());
            }
        }
    }
    uses.sort();
    uses.dedup();
    uses
}
