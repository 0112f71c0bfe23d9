//! Files in which MCP clients keep their servers, read as upstreams (ruling 63).
//!
//! Every client has its own format; they differ in names, and agree in the meaning of each name. So an entry is read by the
//! names that it holds, independent of the client:
//!
//! | Key of the servers | Clients |
//! |---|---|
//! | `mcpServers` | Claude Desktop, Claude Code, Cursor, Gemini, Qwen, Cline, Copilot, Windsurf, portable `.mcp.json` |
//! | `servers` | VS Code |
//! | `mcp` | opencode, older settings of VS Code |
//! | `mcp_servers` | Codex |
//! | `context_servers` | Zed |

mod command_line;
mod context;
mod entry;
mod headers;
mod placeholders;

pub use context::{ClientServers, FileContext};

use ptc_mcp::json::{Map, Value};

use ptc_base::config_error::ConfigError;

/// The keys under which clients keep their servers, the commonest first.
const KEYS: [&str; 5] = ["mcpServers", "servers", "mcp_servers", "context_servers", "mcp"];

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

/// Translates the servers of a client's file, each by itself.
pub fn upstreams_of(servers: &Map, file: &FileContext<'_>) -> ClientServers {
    let mut all = ClientServers::default();
    all.read(servers, file);
    all
}

impl ClientServers {
    /// Adds `servers`, whose names must be new.
    pub fn read(&mut self, servers: &Map, file: &FileContext<'_>) {
        for (name, server) in servers {
            let translated = match server {
                Value::Object(server) => entry::translate(name, server, file, self),
                _ => Err(ConfigError::upstream(name, "must be an object")),
            };
            match translated {
                Ok(entry) => {
                    self.upstreams.insert(name.clone(), Value::Object(entry));
                }
                Err(fault) => self.faults.push(fault),
            }
        }
    }
}

#[cfg(test)]
mod tests;
