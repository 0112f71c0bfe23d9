//! An OpenAPI upstream from its file entry to real requests on a real socket.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode, StartError};
use ptc_host::catalog::{tool_doc, tool_meta};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::upstream::{
    Call, CallFault, CallLimits, CallReply, Caller, FaultReason, Payload, ResendMembers,
};
use ptc_mcp::json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const SECRET: &str = "sekrit-sekrit";

const DOCUMENT: &str = r##"{"openapi": "3.1.0", "paths": {
    "/things/{id}": {"get": {"operationId": "getThing", "summary": "One thing", "parameters": [
        {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
        {"name": "max_items", "in": "query", "schema": {"type": "integer"}}],
        "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}}}}},
    "/things": {"post": {"operationId": "addThing", "responses": {"201": {}}}}},
    "components": {"schemas": {"Thing": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}"##;

/// A request line and its headers.
type Seen = (String, HashMap<String, String>);

/// A server of fixed answers by request target, which remembers the requests.
#[derive(Clone, Default)]
struct Service {
    answers: Arc<HashMap<&'static str, (u16, String)>>,
    requests: Arc<Mutex<Vec<Seen>>>,
}

impl Service {
    async fn start(answers: &[(&'static str, u16, &str)]) -> (Self, u16) {
        let answers = answers.iter().map(|(target, status, body)| (*target, (*status, (*body).to_owned())));
        let service = Self { answers: Arc::new(answers.collect()), ..Self::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let accepting = service.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(accepting.clone().serve(stream));
            }
        });
        (service, port)
    }

    async fn serve(self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                match stream.read_line(&mut line).await {
                    Ok(read) if read > 0 => {}
                    _ => return,
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_owned());
            }
            let target = head[0].split(' ').nth(1).unwrap_or_default().to_owned();
            let headers = head[1..].iter().filter_map(|line| line.split_once(": "));
            let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
            self.requests.lock().unwrap().push((head[0].clone(), headers));
            let (status, body) =
                self.answers.get(target.as_str()).cloned().unwrap_or((404, "no such thing".to_owned()));
            let location = if (300..400).contains(&status) { "location: /elsewhere\r\n" } else { "" };
            let answer =
                format!("HTTP/1.1 {status} x\r\n{location}content-length: {}\r\n\r\n{body}", body.len());
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn requests(&self) -> Vec<Seen> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

async fn start(port: u16, keys: Value, mode: SnapshotMode) -> Result<Arc<Aggregator>, StartError> {
    let mut entry = json!({
        "transport": "openapi",
        "base_url": format!("http://127.0.0.1:{port}/v1"),
        "schema_url": format!("http://127.0.0.1:{port}/openapi.json"),
        "include_operations": ["getThing"],
        "auth": [{"scheme": "custom_header", "header": "X-Api-Key", "binding": "key"}],
        "static_headers": {"X-Tenant": "acme"},
        "allow_insecure_http": true,
        "allow_insecure_auth": true
    });
    for (key, value) in keys.as_object().expect("an object") {
        entry[key] = value.clone();
    }
    let file = json!({
        "credentials": {"key": {"source": "env", "var": "API_KEY"}},
        "upstreams": {"api": entry}
    });
    let env = ProcessEnv::from_iter([("API_KEY", SECRET)]);
    let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&file, &options).expect("a good file");
    Aggregator::start(config, AggregatorOptions::new(mode)).await
}

async fn call(aggregator: &Aggregator, arguments: &str, max_bytes: usize) -> Result<CallReply, CallFault> {
    let (_, upstream) = aggregator.unfiltered().upstreams().next().expect("one upstream");
    let limits = CallLimits::within(Duration::from_secs(30), max_bytes);
    let arguments = arguments.as_bytes();
    upstream
        .call(Call {
            tool: "getThing",
            arguments,
            limits,
            again: ResendMembers::default(),
            arrivals: None,
            caller: Caller::default(),
            may_wrap: true,
            judged_by: None,
        })
        .await
}

#[tokio::test]
async fn a_document_is_fetched_and_its_operations_are_called() {
    let (service, port) = Service::start(&[
        ("/openapi.json", 200, DOCUMENT),
        ("/v1/things/org%2F42?max_items=3", 200, r#"{"n": 1}"#),
        ("/v1/things/moved", 302, ""),
        ("/v1/things/broken", 200, "<html>"),
        ("/v1/things/verbose", 422, &"x".repeat(9000)),
    ])
    .await;
    let aggregator = start(port, json!({}), SnapshotMode::Frozen).await.expect("it starts");
    let fetched = service.requests();
    assert_eq!(fetched.len(), 1);
    assert_eq!(fetched[0].0, "GET /openapi.json HTTP/1.1");
    assert_eq!(fetched[0].1["x-api-key"], SECRET);
    assert_eq!(fetched[0].1["x-tenant"], "acme");

    let catalog = aggregator.unfiltered().catalog();
    let server = catalog.server("api").expect("the upstream");
    let tool = server.tool("getThing").expect("the tool");
    let doc = tool_doc(server, tool);
    assert!(doc.contains("Args: {:id string :max_items integer?}"), "{doc}");
    assert!(doc.contains("Returns: Result<{:n int?}>"), "{doc}");
    let meta = tool_meta(server, tool);
    assert_eq!((&meta["kind"], &meta["_ptc"]["operationId"]), (&json!("openapi-tool"), &json!("getThing")));

    let reply = call(&aggregator, r#"{"id":"org/42","max_items":3}"#, 1000).await.expect("an answer");
    assert_eq!(reply.payload, Payload::Json(r#"{"n": 1}"#.into()));
    let asked = service.requests();
    assert_eq!(asked[0].0, "GET /v1/things/org%2F42?max_items=3 HTTP/1.1");
    assert_eq!(
        (asked[0].1["x-api-key"].as_str(), asked[0].1["accept"].as_str()),
        (SECRET, "application/json")
    );

    for (arguments, max_bytes, reason, message) in [
        (r#"{"id":"gone"}"#, 1000, FaultReason::ToolError, "no such thing"),
        (r#"{"id":"org/42","max_items":3}"#, 4, FaultReason::ResponseTooLarge, "response exceeded 4 bytes"),
    ] {
        let fault = call(&aggregator, arguments, max_bytes).await.expect_err(message);
        assert_eq!((fault.reason, fault.message.as_str()), (reason, message));
    }
    let fault = call(&aggregator, r#"{"id":"moved"}"#, 1000).await.expect_err("a redirect");
    let told = format!(
        "http 302\nIt points to http://127.0.0.1:{port}/elsewhere: if the service has moved there, change its base_url. \
         Redirects of a REST service are not followed."
    );
    assert_eq!((fault.reason, fault.message), (FaultReason::UpstreamError, told));
    let fault = call(&aggregator, r#"{"id":"verbose"}"#, 1000).await.expect_err("a refusal");
    assert_eq!((fault.reason, fault.message), (FaultReason::ToolError, "x".repeat(500)));
    let fault = call(&aggregator, r#"{"id":"broken"}"#, 1000).await.expect_err("no JSON");
    assert!(fault.message.starts_with("malformed JSON response: "), "{}", fault.message);
    let targets: Vec<_> = service.requests().into_iter().map(|(line, _)| line).collect();
    assert!(!targets.iter().any(|line| line.contains("/elsewhere")), "a redirect was followed: {targets:?}");
    aggregator.shutdown().await;
}

#[tokio::test]
async fn documents_are_loaded_at_the_start_in_live_mode_too() {
    let (_, port) = Service::start(&[("/openapi.json", 200, DOCUMENT)]).await;
    let aggregator = start(port, json!({}), SnapshotMode::Live).await.expect("it starts");
    assert!(aggregator.unfiltered().catalog().server("api").expect("the upstream").loaded);
    aggregator.shutdown().await;
}

#[tokio::test]
async fn required_false_forgives_the_network_and_not_the_configuration() {
    let (_, port) = Service::start(&[("/openapi.json", 500, SECRET)]).await;
    let error = start(port, json!({}), SnapshotMode::Frozen).await.err().expect("no start");
    assert!(error.to_string().contains("schema_url returned http 500"), "{error}");
    let aggregator = start(port, json!({"required": false}), SnapshotMode::Frozen).await.expect("it starts");
    assert!(!aggregator.unfiltered().advertised().server("api").expect("the upstream").loaded);
    aggregator.shutdown().await;

    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), DOCUMENT).expect("written");
    let keys = json!({"required": false, "schema_url": "", "schema_file": file.path(), "include_operations": ["addThing"]});
    let error = start(port, keys, SnapshotMode::Live).await.err().expect("no start");
    assert_eq!(
        error.to_string(),
        "upstream api is configured wrongly: OpenAPI operation addThing uses unsupported method POST; v1 supports GET only"
    );
}

#[tokio::test]
async fn every_upstream_that_cannot_start_is_named() {
    let missing = |required: bool| json!({"transport": "mcp_stdio", "command": "/nonexistent/server", "required": required});
    let started = async |file: Value| {
        let env = ProcessEnv::default();
        let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&file, &options).expect("a good file");
        Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Frozen)).await.err().expect("no start")
    };
    let error =
        started(json!({"upstreams": {"one": missing(true), "two": missing(true), "spare": missing(false)}}))
            .await;
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("upstream ")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("upstream one cannot be started: "), "{text}");
    assert!(lines[1].starts_with("upstream two cannot be started: "), "{text}");
    assert!(!text.contains("spare"), "{text}");

    // A document that cannot be used is a fault of the entry; all such entries are named, and nothing is started.
    let entry = json!({"transport": "openapi", "base_url": "https://h.example", "schema_file": "/nonexistent/s.json",
        "include_operations": ["a"]});
    let error = started(json!({"upstreams": {"x": entry, "y": entry, "one": missing(true)}})).await;
    let text = error.to_string();
    assert_eq!(text.matches("is configured wrongly: ").count(), 2, "{text}");
    assert!(!text.contains("upstream one"), "{text}");
}
