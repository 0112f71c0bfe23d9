//! The real binary, driven over its real pipes and sockets.

#[path = "../../../tests/tests/support/child_process.rs"]
mod child_process;

pub(crate) use child_process::PATIENCE;
use child_process::{listens, peak_memory};

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use ptc_mcp::json::Value;

/// A server on pipes.
pub(crate) struct Pipes {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Pipes {
    /// `ptc start` with these flags.
    pub(crate) fn start(flags: &[&str]) -> Pipes {
        let mut child =
            command(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let output = child.stdout.take().expect("piped");
        let lines = child_process::lines(output);
        Pipes { input: child.stdin.take(), child, lines }
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends one line.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.send(&[line, b"\n"].concat());
    }

    /// The next line of the server.
    pub(crate) fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
    }

    /// The next line of the server, unread.
    pub(crate) fn receive_line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    /// What the server says to `line`; `None` if it says nothing before it answers the next request.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Option<Value> {
        self.line(line);
        self.line(br#"{"jsonrpc":"2.0","id":"fence","method":"ping"}"#);
        let first = self.receive();
        if first["id"] == "fence" {
            return None;
        }
        // A tool call may be overtaken; then the fence came first, which is excluded above.
        assert_eq!(self.receive()["id"], "fence", "more than one answer, the first was {first}");
        Some(first)
    }

    /// Sends a request and gives its answer, waiting for it as long as it takes.
    pub(crate) fn request(&mut self, message: &Value) -> Value {
        self.line(message.to_string().as_bytes());
        self.receive()
    }

    /// Most memory that the process ever had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        peak_memory(self.child.id())
    }

    /// Closes the input and expects a clean end.
    pub(crate) fn finish(mut self) -> Vec<String> {
        drop(self.input.take());
        assert!(self.child.wait().expect("it ran").success());
        self.lines.iter().collect()
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server on a socket.
pub(crate) struct Listener {
    /// There until it is taken.
    child: Option<Child>,
    /// Where it listens.
    pub(crate) address: String,
}

impl Listener {
    /// `ptc start --http` with these flags, on a free port.
    pub(crate) fn start(flags: &[&str]) -> Listener {
        Self::start_by(|all| command_of(&on_http(), &[all, flags].concat()))
    }

    /// What `command` makes of the flags for HTTP on a free port.
    pub(crate) fn start_by(command: impl Fn(&[&str]) -> Command) -> Listener {
        // Between finding a free port and binding it somebody else may take it: then the next one is tried.
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
            let port = free.port().to_string();
            let child = command(&["--http", "--http-port", &port]).spawn().expect("the binary starts");
            let mut listener = Listener { child: Some(child), address: free.to_string() };
            if listener.is_ready(free.port()) {
                return listener;
            }
        }
        panic!("no server could be started");
    }

    /// The process.
    pub(crate) fn into_child(mut self) -> Child {
        self.child.take().expect("taken once")
    }

    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("not taken")
    }

    fn is_ready(&mut self, port: u16) -> bool {
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            if self.child().try_wait().expect("it ran").is_some() {
                return false;
            }
            if listens(self.child().id(), port) && TcpStream::connect(&self.address).is_ok() {
                return self
                    .exchange(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    .status
                    == 200;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// A connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends bytes on a connection of their own and reads one answer.
    pub(crate) fn exchange(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has seen enough may close before it has read all; its answer is there nonetheless.
        let _ = stream.write_all(bytes);
        Answer::read(&mut BufReader::new(stream))
    }

    /// POSTs a body with further header lines.
    pub(crate) fn post(&self, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        self.exchange(&[head.as_bytes(), body].concat())
    }

    /// Most memory that the process ever had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        peak_memory(self.child.as_ref().expect("not taken").id())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// An HTTP answer. Status 0 stands for a connection closed without one.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// Its header lines, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// Its body.
    pub(crate) body: String,
}

impl Answer {
    /// Reads one answer with a declared length.
    pub(crate) fn read(reader: &mut impl BufRead) -> Answer {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return Answer { status: 0, headers: Vec::new(), body: String::new() };
        }
        let status =
            line.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header line");
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut answer = Answer { status, headers, body: String::new() };
        let length = answer.header("content-length").map_or(0, |text| text.parse().expect("a length"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        answer.body = String::from_utf8(body).expect("UTF-8");
        answer
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

/// What serves HTTP: the command, or what `PTC_TEST_SERVER` names in its place, such as two replicas (`tests/replicated`).
fn on_http() -> OsString {
    std::env::var_os("PTC_TEST_SERVER").unwrap_or_else(|| env!("CARGO_BIN_EXE_ptc").into())
}

fn command(flags: &[&str]) -> Command {
    command_of(env!("CARGO_BIN_EXE_ptc").as_ref(), flags)
}

fn command_of(program: &OsStr, flags: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.arg("start").args(flags).args(["--log-level", "error"]);
    // Nothing of whoever runs the tests: no variable but those of tests, and no default upstreams file.
    command.env_clear().env("HOME", env!("CARGO_TARGET_TMPDIR")).envs(for_replicas());
    command
}

/// What the program in the place of the command has to know.
fn for_replicas() -> impl Iterator<Item = (OsString, OsString)> {
    let names = ["PATH", "PTC_TEST_REPLICA", "PTC_TEST_KILL_MS", "PTC_TEST_KILL_LOG"];
    let is_there = std::env::var_os("PTC_TEST_SERVER").is_some();
    std::env::vars_os().filter(move |(name, _)| is_there && names.iter().any(|known| name == known))
}
