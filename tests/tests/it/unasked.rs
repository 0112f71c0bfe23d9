//! What upstreams say unasked: progress, log messages, and the question for roots (upstreams.md 20).

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;

use ptc_host::credentials::{Redactor, Secret};
use ptc_mcp::json::{Value, json};

use ptc_test_support::in_process::{Listener, Pipe, fake_upstream_with, service, settings};

/// A client on a pipe that has greeted the server.
struct Client {
    pipe: Pipe,
    greeting: Value,
    next: u64,
    /// What was said between request and answer.
    heard: Vec<Value>,
}

impl Client {
    async fn greet(mut pipe: Pipe, capabilities: Value) -> Client {
        let info = json!({"name": "t", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        pipe.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        let greeting = serde_json::from_str::<Value>(&pipe.line().await).unwrap();
        pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        Client { pipe, greeting, next: 0, heard: Vec::new() }
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(&self.pipe.line().await).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        self.pipe.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params})).await;
        loop {
            let message = self.message().await;
            if message["id"] == self.next {
                return message;
            }
            self.heard.push(message);
        }
    }

    async fn eval(&mut self, program: &str, meta: Value) -> String {
        let arguments = json!({"program": program});
        let params = json!({"name": "lisp_eval", "arguments": arguments, "_meta": meta});
        let answer = self.ask("tools/call", params).await;
        answer["result"]["content"][0]["text"].as_str().unwrap().trim_start_matches("user=> ").to_owned()
    }

    /// What was said since the last time, by its method.
    fn heard(&mut self, method: &str) -> Vec<Value> {
        let heard = std::mem::take(&mut self.heard);
        heard
            .into_iter()
            .filter(|note| note["method"] == method)
            .map(|mut note| note["params"].take())
            .collect()
    }
}

fn talk(say: &str, ms: u32) -> String {
    format!(r#"(:value (tool/call {{:server "fake" :tool "talk" :args {{:say "{say}" :ms {ms}}}}}))"#)
}

#[tokio::test]
async fn progress_of_an_upstream_moves_that_of_the_client() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream_with(&redactor, json!({})).await;
    let (service, _engine) = service(&settings(&[]), Some(&aggregator), &redactor);
    let mut client = Client::greet(Pipe::open(service), json!({})).await;
    client.eval(&talk("x", 300), json!({"progressToken": "p"})).await;
    let heard = client.heard("notifications/progress");
    assert_eq!(heard[0]["message"], "fake.talk 40 %: two of five", "{heard:?}");
    assert_eq!(heard[0]["progressToken"], "p");
    // Nobody who has not asked is told.
    client.eval(&talk("x", 300), json!({})).await;
    assert_eq!(client.heard("notifications/progress"), [] as [Value; 0]);
    aggregator.shutdown().await;
}

#[tokio::test]
async fn messages_reach_the_client_that_asked_from_its_own_calls() {
    let redactor = Redactor::new();
    redactor.register([&Secret::new("s3cret-s3cret")]).unwrap();
    let aggregator = fake_upstream_with(&redactor, json!({"log_level": "notice"})).await;
    let (service, _engine) = service(&settings(&[]), Some(&aggregator), &redactor);
    let mut client = Client::greet(Pipe::open(service), json!({})).await;
    assert_eq!(client.greeting["result"]["capabilities"]["logging"], json!({}));
    assert_eq!(client.eval(&talk("x", 0), json!({})).await, r#""notice""#, "logging/setLevel of the entry");
    assert_eq!(client.heard, [] as [Value; 0], "nobody has asked");
    let refused = client.ask("logging/setLevel", json!({"level": "loud"})).await;
    assert_eq!(refused["error"]["code"], -32602);
    client.ask("logging/setLevel", json!({"level": "info"})).await;
    client.eval(&talk("my s3cret-s3cret", 0), json!({})).await;
    let warning = json!({"level": "warning", "logger": "fake/work", "data": {"said": "my [REDACTED]"}});
    assert_eq!(client.heard("notifications/message"), [warning]);
    client.ask("logging/setLevel", json!({"level": "debug"})).await;
    client.eval(&talk("x", 0), json!({})).await;
    let heard = client.heard("notifications/message");
    assert_eq!((heard.len(), &heard[0]["data"]), (2, &json!("detail")));
    aggregator.shutdown().await;
}

#[tokio::test]
async fn messages_of_a_shared_pipe_reach_nobody() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream_with(&redactor, json!({})).await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    let (alice, bob) = ("a".repeat(32), "b".repeat(32));
    fs::write(&tokens, format!("alice:{alice}\nbob:{bob}\n")).unwrap();
    let flags = ["--http", "--console", "--http-auth-token-file", tokens.to_str().unwrap()];
    let listener = Listener::start(&flags, Some(&aggregator), &redactor);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "info"
    });
    let eval = async |token: &str, say: &str| {
        let params = json!({"name": "lisp_eval", "arguments": {"program": talk(say, 0)}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = format!("Bearer {token}");
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "lisp_eval"),
            ("Accept", "application/json, text/event-stream"),
            ("Authorization", &bearer),
        ];
        listener.request("POST", "/mcp", &headers, &body.to_string()).await.body
    };
    let seen = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let body =
            listener.request("GET", "/console/api/state", &[("Authorization", &bearer)], "").await.body;
        serde_json::from_str::<Value>(&body).unwrap()["upstreams"][0]["messages"].to_string()
    };
    let first = eval(&alice, "of alice").await;
    assert!(first.contains("notifications/message") && first.contains("of alice"), "{first}");
    assert!(seen(&alice).await.contains("of alice"));
    assert_eq!(seen(&bob).await, "[]");
    // From now on nobody can tell whose a message is.
    let second = eval(&bob, "of bob").await;
    assert!(!second.contains("of bob") && second.contains("\"result\""), "{second}");
    let third = eval(&alice, "again").await;
    assert!(!third.contains("again"), "{third}");
    assert!(!seen(&alice).await.contains("of bob") && seen(&bob).await == "[]");
    listener.stop().await;
    aggregator.shutdown().await;
}

const ROOTS: &str = r#"(tool/call {:server "fake" :tool "roots"})"#;

#[tokio::test]
async fn roots_are_those_of_the_entry_or_of_the_client() {
    let redactor = Redactor::new();
    // Not offered.
    let aggregator = fake_upstream_with(&redactor, json!({})).await;
    let (plain, _engine) = service(&settings(&[]), Some(&aggregator), &redactor);
    let mut client = Client::greet(Pipe::open(plain), json!({"roots": {}})).await;
    let program = format!("(:value {ROOTS})");
    assert_eq!(client.eval(&program, json!({})).await, "nil");
    aggregator.shutdown().await;

    // Of the entry.
    let aggregator = fake_upstream_with(&redactor, json!({"roots": ["/srv/my docs"]})).await;
    let (listed, _engine) = service(&settings(&[]), Some(&aggregator), &redactor);
    let mut client = Client::greet(Pipe::open(listed), json!({})).await;
    let root = r#"[{"name" "my docs" "uri" "file:///srv/my%20docs"}]"#;
    assert_eq!(client.eval(&program, json!({})).await, root);
    aggregator.shutdown().await;

    // Of the client: the answer waits for them, and follows their changes.
    let aggregator = fake_upstream_with(&redactor, json!({"roots": "client"})).await;
    aggregator.client_roots().unwrap().expect();
    let (service, _engine) = service(&settings(&[]), Some(&aggregator), &redactor);
    let mut client = Client::greet(Pipe::open(service), json!({"roots": {"listChanged": true}})).await;
    for uri in ["file:///one", "file:///two"] {
        let asked = client.message().await;
        assert_eq!((&asked["method"], asked["id"].is_string()), (&json!("roots/list"), true));
        let roots = json!([{"uri": uri, "name": "n", "x": 1}, {"uri": "http://no"}]);
        client.pipe.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}})).await;
        let answer = client.eval(&program, json!({})).await;
        assert_eq!(answer, format!(r#"[{{"name" "n" "uri" "{uri}"}}]"#));
        client.pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})).await;
    }
    aggregator.shutdown().await;

    // A client without roots has none, at once.
    let aggregator = fake_upstream_with(&redactor, json!({"roots": "client"})).await;
    aggregator.client_roots().unwrap().expect();
    let (service, _engine) =
        ptc_test_support::in_process::service(&settings(&[]), Some(&aggregator), &redactor);
    let mut client = Client::greet(Pipe::open(service), json!({})).await;
    assert_eq!(client.eval(&program, json!({})).await, "[]");
    aggregator.shutdown().await;
}
