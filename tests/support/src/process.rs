//! The server as a process, what the system says of it, and its clients.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ptc_mcp::json::{Value, json};
use tempfile::TempDir;

use crate::child_process::{self, on_a_free_port, program, program_text};
use crate::steps::{self, Steps};
use crate::{PATIENCE, wait_until};

/// The program that is the server where a test starts one over HTTP: `own`, or what `PTC_TEST_SERVER` names in its place, such as two
/// replicas (`tests/replicated`), with the variables that this one needs.
pub fn program_on_http(own: impl Into<OsString>) -> (OsString, Vec<(OsString, OsString)>) {
    let Some(named) = std::env::var_os("PTC_TEST_SERVER") else { return (own.into(), Vec::new()) };
    let names = ["PATH", "PTC_TEST_REPLICA", "PTC_TEST_KILL_MS", "PTC_TEST_KILL_LOG"];
    (named, std::env::vars_os().filter(|(name, _)| names.iter().any(|known| name == known)).collect())
}

/// How a server is started.
pub struct Launch {
    program: OsString,
    flags: Vec<String>,
    /// What it has further, if it serves HTTP.
    http_flags: &'static [&'static str],
    variables: Vec<(OsString, OsString)>,
    /// What runs the server: a command and its first arguments.
    wrapper: Vec<String>,
    log: Option<File>,
    steps: Option<Steps>,
    folder: TempDir,
}

impl Launch {
    /// `ptc-under-test start` with these flags; whoever comes over HTTP needs no token.
    #[must_use]
    pub fn new(flags: &[&str]) -> Launch {
        let http_flags = &["--http", "--http-disable-auth"];
        Launch { http_flags, ..Launch::of(program("ptc-under-test"), flags) }
    }

    /// `program start` with these flags.
    #[must_use]
    pub fn of(program: impl Into<OsString>, flags: &[&str]) -> Launch {
        Launch {
            program: program.into(),
            flags: flags.iter().map(|&flag| flag.into()).collect(),
            http_flags: &["--http"],
            variables: Vec::new(),
            wrapper: Vec::new(),
            log: None,
            steps: None,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// With further flags.
    #[must_use]
    pub fn with_flags(mut self, flags: &[&str]) -> Launch {
        self.flags.extend(flags.iter().map(|&flag| flag.into()));
        self
    }

    /// With a variable, which it has none of otherwise but `HOME`.
    #[must_use]
    pub fn with_variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Launch {
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// With the tool server of these tests as the upstream `fake`, and time to wait for it.
    pub fn with_upstream(self) -> Launch {
        let mut launch = self.with_only_the_upstream();
        for name in ["--program-timeout-ms", "--upstream-call-timeout-ms"] {
            launch.flags.extend([name.into(), "600000".into()]);
        }
        launch
    }

    /// With the tool server of these tests as the upstream `fake`.
    pub fn with_only_the_upstream(self) -> Launch {
        self.with_upstream_of(&json!({}))
    }

    /// The same with these keys in its entry.
    pub fn with_upstream_of(mut self, keys: &Value) -> Launch {
        let mut entry = json!({"transport": "mcp_stdio", "max_concurrency": 1000,
            "command": program_text("fake-upstream")});
        for (key, value) in keys.as_object().into_iter().flatten() {
            entry[key.as_str()] = value.clone();
        }
        let config = json!({"upstreams": {"fake": entry}});
        let path = self.path("upstreams.json");
        std::fs::write(&path, config.to_string()).expect("written");
        let path = path.to_str().expect("UTF-8").to_owned();
        self.flags.extend(["--upstreams-config".into(), path]);
        self
    }

    /// Run by a shell after `setting`, such as `ulimit -n 64`.
    pub fn after(mut self, setting: &str) -> Launch {
        let script = format!("{setting} && exec \"$0\" \"$@\"");
        self.wrapper = vec!["/bin/sh".into(), "-c".into(), script];
        self
    }

    /// With a clock that [`Server::advance`] sets ahead; the program is `ptc-under-test`.
    #[must_use]
    pub fn stepped(self) -> Launch {
        let steps = Steps::new();
        let launch = self.with_variable(steps::VARIABLE, steps.socket());
        Launch { steps: Some(steps), ..launch }
    }

    /// With standard error going to `file`.
    pub fn logging_to(mut self, file: File) -> Launch {
        self.log = Some(file);
        self
    }

    /// A path in the folder of this server.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut line: Vec<OsString> = self.wrapper.iter().map(OsString::from).collect();
        line.push(self.program.clone());
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).arg("start").args(&self.flags);
        // Nothing of whoever runs the tests: no variable, and no default upstreams file.
        command.env_clear().env("HOME", self.folder.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let log = match &self.log {
            Some(file) => file.try_clone(),
            None => File::options().create(true).append(true).open(self.path("log")),
        };
        command.stderr(log.expect("a log"));
        command
    }

    /// Serves on pipes.
    pub fn on_pipes(self) -> Pipes {
        Pipes::run(self, None)
    }

    /// Serves on pipes; what the client says is what `input` gives.
    pub fn on_pipe_of(self, input: Stdio) -> Pipes {
        Pipes::run(self, Some(input))
    }

    /// Serves on a free port.
    ///
    /// # Panics
    /// If it ends instead.
    #[must_use]
    pub fn on_http(self) -> Http {
        let start = |free: std::net::SocketAddr| {
            let mut command = self.command();
            command.args(self.http_flags).args(["--http-port", &free.port().to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts")
        };
        let is_ready = |child: &Child, free: std::net::SocketAddr| {
            child_process::listens(child.id(), free.port())
                && get(&free.to_string(), "/health").is_ok_and(|answer| answer.status == 200)
        };
        let Some((child, address)) = on_a_free_port(start, is_ready) else {
            panic!("no server could be started: {}", self.log());
        };
        Http { server: Server { child, launch: self }, address: address.to_string() }
    }

    /// What was logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// All that was logged, once that has `text`: lines are written by a thread of their own, behind what they tell of.
    #[track_caller]
    pub fn logged(&self, text: &str) -> String {
        wait_until(text, || self.log().contains(text));
        self.log()
    }
}

/// The process.
pub struct Server {
    child: Child,
    /// How it was started.
    pub launch: Launch,
}

impl Server {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Sets its clock ahead.
    ///
    /// # Panics
    /// It was not launched with a clock that can be, or it has ended.
    pub fn advance(&self, by: Duration) {
        self.launch.steps.as_ref().expect("a stepped launch").advance(by);
    }

    /// Most memory that it ever had, in bytes.
    #[must_use]
    pub fn peak_memory(&self) -> u64 {
        child_process::peak_memory(self.pid())
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        let child = &mut self.child;
        wait_until("it ends", || {
            status = child.try_wait().expect("it ran");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// How it was started, to start another one like it. It must have ended.
    pub fn into_launch(mut self) -> Launch {
        self.ended();
        std::mem::replace(&mut self.launch, Launch::new(&[]))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server on pipes.
pub struct Pipes {
    /// The process.
    pub server: Server,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Pipes {
    fn run(launch: Launch, input: Option<Stdio>) -> Pipes {
        let mut command = launch.command();
        command.stdin(input.unwrap_or_else(Stdio::piped)).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = child.stdout.take().expect("piped");
        let lines = child_process::lines(output);
        Pipes { input: child.stdin.take(), server: Server { child, launch }, lines }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends one line.
    pub fn send_line(&mut self, line: &[u8]) {
        self.send(&[line, b"\n"].concat());
    }

    /// The next line, read as JSON.
    pub fn receive(&self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
    }

    /// What the server says to `line`; `None` if it says nothing before it answers the next request.
    pub fn ask(&mut self, line: &[u8]) -> Option<Value> {
        self.send_line(line);
        self.send_line(br#"{"jsonrpc":"2.0","id":"fence","method":"ping"}"#);
        let first = self.receive();
        if first["id"] == "fence" {
            return None;
        }
        // A tool call may be overtaken; then the fence came first, which is excluded above.
        assert_eq!(self.receive()["id"], "fence", "more than one answer, the first was {first}");
        Some(first)
    }

    /// Sends a request and gives its answer, waiting for it as long as it takes.
    pub fn request(&mut self, message: &Value) -> Value {
        self.send_line(message.to_string().as_bytes());
        self.receive()
    }

    /// Closes the input, expects a clean end, and gives the lines that were not read yet.
    pub fn finish(mut self) -> Vec<String> {
        self.hang_up();
        assert!(self.server.ended().success());
        self.lines.iter().collect()
    }

    /// Asks for a program to be run.
    pub fn call(&mut self, id: impl Into<Value>, program: &str) {
        self.send_line(call(id, program).to_string().as_bytes());
    }

    /// The next line.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    /// The next answer: its id, and its text.
    pub fn answer(&self) -> (Value, String) {
        answer_of(&self.line())
    }

    /// The text of a program's answer, when no other is expected.
    pub fn eval(&mut self, program: &str) -> String {
        self.call("eval", program);
        let (id, text) = self.answer();
        assert_eq!(id, "eval", "{text}");
        text
    }

    /// The next answer, for which the clock is set ahead by `step` until it is there: nobody sees from outside when a limit begins to count.
    pub fn answer_in_steps(&self, step: Duration) -> (Value, String) {
        let mut line = None;
        wait_until("an answer", || {
            self.server.advance(step);
            line = self.lines.try_recv().ok();
            line.is_some()
        });
        answer_of(&line.expect("it is there"))
    }

    /// Closes the input.
    pub fn hang_up(&mut self) {
        drop(self.input.take());
    }

    /// Everything that the server still says, until it has closed its output.
    pub fn rest(&self) -> Vec<(Value, String)> {
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => rest.push(answer_of(&line)),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(RecvTimeoutError::Timeout) => panic!("its output stays open"),
            }
        }
    }
}

/// A server on a socket.
pub struct Http {
    /// The process.
    pub server: Server,
    /// Where it listens.
    pub address: String,
}

impl Http {
    /// A connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Sends bytes on a connection of their own and reads one answer.
    pub fn exchange(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has seen enough may close before it has read all; its answer is there nonetheless.
        let _ = stream.write_all(bytes);
        Answer::read_one(&mut BufReader::new(stream))
    }

    /// POSTs a body to the endpoint of MCP with further header lines.
    pub fn post(&self, headers: &str, body: &[u8]) -> Answer {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        self.exchange(&[head.as_bytes(), body].concat())
    }

    /// Asks for a program to be run, on a connection of its own.
    pub fn call(&self, program: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(&post(program)).expect("the server reads");
        stream
    }

    /// The text of a program's answer.
    pub fn eval(&self, program: &str) -> String {
        let answer = Answer::read(self.call(program)).expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer_of(&answer.body).1
    }

    /// GETs a path.
    pub fn get(&self, path: &str) -> Answer {
        get(&self.address, path).expect("an answer")
    }

    /// The value of a metric, such as `ptc_calls_in_flight`; needs `--http-metrics`.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
    }
}

/// A call of `lisp_eval` in the handshake era.
pub fn call(id: impl Into<Value>, program: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": {"name": "lisp_eval", "arguments": {"program": program}}})
}

/// The bytes of a modern call of `lisp_eval`, after which the connection ends.
pub fn post(program: &str) -> Vec<u8> {
    let mut message = call(1, program);
    message["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let body = message.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: lisp_eval\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// An HTTP answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status; 0 stands for a connection closed without an answer.
    pub status: u16,
    /// Its header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

impl Answer {
    /// Reads until the connection ends.
    ///
    /// # Errors
    /// If it ends early: what a kill has cut is no answer.
    pub fn read(mut stream: impl Read) -> std::io::Result<Answer> {
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let broken = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
        let mut lines = head.lines();
        let status = lines.next().and_then(status_of).ok_or_else(broken)?;
        let headers = lines.filter_map(header_of).collect();
        let answer = Answer { status, headers, body: body.to_owned() };
        if answer.header("content-length").is_some_and(|length| length.parse() != Ok(body.len())) {
            return Err(broken());
        }
        Ok(answer)
    }

    /// Reads one answer with a declared length.
    ///
    /// # Panics
    /// If it ends early, unless it has not begun.
    pub fn read_one(reader: &mut impl BufRead) -> Answer {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return Answer { status: 0, headers: Vec::new(), body: String::new() };
        }
        let status = status_of(&line).unwrap_or_else(|| panic!("{line}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header line");
            let Some(header) = header_of(line.trim_end()) else { break };
            headers.push(header);
        }
        let mut answer = Answer { status, headers, body: String::new() };
        let length = answer.header("content-length").map_or(0, |text| text.parse().expect("a length"));
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        answer.body = String::from_utf8(body).expect("UTF-8");
        answer
    }

    /// The value of a header, whose name is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The HTTP session that it names.
    #[must_use]
    pub fn session(&self) -> Option<String> {
        self.header("mcp-session-id").map(str::to_owned)
    }

    /// The body, read as JSON.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The text of a tool's result.
    #[must_use]
    pub fn text(&self) -> String {
        answer_of(&self.body).1
    }
}

/// The status of an answer's first line.
fn status_of(line: &str) -> Option<u16> {
    line.split(' ').nth(1)?.trim_end().parse().ok()
}

/// Name and value of a header line.
fn header_of(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    Some((name.to_lowercase(), value.trim().to_owned()))
}

fn get(address: &str, path: &str) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    Answer::read(stream)
}

/// The id of an answer and the text of its result.
fn answer_of(line: &str) -> (Value, String) {
    let answer: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    let text = answer["result"]["content"][0]["text"].as_str();
    (answer["id"].clone(), text.map_or_else(|| line.to_owned(), str::to_owned))
}

/// Sends a signal to a process that is there.
pub fn send(process: u32, signal: Signal) {
    kill(Pid::from_raw(process.try_into().expect("a process id")), signal).expect("it is there");
}

/// State, parent and name of a process; `None` once it is gone.
fn stat(process: u32) -> Option<(char, u32, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (head, rest) = stat.rsplit_once(") ")?;
    let (state, parent) = (rest.chars().next()?, rest.split(' ').nth(1)?.parse().ok()?);
    Some((state, parent, head.split_once('(')?.1.to_owned()))
}

/// Whether a process runs: one that only waits to be reaped does not.
pub fn is_alive(process: u32) -> bool {
    stat(process).is_some_and(|(state, ..)| state != 'Z' && state != 'X')
}

/// The processes below this one, each behind its parent, with their names.
pub fn family(process: u32) -> Vec<(u32, String)> {
    let all: Vec<(u32, u32, String)> = std::fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let (state, parent, name) = stat(id)?;
            (state != 'Z').then_some((id, parent, name))
        })
        .collect();
    let (mut family, mut parents) = (Vec::new(), vec![process]);
    while let Some(parent) = parents.pop() {
        for (id, _, name) in all.iter().filter(|(_, of, _)| *of == parent) {
            parents.push(*id);
            family.push((*id, name.clone()));
        }
    }
    family
}

/// How many descriptors a process has open.
pub fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).expect("it is ours").count()
}

/// `(tool/call …)` of the upstream `fake`.
pub fn tool(name: &str, arguments: &str) -> String {
    format!("(tool/call {{:server \"fake\" :tool \"{name}\" :args {arguments}}})")
}

/// A call that waits until there is a file at `path`.
pub fn until(path: &Path) -> String {
    format!("(:value {})", tool("until", &format!("{{:path {:?}}}", path.to_str().expect("UTF-8"))))
}

/// How many calls wait at the upstream.
pub fn waiting() -> String {
    format!("(:value {})", tool("waiting", "{}"))
}
