//! A server in this process, and a client on a pipe to it.

use std::sync::Arc;
use std::time::Duration;

use clap::Command;
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, MemoryBudget};
use ptc_mcp::json::{Value, json};
use ptc_server::boot::{self, Assembly};
use ptc_server::options::command::arguments;
use ptc_server::options::flags::ALL;
use ptc_server::protocol::Service;
use ptc_server::settings::Settings;
use ptc_server::transport::http::{BoundListener, HttpServer, Listening};
use ptc_server::transport::stdio::{StdioOptions, run_stdio};
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::net::TcpStream;

use crate::child_process::program_text;

/// The settings that these options of `ptc start` stand for.
pub fn settings(flags: &[&str]) -> Settings {
    let given = std::iter::once("start").chain(flags.iter().copied());
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(given);
    ptc_server::options::resolve(&matches, ProcessEnv::default()).expect("right options")
}

/// The tool server of these tests as an upstream called `fake`; `secret` is known to the redactor.
pub async fn fake_upstream(redactor: &Redactor) -> Arc<Aggregator> {
    fake_upstream_with(redactor, json!({})).await
}

/// The same with further keys in its entry.
pub async fn fake_upstream_with(redactor: &Redactor, keys: Value) -> Arc<Aggregator> {
    let mut entry = json!({"transport": "mcp_stdio", "command": program_text("fake-upstream")});
    for (key, value) in keys.as_object().expect("keys") {
        entry[key] = value.clone();
    }
    let config = json!({"upstreams": {"fake": entry}});
    let options = LoadOptions { env: &ProcessEnv::current(), base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&config, &options).expect("a right file");
    let options =
        AggregatorOptions { redactor: redactor.clone(), ..AggregatorOptions::new(SnapshotMode::Frozen) };
    Aggregator::start(config, options).await.expect("the fake starts")
}

/// A server of these settings.
pub fn assembly(
    settings: &Settings,
    upstreams: Option<&Arc<Aggregator>>,
    redactor: &Redactor,
) -> (Assembly, Engine) {
    let memory = MemoryBudget::new(settings.limits.max_total_memory_bytes);
    let engine =
        Engine::start(EngineOptions { threads: 2, memory: Some(memory), ..EngineOptions::default() })
            .expect("threads");
    (boot::assemble(settings, &engine, upstreams, redactor).unwrap(), engine)
}

/// The service of these settings.
pub fn service(
    settings: &Settings,
    upstreams: Option<&Arc<Aggregator>>,
    redactor: &Redactor,
) -> (Arc<Service>, Engine) {
    let (assembly, engine) = assembly(settings, upstreams, redactor);
    (assembly.service, engine)
}

/// A conversation on a pipe.
pub struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipe {
    /// Connects to `service`.
    pub fn open(service: Arc<Service>) -> Pipe {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        let options = StdioOptions { max_frame_bytes: 8 << 20 };
        tokio::spawn(run_stdio(service, options, reader, writer, std::future::pending()));
        let (reader, writer) = tokio::io::split(near);
        Pipe { lines: BufReader::new(reader).lines(), writer }
    }

    /// A server with these options and nothing behind it.
    pub fn to(flags: &[&str]) -> Pipe {
        Pipe::open(service(&settings(flags), None, &Redactor::new()).0)
    }

    /// Sends one message.
    pub async fn send(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.expect("the pipe is open");
    }

    /// The next line, as it came.
    pub async fn line(&mut self) -> String {
        self.lines.next_line().await.expect("the pipe is open").expect("a line")
    }

    /// The whole response to a call of a tool.
    pub async fn response(&mut self, id: Value, tool: &str, arguments: Value) -> String {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
        self.line().await
    }

    /// The result of a call of a tool.
    pub async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
        let response = self.response(id.into(), tool, arguments).await;
        serde_json::from_str::<Value>(&response).expect("JSON")["result"].take()
    }

    /// Runs a program.
    pub async fn eval(&mut self, id: impl Into<Value>, program: &str) -> Value {
        self.call(id, "lisp_eval", json!({"program": program})).await
    }

    /// What `lisp_debug` answers.
    pub async fn debug(&mut self, arguments: Value) -> Value {
        let result = self.call("debug", "lisp_debug", arguments).await;
        let structured = result["structuredContent"].clone();
        assert_eq!(result["content"][0]["text"].as_str(), Some(structured.to_string().as_str()), "mirrored");
        structured
    }
}

/// Fails unless `value` has the members of `expected`, whatever else it has.
pub fn assert_has(value: &Value, expected: &Value) {
    match (value, expected) {
        (Value::Object(found), Value::Object(members)) => {
            for (key, member) in members {
                assert_has(found.get(key).unwrap_or_else(|| panic!("no {key} in {value}")), member);
            }
        }
        _ => assert_eq!(value, expected),
    }
}

/// A listener on a free port of this machine.
pub struct Listener {
    /// Where it listens.
    pub address: std::net::SocketAddr,
    stop: Arc<tokio::sync::Notify>,
    running: tokio::task::JoinHandle<()>,
}

impl Listener {
    /// Starts what these options, `--http` among them, stand for; the port is chosen by the system. The address may
    /// be bound to one interface while the options name another, to test what only depends on the latter.
    pub fn start(flags: &[&str], upstreams: Option<&Arc<Aggregator>>, redactor: &Redactor) -> Listener {
        let settings = settings(flags);
        let (Assembly { service, telemetry, .. }, engine) = assembly(&settings, upstreams, redactor);
        let mut http = settings.http.expect("--http");
        http.port = 0;
        let memory = engine.memory().expect("a budget").clone();
        let listening = Listening {
            call_budget: Duration::from_secs(30),
            memory,
            telemetry,
            upstreams: None,
            verifier: None,
            login: None,
        };
        let server = HttpServer::new(
            &http,
            BoundListener::open(&http).expect("a free port"),
            listening,
            service,
            engine,
        );
        let port = server.address().expect("bound").port();
        let stop = Arc::new(tokio::sync::Notify::new());
        let stopped = stop.clone();
        let running = tokio::spawn(async move {
            server.run(|| stopped.notified()).await.expect("it serves");
        });
        Listener { address: ([127, 0, 0, 1], port).into(), stop, running }
    }

    /// Sends one request on a connection of its own and reads the response to its end.
    pub async fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.expect("it reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.expect("it answers");
        Response::parse(&String::from_utf8(bytes).expect("UTF-8"))
    }

    /// Calls a tool in the modern way.
    pub async fn call(&self, token: Option<&str>, tool: &str, arguments: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments,
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {}}}});
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers =
            vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        let response = self.request("POST", "/mcp", &headers, &body.to_string()).await;
        assert_eq!(response.status, 200, "{}", response.body);
        serde_json::from_str::<Value>(&response.body).expect("JSON")["result"].take()
    }

    /// Stops it.
    pub async fn stop(self) {
        self.stop.notify_waiters();
        self.running.await.expect("it ends");
    }
}

/// An HTTP response.
#[derive(Debug)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its first line and its header lines, in lower case.
    pub head: String,
    /// Its body.
    pub body: String,
}

impl Response {
    fn parse(text: &str) -> Response {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Response { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}
