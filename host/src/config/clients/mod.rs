//! Files in which MCP clients keep their servers, read as upstreams (ruling 63).
//!
//! Every client has a form of its own; they differ in names, and agree in what the names say. So an entry is read by the
//! names that it holds, whoever wrote it:
//!
//! | Key of the servers | Clients |
//! |---|---|
//! | `mcpServers` | Claude Desktop, Claude Code, Cursor, Gemini, Qwen, Cline, Copilot, Windsurf, portable `.mcp.json` |
//! | `servers` | VS Code |
//! | `mcp` | opencode, older settings of VS Code |
//! | `mcp_servers` | Codex |
//! | `context_servers` | Zed |

mod entry;
mod headers;
mod placeholders;

use ptc_mcp::json::{Map, Value};

use crate::config_error::{ConfigError, ConfigWarning};
use crate::environment::ProcessEnv;

/// The keys under which clients keep their servers, the commonest first.
const KEYS: [&str; 5] = ["mcpServers", "servers", "mcp_servers", "context_servers", "mcp"];

/// The servers of a client's file as upstreams: what an upstreams file of the same meaning holds.
#[derive(Debug, Default)]
pub struct ClientServers {
    /// By name: entries of an upstreams file.
    pub upstreams: Map,
    /// By name: bindings of an upstreams file, for the secrets in the clients' headers.
    pub credentials: Map,
    /// What was read otherwise than written.
    pub warnings: Vec<ConfigWarning>,
    /// The entries that cannot be read, each with its sentence.
    pub faults: Vec<ConfigError>,
}

/// The object that holds the servers of a client's file, if it is one.
pub fn servers_of(file: &Map) -> Option<&Map> {
    KEYS.into_iter().find_map(|key| {
        let servers = file.get(key)?.as_object()?;
        match servers.get("servers") {
            Some(Value::Object(nested)) if key == "mcp" => Some(nested),
            _ => Some(servers),
        }
    })
}

/// Translates the servers of a client's file, each by itself. `env` says what `${NAME:-default}` stands for and where `~`
/// is.
pub fn upstreams_of(servers: &Map, env: &ProcessEnv) -> ClientServers {
    let mut all = ClientServers::default();
    for (name, server) in servers {
        let translated = match server {
            Value::Object(server) => entry::translate(name, server, env, &mut all),
            _ => Err(ConfigError::upstream(name, "must be an object")),
        };
        match translated {
            Ok(entry) => {
                all.upstreams.insert(name.clone(), Value::Object(entry));
            }
            Err(fault) => all.faults.push(fault),
        }
    }
    all
}

#[cfg(test)]
mod tests;
