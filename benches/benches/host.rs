//! `tool/call` beside bare clients of the same servers: what a program pays for the way from its call to a tool and back.
//!
//! Each comparison alternates the two sides for some rounds and reports the medians and their ratio. Both sides keep the
//! same number of calls in flight, over as many connections, and each runs on one thread. A name behind `--` restricts the
//! run to one transport: `cargo bench --bench host -- mcp_http`.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, EvalRequest, Limits};
use ptc_mcp::json::{Value, json};
use std::convert::Infallible;
use std::future::Future;
use std::io::{BufRead as _, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Calls in flight, and connections that carry them.
const LANES: usize = 16;
/// Calls of one lane in one round.
const CALLS: usize = 500;
const ROUNDS: usize = 7;
/// The first argument that makes this program the tool server on its standard streams.
const SERVER: &str = "--stdio-server";

fn main() {
    ptc_host::child::guard::init();
    if std::env::args().nth(1).as_deref() == Some(SERVER) {
        return serve_lines();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wants = |transport: &str| wanted.is_empty() || wanted.iter().any(|name| name == transport);
    let servers: Vec<&str> = ["http", "stdio"].into_iter().filter(|s| wants(&format!("mcp_{s}"))).collect();
    runtime.block_on(async {
        let http = serve_http();
        let world = World::start(http, &servers).await;
        println!("{LANES} calls in flight, {CALLS} calls each, median of {ROUNDS} rounds\n");
        println!("{:<12} {:>12} {:>12} {:>7}", "transport", "tool/call/s", "bare/s", "ratio");
        if wants("mcp_http") {
            compare("mcp_http", || world.lanes("http"), || bare_http(http)).await;
        }
        if wants("mcp_stdio") {
            compare("mcp_stdio", || world.lanes("stdio"), bare_stdio).await;
        }
        println!("\n(pmap …) over 50 calls of 100 ms:");
        for server in servers {
            let mut took = Vec::new();
            for _ in 0..ROUNDS {
                took.push(world.fifty_slow(server).await);
            }
            took.sort();
            println!("{server:<12} {:>9.1} ms  (best {:.1})", ms(took[ROUNDS / 2]), ms(took[0]));
        }
        world.aggregator.shutdown().await;
    });
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Runs both sides in turn and prints their medians.
async fn compare<A: Future<Output = ()>, B: Future<Output = ()>>(
    name: &str,
    calls: impl Fn() -> A,
    bare: impl Fn() -> B,
) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let begin = Instant::now();
        calls().await;
        let middle = Instant::now();
        bare().await;
        // The first round opens connections and fills caches.
        if round > 0 {
            ours.push(middle - begin);
            theirs.push(middle.elapsed());
        }
    }
    let rate = |times: &mut Vec<Duration>| {
        times.sort();
        (LANES * CALLS) as f64 / times[ROUNDS / 2].as_secs_f64()
    };
    let (ours, theirs) = (rate(&mut ours), rate(&mut theirs));
    println!("{name:<12} {ours:>12.0} {theirs:>12.0} {:>6.0}%", 100.0 * ours / theirs);
}

/// An engine with one worker, and the wanted servers as its upstreams.
struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
}

impl World {
    async fn start(http: u16, servers: &[&str]) -> World {
        let own = std::env::current_exe().expect("a path");
        let mut config = json!({"upstreams": {
            "http": {"transport": "mcp_http", "url": format!("http://127.0.0.1:{http}/mcp"), "allow_insecure_http": true},
            "stdio": {"transport": "mcp_stdio", "command": own, "args": [SERVER]}}});
        if let Some(upstreams) = config["upstreams"].as_object_mut() {
            upstreams.retain(|name, _| servers.contains(&name.as_str()));
        }
        let env = ProcessEnv::current();
        let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&config, &options).expect("a right file");
        let engine =
            Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).expect("a thread");
        // On the worker's thread, as the server does it: replies of children wake the program that waits for them
        // without a change of threads.
        let (tell, told) = tokio::sync::oneshot::channel();
        engine.spawn_on(0, move || async move {
            let limits = AggregatorLimits { max_calls: u32::MAX, ..AggregatorLimits::default() };
            let options = AggregatorOptions { limits, ..AggregatorOptions::new(SnapshotMode::Frozen) };
            let _ = tell.send(Aggregator::start(config, options).await.expect("the servers start"));
        });
        World { engine, aggregator: told.await.expect("the servers start") }
    }

    async fn eval(&self, program: String) -> String {
        let mut request = EvalRequest::new(program);
        request.limits =
            Limits { timeout: Duration::from_secs(60), steps: u64::MAX >> 1, ..Limits::aggregator() };
        request.upstreams = Some(self.aggregator.clone());
        self.engine.eval(request).await.result.expect("a value").text
    }

    /// As many programs as there are lanes, each of which makes one call after the other.
    async fn lanes(&self, server: &str) {
        let program = format!(
            "(loop [i 0 ok 0] (if (< i {CALLS})
               (recur (inc i) (if (:ok (tool/call {{:server \"{server}\" :tool \"echo\" :args {{:n i :word \"hello\"}}}})) (inc ok) ok))
               ok))"
        );
        let programs = (0..LANES).map(|_| self.eval(program.clone()));
        for answered in futures_util::future::join_all(programs).await {
            assert_eq!(answered, CALLS.to_string());
        }
    }

    async fn fifty_slow(&self, server: &str) -> Duration {
        let call = format!("(tool/call {{:server \"{server}\" :tool \"slow\" :args {{:n n}}}})");
        let begin = Instant::now();
        let answered = self.eval(format!("(count (filter :ok (pmap (fn [n] {call}) (range 50))))")).await;
        assert_eq!(answered, "50");
        begin.elapsed()
    }
}

/// The request that a bare client sends: what ours sends.
fn request(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"n":{id},"word":"hello"}}}}}}"#
    )
}

/// Bare `hyper` connections, one a lane.
async fn bare_http(port: u16) {
    let lane = async || {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let (mut sender, driver) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("a connection");
        let driver = tokio::spawn(driver);
        for id in 0..CALLS {
            let message = Request::post("/mcp")
                .header("host", "127.0.0.1")
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", "2025-06-18")
                .body(Full::new(Bytes::from(request(id))))
                .expect("a request");
            let answer = sender.send_request(message).await.expect("an answer");
            assert!(answer.status().is_success());
            assert!(!answer.into_body().collect().await.expect("a body").to_bytes().is_empty());
        }
        drop(sender);
        let _ = driver.await;
    };
    futures_util::future::join_all((0..LANES).map(|_| lane())).await;
}

/// Lines through a bare pipe: as many in flight as there are lanes, a new one for each that comes back.
async fn bare_stdio() {
    let mut child = tokio::process::Command::new(std::env::current_exe().expect("a path"))
        .arg(SERVER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = Vec::new();
    for id in 0..LANES {
        input.write_all(format!("{}\n", request(id)).as_bytes()).await.expect("a server");
    }
    for answered in 0..LANES * CALLS {
        line.clear();
        assert!(output.read_until(b'\n', &mut line).await.expect("a server") > 0);
        if answered + LANES < LANES * CALLS {
            input.write_all(format!("{}\n", request(answered + LANES)).as_bytes()).await.expect("a server");
        }
    }
    drop(input);
    child.wait().await.expect("an end");
}

/// The answer to a message, and whether it comes late; `None` for notifications.
fn answer(message: &[u8]) -> Option<(String, bool)> {
    let message: Value = serde_json::from_slice(message).ok()?;
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}})
        }
        "tools/list" => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            json!({"tools": [tool("echo"), tool("slow")]})
        }
        "tools/call" => json!({"content": [], "structuredContent": message["params"]["arguments"]}),
        _ => {
            let error = json!({"code": -32601, "message": "method not found"});
            return Some((json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string(), false));
        }
    };
    let slow = message["params"]["name"] == "slow";
    Some((json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(), slow))
}

const SLOW: Duration = Duration::from_millis(100);

/// A tool server on HTTP, on a thread of its own. Yields its port.
fn serve_http() -> u16 {
    let (told, port) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let _ = told.send(listener.local_addr().expect("an address").port());
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let _ = stream.set_nodelay(true);
                let connection = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service_fn(respond));
                tokio::spawn(connection);
            }
        });
    });
    port.recv().expect("the server starts")
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let (text, slow) = answer(&body).unwrap_or_default();
    if slow {
        tokio::time::sleep(SLOW).await;
    }
    let mut response = Response::new(Full::new(Bytes::from(text)));
    if hyper::body::Body::size_hint(response.body()).exact() == Some(0) {
        *response.status_mut() = hyper::StatusCode::ACCEPTED;
    }
    response
        .headers_mut()
        .insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The tool server on standard streams, until they end.
fn serve_lines() {
    let say = |text: &str| {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match answer(line.as_bytes()) {
            Some((text, false)) => say(&text),
            Some((text, true)) => {
                std::thread::spawn(move || {
                    std::thread::sleep(SLOW);
                    say(&text);
                });
            }
            None => {}
        }
    }
}
