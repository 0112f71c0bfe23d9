//! An HTTP/1.1 server that does exactly what a test wants, down to the byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use url::Url;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Its header lines.
    pub headers: Vec<(String, String)>,
    /// The body, where it is JSON.
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl Hit {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC method.
    pub fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    /// A reply with this result.
    pub fn result(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result})
    }

    /// A reply with this error.
    pub fn error(&self, code: i64, message: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": self.body["id"], "error": {"code": code, "message": message}})
    }
}

/// What to do with a connection.
pub enum Step {
    /// Writes these.
    Bytes(Vec<u8>),
    /// Waits so long, in real time: between two pieces that are to arrive one by one.
    Pause(Duration),
    /// Waits until the test lets it go on.
    Wait(Gate),
    /// Ends the connection with a reset.
    Reset,
    /// Ends the connection.
    Close,
    /// Keeps it open, silent, until the client has gone.
    Hang,
    /// Writes what comes here, and closes at the end of it.
    Follow(Receiver<Vec<u8>>),
}

/// Where servers wait until the test lets them go on. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<Queue>, Condvar)>);

#[derive(Debug, Default)]
struct Queue {
    /// How many have ever come.
    came: usize,
    /// How many may go on, of those and of later ones.
    passes: usize,
}

impl Gate {
    /// Waits until somebody may go on.
    pub fn wait(&self) {
        let (queue, changed) = &*self.0;
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.came += 1;
        queue = changed.wait_while(queue, |queue| queue.passes == 0).unwrap_or_else(PoisonError::into_inner);
        queue.passes -= 1;
    }

    /// Lets one go on: one that waits, or the next that comes.
    pub fn let_one_pass(&self) {
        let (queue, changed) = &*self.0;
        queue.lock().unwrap_or_else(PoisonError::into_inner).passes += 1;
        changed.notify_one();
    }

    /// How many have ever come, whether they still wait or not.
    pub fn came(&self) -> usize {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).came
    }
}

/// What is done about a request, in this order.
pub type Steps = Vec<Step>;

/// A whole response.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Steps {
    let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    let mut bytes = (head + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    vec![Step::Bytes(bytes)]
}

/// A whole response with a JSON body.
pub fn reply(status: u16, body: &Value) -> Steps {
    response(status, &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// The head of an endless event stream, without a length: it ends with the connection.
pub fn event_head() -> Step {
    Step::Bytes(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

/// The head of a chunked event stream, which leaves the connection usable.
pub fn chunked_event_head() -> Step {
    Step::Bytes(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
    )
}

/// A piece of a chunked body.
pub fn chunk(data: &str) -> Step {
    Step::Bytes(format!("{:x}\r\n{data}\r\n", data.len()).into_bytes())
}

/// An event that carries this message.
pub fn event(data: &Value) -> Step {
    Step::Bytes(format!("event: message\ndata: {data}\n\n").into_bytes())
}

/// The server. It ends when it is dropped.
pub struct FakeHttp {
    /// The endpoint of MCP.
    pub url: Url,
    shared: Arc<Shared>,
}

struct Shared {
    hits: Mutex<Vec<Hit>>,
    connections: AtomicUsize,
    open: AtomicUsize,
    over: AtomicBool,
    handler: Box<dyn Fn(&Hit) -> Steps + Send + Sync>,
}

impl FakeHttp {
    /// A server that does what `handler` says about each request.
    pub fn start(handler: impl Fn(&Hit) -> Steps + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
        let shared = Arc::new(Shared {
            hits: Mutex::default(),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            handler: Box::new(handler),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.over.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, stream) = (accepting.clone(), stream.unwrap());
                let number = shared.connections.fetch_add(1, Ordering::SeqCst);
                shared.open.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    serve(&shared, stream, number);
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { url, shared }
    }

    /// An MCP server of the handshake era. `on_call` answers `tools/call`.
    pub fn handshake(on_call: impl Fn(&Hit) -> Steps + Send + Sync + 'static) -> Self {
        let sessions = AtomicUsize::new(0);
        Self::start(move |hit| match (hit.method.as_str(), hit.rpc()) {
            ("DELETE", _) => response(200, &[], b""),
            ("GET", _) => on_call(hit),
            (_, "initialize") => {
                let session = format!("session-{}", sessions.fetch_add(1, Ordering::SeqCst));
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}});
                let headers = [("content-type", "application/json"), ("Mcp-Session-Id", session.as_str())];
                response(200, &headers, hit.result(result).to_string().as_bytes())
            }
            (_, method) if method.starts_with("notifications/") => response(202, &[], b""),
            (_, "tools/list") => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
            (_, "ping") => reply(200, &hit.result(json!({}))),
            (_, "tools/call") => on_call(hit),
            _ => reply(400, &hit.error(-32000, "Bad Request: Server not initialized")),
        })
    }

    /// An MCP server of the modern era.
    pub fn modern(tools: Value, on_call: impl Fn(&Hit) -> Steps + Send + Sync + 'static) -> Self {
        Self::start(move |hit| match hit.rpc() {
            "server/discover" => reply(
                200,
                &hit.result(
                    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                                   "cacheScope": "public", "capabilities": {"tools": {}}}),
                ),
            ),
            "tools/list" => reply(200, &hit.result(json!({"resultType": "complete", "tools": tools}))),
            "tools/call" => on_call(hit),
            _ => reply(404, &hit.error(-32601, "Method not found")),
        })
    }

    /// All requests so far.
    pub fn hits(&self) -> Vec<Hit> {
        self.shared.hits.lock().unwrap().clone()
    }

    /// How many requests had this JSON-RPC method.
    pub fn count(&self, rpc: &str) -> usize {
        self.hits().iter().filter(|hit| hit.rpc() == rpc).count()
    }

    /// Connections ever accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Connections that are open now.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }
}

impl Drop for FakeHttp {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.url.port().unwrap()));
    }
}

fn serve(shared: &Shared, mut stream: TcpStream, connection: usize) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(hit) = read_request(&mut reader, connection) {
        shared.hits.lock().unwrap().push(hit.clone());
        for step in (shared.handler)(&hit) {
            let done = match step {
                Step::Bytes(bytes) => stream.write_all(&bytes).is_err(),
                Step::Pause(pause) => {
                    std::thread::sleep(pause);
                    false
                }
                Step::Wait(gate) => {
                    gate.wait();
                    false
                }
                Step::Hang => {
                    let _ = reader.read(&mut [0; 1]);
                    true
                }
                Step::Close => true,
                Step::Follow(bytes) => {
                    follow(shared, &mut stream, &bytes);
                    true
                }
                Step::Reset => {
                    stream.set_nonblocking(true).unwrap();
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
                    let _inside = runtime.enter();
                    // The clone in the reader must be gone for the last close to be the one that resets.
                    drop(reader);
                    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
                    stream.set_zero_linger().unwrap();
                    return;
                }
            };
            if done {
                return;
            }
        }
    }
}

/// Writes what comes until there is no more to come, the client has gone, or the server ends.
fn follow(shared: &Shared, stream: &mut TcpStream, bytes: &Receiver<Vec<u8>>) {
    while !shared.over.load(Ordering::SeqCst) {
        match bytes.recv_timeout(Duration::from_millis(20)) {
            Ok(bytes) if stream.write_all(&bytes).is_ok() => {}
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Hit> {
    let mut line = String::new();
    let mut next = |reader: &mut BufReader<TcpStream>| {
        line.clear();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        Some(line.trim_end().to_owned())
    };
    let start = next(reader)?;
    let mut words = start.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = next(reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut hit = Hit { connection, method, path, headers, body: Value::Null, text: String::new() };
    let length = hit.header("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    hit.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    hit.text = String::from_utf8_lossy(&body).into_owned();
    Some(hit)
}
