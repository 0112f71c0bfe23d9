//! A client's file, and its servers.

use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_base::environment::ProcessEnv;
use ptc_mcp::json::Map;
use std::path::Path;

/// The servers of a client's file as upstreams: the content of an equivalent upstreams file.
#[derive(Debug, Default)]
pub struct ClientServers {
    /// By name: entries of an upstreams file.
    pub upstreams: Map,
    /// By name: bindings of an upstreams file, for the secrets in the clients' headers.
    pub credentials: Map,
    /// Warnings about values that were read otherwise than written.
    pub warnings: Vec<ConfigWarning>,
    /// The entries that cannot be read, each with its sentence.
    pub faults: Vec<ConfigError>,
}

/// The context of a client's file besides its text.
#[derive(Clone, Copy, Debug)]
pub struct FileContext<'a> {
    /// Resolves `${NAME:-default}` and `~`.
    pub env: &'a ProcessEnv,
    /// The absolute path of the servers' project: commands start there.
    pub project: Option<&'a Path>,
    /// Whether `$NAME` is a variable anywhere in a value, as in Gemini CLI; else only as a whole value.
    pub bare_names: bool,
}
