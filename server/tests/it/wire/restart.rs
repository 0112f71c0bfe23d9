//! Clients of the handshake era get a session id only where something needs one, and go on with a server that was restarted.

use ptc_mcp::json::{Value, json};

use ptc_test_support::process::{Answer, Http};

use super::process::on_http;

/// More than a Cline hands on, and less than what is sent to a client that is not known.
const LONG: &str = r#"(apply str (repeat 10000 "x"))"#;

fn initialize(server: &Http, client: &str) -> Answer {
    let params = json!({"protocolVersion": "2025-11-25", "clientInfo": {"name": client, "version": "1"}, "capabilities": {}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
    let answer = server.post("", body.as_bytes());
    assert_eq!(answer.status, 200);
    answer
}

fn id_for(server: &Http, client: &str) -> Option<String> {
    initialize(server, client).header("mcp-session-id").map(str::to_owned)
}

fn post(server: &Http, headers: &str, body: &Value) -> Answer {
    server.post(headers, body.to_string().as_bytes())
}

fn request(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": method})
}

fn eval(program: &str) -> Value {
    let params = json!({"name": "lisp_eval", "arguments": {"program": program}});
    json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params})
}

/// Bytes of the text of a result.
fn length(answer: &Answer) -> usize {
    answer.json()["result"]["content"][0]["text"].as_str().expect("a text").len()
}

#[test]
fn a_client_that_needs_no_session_gets_no_id() {
    let server = on_http(&[]);
    let answer = initialize(&server, "somebody");
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-11-25");
    let version = "MCP-Protocol-Version: 2025-11-25\r\n";
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&server, version, &note).status, 202);
    assert_eq!(post(&server, version, &request("ping")).json()["result"], json!({}));
    assert_eq!(
        post(&server, version, &request("tools/list")).json()["result"]["tools"][0]["name"],
        "lisp_eval"
    );
    for headers in [version, "", "MCP-Session-Id: \r\n", "MCP-Protocol-Version: 2024-11-05\r\n"] {
        let text = post(&server, headers, &eval("(+ 40 2)")).json();
        assert_eq!(text["result"]["content"][0]["text"], "user=> 42", "{headers}");
    }
    for version in ["2026-01-01", "x"] {
        let answer = post(&server, &format!("MCP-Protocol-Version: {version}\r\n"), &request("ping"));
        assert_eq!((answer.status, &*answer.body), (400, "bad MCP-Protocol-Version"));
    }
    // Nothing can be settled for later requests.
    let level = json!({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "info"}});
    assert_eq!(post(&server, version, &level).json()["error"]["code"], -32601);
    assert_eq!(post(&server, version, &request("shutdown")).json()["result"], Value::Null);
    assert_eq!(post(&server, version, &json!({"jsonrpc": "2.0", "method": "exit"})).status, 202);
    assert_eq!(post(&server, version, &request("ping")).status, 200);
    // Batches are as old as a request that names no revision may be.
    let batch = json!([request("ping"), eval("(+ 40 2)")]);
    assert_eq!(post(&server, "", &batch).json().as_array().expect("an array").len(), 2);
    assert_eq!(post(&server, version, &batch).status, 400);
    // Who names a session is told that there is none.
    let unknown = post(&server, "MCP-Session-Id: mcp_nobody\r\n", &request("ping"));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32000)));
}

#[test]
fn a_known_client_goes_on_with_a_server_that_was_restarted() {
    let (before, after) = (on_http(&[]), on_http(&[]));
    for (client, whole) in
        [("Cline", 6_000), ("gemini-cli-mcp-client", 36_000), ("qwen-cli-mcp-client-x", 20_000)]
    {
        let id = id_for(&before, client).expect("an id");
        let session = format!("MCP-Session-Id: {id}\r\n");
        let program = eval(LONG);
        let first = length(&post(&before, &session, &program));
        assert_eq!(first < 10_000, whole < 10_000, "{client}: {first}");
        assert_eq!(length(&post(&after, &session, &program)), first, "{client}");
        let version = format!("{session}MCP-Protocol-Version: 2025-06-18\r\n");
        assert_eq!(post(&after, &version, &request("ping")).status, 200, "its own revision counts");
        // What its client has ended has ended.
        let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{session}\r\n");
        assert_eq!(after.exchange(delete.as_bytes()).status, 200);
        assert_eq!(post(&after, &session, &request("ping")).status, 404);
        assert_eq!(after.exchange(delete.as_bytes()).status, 404);
        assert_eq!(post(&before, &session, &request("ping")).status, 200);
    }
}

#[test]
fn a_session_that_goes_on_belongs_to_who_names_it_and_takes_a_place() {
    let tokens = tempfile::NamedTempFile::new().expect("a file");
    let [alice, bob] = ["a", "b"].map(|letter| letter.repeat(32));
    std::fs::write(tokens.path(), format!("alice:{alice}\nbob:{bob}\n")).expect("it can be written");
    let path = tokens.path().to_str().expect("a name");
    let server = on_http(&["--http-auth-token-file", path, "--http-max-sessions-per-owner", "1"]);
    let [alice, bob] = [alice, bob].map(|token| format!("Authorization: Bearer {token}\r\n"));
    let session = |letter: &str| {
        let random = letter.repeat(22);
        format!("MCP-Session-Id: ptc_2025-11-25_cline_{random}\r\n")
    };
    let ping = |who: &str, letter: &str| {
        post(&server, &format!("{who}{}", session(letter)), &request("ping")).status
    };
    assert_eq!((ping(&alice, "x"), ping(&bob, "x"), ping(&bob, "y")), (200, 404, 200));
    // An older one at rest makes room, and goes on in its turn.
    assert_eq!((ping(&alice, "z"), ping(&alice, "x"), ping(&alice, "z")), (200, 200, 200));
    for unfit in ["ptc_2025-11-25_cline_x", "ptc_2025-11-25_nobody_xxxxxxxxxxxxxxxxxxxxxx"] {
        let headers = format!("{alice}MCP-Session-Id: {unfit}\r\n");
        assert_eq!(post(&server, &headers, &request("ping")).status, 404);
    }
}

#[test]
fn what_a_session_keeps_is_not_made_up_again() {
    let server = on_http(&["--sessions"]);
    for client in ["somebody", "cline"] {
        let id = id_for(&server, client).expect("an id");
        assert!(id.starts_with("mcp_") && id.len() == 36, "{id}");
    }
    let portable = "MCP-Session-Id: ptc_2025-11-25_cline_xxxxxxxxxxxxxxxxxxxxxx\r\n";
    assert_eq!(post(&server, portable, &request("ping")).status, 404);
    assert_eq!(post(&server, "", &request("ping")).body, "missing MCP-Session-Id");
    // Where the cut is given, no client's habits matter.
    let server = on_http(&["--max-result-bytes", "20000"]);
    assert_eq!(id_for(&server, "cline"), None);
}
