//! The security guidance of MCP, as far as it concerns this server and is tested nowhere else. `SECURITY.md` says
//! where the rest is.

use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Value, json};
use ptc_test_support::in_process::{Listener, Pipe, fake_upstream, service, settings};

const TOKEN: &str = "a-token-that-is-long-enough-to-be-accepted-0001";
const MODERN: &str = "io.modelcontextprotocol/protocolVersion";

/// Messages of both eras, with the headers that go with them.
fn messages() -> Vec<(Vec<(&'static str, &'static str)>, Value)> {
    let call = json!({"name": "lisp_eval", "arguments": {"program": "(+ 1 2)"}});
    let mut messages = vec![(
        vec![],
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
    )];
    for (method, params) in [("tools/list", json!({})), ("tools/call", call), ("ping", json!({}))] {
        messages.push((vec![], json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})));
    }
    for (method, name) in [("server/discover", None), ("tools/list", None), ("tools/call", Some("lisp_eval"))]
    {
        let mut params =
            json!({"_meta": {MODERN: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if let Some(name) = name {
            headers.push(("Mcp-Name", name));
            params["name"] = name.into();
            params["arguments"] = json!({"program": "(+ 1 2)"});
        }
        messages.push((headers, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})));
    }
    messages
}

/// A check that fails must not fall back to anything (CVE-2026-59822).
#[tokio::test]
async fn a_made_up_token_opens_nothing() {
    let listener = Listener::start(&["--http", "--http-auth-token", TOKEN], None, &Redactor::new());
    let wrong = ["Bearer ", "Bearer made-up", "Bearer null", "Basic dXNlcjpwYXNz", "bearer", TOKEN];
    for (headers, message) in messages() {
        for authorization in wrong.map(Some).into_iter().chain([None]) {
            let mut headers = headers.clone();
            headers.extend(authorization.map(|value| ("Authorization", value)));
            let response = listener.request("POST", "/mcp", &headers, &message.to_string()).await;
            // 400 for what is no bearer token, and 429 once the limiter has seen enough of it.
            assert!(
                matches!(response.status, 400 | 401 | 429),
                "{authorization:?}: {} for {message}",
                response.status
            );
            assert!(!response.body.contains("result"), "{}", response.body);
        }
    }
    // Neither does the block that these have earned hurt who has the token.
    let answer = listener.call(Some(TOKEN), "lisp_eval", json!({"program": "(+ 1 2)"})).await;
    assert_eq!(answer["content"][0]["text"], "user=> 3");
    listener.stop().await;
}

/// A page of another origin can neither call nor read (CVE-2025-66414 and its like, CVE-2026-33010).
#[tokio::test]
async fn no_page_of_another_origin_gets_an_answer() {
    let listener = Listener::start(&["--http"], None, &Redactor::new());
    for (headers, message) in messages() {
        for (name, value) in [
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
            ("Origin", "http://localhost.evil.example"),
            ("Host", "evil.example"),
            ("Host", "127.0.0.1.evil.example:80"),
        ] {
            let mut headers = headers.clone();
            headers.push((name, value));
            let response = listener.request("POST", "/mcp", &headers, &message.to_string()).await;
            assert_eq!(response.status, 403, "{name}: {value}");
        }
    }
    let own = format!("http://{}", listener.address);
    for method in ["OPTIONS", "GET", "POST"] {
        for path in ["/mcp", "/health", "/ready", "/metrics"] {
            let response = listener.request(method, path, &[("Origin", &own)], "").await;
            assert!(!response.head.contains("access-control-"), "{method} {path}: {}", response.head);
        }
    }
    listener.stop().await;
}

/// Ids are the client's own: what one asks is never answered to another (CVE-2026-25536).
#[tokio::test]
async fn equal_ids_of_two_clients_do_not_meet() {
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let (service, _engine) = service(&settings(&[]), Some(&upstream), &redactor);
    let mut clients = [Pipe::open(service.clone()), Pipe::open(service)];
    for (n, client) in clients.iter_mut().enumerate() {
        // The upstream answers once both wait, the last one first.
        let program =
            format!("(:value (tool/call {{:server \"fake\" :tool \"gather\" :args {{:n 2 :me {n}}}}}))");
        let params =
            json!({"name": "lisp_eval", "arguments": {"program": program}, "_meta": {"progressToken": 7}});
        client.send(&json!({"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params})).await;
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let answer = loop {
            let message: Value = serde_json::from_str(&client.line().await).expect("JSON");
            match message.get("method") {
                Some(_) => assert_eq!(message["params"]["progressToken"], 7, "{message}"),
                None => break message,
            }
        };
        assert_eq!(answer["id"], "same");
        let text = answer["result"]["content"][0]["text"].as_str().expect("text");
        assert!(text.contains(&format!("\"me\" {n}")), "client {n} got {text}");
    }
    upstream.shutdown().await;
}
