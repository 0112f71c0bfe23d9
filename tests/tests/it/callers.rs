//! Servers over HTTP whose callers have a token for each letter.

use std::fs;
use std::path::Path;

use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Answer, Http, Launch, call};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

/// A token for each letter.
pub(crate) fn token(letter: &str) -> String {
    format!("{}{letter}", "0123456789abcdef".repeat(2))
}

/// Starts a server with an upstream, these flags, and those that name files in the folder: flag, name and text of each.
pub(crate) fn launched(folder: &Path, mut flags: Vec<String>, files: [(&str, &str, String); 3]) -> Http {
    for (flag, name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).expect("written");
        flags.extend([flag.to_owned(), path.to_str().expect("UTF-8").to_owned()]);
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Launch::of(PROGRAM, &flags).with_upstream().on_http()
}

/// Runs a program for the caller with the token of this letter.
pub(crate) fn eval(http: &Http, letter: &str, program: &str) -> Answer {
    let mut message = call(1, program);
    ask(http, letter, "tools/call", message["params"].take())
}

/// What the caller with the token of this letter asks in the era of 2026.
pub(crate) fn ask(http: &Http, letter: &str, method: &str, mut params: Value) -> Answer {
    let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let headers = format!(
        "Authorization: Bearer {}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n",
        token(letter)
    );
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    http.post(&headers, message.to_string().as_bytes())
}

/// The lines of that kind in an audit log.
pub(crate) fn of_kind(log: &Path, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["kind"] == kind).collect()
}
