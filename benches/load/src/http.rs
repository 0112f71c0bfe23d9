//! Load over HTTP: each connection sends its next request when it has the answer to the last one.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::PROGRAM;
use crate::process::{Server, cpu_seconds, peak_mib};
use crate::round::{Round, percentiles};

/// Time for caches and connections to warm up.
const WARM_UP: Duration = Duration::from_millis(500);

/// Counts what a server answers within `time` to so many connections.
pub(crate) async fn round(server: &Server, connections: usize, time: Duration) -> Round {
    let port = server.port;
    let task = move |client: Client| async move {
        let mut client = client;
        let answer = client.eval(PROGRAM).await;
        assert!(contains(&answer, b"user=> 3\""), "{answer:?}");
        client
    };
    tasks(server.id(), port, connections, time, task).await
}

/// Counts how often `task` is done within `time` on so many connections to `port`. CPU time and memory are those of the
/// process `of`.
pub(crate) async fn tasks<F: Future<Output = Client> + Send>(
    of: u32,
    port: u16,
    connections: usize,
    time: Duration,
    task: impl Fn(Client) -> F + Send + Copy + 'static,
) -> Round {
    let begin = Instant::now() + WARM_UP;
    let end = begin + time;
    let work = move || async move {
        let mut client = Client::connect(port).await;
        let mut latencies = Vec::new();
        loop {
            let sent = Instant::now();
            if sent >= end {
                return latencies;
            }
            client = task(client).await;
            if sent >= begin {
                latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
        }
    };
    let workers: Vec<_> = (0..connections).map(|_| tokio::spawn(work())).collect();
    tokio::time::sleep_until(begin.into()).await;
    let before = cpu_seconds(of);
    tokio::time::sleep_until(end.into()).await;
    let cpu = cpu_seconds(of) - before;
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await.expect("a worker that ends"));
    }
    let count = latencies.len() as f64;
    Round {
        requests_per_second: count / time.as_secs_f64(),
        latency: percentiles(latencies),
        cpu: cpu / count * 10_000.0,
        memory: peak_mib(of),
    }
}

/// Does `task` on one connection every `pause` from `start` to `end`, whether or not the server keeps up, and gives the
/// latencies in microseconds. The task gets the connection and how often it has been done.
pub(crate) async fn at_fixed_rate<F: Future<Output = Client> + Send>(
    port: u16,
    token: Option<&str>,
    start: Instant,
    pause: Duration,
    end: Instant,
    task: impl Fn(Client, usize) -> F + Send,
) -> Vec<u32> {
    let mut client = Client::open(port, token).await;
    let mut due = start;
    let mut latencies = Vec::new();
    while due < end {
        tokio::time::sleep_until(due.into()).await;
        let sent = Instant::now();
        client = task(client, latencies.len()).await;
        latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        due += pause;
    }
    latencies
}

/// What `ptc` answers to the request, as text.
pub(crate) async fn answer_of_ptc(ptc: &str) -> String {
    let server = Server::ptc_http(ptc, &[]).await;
    let answer = Client::connect(server.port).await.eval(PROGRAM).await;
    String::from_utf8(answer.to_vec()).expect("UTF-8")
}

/// Whether `needle` is in `bytes`.
pub(crate) fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|part| part == needle)
}

/// The body of a call of a tool.
pub(crate) fn body(tool: &str, arguments: &str) -> Bytes {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#).into()
}

/// One connection.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    /// What the header `authorization` says.
    authorization: Option<String>,
}

impl Client {
    /// Opens it.
    pub(crate) async fn connect(port: u16) -> Client {
        Self::open(port, None).await
    }

    /// Opens it for a principal.
    pub(crate) async fn with_token(port: u16, token: &str) -> Client {
        Self::open(port, Some(token)).await
    }

    async fn open(port: u16, token: Option<&str>) -> Client {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(connection);
        Client { sender, authorization: token.map(|token| format!("Bearer {token}")) }
    }

    /// Has a program evaluated.
    pub(crate) async fn eval(&mut self, program: &str) -> Bytes {
        self.call("lisp_eval", &serde_json::json!({"program": program}).to_string()).await
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &str) -> Bytes {
        self.post(tool, body(tool, arguments)).await
    }

    /// Sends the [`body`] of a call of this tool.
    pub(crate) async fn post(&mut self, tool: &str, body: Bytes) -> Bytes {
        let mut request = Request::post("/mcp")
            .header("host", "127.0.0.1")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool);
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let request = request.body(Full::new(body)).expect("a request");
        self.sender.ready().await.expect("an open connection");
        let response = self.sender.send_request(request).await.expect("an answer");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(status, 200, "{body:?}");
        body
    }
}
