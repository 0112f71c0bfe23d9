//! What surrounds a program: the engine's handle, its program cache and sessions, and the server on a socket beside a bare
//! hyper server that answers the same bytes.

use bytes::Bytes;
use clap::Command;
use criterion::{Criterion, criterion_group, criterion_main};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use ptc_benches::{PIPELINE, TINY};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, EvalRequest, MemoryBudget};
use ptc_server::boot::{self, Assembly};
use ptc_server::options::{command::arguments, flags::ALL};
use ptc_server::transport::http::{BoundListener, HttpServer, Listening};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// As the command allocates.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn engine(threads: usize) -> Engine {
    Engine::start(EngineOptions {
        threads,
        memory: Some(MemoryBudget::new(1 << 32)),
        ..EngineOptions::default()
    })
    .expect("threads")
}

/// The value's text.
async fn eval(engine: &Engine, request: EvalRequest) -> String {
    engine.eval(request).await.result.expect("a value").text
}

fn overhead(c: &mut Criterion) {
    let (runtime, engine) = (runtime(), engine(1));
    let mut group = c.benchmark_group("overhead");
    let text: Arc<str> = PIPELINE.program.into();
    group.bench_function("program_cache_hit", |b| {
        b.iter(|| runtime.block_on(eval(&engine, EvalRequest::new(text.clone()))));
    });
    let mut fresh = 0;
    group.bench_function("program_cache_miss", |b| {
        b.iter(|| {
            fresh += 1;
            runtime.block_on(eval(&engine, EvalRequest::new(format!("{} ;{fresh}", PIPELINE.program))))
        });
    });
    for bindings in [5, 500] {
        let key: Arc<str> = format!("with {bindings}").into();
        let within = |program: &str| EvalRequest { session: Some(key.clone()), ..EvalRequest::new(program) };
        let names: String = (0..bindings).map(|i| format!("(def name{i} {{:n {i}}})")).collect();
        runtime.block_on(eval(&engine, within(&names)));
        group.bench_function(format!("session_restore_{bindings}"), |b| {
            b.iter(|| assert_eq!(runtime.block_on(eval(&engine, within("(:n name4)"))), "4"));
        });
    }
    group.finish();
}

/// The engine's handle, from a thread that is no worker.
fn host(c: &mut Criterion) {
    let (runtime, engine) = (runtime(), engine(2));
    let mut group = c.benchmark_group("host");
    group.bench_function("eval_tiny", |b| {
        b.iter(|| runtime.block_on(eval(&engine, EvalRequest::new(TINY.program))));
    });
    group.bench_function("eval_64_at_once", |b| {
        b.iter(|| {
            let evals = (0..64).map(|_| eval(&engine, EvalRequest::new(TINY.program)));
            runtime.block_on(futures_util::future::join_all(evals))
        });
    });
    group.finish();
}

/// One request at a time on one connection.
fn http(c: &mut Criterion) {
    let runtime = runtime();
    let ours = runtime.block_on(ptc());
    let answer = runtime.block_on(async { ask(&mut connect(ours).await).await });
    let bare = runtime.block_on(bare(answer.clone()));
    let mut group = c.benchmark_group("http");
    for (name, address) in [("lisp_eval_tiny", ours), ("bare_hyper_with_the_same_answer", bare)] {
        let mut client = runtime.block_on(connect(address));
        // But for the id of the eval, of which each has its own.
        assert_eq!(runtime.block_on(ask(&mut client)).len(), answer.len());
        group.bench_function(name, |b| b.iter(|| runtime.block_on(ask(&mut client))));
    }
    group.finish();
}

/// Our server, on threads of its own.
async fn ptc() -> SocketAddr {
    let flags = ["start", "--http", "--http-disable-auth", "--log-level", "error"];
    let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(flags);
    let settings = ptc_server::options::resolve(&matches, ProcessEnv::default()).expect("right options");
    let memory = MemoryBudget::new(settings.limits.max_total_memory_bytes);
    let engine =
        Engine::start(EngineOptions { threads: 2, memory: Some(memory.clone()), ..EngineOptions::default() })
            .expect("threads");
    let Assembly { service, telemetry, .. } =
        boot::assemble(&settings, &engine, None, &Redactor::new()).expect("a server");
    let mut settings = settings.http.expect("--http");
    settings.port = 0;
    let listening = Listening {
        call_budget: Duration::from_secs(30),
        memory,
        telemetry,
        upstreams: None,
        verifier: None,
        login: None,
    };
    let server = HttpServer::new(
        &settings,
        BoundListener::open(&settings).expect("a free port"),
        listening,
        service,
        engine,
    );
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().expect("bound").port()));
    std::thread::spawn(move || self::runtime().block_on(server.run(std::future::pending)));
    address
}

/// A server that gives this answer to everything, on a thread of its own.
async fn bare(answer: Bytes) -> SocketAddr {
    let (told, address) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let _ = told.send(listener.local_addr().expect("an address"));
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let _ = stream.set_nodelay(true);
                let answer = answer.clone();
                let respond = service_fn(move |request: Request<Incoming>| {
                    let answer = answer.clone();
                    async move {
                        let _ = request.into_body().collect().await;
                        let response = Response::builder().header("content-type", "application/json");
                        Ok::<_, Infallible>(response.body(Full::new(answer)).expect("a response"))
                    }
                });
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), respond));
            }
        });
    });
    address.await.expect("it starts")
}

async fn connect(address: SocketAddr) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection);
    sender
}

/// Has `(+ 1 2)` evaluated, and gives the body of the answer.
async fn ask(client: &mut SendRequest<Full<Bytes>>) -> Bytes {
    const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lisp_eval","arguments":{"program":"(+ 1 2)"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let request = Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "lisp_eval")
        .body(Full::new(Bytes::from_static(BODY.as_bytes())))
        .expect("a request");
    client.ready().await.expect("an open connection");
    let response = client.send_request(request).await.expect("an answer");
    assert!(response.status().is_success());
    response.into_body().collect().await.expect("a body").to_bytes()
}

criterion_group!(benches, overhead, host, http);
criterion_main!(benches);
