//! The session tools of a server that `PTC_TEST_SERVER` names, such as two replicas (`tests/replicated`): each caller has a
//! token and a conversation of its own, and each call a connection.

use ptc_host::sync::Mutex;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ptc_mcp::json::{Value, json};

use super::tests::SECRET;
use ptc_host::time;
use ptc_protocol::settings::{Profile, Sessions};

/// The time limit of any step of a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, which is stopped with this value.
pub(super) struct OverHttp {
    child: Child,
    port: u16,
    /// The conversations by caller.
    conversations: Mutex<HashMap<String, String>>,
    _folder: tempfile::TempDir,
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token(by: &str) -> String {
    format!("{by:->40}")
}

/// The flags for these settings.
fn flags(settings: &Sessions) -> Vec<String> {
    let numbers = [
        ("max-sessions", settings.max.to_string()),
        ("max-sessions-per-owner", settings.max_per_owner.to_string()),
        ("session-ttl-ms", settings.ttl.as_millis().to_string()),
        ("session-idle-timeout-ms", settings.idle.as_millis().to_string()),
        ("max-session-memory-bytes", settings.memory_bytes.to_string()),
        ("max-session-binding-bytes", settings.binding_bytes.to_string()),
        ("max-session-bindings", settings.bindings.to_string()),
        ("max-session-history-entry-bytes", settings.history_entry_bytes.to_string()),
        ("max-session-print-entries", settings.print_entries.to_string()),
        ("max-session-print-bytes", settings.print_bytes.to_string()),
        ("max-session-source-bytes", settings.source_bytes.to_string()),
        ("max-session-tool-call-entries", settings.tool_call_entries.to_string()),
        ("max-session-tool-call-bytes", settings.tool_call_bytes.to_string()),
        ("max-session-upstream-call-entries", settings.upstream_call_entries.to_string()),
        ("max-session-upstream-call-bytes", settings.upstream_call_bytes.to_string()),
        ("max-program-bytes", 2000.to_string()),
        ("max-context-bytes", 200.to_string()),
        ("max-result-bytes", 16_384.to_string()),
        ("program-timeout-ms", 600_000.to_string()),
    ];
    numbers.into_iter().flat_map(|(name, number)| [format!("--{name}"), number]).collect()
}

impl OverHttp {
    /// A server with these settings; `None` if no program is named for it.
    pub(super) fn start(profile: Profile, settings: &Sessions) -> Option<OverHttp> {
        let program = std::env::var_os("PTC_TEST_SERVER")?;
        let folder = tempfile::tempdir().expect("a folder");
        let tokens = folder.path().join("tokens");
        let lines = format!("me:{}\nyou:{}\nnobody:{SECRET}\n", token("me"), token("you"));
        std::fs::write(&tokens, lines).expect("written");
        let profile = match profile {
            Profile::Slim => "slim",
            Profile::Structured => "structured",
            Profile::Debug => "debug",
        };
        // Another process may take a free port before it is bound: then the next one is tried.
        for _ in 0..10 {
            let port =
                TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
            let child = Command::new(&program)
                .args([
                    "start",
                    "--http",
                    "--http-port",
                    &port.to_string(),
                    "--sessions",
                    "--log-level",
                    "error",
                ])
                .args(["--response-profile", profile])
                .args(flags(settings))
                .arg("--http-auth-token-file")
                .arg(&tokens)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .expect("it starts");
            let conversations = Mutex::default();
            let mut server =
                OverHttp { child, port, conversations, _folder: tempfile::tempdir().expect("a folder") };
            while server.child.try_wait().expect("it ran").is_none() {
                if server.exchange("GET", "/health", "", "").is_ok_and(|(status, ..)| status == 200) {
                    server._folder = folder;
                    return Some(server);
                }
                time::block(Duration::from_millis(5));
            }
        }
        panic!("no server could be started");
    }

    /// Sends one request and returns the status, the head and the body of its answer.
    fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> std::io::Result<(u16, String, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let broken = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        Ok((status, head.to_owned(), body.to_owned()))
    }

    fn send(&self, by: &str, session: Option<&str>, method: &str, message: &Value) -> (String, String) {
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let headers = format!("Authorization: Bearer {}\r\n{session}", token(by));
        let body = if message.is_null() { String::new() } else { message.to_string() };
        let (status, head, body) = self.exchange(method, "/mcp", &headers, &body).expect("an answer");
        assert_eq!(status, 200, "{method} {message} by {by}: {head}\n{body}");
        (head, body)
    }

    /// The conversation of a caller, which begins with its first call.
    fn conversation(&self, by: &str) -> String {
        if let Some(id) = self.conversations.lock().get(by) {
            return id.clone();
        }
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let (head, _) = self.send(by, None, "POST", &message);
        let id = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        let id = id.expect("a session");
        self.conversations.lock().insert(by.to_owned(), id.clone());
        id
    }

    /// Calls a tool: its structured content, and its text.
    pub(super) fn call(&self, by: &str, tool: &str, arguments: &Value) -> (Value, String) {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        let (_, body) = self.send(by, Some(&self.conversation(by)), "POST", &message);
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("no JSON: {body}"));
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text: {body}")).to_owned();
        (answer["result"]["structuredContent"].clone(), text)
    }

    /// Ends the conversation of a caller.
    pub(super) fn end(&self, by: &str) {
        self.send(by, Some(&self.conversation(by)), "DELETE", &Value::Null);
        self.conversations.lock().remove(by);
    }
}
