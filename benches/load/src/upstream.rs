//! An upstream for programs to call: the bare server with just enough of MCP. One tool answers a record of about 1 KiB, another one as many
//! rows as it is asked for.

use std::convert::Infallible;
use std::sync::LazyLock;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::replies::Made;

/// Large replies that have been asked for before.
static MADE: LazyLock<Made> = LazyLock::new(Made::default);

/// Serves `get`, which answers the record of the id given, and `rows`.
pub(crate) async fn http(port: u16) {
    let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // A client that leaves gets nothing.
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 60_000,
            "cacheScope": "public", "capabilities": {"tools": {}}})
        }
        "tools/list" => json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public", "tools": [{
            "name": "get", "description": "The record of an id",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}, {
            "name": "rows", "description": "So many orders",
            "inputSchema": {"type": "object", "properties": {
                "rows": {"type": "integer"}, "wide": {"type": "boolean"}, "structured": {"type": "boolean"}}, "required": ["rows"]}}]}),
        "tools/call" if message["params"]["name"] == "rows" => {
            let result = MADE.get(&message["params"]["arguments"]);
            let head = format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, message["id"]);
            return Ok(send(StatusCode::OK, [head.as_bytes(), &result, b"}"].concat()));
        }
        "tools/call" => {
            let id = message["params"]["arguments"]["id"].as_u64().unwrap_or_default();
            let record = json!({"id": id, "total": id * 7, "note": "x".repeat(1000)});
            json!({"resultType": "complete", "isError": false,
                "content": [{"type": "text", "text": record.to_string()}]})
        }
        _ => {
            let error = json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32601, "message": "Method not found"}});
            return Ok(respond(StatusCode::NOT_FOUND, &error));
        }
    };
    Ok(respond(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result})))
}

fn respond(status: StatusCode, message: &Value) -> Response<Full<Bytes>> {
    send(status, message.to_string().into())
}

fn send(status: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Full::new(body.into())).expect("an answer")
}
