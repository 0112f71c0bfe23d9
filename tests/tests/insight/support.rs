//! A server in this process, and a client on a pipe to it.

use std::sync::Arc;

use clap::Command;
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions};
use ptc_server::boot;
use ptc_server::options::Settings;
use ptc_server::options::command::arguments;
use ptc_server::options::flags::ALL;
use ptc_server::protocol::Service;
use ptc_server::transport::stdio::{StdioOptions, run_stdio};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

/// The settings that these options of `ptc start` stand for.
pub(crate) fn settings(flags: &[&str]) -> Settings {
    let given = std::iter::once("start").chain(flags.iter().copied());
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(given);
    Settings::resolve(&matches, ProcessEnv::default()).expect("right options")
}

/// The tool server of these tests as an upstream called `fake`; `secret` is known to the redactor.
pub(crate) async fn fake_upstream(redactor: &Redactor) -> Arc<Aggregator> {
    let config = json!({"upstreams": {"fake": {"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")}}});
    let options = LoadOptions { env: &ProcessEnv::current(), base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&config, &options).expect("a right file");
    let options =
        AggregatorOptions { redactor: redactor.clone(), ..AggregatorOptions::new(SnapshotMode::Frozen) };
    Aggregator::start(config, options).await.expect("the fake starts")
}

/// The service of these settings.
pub(crate) fn service(
    settings: &Settings,
    upstreams: Option<&Arc<Aggregator>>,
    redactor: &Redactor,
) -> (Arc<Service>, Engine) {
    let engine = Engine::start(EngineOptions { threads: 2, memory: None }).expect("threads");
    (Arc::new(boot::service(settings, &engine, upstreams, redactor)), engine)
}

/// A conversation on a pipe.
pub(crate) struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipe {
    /// Connects to `service`.
    pub(crate) fn open(service: Arc<Service>) -> Pipe {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        let options = StdioOptions { max_frame_bytes: 8 << 20 };
        tokio::spawn(run_stdio(service, options, reader, writer, std::future::pending()));
        let (reader, writer) = tokio::io::split(near);
        Pipe { lines: BufReader::new(reader).lines(), writer }
    }

    /// A server with these options and nothing behind it.
    pub(crate) fn to(flags: &[&str]) -> Pipe {
        Pipe::open(service(&settings(flags), None, &Redactor::new()).0)
    }

    /// Sends one message.
    pub(crate) async fn send(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.expect("the pipe is open");
    }

    /// The next line, as it came.
    pub(crate) async fn line(&mut self) -> String {
        self.lines.next_line().await.expect("the pipe is open").expect("a line")
    }

    /// The whole response to a call of a tool.
    pub(crate) async fn response(&mut self, id: Value, tool: &str, arguments: Value) -> String {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
        self.line().await
    }

    /// The result of a call of a tool.
    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
        let response = self.response(id.into(), tool, arguments).await;
        serde_json::from_str::<Value>(&response).expect("JSON")["result"].take()
    }

    /// Runs a program.
    pub(crate) async fn eval(&mut self, id: impl Into<Value>, program: &str) -> Value {
        self.call(id, "lisp_eval", json!({"program": program})).await
    }

    /// What `lisp_debug` answers.
    pub(crate) async fn debug(&mut self, arguments: Value) -> Value {
        let result = self.call("debug", "lisp_debug", arguments).await;
        let structured = result["structuredContent"].clone();
        assert_eq!(result["content"][0]["text"].as_str(), Some(structured.to_string().as_str()), "mirrored");
        structured
    }
}

/// Fails unless `value` has the members of `expected`, whatever else it has.
pub(crate) fn assert_has(value: &Value, expected: &Value) {
    match (value, expected) {
        (Value::Object(found), Value::Object(members)) => {
            for (key, member) in members {
                assert_has(found.get(key).unwrap_or_else(|| panic!("no {key} in {value}")), member);
            }
        }
        _ => assert_eq!(value, expected),
    }
}
