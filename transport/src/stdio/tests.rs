//! Conversations over in-memory pipes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_mcp::json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use ptc_protocol::testing::{Strings, mock_service};

struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: Option<WriteHalf<DuplexStream>>,
    server: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    strings: Strings,
}

impl Client {
    fn start(max_concurrent_calls: usize) -> Client {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (service, strings) = mock_service(max_concurrent_calls);
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            let options = StdioOptions { max_frame_bytes: 4096 };
            let stop = async {
                if stopped.await.is_err() {
                    std::future::pending().await
                }
            };
            run_stdio(Arc::new(service), options, reader, writer, stop).await;
        });
        let (reader, writer) = tokio::io::split(near);
        Client { reader: BufReader::new(reader), writer: Some(writer), server, stop: Some(stop), strings }
    }

    async fn send(&mut self, line: impl ToString) {
        let line = line.to_string() + "\n";
        self.writer.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    async fn ask(&mut self, line: impl ToString) -> Value {
        self.send(line).await;
        self.receive().await.unwrap()
    }

    async fn initialize(&mut self, revision: &str) {
        let reply = self
            .ask(json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":revision}}))
            .await;
        assert_eq!(reply["result"]["protocolVersion"], revision);
    }

    /// Closes the client's end and expects the server to end without further output.
    async fn close(mut self) {
        self.writer = None;
        drop(self.reader);
        self.server.await.unwrap();
    }
}

fn call(id: impl Into<Value>, arguments: Value) -> Value {
    json!({"jsonrpc":"2.0","id":id.into(),"method":"tools/call",
           "params":{"name":"mock_tool","arguments":arguments}})
}

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc":"2.0","id":id,"method":method})
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                             "io.modelcontextprotocol/clientCapabilities":{}});
    json!({"jsonrpc":"2.0","id":id,"method":method,"params":params})
}

#[tokio::test]
async fn a_handshake_and_a_call() {
    let mut client = Client::start(4);
    client.initialize("2025-06-18").await;
    client.send(json!({"jsonrpc":"2.0","method":"notifications/initialized"})).await;
    assert_eq!(client.ask(request(1, "ping")).await, json!({"jsonrpc":"2.0","id":1,"result":{}}));
    let listed = client.ask(request(2, "tools/list")).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "mock_tool");
    assert_eq!(listed["result"].as_object().unwrap().len(), 1);
    assert_eq!(
        client.ask(call("x", json!({"say":"grüße\n"}))).await,
        json!({"jsonrpc":"2.0","id":"x","result":{"isError":false,"content":[{"type":"text","text":"grüße\n"}]}})
    );
    client.close().await;
}

#[tokio::test]
async fn what_is_no_request_is_refused_with_the_right_code() {
    let mut client = Client::start(4);
    client.initialize("2025-11-25").await;
    let invalid = json!({"code":-32600,"message":"Invalid Request"});
    for (line, id, error) in [
        ("{bad json", None, json!({"code":-32700,"message":"Parse error"})),
        ("{\"a\":\"\\ud800\"}", None, json!({"code":-32700,"message":"Parse error"})),
        ("42", None, invalid.clone()),
        ("[]", None, invalid.clone()),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, None, invalid.clone()),
        (r#"{"id":1,"method":"ping"}"#, Some(1), invalid.clone()),
        (r#"{"jsonrpc":"1.0","id":2,"method":"ping"}"#, Some(2), invalid.clone()),
        (r#"{"jsonrpc":"2.0","id":3}"#, Some(3), invalid.clone()),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None, invalid.clone()),
        (r#"{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}"#, None, invalid.clone()),
        (r#"{"jsonrpc":"2.0","id":4,"method":"notifications/initialized"}"#, Some(4), invalid.clone()),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":5}"#,
            Some(5),
            json!({"code":-32601,"message":"Method not found"}),
        ),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"foo"}"#,
            Some(6),
            json!({"code":-32601,"message":"Method not found"}),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
            Some(7),
            json!({"code":-32602,"message":"Invalid params"}),
        ),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"x"}}"#,
            Some(8),
            json!({"code":-32602,"message":"Invalid params: unknown cursor"}),
        ),
    ] {
        let mut expected = json!({"jsonrpc":"2.0","error":error});
        if let Some(id) = id {
            expected["id"] = json!(id);
        }
        assert_eq!(client.ask(line).await, expected, "{line}");
    }
    // None of these is answered; the ping behind them is.
    for line in
        ["", "  \r", r#"{"jsonrpc":"2.0","method":"nope"}"#, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#]
    {
        client.send(line).await;
    }
    client
        .send(json!({"jsonrpc":"2.0","method":"tools/call","params":{"name":"mock_tool","arguments":{}}}))
        .await;
    assert_eq!(client.ask(request(10, "ping")).await["id"], 10);
    client.close().await;
}

#[tokio::test]
async fn before_the_handshake_an_unknown_id_is_null() {
    let mut client = Client::start(4);
    let reply = client.ask("{").await;
    assert!(reply.as_object().unwrap().contains_key("id") && reply["id"].is_null());
    assert_eq!(client.ask(call(1, json!({"say":"early"}))).await["result"]["content"][0]["text"], "early");
    client.close().await;
}

#[tokio::test]
async fn a_frame_too_long_does_not_take_the_next_one_with_it() {
    let mut client = Client::start(4);
    client.send("é".repeat(4000)).await;
    assert_eq!(client.ask(request(1, "ping")).await["error"]["code"], -32700);
    assert_eq!(client.receive().await.unwrap()["id"], 1);
    client.close().await;
}

#[tokio::test]
async fn a_frame_too_long_is_answered_with_its_id_wherever_that_stands() {
    let mut client = Client::start(4);
    let long = "x".repeat(9000);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":"a","method":"ping","params":{{"x":"{long}"}}}}"#),
        format!(r#"{{"method":"ping","params":{{"x":"{long}"}},"jsonrpc":"2.0","id":"a"}}"#),
        format!(r#"{{"params":{{"id":"b","x":"{long}"}},"id":"a","y":"{long}"}}"#),
    ] {
        client.send(line).await;
        let answer = client.receive().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32600)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().ends_with("(--max-frame-bytes)"), "{answer}");
    }
    client.close().await;
}

#[tokio::test]
async fn answers_overtake_each_other_and_ids_keep_them_apart() {
    let mut client = Client::start(2);
    client.send(call("slow", json!({"wait":true,"say":"s"}))).await;
    assert_eq!(client.ask(call("fast", json!({"say":"f"}))).await["id"], "fast");
    let duplicate = client.ask(call("slow", json!({"say":"again"}))).await;
    assert_eq!(
        duplicate["error"],
        json!({"code":-32600,"message":"Invalid Request: id \"slow\" is already in flight"})
    );
    client.send(call("second", json!({"wait":true}))).await;
    let busy = client.ask(call("third", json!({"say":"t"}))).await;
    assert_eq!(busy["result"]["structuredContent"]["message"], "server busy: 2 concurrent calls in flight");
    assert_eq!(client.ask(call("sync", json!({"now":"n"}))).await["result"]["content"][0]["text"], "n");
    client.strings.release.add_permits(2);
    let mut ended =
        [client.receive().await.unwrap(), client.receive().await.unwrap()].map(|reply| reply["id"].clone());
    ended.sort_by_key(Value::to_string);
    assert_eq!(ended, [json!("second"), json!("slow")]);
    client.close().await;
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_not_answered() {
    let mut client = Client::start(1);
    client.send(call("c", json!({"wait":true}))).await;
    let cancel =
        |id: Value| json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":id}});
    for other in [json!("z"), json!(1), Value::Null] {
        client.send(cancel(other)).await;
    }
    client.send(json!({"jsonrpc":"2.0","method":"notifications/cancelled"})).await;
    client.send(cancel(json!("c"))).await;
    client.strings.dropped.acquire().await.unwrap().forget();
    assert_eq!(client.ask(call("c", json!({"say":"next"}))).await["result"]["content"][0]["text"], "next");
    client.close().await;
}

#[tokio::test]
async fn a_tool_that_panics_costs_only_its_own_call() {
    let mut client = Client::start(1);
    let reply = client.ask(call(1, json!({"panic":true}))).await;
    assert_eq!(reply["error"], json!({"code":-32603,"message":"Internal error"}));
    assert_eq!(client.ask(call(2, json!({"say":"on"}))).await["result"]["content"][0]["text"], "on");
    client.close().await;
}

#[tokio::test]
async fn shutdown_refuses_new_calls_and_lets_old_ones_finish() {
    let mut client = Client::start(4);
    client.send(call(1, json!({"wait":true,"say":"old"}))).await;
    assert_eq!(client.ask(request(2, "shutdown")).await, json!({"jsonrpc":"2.0","id":2,"result":null}));
    let refused = client.ask(call(3, json!({"say":"new"}))).await;
    assert_eq!(refused["result"]["structuredContent"]["reason"], "shutting_down");
    assert_eq!(client.ask(request(4, "ping")).await["result"], json!({}));
    client.strings.release.add_permits(1);
    assert_eq!(client.receive().await.unwrap()["id"], 1);
    client.close().await;
}

#[tokio::test]
async fn exit_answers_what_runs_and_reads_no_further() {
    let mut client = Client::start(4);
    client.send(call(1, json!({"wait":true,"say":"done"}))).await;
    client
        .send("{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}")
        .await;
    client.strings.release.add_permits(1);
    assert_eq!(client.receive().await.unwrap()["id"], 1);
    assert_eq!(client.receive().await, None);
    client.server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_does_not_finish_after_exit_is_dropped_unanswered() {
    let mut client = Client::start(4);
    client.send(call(1, json!({"wait":true}))).await;
    client.send(request(2, "exit")).await;
    assert_eq!(client.receive().await, None);
    assert_eq!(client.strings.dropped.available_permits(), 1);
    client.server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_ends_running_calls_unanswered() {
    let mut client = Client::start(4);
    client.send(call(1, json!({"wait":true}))).await;
    client.send(call(2, json!({"say":"computed"}))).await;
    client.writer.as_mut().unwrap().shutdown().await.unwrap();
    assert_eq!(client.receive().await.unwrap()["id"], 2);
    assert_eq!(client.receive().await, None);
    assert_eq!(client.strings.dropped.available_permits(), 1);
    client.server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_signal_drains() {
    let mut client = Client::start(4);
    client.send(call(1, json!({"wait":true,"say":"last"}))).await;
    assert_eq!(client.ask(request(2, "ping")).await["id"], 2);
    client.stop.take().unwrap().send(()).unwrap();
    client.strings.release.add_permits(1);
    assert_eq!(client.receive().await.unwrap()["id"], 1);
    assert_eq!(client.receive().await, None);
}

#[tokio::test]
async fn batches_where_the_revision_has_them() {
    let mut client = Client::start(4);
    client.initialize("2025-03-26").await;
    let batch = json!([
        request(1, "ping"),
        {"jsonrpc":"2.0","method":"notifications/initialized"},
        call(2, json!({"say":"two"})),
        7,
        request(3, "initialize"),
    ]);
    let replies = client.ask(batch).await;
    let replies = replies.as_array().unwrap();
    assert_eq!(replies.len(), 4);
    assert_eq!(replies[0], json!({"jsonrpc":"2.0","id":1,"result":{}}));
    assert_eq!(
        replies[1],
        json!({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}})
    );
    assert_eq!(replies[2]["id"], 3);
    assert_eq!(replies[3]["result"]["content"][0]["text"], "two");
    // Only notifications: no answer at all.
    client.send(json!([{"jsonrpc":"2.0","method":"notifications/initialized"}])).await;
    assert_eq!(client.ask(json!(vec![request(1, "ping"); 65])).await["error"]["code"], -32600);
    client.close().await;
}

#[tokio::test]
async fn both_eras_on_one_pipe() {
    let mut client = Client::start(4);
    let found = client.ask(modern(1, "server/discover", json!({}))).await;
    let result = &found["result"];
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(60000), &json!("private")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ptc_lisp");
    let called =
        client.ask(modern(2, "tools/call", json!({"name":"mock_tool","arguments":{"say":"m"}}))).await;
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(called["result"]["content"][0]["text"], "m");
    let unknown = client.ask(modern(3, "tools/call", json!({"name":"nope"}))).await;
    assert_eq!(unknown["error"], json!({"code":-32602,"message":"Unknown tool: nope"}));
    for gone in ["initialize", "ping", "shutdown", "exit", "logging/setLevel"] {
        assert_eq!(client.ask(modern(4, gone, json!({}))).await["error"]["code"], -32601, "{gone}");
    }
    let mut newer = modern(5, "tools/list", json!({}));
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    assert_eq!(
        client.ask(newer).await["error"],
        json!({"code":-32022,"message":"Unsupported protocol version",
               "data":{"supported":["2026-07-28"],"requested":"2099-01-01"}})
    );
    let mut bare = modern(6, "tools/list", json!({}));
    bare["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(client.ask(bare).await["error"]["code"], -32602);
    assert!(!client.ask("{").await.as_object().unwrap().contains_key("id"));
    client.initialize("2024-11-05").await;
    let unknown =
        client.ask(json!({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}})).await;
    assert_eq!(unknown["result"]["isError"], true);
    assert_eq!(
        unknown["result"]["content"][0]["text"]
            .as_str()
            .map(|text| serde_json::from_str::<Value>(text).unwrap()),
        Some(unknown["result"]["structuredContent"].clone())
    );
    client.close().await;
}

#[tokio::test]
async fn what_was_negotiated_on_a_pipe_counts_whatever_a_message_says() {
    let mut client = Client::start(4);
    let newest = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let mut opening = request(1, "initialize");
    opening["params"] = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "_meta": newest});
    assert_eq!(client.ask(opening).await["result"]["protocolVersion"], "2025-11-25");
    let mut claims = call(2, json!({"say": "hi"}));
    claims["params"]["_meta"] = newest.clone();
    for message in [claims, modern(2, "tools/call", json!({"name": "mock_tool", "arguments": {"say": "hi"}}))]
    {
        let result = client.ask(message).await["result"].clone();
        assert_eq!(
            (&result["content"][0]["text"], result.get("resultType")),
            (&json!("hi"), None),
            "{result}"
        );
    }
    let mut ping = request(3, "ping");
    ping["params"] = json!({"_meta": newest});
    assert_eq!(client.ask(ping).await["result"], json!({}));
    client.close().await;
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_to_those_who_ask() {
    let mut client = Client::start(4);
    let mut asking = call(1, json!({"wait":true,"say":"end"}));
    asking["params"]["_meta"] = json!({"progressToken":"tok"});
    let first = client.ask(asking).await;
    assert_eq!(first["method"], "notifications/progress");
    assert_eq!(first["params"], json!({"progressToken":"tok","progress":1,"message":"running for 1 s"}));
    client.strings.release.add_permits(1);
    assert_eq!(client.receive().await.unwrap()["id"], 1);
    client.close().await;
}

#[tokio::test]
async fn a_channel_for_news_lasts_until_it_is_cancelled_or_the_server_goes() {
    let mut client = Client::start(4);
    let listen =
        |id: u64| modern(id, "subscriptions/listen", json!({"notifications":{"toolsListChanged":true}}));
    let acknowledged = |id: u64| {
        json!({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":
               {"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":id}}})
    };
    assert_eq!(client.ask(listen(1)).await, acknowledged(1));
    assert_eq!(client.ask(listen(2)).await, acknowledged(2));
    let again = client.ask(listen(2)).await;
    assert_eq!(again["error"]["message"], "Invalid Request: id 2 is already in flight");
    let bare = client.ask(modern(3, "subscriptions/listen", json!({}))).await;
    assert_eq!(bare["error"]["code"], -32602);
    client.send(json!({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})).await;
    // The channel is closed without a message: its id is free again.
    assert_eq!(client.ask(listen(1)).await, acknowledged(1));
    client.send(json!({"jsonrpc":"2.0","method":"exit"})).await;
    let mut ended = [client.receive().await.unwrap(), client.receive().await.unwrap()];
    ended.sort_by_key(|reply| reply["id"].as_u64());
    for (reply, id) in ended.iter().zip([1, 2]) {
        assert_eq!((&reply["id"], &reply["result"]["resultType"]), (&json!(id), &json!("complete")));
        assert_eq!(reply["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    }
    assert_eq!(client.receive().await, None);
}

#[tokio::test]
async fn a_level_of_log_messages_is_checked_although_none_are_sent() {
    let mut client = Client::start(4);
    for (level, fits) in
        [(json!("debug"), true), (json!("verbose"), false), (json!(1), false), (Value::Null, false)]
    {
        let mut request = modern(1, "tools/list", json!({}));
        request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = level.clone();
        let reply = client.ask(request).await;
        let code = (!fits).then_some(-32602);
        assert_eq!(reply["error"]["code"].as_i64(), code, "{level}");
    }
    client.close().await;
}

#[tokio::test]
async fn a_client_that_reads_late_is_answered_all_the_same() {
    let mut client = Client::start(4);
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"ping\"}}\n", "i".repeat(4000));
    let count = 3 * HIGH_WATER / line.len();
    let mut writer = client.writer.take().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let sending = tokio::spawn(async move {
        for _ in 0..count {
            writer.write_all(line.as_bytes()).await.unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
        }
        writer
    });
    // On this one thread, no progress means that the server has stopped reading.
    let mut seen = usize::MAX;
    while seen != sent.load(Ordering::Relaxed) {
        seen = sent.load(Ordering::Relaxed);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert!(seen < count);
    for _ in 0..count {
        assert!(client.receive().await.unwrap()["result"].is_object());
    }
    client.writer = Some(sending.await.unwrap());
    assert_eq!(client.ask(request(1, "ping")).await["id"], 1);
    client.close().await;
}
