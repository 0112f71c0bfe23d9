//! Spans of a whole server, as a collector gets them, read with the messages of OpenTelemetry's own crate.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::Launch;
use ptc_test_support::wait_until;

/// The trace of the clients here, and the `traceparent` that they send.
pub(crate) const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
pub(crate) const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A collector.
pub(crate) struct Collector {
    /// Its URL.
    pub(crate) url: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    pub(crate) fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let spans = Arc::<Mutex<Vec<Span>>>::default();
        let theirs = spans.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let spans = theirs.clone();
                thread::spawn(move || take(&stream, &spans));
            }
        });
        Collector { url, spans }
    }

    /// The spans of the clients' trace so far, by their names, with the names of their parents where these are among them.
    pub(crate) fn tree(&self) -> Vec<(String, Option<String>)> {
        let spans = self.of_clients();
        let name_of = |id: &[u8]| spans.iter().find(|span| span.span_id == id).map(|span| span.name.clone());
        let mut tree: Vec<_> =
            spans.iter().map(|span| (span.name.clone(), name_of(&span.parent_span_id))).collect();
        tree.sort();
        tree
    }

    fn of_clients(&self) -> Vec<Span> {
        let mut spans = self.spans.lock().expect("no panic").clone();
        let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        spans.retain(|span| hex(&span.trace_id) == TRACE);
        spans
    }
}

/// Takes the requests of one connection.
fn take(stream: &TcpStream, spans: &Mutex<Vec<Span>>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if reader.read_line(&mut first).is_ok_and(|read| read == 0) {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        if first.contains("/v1/traces ") {
            let request = ExportTraceServiceRequest::decode(&*body).expect("a request of spans");
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            spans.lock().expect("no panic").extend(scopes.flat_map(|scope| scope.spans));
        }
        let mut stream = stream;
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

/// The text of an attribute.
fn attribute(span: &Span, key: &str) -> Option<String> {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

#[test]
fn a_text_that_cannot_be_read_has_one_reason_and_a_method_that_there_is_not_no_trace() {
    let collector = Collector::start();
    let mut server = Launch::new(&["--otlp-endpoint", &collector.url]).on_pipes();
    let mut ask = |id: &str, method: &str, mut params: Value, parent: Option<&str>| {
        if let Some(parent) = parent {
            params["_meta"] = json!({"traceparent": parent});
        }
        server.request(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    ask("1", "initialize", greeting, None);
    ask("2", "tools/call", json!({"name": "lisp_eval", "arguments": {"program": "((("}}), Some(PARENT));
    ask("3", "no/such", json!({}), None);
    ask("4", "no/such", json!({}), Some(PARENT));
    let line = |id: &str| {
        let log = server.server.launch.log();
        let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find(|line| line["event"] == "method_not_found" && line["rpc_id"] == id)
    };
    for (id, trace) in [("3", None), ("4", Some(TRACE))] {
        wait_until("it is told", || line(id).is_some());
        let line = line(id).expect("it was there");
        assert_eq!(line["trace_id"].as_str(), trace, "{line}");
    }
    server.finish();
    let parts = collector.of_clients().into_iter().filter(|span| span.kind == i32::from(SpanKind::Internal));
    let mut parts: Vec<_> = parts.map(|span| (span.name.clone(), attribute(&span, "error.type"))).collect();
    parts.sort();
    let failed = |name: &str| (name.to_owned(), Some("parse_error".to_owned()));
    assert_eq!(parts, [failed("compile"), failed("run")]);
}

#[test]
fn each_request_has_a_span_with_the_name_of_its_method() {
    let collector = Collector::start();
    let flags = ["--otlp-endpoint", &collector.url, "--expose", "resources,prompts", "--expose", "tools"];
    let mut server = Launch::new(&flags).with_upstream().on_pipes();
    let mut ask = |id: &str, method: &str, mut params: Value| {
        params["_meta"] = json!({"traceparent": PARENT});
        server.request(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    ask("1", "initialize", greeting);
    for (id, method, params, good) in [
        ("2", "tools/list", json!({}), true),
        ("3", "resources/read", json!({"uri": "ptc://fake/blob:3"}), true),
        ("4", "resources/read", json!({"uri": "ptc://fake/gone:"}), false),
        ("5", "prompts/get", json!({"name": "fake/greet", "arguments": {"name": "Ada"}}), true),
        ("5a", "tools/call", json!({"name": "fake__echo", "arguments": {"x": 1}}), true),
        ("6", "prompts/get", json!({"name": "z/none"}), false),
        ("7", "ping", json!({}), true),
        ("8", "no/such", json!({}), false),
        ("9", "tools/list", json!({"cursor": "x"}), false),
    ] {
        let answer = ask(id, method, params);
        assert_eq!(answer.get("error").is_none(), good, "{method}: {answer}");
    }
    server.finish();
    let told = |span: &Span| {
        let id = attribute(span, "jsonrpc.request.id")?;
        assert_eq!(span.kind, i32::from(SpanKind::Server));
        assert_eq!(attribute(span, "mcp.protocol.version").as_deref(), Some("2025-11-25"));
        Some((id, span.name.clone(), attribute(span, "error.type")))
    };
    let mut served: Vec<_> = collector.of_clients().iter().filter_map(told).collect();
    served.sort();
    let wanted = [
        ("1", "initialize", None),
        ("2", "tools/list", None),
        ("3", "resources/read", None),
        ("4", "resources/read", Some("-32000")),
        ("5", "prompts/get fake/greet", None),
        ("5a", "tools/call fake__echo", None),
        ("6", "prompts/get", Some("-32602")),
        ("7", "ping", None),
        ("9", "tools/list", Some("-32602")),
    ];
    let wanted = wanted.map(|(id, name, error)| (id.to_owned(), name.to_owned(), error.map(str::to_owned)));
    assert_eq!(served, wanted);
    // What was asked of the upstream is below it.
    let sent = |method: &str, parent: &str| (method.to_owned(), Some(parent.to_owned()));
    let tree = collector.tree();
    assert_eq!(
        tree.iter().filter(|span| **span == sent("resources/read", "resources/read")).count(),
        2,
        "{tree:?}"
    );
    assert!(tree.contains(&sent("prompts/get", "prompts/get fake/greet")), "{tree:?}");
    assert!(tree.iter().any(|(name, parent)| name == "tools/call echo" && parent.is_some()), "{tree:?}");
}

#[test]
fn a_request_over_http_names_that_of_the_transport() {
    let collector = Collector::start();
    let flags = ["--otlp-endpoint", &collector.url, "--expose", "resources"];
    let server = Launch::new(&flags).with_upstream().on_http();
    let before = collector.tree();
    assert_eq!(before, [], "nothing has asked");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "traceparent": PARENT, "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}}}});
    let headers = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n\
                   Accept: application/json, text/event-stream\r\n";
    assert_eq!(server.post(headers, body.to_string().as_bytes()).status, 200);
    wait_until("it is exported", || collector.tree() == [("tools/list".to_owned(), None)]);
    let span = collector.of_clients().remove(0);
    assert_eq!(attribute(&span, "network.transport").as_deref(), Some("tcp"));
    assert!(attribute(&span, "ptc.request_id").is_some());
}
