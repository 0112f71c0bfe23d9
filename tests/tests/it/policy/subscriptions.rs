//! News of resources that a new policy hides.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::Launch;
use ptc_test_support::wait_until;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ptc-under-test");

#[test]
fn a_subscription_ends_when_a_new_policy_hides_its_resource() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("policy.json");
    let policy = |resources: Value| {
        let rule = json!({"match": {}, "upstreams": {"fake": {"allow": ["*"], "resources": resources}}});
        fs::write(&path, json!({"rules": [rule]}).to_string()).expect("written");
    };
    policy(json!(["*"]));
    let flags = ["--http-disable-auth", "--expose", "resources", "--policy", path.to_str().expect("UTF-8")];
    let server = Launch::of(PROGRAM, &flags).with_upstream().on_http();
    let uri = |number: u32| format!("ptc://fake/text:{number}");
    let params = json!({"notifications": {"resourceSubscriptions": [uri(1), uri(2)]},
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).to_string();
    let mut stream = server.connect();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("the server reads");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
    let mut told = |word: &str| lines.find(|line| line.contains(word)).expect("the channel is open");
    let acknowledged = told("acknowledged");
    assert!(acknowledged.contains(&uri(1)) && acknowledged.contains(&uri(2)), "{acknowledged}");
    // What the upstream is subscribed to.
    let touch = |number: u32| {
        server.eval(&format!(
            r#"(:value (tool/call {{:server "fake" :tool "touch" :args {{:uri "text:{number}"}}}}))"#
        ))
    };
    touch(1);
    assert!(told("resources/updated").contains(&uri(1)));

    policy(json!(["text:2"]));
    server.server.signal(Signal::SIGHUP);
    server.server.launch.logged("reload_done");
    touch(1);
    touch(2);
    assert!(told("resources/updated").contains(&uri(2)), "the first change is not told");
    wait_until("the upstream is asked no more", || !touch(3).contains("text:1"));
    assert!(touch(3).contains("text:2"));
}
