//! Tokens that change while a server over HTTP runs (auth.md 13.6), as their bearers see it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use nix::sys::signal::Signal;
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Answer, Http, until, waiting};
use ptc_test_support::wait_until;
use tempfile::TempDir;

use crate::callers::{launched, token};

/// A server with its files.
struct Reloading {
    http: Http,
    folder: TempDir,
}

impl Reloading {
    /// A server with sessions whose callers are alice and bob, each with the token of the first letter, and an operator.
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [
            ("--http-auth-token-file", "tokens", format!("alice:{}\nbob:{}\n", token("a"), token("b"))),
            ("--http-operator-token-file", "operators", format!("{}\n", token("o"))),
            ("--policy", "policy.json", json!({"default": "allow", "rules": []}).to_string()),
        ];
        let http = launched(folder.path(), vec!["--sessions".to_owned()], files);
        Reloading { http, folder }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("written");
    }

    /// Writes the file of callers' tokens.
    fn accept(&self, lines: &[(&str, &str)]) {
        let lines = lines.iter().map(|(name, letter)| format!("{name}:{}\n", token(letter)));
        self.write("tokens", &lines.collect::<String>());
    }

    /// Has the files read again, waits for the line that says so, and returns its fields.
    fn reload(&self, event: &str) -> Value {
        let lines = || -> Vec<Value> {
            let log = self.http.server.launch.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
            lines.filter(|line: &Value| line["event"] == event).collect()
        };
        let before = lines().len();
        self.http.server.signal(Signal::SIGHUP);
        wait_until(event, || lines().len() > before);
        lines().remove(before)["fields"].take()
    }

    /// Sends a modern request, and returns its connection.
    fn send(&self, letter: &str, method: &str, mut params: Value) -> TcpStream {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send_with(letter, &headers, &message)
    }

    fn send_with(&self, letter: &str, headers: &str, message: &Value) -> TcpStream {
        let (mut stream, message) = (self.http.connect(), message.to_string());
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nAuthorization: Bearer {}\r\n{headers}Connection: close\r\n\
             Content-Length: {}\r\n\r\n{message}",
            token(letter),
            message.len()
        )
        .expect("the server reads");
        stream
    }

    /// Calls a tool.
    fn call(&self, letter: &str, tool: &str, arguments: Value) -> TcpStream {
        self.send(letter, "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The answer to a program.
    fn eval(&self, letter: &str, program: &str) -> Answer {
        Answer::read(self.call(letter, "lisp_eval", json!({"program": program}))).expect("an answer")
    }

    fn is_good(&self, letter: &str) -> bool {
        let answer = self.eval(letter, "(+ 40 2)");
        assert!([200, 401].contains(&answer.status), "{answer:?}");
        answer.status == 200
    }

    /// The id of a new session of definitions.
    fn session(&self, letter: &str) -> String {
        let answer = Answer::read(self.call(letter, "lisp_session_start", json!({}))).expect("an answer");
        answer.json()["result"]["structuredContent"]["session_id"].as_str().expect("an id").to_owned()
    }

    /// What a program on a session of definitions gives.
    fn eval_on(&self, letter: &str, session: &str, program: &str) -> TcpStream {
        self.call(letter, "lisp_session_eval", json!({"session_id": session, "program": program}))
    }

    /// Begins a conversation of the handshake era, and returns the header that names it.
    fn handshake(&self, letter: &str) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let answer = Answer::read(self.send_with(letter, "", &message)).expect("an answer");
        format!("MCP-Session-Id: {}\r\n", answer.session().expect("an id"))
    }

    /// The status of a request in that conversation.
    fn ping(&self, letter: &str, session: &str) -> u16 {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
        Answer::read(self.send_with(letter, session, &message)).expect("an answer").status
    }
}

#[test]
fn a_revoked_token_is_refused_and_its_sessions_end_while_its_programs_finish() {
    let server = Reloading::start();
    let file = server.folder.path().join("now");
    let conversations = [server.handshake("a"), server.handshake("b")];
    let [resting, busy, of_bob] = ["a", "a", "b"].map(|letter| server.session(letter));
    for (letter, session) in [("a", &resting), ("b", &of_bob)] {
        Answer::read(server.eval_on(letter, session, "(def x 41)")).expect("an answer");
    }
    let wait = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "lisp_eval", "arguments": {"program": until(&file)}}});
    let programs = [
        server.call("a", "lisp_eval", json!({"program": until(&file)})),
        server.eval_on("a", &busy, &until(&file)),
        server.send_with("a", &conversations[0], &wait),
        server.send_with("b", &conversations[1], &wait),
    ];
    wait_until("all wait", || server.eval("b", &waiting()).text() == "user=> 4");
    let channels = ["a", "b"].map(|letter| {
        let stream = server.send(letter, "subscriptions/listen", json!({"notifications": {}}));
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line"));
        assert!(lines.any(|line| line.contains("notifications/subscriptions/acknowledged")), "it is open");
        lines
    });

    server.accept(&[("bob", "b")]);
    let done = server.reload("reload_done");
    let counts = ["tokens", "added", "removed", "revoked"].map(|count| done[count].as_u64());
    assert_eq!(counts, [Some(2), Some(0), Some(1), Some(1)], "{done}");
    assert!(!server.is_good("a") && server.is_good("b") && server.is_good("o"));
    assert_eq!([server.ping("a", &conversations[0]), server.ping("b", &conversations[1])], [401, 200]);
    let [of_alice, of_bobs_news] = channels;
    assert!(of_alice.into_iter().any(|line| line.contains("subscriptionId")), "its end is told");

    // What runs is answered, to alice as to bob.
    fs::write(&file, "").expect("written");
    for program in programs {
        let answer = Answer::read(program).expect("an answer");
        assert!(answer.status == 200 && answer.body.contains("there it is"), "{answer:?}");
    }
    let kept = Answer::read(server.eval_on("b", &of_bob, "(inc x)")).expect("an answer");
    assert!(kept.body.contains("user=> 42"), "{kept:?}");

    // Whoever gets the name again finds nothing of the sessions before.
    server.accept(&[("bob", "b"), ("alice", "c")]);
    server.reload("reload_done");
    assert!(server.is_good("c") && !server.is_good("a"));
    assert_eq!(server.ping("c", &conversations[0]), 404);
    for session in [&resting, &busy] {
        let gone = Answer::read(server.eval_on("c", session, "1")).expect("an answer");
        assert!(gone.body.contains("session_closed"), "{gone:?}");
    }
    drop(of_bobs_news);
}

#[test]
fn a_file_at_fault_changes_nothing() {
    let server = Reloading::start();
    let conversation = server.handshake("a");
    let policy = r#"{"default": "deny", "rules": []}"#;
    let short = "bob:short\n";
    let twice = format!("bob:{}\n{}\n{}\n", token("b"), token("c"), token("d"));
    for (name, text, fault) in [
        ("tokens", "", "the file holds no token"),
        ("tokens", short, "HTTP auth token must be at least 32 characters"),
        ("tokens", &*twice, "two HTTP auth tokens have the name"),
        ("operators", "process:0123456789abcdef0123456789abcdef", "is reserved"),
    ] {
        // The policy is good, and does not hold either.
        server.write("policy.json", policy);
        let before = fs::read_to_string(server.folder.path().join(name)).expect("text");
        server.write(name, text);
        let refused = server.reload("reload_refused");
        assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains(fault)), "{refused}");
        assert!(server.is_good("a") && server.is_good("b") && server.is_good("o"), "{fault}");
        assert_eq!(server.ping("a", &conversation), 200, "{fault}");
        assert_eq!(server.eval("a", "(count (tool/servers))").text(), "user=> 1", "{fault}");
        server.write(name, &before);
    }
    // Nor do good tokens beside a policy at fault.
    server.write("policy.json", r#"{"rules": [{}]}"#);
    server.accept(&[("bob", "b")]);
    let refused = server.reload("reload_refused");
    assert!(
        refused["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("rules[0]") && reason.contains("/policy.json: ")),
        "{refused}"
    );
    assert!(server.is_good("a"));
    server.write("policy.json", policy);
    assert_eq!(server.reload("reload_done")["rules"], 0);
    assert!(!server.is_good("a"));
    assert_eq!(server.eval("b", "(count (tool/servers))").text(), "user=> 0");
}

#[test]
fn a_token_is_rotated_without_a_gap() {
    let server = Reloading::start();
    let conversation = server.handshake("a");
    let session = server.session("a");
    Answer::read(server.eval_on("a", &session, "(def x 41)")).expect("an answer");
    server.accept(&[("alice", "a"), ("alice", "c"), ("bob", "b")]);
    let done = server.reload("reload_done");
    assert_eq!(
        ["added", "removed", "revoked"].map(|count| done[count].as_u64()),
        [Some(1), Some(0), Some(0)]
    );
    assert_eq!(["a", "c"].map(|letter| server.ping(letter, &conversation)), [200, 200]);
    server.accept(&[("alice", "c"), ("bob", "b")]);
    let done = server.reload("reload_done");
    assert_eq!(
        ["added", "removed", "revoked"].map(|count| done[count].as_u64()),
        [Some(0), Some(1), Some(0)]
    );
    assert_eq!(["a", "c"].map(|letter| server.ping(letter, &conversation)), [401, 200]);
    let kept = Answer::read(server.eval_on("c", &session, "(inc x)")).expect("an answer");
    assert!(kept.body.contains("user=> 42"), "{kept:?}");
    // No token of a caller is in the log, those of the past neither.
    let log = server.http.server.launch.log();
    assert!(!["a", "b", "c"].iter().any(|letter| log.contains(&token(letter))));
}
