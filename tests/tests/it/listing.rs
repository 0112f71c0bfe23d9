//! Where the list of the upstreams' tools stands: there where the client is known to hand a long text on (upstreams.md 12.3).

use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Map, Value, json};
use ptc_test_support::in_process::{Listener, Pipe, service, settings};

/// Longest description for clients that may cut it, in characters.
const CUT: usize = 2047;
/// A tool of the last server.
const LAST: &str = "- s11: ";

/// Twelve servers, whose list is longer than such a description.
async fn upstreams() -> Arc<Aggregator> {
    let entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream"),
        "description": "One of the servers of a company that has many"});
    let entries: Map = (0..12).map(|n| (format!("s{n:02}"), entry.clone())).collect();
    let env = ProcessEnv::current();
    let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&json!({"upstreams": entries}), &load).expect("a right file");
    Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Frozen)).await.expect("all start")
}

/// The description of `lisp_eval` and that of its program, as one client is told.
fn told(listed: &Value) -> (String, String) {
    let tool = &listed["tools"][0];
    assert_eq!(tool["name"], "lisp_eval", "{listed}");
    let text = |text: &Value| text.as_str().expect("a text").to_owned();
    (text(&tool["description"]), text(&tool["inputSchema"]["properties"]["program"]["description"]))
}

/// Holds what a client of this name must be told.
fn hold(client: &str, (tool, program): &(String, String)) {
    let all = |text: &str| text.contains(LAST) && text.contains("\n  - echo") && text.contains("\n    {");
    match client {
        "claude-code" => {
            assert!(all(program) && program.starts_with("PTC-Lisp source"), "{program}");
            assert!(
                tool.chars().count() <= CUT && tool.contains("all listed in the description of `program`")
            );
        }
        "codex-mcp-client" | "gemini-cli-mcp-client" | "opencode" => {
            assert!(all(tool) && tool.contains("all listed at the end"), "{tool}");
            assert!(!program.contains("echo"), "{program}");
        }
        _ => {
            assert!(tool.chars().count() <= CUT && tool.contains("Look first;"), "{client}: {tool}");
            assert!(!program.contains("echo"), "{program}");
        }
    }
}

const CLIENTS: [&str; 6] =
    ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "opencode", "claude-ai", "another"];

fn initialize(client: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}})
}

#[tokio::test]
async fn each_client_finds_all_tools_where_its_model_sees_them() {
    let (redactor, upstreams) = (Redactor::new(), upstreams().await);
    let (service, _engine) = service(&settings(&["--sessions"]), Some(&upstreams), &redactor);
    for client in CLIENTS {
        let mut pipe = Pipe::open(service.clone());
        pipe.send(&initialize(client)).await;
        pipe.line().await;
        pipe.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).await;
        let listed: Value = serde_json::from_str(&pipe.line().await).expect("JSON");
        hold(client, &told(&listed["result"]));
        let sessions = listed["result"]["tools"].as_array().expect("tools");
        let eval = sessions.iter().find(|tool| tool["name"] == "lisp_session_eval").expect("it is there");
        assert!(!eval.to_string().contains("echo"), "one tool alone carries the list: {eval}");
    }
    upstreams.shutdown().await;
}

#[tokio::test]
async fn over_http_its_session_or_its_request_says_which_client_asks() {
    let (redactor, upstreams) = (Redactor::new(), upstreams().await);
    let server = Listener::start(&["--http"], Some(&upstreams), &redactor);
    for client in CLIENTS {
        let accept = ("Accept", "application/json, text/event-stream");
        let greeted = server.request("POST", "/mcp", &[accept], &initialize(client).to_string()).await;
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
        let session = greeted.header("mcp-session-id").map(str::to_owned);
        let mut headers = vec![accept, ("MCP-Protocol-Version", "2025-11-25")];
        headers.extend(session.as_deref().map(|id| ("Mcp-Session-Id", id)));
        let response = server.request("POST", "/mcp", &headers, &list).await;
        let listed: Value = serde_json::from_str(&response.body).expect("JSON");
        hold(client, &told(&listed["result"]));

        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}});
        let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"_meta": meta}});
        let headers = [accept, ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
        let response = server.request("POST", "/mcp", &headers, &list.to_string()).await;
        let listed: Value = serde_json::from_str(&response.body).expect("JSON");
        hold(client, &told(&listed["result"]));
        assert_eq!(listed["result"]["cacheScope"], "private");
    }
    server.stop().await;
    upstreams.shutdown().await;
}
