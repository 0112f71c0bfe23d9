//! `lisp_task` from a client's call to its answer: a real upstream process, and a provider that speaks OpenAI's chat
//! completions over a real socket.

use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Value, json};
use ptc_server::protocol::LongText;
use ptc_test_support::in_process::{Pipe, assembly, fake_upstream, service, settings};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::spans::{Collector, PARENT};

/// Bodies of requests.
type Seen = Arc<Mutex<Vec<Value>>>;

/// A provider that answers every request with this program; gives its base URL and what it was asked.
async fn provider(program: &'static str) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}/v1", listener.local_addr().expect("bound"));
    let seen = Seen::default();
    let log = seen.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, program, log.clone()));
        }
    });
    (base, seen)
}

async fn answer(mut stream: TcpStream, program: &'static str, seen: Seen) -> std::io::Result<()> {
    let mut received = Vec::new();
    let body = loop {
        let mut piece = [0; 8192];
        let n = stream.read(&mut piece).await?;
        received.extend_from_slice(&piece[..n]);
        let text = String::from_utf8_lossy(&received);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str::<Value>(body)
        {
            assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
            break body;
        }
        assert!(n > 0, "the request ended early: {text}");
    };
    seen.lock().expect("no panic").push(body);
    let message = json!({"role": "assistant", "content": format!("```clojure\n{program}\n```")});
    let reply = json!({"id": "1", "object": "chat.completion", "created": 0, "model": "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
    .to_string();
    let length = reply.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{reply}").as_bytes()).await?;
    stream.shutdown().await
}

#[tokio::test]
async fn a_task_in_plain_language_is_planned_run_and_accounted_for() {
    let program = "(def r (tool/call {:server \"fake\" :tool \"echo\" :args {:n data/n}}))\n\
                   (if (:ok r) (return {:seen (:value r)}) (fail (:message r)))";
    let (base, seen) = provider(program).await;
    let model = format!("openai-compat:{base}|mock");
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let flags = ["--agentic", "--agentic-model", &model, "--debug-tool"];
    let (service, _engine) = service(&settings(&flags), Some(&upstream), &redactor);
    let listing: Vec<Value> =
        serde_json::from_slice(&service.tools.listing(LongText::Nowhere, None)).expect("JSON");
    assert_eq!(listing[1]["name"], "lisp_task");
    let described = listing[1]["description"].as_str().expect("text");
    assert!(described.contains(", bulk->:unknown_content, "), "{described}");

    let mut client = Pipe::open(service);
    let result = client.call(1, "lisp_task", json!({"task": "Echo n.", "context": {"n": 7}})).await;
    assert_eq!(result["isError"], false, "{result}");
    let body = &result["structuredContent"];
    assert_eq!(result["content"][0]["text"].as_str(), Some(body.to_string().as_str()), "mirrored");
    assert_eq!(body["structured_result"], json!({"seen": {"n": 7}}));
    assert_eq!(body["answer"], "{\"seen\":{\"n\":7}}");
    let call = &body["upstream_calls"][0];
    assert_eq!(
        (&call["tool"], &call["status"], &call["effect"]),
        (&json!("echo"), &json!("ok"), &json!("unknown"))
    );
    assert_eq!(body["planner"]["tokens"], json!({"input": 100, "output": 20}));
    assert_eq!(body["ptc_metrics"]["server_side_llm"]["total_tokens"], 120);
    assert!(body["ptc_metrics"]["upstream_result_bytes"].as_u64().expect("bytes") > 0);

    let asked = seen.lock().expect("no panic").clone();
    assert_eq!(asked.len(), 1);
    assert_eq!((&asked[0]["model"], &asked[0]["messages"][0]["role"]), (&json!("mock"), &json!("system")));
    assert!(asked[0]["messages"][1]["content"].as_str().expect("text").contains("Task:\nEcho n.\n"));

    let refused = client.call(2, "lisp_task", json!({"task": ""})).await;
    assert_eq!(refused["structuredContent"]["message"], "argument `task` must be a non-empty string");
    // Observers know of both.
    let stats = client.debug(json!({"op": "recent"})).await;
    let text = stats.to_string();
    assert_eq!(text.matches("lisp_task").count(), 2, "{text}");
    upstream.shutdown().await;
}

#[tokio::test]
async fn a_task_its_programs_and_their_calls_are_one_trace() {
    let program = "(return (:value (tool/call {:server \"fake\" :tool \"echo\" :args {:n 7}})))";
    let (base, _) = provider(program).await;
    let (model, collector) = (format!("openai-compat:{base}|mock"), Collector::start());
    let flags = ["--agentic", "--agentic-model", &model, "--otlp-endpoint", &collector.url];
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let (server, _engine) = assembly(&settings(&flags), Some(&upstream), &redactor);
    let mut client = Pipe::open(server.service);
    let params =
        json!({"name": "lisp_task", "arguments": {"task": "Echo 7."}, "_meta": {"traceparent": PARENT}});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    let answer = client.line().await;
    assert!(answer.contains("\"isError\":false"), "{answer}");
    server.telemetry.close(std::time::Duration::from_secs(10));
    let below = |name: &str, parent: Option<&str>| (name.to_owned(), parent.map(str::to_owned));
    assert_eq!(
        collector.tree(),
        [
            below("compile", Some("run")),
            below("run", Some("tools/call lisp_task")),
            below("tools/call echo", Some("run")),
            below("tools/call lisp_task", None),
        ]
    );
    upstream.shutdown().await;
}

#[tokio::test]
async fn the_trace_of_a_task_is_the_one_that_its_answer_names() {
    for (payloads, prompts) in [("full", true), ("summary", false)] {
        let (base, _) = provider("(return 5)").await;
        let model = format!("openai-compat:{base}|mock");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("UTF-8");
        let flags = ["--agentic", "--agentic-model", &model, "--agentic-trace-prompts", "--trace-dir", path];
        let flags: Vec<&str> = flags.into_iter().chain(["--trace-payloads", payloads]).collect();
        let redactor = Redactor::new();
        let upstream = fake_upstream(&redactor).await;
        let (server, _engine) = assembly(&settings(&flags), Some(&upstream), &redactor);
        let mut client = Pipe::open(server.service);
        let result = client.call(1, "lisp_task", json!({"task": "Count to five."})).await;
        let trace_id = result["structuredContent"]["trace_id"].as_str().expect("an id").to_owned();
        server.telemetry.flush(std::time::Duration::from_secs(10));
        let file = std::fs::read_dir(path).expect("the folder").next().expect("a trace").expect("a file");
        let text = std::fs::read_to_string(file.path()).expect("readable");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(lines.iter().all(|line| line["trace_id"] == trace_id.as_str()), "{text}");
        let asked =
            lines.iter().find(|line| line["event"] == "ptc_lisp.agentic_planner.start").expect("asked");
        assert_eq!(asked["metadata"]["tool_name"], "lisp_task");
        assert_eq!(asked["data"]["messages"][1]["content"].is_string(), prompts, "{asked}");
        assert_eq!(lines.last().expect("lines")["event"], "trace.stop");
        upstream.shutdown().await;
    }
}

#[tokio::test]
async fn without_a_key_everything_but_tasks_works() {
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let (service, _engine) = service(&settings(&["--agentic"]), Some(&upstream), &redactor);
    let mut client = Pipe::open(service);
    let result = client.call(1, "lisp_task", json!({"task": "Echo n."})).await;
    let body = &result["structuredContent"];
    assert_eq!(
        (&body["reason"], &body["message"]),
        (
            &json!("agentic_config_error"),
            &json!("OPENROUTER_API_KEY is required for OpenRouter planner models")
        )
    );
    assert_eq!(client.eval(2, "(+ 1 2)").await["content"][0]["text"], "user=> 3");
    upstream.shutdown().await;
}
