//! Records which commit the binary was built from.
//!
//! `PTC_RUNNER_MCP_GIT_COMMIT` and `PTC_RUNNER_MCP_GIT_DIRTY` override what git says; without either the commit is
//! `unknown`. Nothing here fails a build: a source archive has no repository.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn main() {
    println!("cargo::rerun-if-env-changed=PTC_RUNNER_MCP_GIT_COMMIT");
    println!("cargo::rerun-if-env-changed=PTC_RUNNER_MCP_GIT_DIRTY");
    // HEAD names a branch and stays as it is when a commit is made; its log has a line for each.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file]);
        if let Some(path) = path.filter(|path| std::path::Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let named = std::env::var("PTC_RUNNER_MCP_GIT_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = named
        .or_else(|| git(&["rev-parse", "HEAD"]))
        .map_or_else(|| "unknown".to_owned(), |commit| commit.chars().take(12).collect());
    let dirty = match std::env::var("PTC_RUNNER_MCP_GIT_DIRTY") {
        Ok(text) => text == "true",
        Err(_) => {
            git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changes| !changes.is_empty())
        }
    };
    println!("cargo::rustc-env=PTC_BUILD_COMMIT={commit}");
    println!("cargo::rustc-env=PTC_BUILD_DIRTY={dirty}");
    let package = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match (commit.as_str(), dirty) {
        ("unknown", _) => package,
        (commit, false) => format!("{package}+{commit}"),
        (commit, true) => format!("{package}+{commit}.dirty"),
    };
    println!("cargo::rustc-env=PTC_BUILD_VERSION={version}");
}
