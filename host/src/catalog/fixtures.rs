//! Test servers for this module.

use ptc_mcp::json::{Value, json};

use super::{Catalog, ServerEntry};
use ptc_secret::credentials::Redactor;
use ptc_upstreams::config::{LoadOptions, ProcessEnv, UpstreamConfig, UpstreamsConfig};

/// A stdio upstream with these keys in its entry.
pub(crate) fn upstream(name: &str, keys: Value) -> UpstreamConfig {
    let mut entry = json!({"transport": "mcp_stdio", "command": "c"});
    for (key, value) in keys.as_object().expect("an object") {
        entry[key] = value.clone();
    }
    let options = LoadOptions { env: &ProcessEnv::default(), base_dir: None, own_exe: None };
    let file = UpstreamsConfig::from_value(&json!({"upstreams": {name: entry}}), &options);
    file.expect("a good file").upstreams.remove(0)
}

/// A loaded server.
pub(crate) fn server(name: &str, tools: Vec<Value>) -> ServerEntry {
    ServerEntry::loaded(&upstream(name, json!({})), tools, &Redactor::new())
}

/// The two servers of the seed's example and one that is not loaded.
pub(super) fn catalog() -> Catalog {
    let fs = upstream("fs", json!({"description": "Filesystem MCP server.", "capabilities": ["files"]}));
    let github = upstream(
        "github",
        json!({"description": "GitHub MCP server.", "capabilities": ["issues", "pull requests"]}),
    );
    let cold = upstream("cold", json!({"description": "Archive of old tickets."}));
    let load = |upstream: &UpstreamConfig, tools| ServerEntry::loaded(upstream, tools, &Redactor::new());
    Catalog::new([
        ServerEntry::unloaded(&cold),
        load(
            &fs,
            vec![
                json!({"name": "read_text_file", "description": "Read the contents of a UTF-8 text file",
                    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}},
                        "required": ["path"]}}),
                json!({"name": "list_directory", "description": "List the entries in a directory",
                    "inputSchema": {"type": "object",
                        "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}},
                        "required": ["path"]},
                    "outputSchema": {"type": "object", "required": ["entries"],
                        "properties": {"entries": {"type": "array", "items": {"type": "string"}}}}}),
            ],
        ),
        load(
            &github,
            vec![
                json!({"name": "search_repos", "description": "Search repositories"}),
                json!({"name": "get_pr", "description": "Get a pull request", "annotations": {"readOnlyHint": true},
                    "inputSchema": {"type": "object", "required": ["owner", "number"], "properties": {
                        "owner": {"type": "string"}, "number": {"type": "integer"},
                        "diff_context": {"type": "integer"}}}}),
            ],
        ),
    ])
}
