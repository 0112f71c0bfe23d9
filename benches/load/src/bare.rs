//! The least that answers: what HTTP and JSON cost without a server behind them.

use std::convert::Infallible;
use std::io::{BufRead, Write};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Answers every request with the bytes of `ANSWER`, having read its body.
pub(crate) async fn http(port: u16) {
    let answer = Bytes::from(std::env::var("ANSWER").expect("what to answer"));
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        let answer = answer.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answer.clone();
            async move {
                // A client that leaves gets nothing.
                let _ = request.into_body().collect().await;
                let response =
                    Response::builder().header("content-type", "application/json").body(Full::new(answer));
                Ok::<_, Infallible>(response.expect("an answer"))
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// Reads each line as JSON and answers the bytes that `ptc` would, under its id.
pub(crate) fn pipes() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line).is_ok_and(|count| count > 0) {
        let request: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let id = &request["id"];
        let answer = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"isError\":false,\"content\":[{{\"type\":\"text\",\"text\":\"user=> 3\"}}],\"_meta\":{{\"eval_id\":\"ev_00000001\"}}}}}}\n"
        );
        if output.write_all(answer.as_bytes()).and_then(|()| output.flush()).is_err() {
            return;
        }
        line.clear();
    }
}
