//! What the manifests say of the workspace's own crates.

/// Folders of the members, sorted.
pub(crate) fn members(manifest: &str) -> Vec<String> {
    let list =
        manifest.split("\nmembers = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let mut members: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    members.sort();
    members
}

/// Folders of the workspace's crates that a crate depends on, for itself or for its tests, sorted.
pub(crate) fn uses(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut uses = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]")
            && let Some(name) = line.strip_prefix("ptc-")
        {
            uses.extend(name.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    uses.sort();
    uses.dedup();
    uses
}
