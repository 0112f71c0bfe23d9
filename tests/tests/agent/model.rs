//! A provider on a loopback socket, in its own thread: gives scripted answers and keeps what it was asked.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Value,
}

/// A provider that answers one request a connection; asked more often than scripted, it repeats its last answer.
pub(crate) struct Provider {
    /// Its base URL.
    pub(crate) base: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Provider {
    /// A provider with these whole HTTP answers.
    pub(crate) fn start(answers: Vec<String>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let Ok(mut stream) = stream else { return };
                let Some(request) = read(&mut stream) else { continue };
                log.lock().unwrap().push(request);
                let answer = &answers[number.min(answers.len() - 1)];
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Provider { base, asked }
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap_or_default();
                return Some(Asked { head, body });
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// An answer of this status line (with headers) and body.
pub(crate) fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

/// A chat completion that is text.
pub(crate) fn says(text: &str) -> String {
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}});
    answer("200 OK\r\ncontent-type: application/json", &body.to_string())
}

/// A chat completion that is one tool call.
pub(crate) fn calls(name: &str, arguments: &Value) -> String {
    let call = json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
    let body = json!({"choices": [{"finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [call]}}]});
    answer("200 OK\r\ncontent-type: application/json", &body.to_string())
}
