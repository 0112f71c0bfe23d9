//! Records which commit the binary was built from.
//!
//! `PTC_GIT_COMMIT` and `PTC_GIT_DIRTY` override what git says, and so do their former names (ruling 70); without either the
//! commit is `unknown`. Nothing here fails a build: a source archive has no repository.

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What the build is told by a variable of the product, under its name or its former one.
fn variable(name: &str) -> Option<String> {
    let values = ["PTC_", "PTC_RUNNER_MCP_"].map(|prefix| {
        let name = prefix.to_owned() + name;
        println!("cargo::rerun-if-env-changed={name}");
        std::env::var(name).ok()
    });
    values.into_iter().flatten().next()
}

fn main() {
    // HEAD names a branch and stays as it is when a commit is made; its log has a line for each.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file]);
        if let Some(path) = path.filter(|path| std::path::Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let named = variable("GIT_COMMIT").filter(|commit| !commit.is_empty());
    let commit = named
        .or_else(|| git(&["rev-parse", "HEAD"]))
        .map_or_else(|| "unknown".to_owned(), |commit| commit.chars().take(12).collect());
    let dirty = match variable("GIT_DIRTY") {
        Some(text) => text == "true",
        None => {
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
