//! The log of a server (server.md 1.8).

use ptc_mcp::json::{Value, json};
use ptc_test_support::process::Launch;
use ptc_test_support::wait_until;

#[test]
fn the_log_lines_of_a_call_and_of_its_request_have_one_id_and_one_owner() {
    let server = Launch::new(&["--http-disable-auth", "--log-level", "info"]).with_upstream().on_http();
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    let of = |event: &str| -> Vec<Value> {
        let log = server.server.launch.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    };
    let ids = |line: &Value| [&line["request_id"], &line["fields"]["owner_hash"]].map(Value::to_string);
    // Lines are written by a thread of their own, and the request's comes after its answer.
    let is_logged = |stop: &Value| of("http_request_stop").iter().any(|request| ids(request) == ids(stop));
    wait_until("its request has ended", || of("tools_call_stop").first().is_some_and(is_logged));
    let (start, stop) = (of("tools_call_start"), of("tools_call_stop"));
    assert_eq!(ids(&start[0]), ids(&stop[0]));
    assert!(stop[0]["request_id"].is_string() && stop[0]["rpc_id"].is_string(), "{stop:?}");
    assert_ne!(stop[0]["request_id"], stop[0]["rpc_id"]);
}

#[test]
fn the_line_of_a_request_names_its_trace() {
    let server = Launch::new(&["--http-disable-auth", "--log-level", "info"]).on_http();
    let trace = |digit: &str| digit.repeat(32);
    let parent = |digit: &str| format!("00-{}-00f067aa0ba902b7-01", trace(digit));
    let ask = |id: &str, of_header: &str, of_meta: Option<&str>, method: &str| {
        let mut meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        if let Some(digit) = of_meta {
            meta["traceparent"] = parent(digit).into();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nX-Request-Id: {id}\r\n\
             Accept: application/json, text/event-stream\r\n{of_header}"
        );
        server.post(&headers, body.to_string().as_bytes());
    };
    let header = format!("traceparent: {}\r\n", parent("a"));
    ask("by-header", &header, None, "tools/list");
    ask("by-meta", &header, Some("b"), "tools/list");
    // Its header is none of its method, so that it is refused before its message counts.
    ask("refused", &header, None, "tools/call");
    ask("without", "", None, "tools/list");
    let named = |id: &str| {
        let log = server.server.launch.log();
        let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find(|line| line["event"] == "http_request_stop" && line["request_id"] == id)
    };
    for (id, expected) in
        [("by-header", Some("a")), ("by-meta", Some("b")), ("refused", Some("a")), ("without", None)]
    {
        wait_until("its request has ended", || named(id).is_some());
        let line = named(id).expect("it was there");
        assert_eq!(line["trace_id"].as_str(), expected.map(trace).as_deref(), "{line}");
    }
}
