//! A small MCP server over HTTP, for the examples that need an upstream.

use ptc_agent::json::{Value as Json, json};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers a call of a tool: name and arguments, and the text of the result.
pub(crate) type Tools = fn(&str, &Json) -> String;

/// Starts a server on this machine with these tools, as `tools/list` describes them. Returns its address and a counter of its
/// calls.
pub(crate) async fn serve(list: Json, tools: Tools) -> Result<(String, Arc<AtomicUsize>), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, list.clone(), tools, counter.clone()));
        }
    });
    Ok((url, calls))
}

/// Answers one request and closes the connection.
async fn answer(
    mut stream: TcpStream,
    list: Json,
    tools: Tools,
    calls: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let mut received = Vec::new();
    let (head, body) = loop {
        if stream.read_buf(&mut received).await? == 0 {
            return Ok(());
        }
        let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        if received.len() >= end + 4 + length {
            break (head, received.split_off(end + 4));
        }
    };
    let message: Json = serde_json::from_slice(&body).unwrap_or_default();
    let params = &message["params"];
    let result = match message["method"].as_str() {
        Some("initialize") => Some(json!({"protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "example", "version": "1"}})),
        Some("tools/list") => Some(json!({"tools": list})),
        Some("tools/call") => {
            calls.fetch_add(1, Ordering::Relaxed);
            let text = tools(params["name"].as_str().unwrap_or_default(), &params["arguments"]);
            Some(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => None,
    };
    let (status, reply) = match (&message["id"], result) {
        // A stream of the server's own messages, and the end of a session: there are none.
        _ if !head.starts_with("post ") => ("405 Method Not Allowed", String::new()),
        (Json::Null, _) => ("202 Accepted", String::new()),
        (id, Some(result)) => ("200 OK", json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()),
        (id, None) => {
            let error = json!({"code": -32601, "message": "method not found"});
            ("200 OK", json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string())
        }
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(reply.as_bytes()).await
}
