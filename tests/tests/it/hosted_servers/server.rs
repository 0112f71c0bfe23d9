//! `ptc start --http --public-url` with the upstream `notes`, and two callers; or what `PTC_TEST_SERVER` names in its place, such as two
//! replicas (`tests/replicated`).

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ptc_mcp::json::{Value, json};
use tempfile::TempDir;

use ptc_test_support::authorization_server::AuthorizationServer;
use ptc_test_support::child_process::{listens, on_a_free_port};
use ptc_test_support::process::{Answer, program_on_http};
use ptc_test_support::steps::{self, Steps};
use ptc_test_support::wait_until;

pub(crate) const ANN: &str = "ann-0123456789abcdef0123456789abcdef";
pub(crate) const BEN: &str = "ben-0123456789abcdef0123456789abcdef";

/// A day in milliseconds.
pub(crate) const DAY_MS: &str = "86400000";

/// The entry of a protected server, with these members in its `auth`.
pub(crate) fn entry(hosted: &AuthorizationServer, members: Value) -> Value {
    let mut auth = json!({"type": "oauth"});
    for (key, value) in members.as_object().expect("members") {
        auth[key] = value.clone();
    }
    json!({"transport": "mcp_http", "url": hosted.mcp(), "allow_insecure_http": true, "protocol": "handshake", "auth": auth})
}

/// The server's program, with no variable but those of tests.
fn command() -> Command {
    let (program, variables) = program_on_http(env!("CARGO_BIN_EXE_ptc-under-test"));
    let mut command = Command::new(program);
    command.env_clear().envs(variables);
    command
}

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// Its clock, and that of all replicas behind it.
    pub(crate) steps: Steps,
    folder: TempDir,
}

impl Server {
    /// With these flags beside the usual ones; a folder in them begins with `@`.
    pub(crate) fn start(hosted: &AuthorizationServer, flags: &[&str]) -> Server {
        Server::start_with(hosted, flags, &[])
    }

    /// The same with these variables.
    pub(crate) fn start_with(
        hosted: &AuthorizationServer,
        flags: &[&str],
        variables: &[(&str, String)],
    ) -> Server {
        Server::start_of(entry(hosted, json!({})), flags, variables)
    }

    /// The same of another entry of `notes`.
    pub(crate) fn start_of(notes: Value, flags: &[&str], variables: &[(&str, String)]) -> Server {
        Server::launch(&json!({"notes": notes}), flags, variables)
    }

    /// With the tool server of these tests as one more upstream, `fake`.
    pub(crate) fn start_beside_fake(hosted: &AuthorizationServer, flags: &[&str]) -> Server {
        let fake = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")});
        Server::launch(&json!({"notes": entry(hosted, json!({})), "fake": fake}), flags, &[])
    }

    fn launch(upstreams: &Value, flags: &[&str], variables: &[(&str, String)]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            std::fs::write(path(name), text).expect("written");
            path(name)
        };
        let tokens = write("tokens", &format!("ann:{ANN}\nben:{BEN}\n"));
        let upstreams = write("upstreams.json", &json!({"upstreams": upstreams}).to_string());
        let flags = flags.iter().map(|flag| match flag.strip_prefix('@') {
            Some(name) => path(name).to_str().expect("UTF-8").to_owned(),
            None => (*flag).to_owned(),
        });
        let flags: Vec<String> = flags.collect();
        let steps = Steps::new();
        let start = |free: SocketAddr| {
            let mut command = command();
            command.env("HOME", folder.path()).env(steps::VARIABLE, steps.socket());
            command.envs(variables.iter().map(|(name, value)| (name, value)));
            command.args(["start", "--http", "--http-port", &free.port().to_string()]);
            command.args(["--public-url", &format!("http://{free}/mcp")]);
            // Longer than any test sets the clock ahead.
            for limit in ["--upstream-call-timeout-ms", "--program-timeout-ms", "--http-request-timeout-ms"] {
                command.args([limit, DAY_MS]);
            }
            command.arg("--http-auth-token-file").arg(&tokens).arg("--upstreams-config").arg(&upstreams);
            // Where nobody says otherwise, whoever cannot be asked is told what to do.
            if !flags.iter().any(|flag| flag == "--questions") {
                command.args(["--questions", "client"]);
            }
            command.args(&flags);
            let log = std::fs::File::create(path("log")).expect("a log");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            command.spawn().expect("it starts")
        };
        let is_ready = |child: &Child, free: SocketAddr| {
            listens(child.id(), free.port()) && TcpStream::connect(free).is_ok()
        };
        match on_a_free_port(start, is_ready) {
            Some((child, address)) => Server { child, port: address.port(), steps, folder },
            None => panic!(
                "no server could be started: {}",
                std::fs::read_to_string(path("log")).unwrap_or_default()
            ),
        }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A file or folder of its home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What it has logged so far. A line is written by a thread of its own, behind what it tells of.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).expect("a log")
    }

    /// Waits until it has told of this event.
    pub(crate) fn tells(&self, event: &str) {
        wait_until(event, || self.log().contains(event));
    }

    /// Ends it, so that all that it has to write is written.
    pub(crate) fn ends(&mut self) {
        let process = Pid::from_raw(self.child.id().try_into().expect("a process id"));
        kill(process, Signal::SIGTERM).expect("it is there");
        assert!(self.child.wait().expect("it ran").success());
    }

    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        ask(self.port, method, target, headers, body)
    }

    /// Looks at a page as the caller with this token.
    pub(crate) fn get(&self, target: &str, token: &str) -> Answer {
        self.ask("GET", target, &[("Authorization", &format!("Bearer {token}"))], "")
    }

    /// Calls a tool of the server as the caller with this token; gives the whole answer.
    pub(crate) fn call(&self, token: &str, tool: &str, arguments: Value) -> Answer {
        self.post(token, "tools/call", Some(tool), json!({"name": tool, "arguments": arguments}))
    }

    /// A modern request.
    pub(crate) fn post(&self, token: &str, method: &str, name: Option<&str>, params: Value) -> Answer {
        self.post_as(&json!({}), token, method, name, params)
    }

    /// A modern request of a client with these capabilities.
    pub(crate) fn post_as(
        &self,
        capabilities: &Value,
        token: &str,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> Answer {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let bearer = format!("Bearer {token}");
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        self.ask("POST", "/mcp", &headers, &body)
    }

    /// The text of a program's result.
    pub(crate) fn evals(&self, token: &str, program: &str) -> String {
        let answer = self.call(token, "lisp_eval", json!({"program": program}));
        let message: Value = serde_json::from_str(&answer.body).expect("JSON");
        message["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// What the program of this caller gets of the upstream.
    pub(crate) fn calls(&self, token: &str) -> String {
        self.evals(
            token,
            "(let [r (tool/call {:server \"notes\" :tool \"whoami\" :args {}})] (or (:message r) (:value r)))",
        )
    }

    /// Begins a sign-in on the page: the link to the upstream's own, and the browser's cookie.
    pub(crate) fn begins(&self, token: &str) -> (String, String) {
        let headers = [("Authorization", &*format!("Bearer {token}")), ("Origin", &self.origin())];
        let begun = self.ask("POST", "/oauth/start?upstream=notes", &headers, "");
        assert_eq!(begun.status, 200, "{}", begun.body);
        let cookie = begun.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        let told: Value = serde_json::from_str(&begun.body).expect("JSON");
        (told["url"].as_str().expect("a link").to_owned(), cookie)
    }

    /// Signs in on the page.
    pub(crate) fn visits_page(&self, token: &str) {
        let (link, cookie) = self.begins(token);
        let done = self.ask("GET", &consent(&link), &[("Cookie", &cookie)], "");
        assert_eq!(done.status, 200, "{}", done.body);
    }

    /// Signs in on the page, and waits until calls notice.
    pub(crate) fn signs_in(&self, token: &str) {
        self.visits_page(token);
        self.knows(token);
    }

    /// Waits until calls notice that somebody is signed in.
    pub(crate) fn knows(&self, token: &str) {
        wait_until("calls notice the sign-in", || self.calls(token).contains("family"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn ask(port: u16, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let host = if headers.iter().any(|(name, _)| *name == "Host") {
        String::new()
    } else {
        format!("Host: 127.0.0.1:{port}\r\n")
    };
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.1\r\n{host}{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    Answer::read(stream).expect("an answer")
}

/// Consents at the authorization server, whose redirect leads back: gives the path and query of that.
pub(crate) fn consent(link: &str) -> String {
    let back = url::Url::parse(&ptc_test_support::authorization_server::browse(link)).expect("a URL");
    back[url::Position::BeforePath..].to_owned()
}
