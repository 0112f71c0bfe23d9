//! 1 842 rows that never reach the model: a native call seeds the cache, the model sees the shape of the result, and a
//! program counts the rows that the first call fetched.
//!
//! `cargo run --release --example log_support`
//!
//! The model is a small server in this file that speaks OpenAI's chat completions over real HTTP and decides by the requests it
//! receives, so every byte that a provider would see is counted.

use ptc_agent::agent::{Agent, Output, Transport};
use ptc_agent::json::{Value as Json, json};
use ptc_agent::llm::OpenAi;
use ptc_agent::run::RunOptions;
use ptc_agent::signature::Signature;
use ptc_agent::telemetry::{Event, Scope};
use ptc_agent::tool::{Expose, JsonMap, NativeResult, ToolSpec};
use std::error::Error;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The outcome.
pub(crate) struct Report {
    /// The transcript, for people.
    pub(crate) text: String,
    /// The answer.
    pub(crate) answer: String,
    /// How often the tool ran.
    pub(crate) runs: usize,
    /// Bytes of the rows as JSON.
    pub(crate) row_bytes: usize,
    /// Bytes of all requests to the model together.
    pub(crate) sent_bytes: usize,
    /// How many there were.
    pub(crate) requests: usize,
    /// Rows of which some text was in a request.
    pub(crate) crossed: usize,
}

/// The log: 1 842 lines about code 42.
fn rows() -> Vec<Json> {
    let row = |n: usize| {
        json!({"id": 70_000 + n, "timestamp": format!("2026-05-04T09:{:02}:{:02}Z", n / 60 % 60, n % 60),
            "message": format!("payment worker {} gave up with error code 42 after {} tries", n % 17, n % 5 + 1)})
    };
    (0..1842).map(row).collect()
}

/// Runs the conversation.
pub(crate) async fn run() -> Result<Report, Box<dyn Error>> {
    let (base, requests) = serve().await?;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let search = ToolSpec::new(move |_: JsonMap| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok::<Json, String>(rows().into()) }
    })
    .signature(Signature::parse("(query :string) -> [:any]")?)
    .description("Search log events.")
    .expose(Expose::Both)
    .cache(true)
    .native_result(NativeResult::Metadata);

    let agent = Agent::builder("How many errors with code 42 last hour?")
        .name("support")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .tool("search_logs", search)
        .max_turns(6)
        .build()?;

    let events = Arc::new(Mutex::new(String::new()));
    let told = events.clone();
    let observer = move |_: &Scope, event: &Event<'_>| {
        if let (Event::ToolCall(call), Ok(mut told)) = (event, told.lock()) {
            let _ = writeln!(
                told,
                "  {:<12} {:<8} cached={:<5} retained={} bytes",
                call.tool_name, call.exposure_layer, call.cached, call.retained_bytes
            );
        }
    };
    let model = Arc::new(OpenAi::new(&base, "mock", None)?);
    let options = RunOptions { observer: Some(Arc::new(observer)), ..RunOptions::new(model) };
    let step = agent.run(options).await?;

    let answer = step.value.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned();
    let requests = requests.lock().map_err(|_| "the mock panicked")?.clone();
    let row_bytes = json!(rows()).to_string().len();
    let sent_bytes = requests.iter().map(String::len).sum();
    let crossed = rows()
        .iter()
        .filter(|row| {
            let (id, message) = (row["id"].to_string(), row["message"].as_str().unwrap_or_default());
            requests.iter().any(|sent| sent.contains(&id) || sent.contains(message))
        })
        .count();
    let mut text = String::new();
    for (at, call) in step.tool_calls.iter().enumerate() {
        let _ = writeln!(text, "ASSISTANT call_{} {} {}", at + 1, call.name, call.args);
        let _ = writeln!(text, "TOOL      {}\n", call.result);
    }
    let _ = writeln!(text, "ASSISTANT {answer}\n\nTool calls:\n{}", events.lock().map_err(|_| "poisoned")?);
    let (runs, requests) = (runs.load(Ordering::Relaxed), requests.len());
    Ok(Report { text, answer, runs, row_bytes, sent_bytes, requests, crossed })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let report = run().await?;
    println!("{}", report.text);
    println!("search_logs ran           {} time(s)", report.runs);
    println!("rows as JSON              {} bytes", report.row_bytes);
    println!("sent to the model         {} bytes in {} requests", report.sent_bytes, report.requests);
    println!("rows that reached it      {} of {}", report.crossed, rows().len());
    println!("answer                    {}", report.answer);
    Ok(())
}

/// Bodies of requests.
type Requests = Arc<Mutex<Vec<String>>>;

/// Starts the mock; returns its address and the requests it receives.
async fn serve() -> Result<(String, Requests), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}/v1", listener.local_addr()?);
    let requests = Requests::default();
    let log = requests.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, log.clone()));
        }
    });
    Ok((base, requests))
}

/// Answers one request and closes the connection.
async fn answer(mut stream: TcpStream, log: Requests) -> std::io::Result<()> {
    let mut received = Vec::new();
    let body = loop {
        let mut piece = [0; 8192];
        let n = stream.read(&mut piece).await?;
        received.extend_from_slice(&piece[..n]);
        let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else {
            if n == 0 {
                return Ok(());
            }
            continue;
        };
        let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
        if received.len() >= end + 4 + length || n == 0 {
            break String::from_utf8_lossy(&received[end + 4..]).into_owned();
        }
    };
    let message = think(&serde_json::from_str(&body).unwrap_or_default());
    if let Ok(mut log) = log.lock() {
        log.push(body);
    }
    let reply = json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}

/// The mock's answer to a conversation: search first, then follow the preview's hint with a program, then report the number
/// that the program found.
fn think(request: &Json) -> Json {
    let call = |id: &str, name: &str, arguments: Json| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}}]})
    };
    let last =
        request["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    if last["role"] != "tool" {
        return call("call_1", "search_logs", json!({"query": "error code 42"}));
    }
    let result: Json = serde_json::from_str(last["content"].as_str().unwrap_or_default()).unwrap_or_default();
    if result["full_result_cached"] == true {
        let hint = result["cache_hint"].as_str().unwrap_or_default();
        let form = hint.split_once("then call ").and_then(|(_, rest)| rest.split_once(" to process"));
        let form = form.map(|(form, _)| form).unwrap_or_default();
        return call(
            "call_2",
            "lisp_eval",
            json!({"program": format!("(def rows {form})\n(return {{:total (count rows)}})")}),
        );
    }
    let display = result["result"].as_str().unwrap_or_default();
    let total: String = display.chars().filter(char::is_ascii_digit).collect();
    json!({"role": "assistant", "content": format!("There were {total} errors with code 42 in the queried window.")})
}
