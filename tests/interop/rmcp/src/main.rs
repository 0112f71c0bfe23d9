//! The cases through rmcp, in both eras and by finding out which one it is. Usage: ptc-interop-rmcp URL | COMMAND
//! ARGS...; `CASES` names the file of cases, `TOKEN` is sent to a URL.

use std::error::Error;

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, service::RunningService};
use serde_json::Value;
use tokio::process::Command;

type Client = RunningService<RoleClient, ()>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let cases: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(std::env::var("CASES")?)?)?;
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let discover = ClientLifecycleMode::Discover { preferred_versions: modern.clone() };
    let auto = ClientLifecycleMode::Auto { preferred_versions: modern, legacy_version: None };
    for (mode, revision) in
        [(ClientLifecycleMode::Initialize, "2025-11-25"), (discover, "2026-07-28"), (auto, "2026-07-28")]
    {
        let client = connect(mode).await?;
        let spoken = client.peer_info().map(|peer| peer.protocol_version.to_string());
        assert_eq!(spoken.as_deref(), Some(revision));
        let names: Vec<_> = client.list_all_tools().await?.into_iter().map(|tool| tool.name).collect();
        assert!(names.iter().any(|name| name == "lisp_eval"), "{names:?}");
        for case in &cases {
            run(&client, case).await?;
        }
        println!("{} cases", cases.len());
        client.cancel().await?;
    }
    Ok(())
}

async fn connect(mode: ClientLifecycleMode) -> Result<Client, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("no URL or command given")?;
    if target.starts_with("http") {
        let config = StreamableHttpClientTransportConfig::with_uri(target).auth_header(std::env::var("TOKEN")?);
        let transport = StreamableHttpClientTransport::from_config(config);
        return Ok(().serve_with_lifecycle(transport, mode).await?);
    }
    let mut command = Command::new(target);
    command.args(arguments);
    Ok(().serve_with_lifecycle(TokioChildProcess::new(command)?, mode).await?)
}

async fn run(client: &Client, case: &Value) -> Result<(), Box<dyn Error>> {
    let mut arguments = serde_json::Map::new();
    for key in ["program", "context"] {
        if let Some(value) = case.get(key) {
            arguments.insert(key.to_owned(), value.clone());
        }
    }
    let result = client.call_tool(CallToolRequestParams::new("lisp_eval").with_arguments(arguments)).await?;
    let text = result.content.first().and_then(|block| block.as_text()).map_or("", |block| &block.text);
    let is_error = result.is_error.unwrap_or(false);
    let right = is_error == case["error"].as_bool().unwrap_or(false)
        && case["text"].as_str().is_none_or(|expected| expected == text)
        && text.contains(case["contains"].as_str().unwrap_or(""));
    if right { Ok(()) } else { Err(format!("{}\n  gave {text:?}, error {is_error}", case["program"]).into()) }
}
