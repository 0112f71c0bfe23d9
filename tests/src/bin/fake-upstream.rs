//! A tool server for the whole-product tests: MCP over standard streams, with tools that answer late, together,
//! wrongly or not at all.
//!
//! | Tool | What it does |
//! |---|---|
//! | `echo` | gives its arguments back as JSON text |
//! | `gather` | answers only when `n` calls of it are waiting, the last one first |
//! | `hang` | never answers |
//! | `die` | ends the process |
//! | `bulk` | answers with `bytes` bytes of text |

use serde_json::{Value, json};
use std::io::{BufRead, Write};

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    // A reader that is gone is the end of the test.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

fn text_result(id: &Value, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
}

fn main() {
    let mut gathered: Vec<(Value, Value)> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) =
            line.map_err(drop).and_then(|line| serde_json::from_str::<Value>(&line).map_err(drop))
        else {
            continue;
        };
        let Some(id) = message.get("id") else { continue };
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => say(&json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"}}})),
            "tools/list" => {
                let tools: Vec<Value> = ["echo", "gather", "hang", "die", "bulk"]
                    .iter()
                    .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                    .collect();
                say(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}));
            }
            "tools/call" => {
                let arguments = &params["arguments"];
                match params["name"].as_str().unwrap_or_default() {
                    "echo" => say(&text_result(id, &arguments.to_string())),
                    "gather" => {
                        gathered.push((id.clone(), arguments.clone()));
                        if gathered.len() as u64 >= arguments["n"].as_u64().unwrap_or(1) {
                            for (id, arguments) in gathered.drain(..).rev() {
                                say(&text_result(&id, &arguments.to_string()));
                            }
                        }
                    }
                    "die" => std::process::exit(3),
                    "bulk" => {
                        let bytes = arguments["bytes"].as_u64().unwrap_or(0) as usize;
                        say(&text_result(id, &"x".repeat(bytes)));
                    }
                    _ => {}
                }
            }
            _ => say(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "method not found"}}),
            ),
        }
    }
}
