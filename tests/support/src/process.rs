//! The server as a process, what the system says of it, and its clients.

#[path = "child_process.rs"]
pub(crate) mod child_process;

pub(crate) use child_process::PATIENCE;

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ptc_mcp::json::{Value, json};
use tempfile::TempDir;

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < patience, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// How a server is started.
pub(crate) struct Launch {
    flags: Vec<String>,
    /// What runs the server: a command and its first arguments.
    wrapper: Vec<String>,
    log: Option<File>,
    folder: TempDir,
}

impl Launch {
    /// `ptc start` with these flags.
    pub(crate) fn new(flags: &[&str]) -> Launch {
        let folder = tempfile::tempdir().expect("a folder");
        Launch { flags: flags.iter().map(|&flag| flag.into()).collect(), wrapper: vec![], log: None, folder }
    }

    /// With the tool server of these tests as the upstream `fake`, and time to wait for it.
    pub(crate) fn with_upstream(self) -> Launch {
        let mut launch = self.with_only_the_upstream();
        for name in ["--program-timeout-ms", "--upstream-call-timeout-ms"] {
            launch.flags.extend([name.into(), "600000".into()]);
        }
        launch
    }

    /// With the tool server of these tests as the upstream `fake`.
    pub(crate) fn with_only_the_upstream(self) -> Launch {
        self.with_upstream_of(&json!({}))
    }

    /// The same with these keys in its entry.
    pub(crate) fn with_upstream_of(mut self, keys: &Value) -> Launch {
        let mut entry = json!({"transport": "mcp_stdio", "max_concurrency": 1000,
            "command": env!("CARGO_BIN_EXE_fake-upstream")});
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
    pub(crate) fn after(mut self, setting: &str) -> Launch {
        let script = format!("{setting} && exec \"$0\" \"$@\"");
        self.wrapper = vec!["/bin/sh".into(), "-c".into(), script];
        self
    }

    /// With standard error going to `file`.
    pub(crate) fn logging_to(mut self, file: File) -> Launch {
        self.log = Some(file);
        self
    }

    /// A path in the folder of this server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let ptc = env!("CARGO_BIN_EXE_ptc-under-test").to_owned();
        let mut line = self.wrapper.clone();
        line.push(ptc);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).arg("start").args(&self.flags);
        // Nothing of whoever runs the tests: no variable, and no default upstreams file.
        command.env_clear().env("HOME", self.folder.path());
        let log = match &self.log {
            Some(file) => file.try_clone(),
            None => File::options().create(true).append(true).open(self.path("log")),
        };
        command.stderr(log.expect("a log"));
        command
    }

    /// Serves on pipes.
    pub(crate) fn on_pipes(self) -> Pipes {
        Pipes::run(self, None)
    }

    /// Serves on pipes; what the client says is what `input` gives.
    pub(crate) fn on_pipe_of(self, input: Stdio) -> Pipes {
        Pipes::run(self, Some(input))
    }

    /// Serves on a free port.
    pub(crate) fn on_http(mut self) -> Http {
        let flags = self.flags.len();
        // Between finding a free port and binding it somebody else may take it: then the next one is tried.
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
            self.flags.truncate(flags);
            let port = free.port().to_string();
            self.flags.extend(["--http", "--http-disable-auth", "--http-port", &port].map(String::from));
            let mut child =
                self.command().stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
            let patience = Instant::now() + PATIENCE;
            while child.try_wait().expect("it ran").is_none() {
                assert!(Instant::now() < patience, "it does not listen");
                let listens = child_process::listens(child.id(), free.port());
                if listens && get(&free.to_string(), "/health").is_ok_and(|answer| answer.status == 200) {
                    return Http { server: Server { child, launch: self }, address: free.to_string() };
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        panic!("no server could be started: {}", self.log());
    }

    /// What was logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

/// The process.
pub(crate) struct Server {
    child: Child,
    pub(crate) launch: Launch,
}

impl Server {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        let child = &mut self.child;
        wait_until("it ends", || {
            status = child.try_wait().expect("it ran");
            status.is_some()
        });
        status.expect("it has ended")
    }

    /// How it was started, to start another one like it. It must have ended.
    pub(crate) fn into_launch(mut self) -> Launch {
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
pub(crate) struct Pipes {
    pub(crate) server: Server,
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
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    /// Asks for a program to be run.
    pub(crate) fn call(&mut self, id: impl Into<Value>, program: &str) {
        let line = format!("{}\n", call(id, program));
        self.send(line.as_bytes());
    }

    /// The next line.
    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    /// The next answer: its id, and its text.
    pub(crate) fn answer(&self) -> (Value, String) {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        answer_of(&line)
    }

    /// The text of a program's answer, when no other is expected.
    pub(crate) fn eval(&mut self, program: &str) -> String {
        self.call("eval", program);
        let (id, text) = self.answer();
        assert_eq!(id, "eval", "{text}");
        text
    }

    /// Closes the input.
    pub(crate) fn hang_up(&mut self) {
        drop(self.input.take());
    }

    /// Everything that the server still says, until it has closed its output.
    pub(crate) fn rest(&self) -> Vec<(Value, String)> {
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
pub(crate) struct Http {
    pub(crate) server: Server,
    pub(crate) address: String,
}

impl Http {
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Asks for a program to be run, on a connection of its own.
    pub(crate) fn call(&self, program: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(&post(program)).expect("the server reads");
        stream
    }

    /// The text of a program's answer.
    pub(crate) fn eval(&self, program: &str) -> String {
        let answer = Answer::read(self.call(program)).expect("an answer");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer_of(&answer.body).1
    }

    /// GETs a path.
    pub(crate) fn get(&self, path: &str) -> Answer {
        get(&self.address, path).expect("an answer")
    }

    /// The value of a metric, such as `ptc_calls_in_flight`; needs `--http-metrics`.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").body;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().expect("a number")
    }
}

/// A call of `lisp_eval` in the handshake era.
pub(crate) fn call(id: impl Into<Value>, program: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
        "params": {"name": "lisp_eval", "arguments": {"program": program}}})
}

/// The bytes of a modern call of `lisp_eval`, after which the connection ends.
pub(crate) fn post(program: &str) -> Vec<u8> {
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

/// An HTTP answer after which the connection ends.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// The HTTP session that it names.
    pub(crate) session: Option<String>,
}

impl Answer {
    /// Reads until the connection ends.
    pub(crate) fn read(mut stream: TcpStream) -> std::io::Result<Answer> {
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        let broken = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(broken)?;
        let header = |wanted: &str| {
            head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
            })
        };
        // One that a kill has cut is none.
        if header("content-length").is_some_and(|length| length.parse() != Ok(body.len())) {
            return Err(broken());
        }
        let session = header("mcp-session-id");
        Ok(Answer { status, head: head.to_lowercase(), body: body.to_owned(), session })
    }

    /// The text of a tool's result.
    pub(crate) fn text(&self) -> String {
        answer_of(&self.body).1
    }
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

pub(crate) fn send(process: u32, signal: Signal) {
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
pub(crate) fn is_alive(process: u32) -> bool {
    stat(process).is_some_and(|(state, ..)| state != 'Z' && state != 'X')
}

/// The processes below this one, each behind its parent, with their names.
pub(crate) fn family(process: u32) -> Vec<(u32, String)> {
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
pub(crate) fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).expect("it is ours").count()
}

/// `(tool/call …)` of the upstream `fake`.
pub(crate) fn tool(name: &str, arguments: &str) -> String {
    format!("(tool/call {{:server \"fake\" :tool \"{name}\" :args {arguments}}})")
}

/// A call that waits until there is a file at `path`.
pub(crate) fn until(path: &Path) -> String {
    format!("(:value {})", tool("until", &format!("{{:path {:?}}}", path.to_str().expect("UTF-8"))))
}

/// How many calls wait at the upstream.
pub(crate) fn waiting() -> String {
    format!("(:value {})", tool("waiting", "{}"))
}
