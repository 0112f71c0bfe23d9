//! A scripted provider on a loopback socket.

use super::{EventSink, Image, LlmEvent, LlmRequest, Message, ToolCallMsg, ToolDef};
use proptest::prelude::*;
use ptc_base::json::{Value as Json, json};
use ptc_base::sync::Mutex;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The provider's reaction to one request.
#[derive(Clone)]
pub(super) enum Act {
    /// Sends these bytes and closes the connection.
    Say(String),
    /// Sends these bytes and keeps the connection open, silently.
    Hang(String),
    /// Sends the first bytes, then the second ones for ever.
    Flood(String, String),
    /// Resets the connection.
    Reset,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// Request line and headers.
    pub(super) head: String,
    /// The body.
    pub(super) body: Json,
}

/// A provider that serves one request a connection.
pub(super) struct Provider {
    /// Its base URL, without a version.
    pub(super) base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Provider {
    /// A provider that does these things, one for each request, and the last one for ever.
    pub(super) async fn start(script: impl IntoIterator<Item = Act>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let script: Vec<Act> = script.into_iter().collect();
        let task = tokio::spawn(async move {
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let act = script[number.min(script.len() - 1)].clone();
                tokio::spawn(serve(stream, act, log.clone()));
            }
        });
        Provider { base, seen, task }
    }

    /// The requests so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, act: Act, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok())
            .unwrap_or(0);
        bytes.drain(..end + 4);
        break (head, length);
    };
    while bytes.len() < length {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
    }
    seen.lock().push(Seen { head, body: serde_json::from_slice(&bytes).unwrap_or_default() });
    match act {
        Act::Say(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Act::Hang(text) => {
            let _ = stream.write_all(text.as_bytes()).await;
            std::future::pending::<()>().await;
        }
        Act::Flood(first, more) => {
            let _ = stream.write_all(first.as_bytes()).await;
            while stream.write_all(more.as_bytes()).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
        Act::Reset => {
            stream.set_zero_linger().unwrap();
            drop(stream);
        }
    }
}

/// An answer in one piece.
pub(super) fn answer(status_and_headers: &str, body: &str) -> Act {
    Act::Say(format!(
        "HTTP/1.1 {status_and_headers}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    ))
}

/// An answer of status 200 in one piece.
pub(super) fn ok(body: &Json) -> Act {
    answer("200 OK", &body.to_string())
}

/// The head of an event stream that ends with its connection.
pub(super) const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

/// The bytes of a stream of events; texts are sent as they are, other JSON as its text.
pub(super) fn events(events: &[Json]) -> String {
    let text = |event: &Json| event.as_str().map_or_else(|| event.to_string(), str::to_owned);
    STREAM.to_owned() + &events.iter().map(|event| format!("data: {}\n\n", text(event))).collect::<String>()
}

/// A sink that records events, and its record.
pub(super) fn notes() -> (EventSink, Arc<Mutex<Vec<String>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let log = notes.clone();
    let sink: EventSink = Arc::new(move |event| {
        log.lock().push(match event {
            LlmEvent::Text(text) => format!("text {text}"),
            LlmEvent::Reasoning(text) => format!("reasoning {text}"),
            LlmEvent::ToolCall { index, name } => format!("call {index} {name}"),
            LlmEvent::Arguments { index, text } => format!("arguments {index} {text}"),
        });
    });
    (sink, notes)
}

/// A request that uses everything there is.
pub(super) fn full_request() -> LlmRequest {
    let call = |id: &str, arguments: &str| ToolCallMsg {
        id: id.into(),
        name: "search".into(),
        arguments: arguments.into(),
    };
    let tool = |id: &str, content: &str| Message::tool(id, content);
    LlmRequest {
        system: "Be brief.".into(),
        messages: vec![
            Message::user("Find it"),
            Message::calls("", vec![call("c1", "{\"q\":\"a\"}"), call("c2", "{oops")]),
            tool("c1", "[1,2]"),
            tool("c2", "{\"error\":\"Invalid JSON arguments: x\"}"),
            Message::user("Go on"),
        ],
        tools: vec![ToolDef {
            name: "search".into(),
            description: "Searches".into(),
            parameters: json!({"type": "object", "properties": {"q": {"type": "string"}}}),
        }],
        max_tokens: Some(100),
        temperature: Some(0.7),
        ..LlmRequest::default()
    }
}

/// The PNG of [`with_images`].
pub(super) const PNG_BASE64: &str = "iVBORw0KGgouLi4u";

/// A conversation in which the user shows two images and a tool one.
pub(super) fn with_images() -> Vec<Message> {
    let png = Image::from_base64(PNG_BASE64).unwrap();
    let call = ToolCallMsg { id: "c1".into(), name: "look".into(), arguments: "{}".into() };
    vec![
        Message::User {
            content: "What is it?".into(),
            images: vec![Image::from_url("https://h/x.png").unwrap(), png.clone()],
        },
        Message::calls("", vec![call]),
        Message::Tool { tool_call_id: "c1".into(), content: "[image 1]".into(), images: vec![png] },
    ]
}

/// Building blocks for keys and texts of random answers: the words of both protocols.
const WORDS: [&str; 40] = [
    "choices",
    "message",
    "delta",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "index",
    "finish_reason",
    "stop",
    "length",
    "usage",
    "prompt_tokens",
    "error",
    "code",
    "type",
    "text",
    "tool_use",
    "input",
    "content_block",
    "content_block_start",
    "content_block_delta",
    "message_start",
    "message_delta",
    "text_delta",
    "input_json_delta",
    "partial_json",
    "stop_reason",
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
    "refusal",
    "429",
    "{\"a\":1}",
    "",
    "prompt_tokens_details",
    "cached_tokens",
];

/// Any JSON that looks like one of the protocols from afar, numbers at the edge included.
pub(super) fn any_answer() -> impl Strategy<Value = Json> {
    let word = || proptest::sample::select(&WORDS[..]);
    let number = prop_oneof![Just(json!(0)), Just(json!(1)), Just(json!(u64::MAX)), Just(json!(-1.5))];
    let leaf = prop_oneof![Just(Json::Null), Just(json!(true)), number, word().prop_map(Json::from)];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        let fields = proptest::collection::vec((word(), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Json::from),
            fields.prop_map(|all| Json::Object(all.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}
