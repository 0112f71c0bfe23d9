//! The server's name and version.

use ptc_mcp::json::write_string;

/// `serverInfo.name`.
pub(crate) const SERVER_NAME: &str = "ptc_lisp";
/// Version of the package, without build facts.
pub(crate) const PACKAGE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Commit the binary was built from: 12 hex digits or `unknown`.
pub const GIT_COMMIT: &str = env!("PTC_BUILD_COMMIT");

/// True if the checkout had changes when the binary was built.
pub(crate) fn git_dirty() -> bool {
    env!("PTC_BUILD_DIRTY") == "true"
}

/// `serverInfo.version`: the package version, with commit and `.dirty` if they are known.
pub const VERSION: &str = env!("PTC_BUILD_VERSION");

/// The `serverInfo` object as JSON.
pub fn server_info_json() -> String {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"name\":");
    write_string(&mut out, SERVER_NAME);
    out.extend_from_slice(b",\"version\":");
    write_string(&mut out, VERSION);
    out.extend_from_slice(b",\"build\":{\"package_version\":");
    write_string(&mut out, PACKAGE_VERSION);
    out.extend_from_slice(b",\"git_commit\":");
    write_string(&mut out, GIT_COMMIT);
    out.extend_from_slice(format!(",\"git_dirty\":{}}}}}", git_dirty()).as_bytes());
    String::from_utf8(out).unwrap_or_default()
}

/// The package with the command in the registries of package runners (`npx`, `uvx`); `dist/names.toml` has the name
/// too.
pub const PACKAGE: &str = "ptc-mcp";
