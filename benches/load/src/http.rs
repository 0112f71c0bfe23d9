//! Load over HTTP: each connection sends its next request when it has the answer to the last one.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::process::{Server, cpu_seconds, peak_mib};
use crate::{PROGRAM, Round, percentiles};

/// Time for caches and connections to warm up.
const WARM_UP: Duration = Duration::from_millis(500);

/// Counts what a server answers within `time` to so many connections.
pub(crate) async fn round(server: &Server, connections: usize, time: Duration) -> Round {
    let begin = Instant::now() + WARM_UP;
    let end = begin + time;
    let workers: Vec<_> = (0..connections).map(|_| tokio::spawn(worker(server.port, begin, end))).collect();
    tokio::time::sleep_until(begin.into()).await;
    let before = cpu_seconds(server.id());
    tokio::time::sleep_until(end.into()).await;
    let cpu = cpu_seconds(server.id()) - before;
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await.expect("a worker that ends"));
    }
    let count = latencies.len() as f64;
    Round {
        requests_per_second: count / time.as_secs_f64(),
        latency: percentiles(latencies),
        cpu: cpu / count * 10_000.0,
        memory: peak_mib(server.id()),
    }
}

/// What the server answers to the request, as text.
pub(crate) async fn one_answer(server: &Server) -> String {
    let mut sender = connect(server.port).await;
    String::from_utf8(ask(&mut sender).await.to_vec()).expect("UTF-8")
}

async fn worker(port: u16, begin: Instant, end: Instant) -> Vec<u32> {
    let mut sender = connect(port).await;
    let mut latencies = Vec::new();
    loop {
        let sent = Instant::now();
        if sent >= end {
            return latencies;
        }
        let answer = ask(&mut sender).await;
        assert!(answer.windows(9).any(|part| part == b"user=> 3\""), "{answer:?}");
        if sent >= begin {
            latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
    }
}

async fn connect(port: u16) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("HTTP");
    tokio::spawn(connection);
    sender
}

async fn ask(sender: &mut SendRequest<Full<Bytes>>) -> Bytes {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"lisp_eval","arguments":{{"program":"{PROGRAM}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let request = Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "lisp_eval")
        .body(Full::new(Bytes::from(body)))
        .expect("a request");
    sender.ready().await.expect("an open connection");
    let response = sender.send_request(request).await.expect("an answer");
    assert_eq!(response.status(), 200);
    response.into_body().collect().await.expect("a body").to_bytes()
}
