//! The sign-in page of `ptc start --http --public-url`, over real sockets (auth.md 8). A real browser is in `tests/interop/oauth`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ptc_mcp::json::{Value, json};
use tempfile::TempDir;

use crate::PATIENCE;
use crate::hosted::{Habits, Hosted};

const ANN: &str = "ann-0123456789abcdef0123456789abcdef";
const BEN: &str = "ben-0123456789abcdef0123456789abcdef";

/// A server with the upstream `notes`, and two callers.
struct Server {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Server {
    fn start(hosted: &Hosted) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path
        };
        let tokens = write("tokens", &format!("ann:{ANN}\nben:{BEN}\n"));
        let entry = json!({"transport": "mcp_http", "url": hosted.url(), "allow_insecure_http": true, "protocol": "handshake", "auth": {"type": "oauth"}});
        let upstreams = write("upstreams.json", &json!({"upstreams": {"notes": entry}}).to_string());
        // Between finding a free port and binding it somebody else may take it: then the next one is tried.
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
            let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
            command.env_clear().env("HOME", folder.path());
            command.args([
                "start",
                "--http",
                "--http-port",
                &free.port().to_string(),
                "--log-level",
                "error",
            ]);
            command.args(["--public-url", &format!("http://{free}/mcp")]);
            command.args(["--upstream-call-timeout-ms", "60000", "--program-timeout-ms", "60000"]);
            command.arg("--http-auth-token-file").arg(&tokens).arg("--upstreams-config").arg(&upstreams);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().expect("it starts");
            let patience = Instant::now() + PATIENCE;
            while child.try_wait().expect("it ran").is_none() {
                assert!(Instant::now() < patience, "it does not listen");
                if TcpStream::connect(free).is_ok() {
                    return Server { child, port: free.port(), _folder: folder };
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        panic!("no server could be started");
    }

    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        ask(self.port, method, target, headers, body)
    }

    /// What the program of this caller gets of the upstream.
    fn calls(&self, token: &str) -> String {
        let program =
            "(let [r (tool/call {:server \"notes\" :tool \"hello\" :args {}})] (or (:message r) (:value r)))";
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
        let params = json!({"name": "lisp_eval", "arguments": {"program": program}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "lisp_eval"),
        ];
        let answer = self.ask("POST", "/mcp", &headers, &body);
        let message: Value = serde_json::from_str(&answer.body).expect("JSON");
        message["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

fn ask(port: u16, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
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
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Consents at the authorization server, whose redirect leads back: gives the path and query of that.
fn consent(link: &str) -> String {
    let link = url::Url::parse(link).expect("a URL");
    let target = &link[url::Position::BeforePath..];
    let answer = ask(link.port().expect("a port"), "GET", target, &[], "");
    let back = url::Url::parse(answer.header("location").expect("a redirect")).expect("a URL");
    back[url::Position::BeforePath..].to_owned()
}

#[test]
fn callers_sign_in_each_for_themselves_in_the_browser_where_they_began() {
    let hosted = Hosted::start(Habits::plain("/mcp"));
    let server = Server::start(&hosted);
    let page = "/oauth/start?upstream=notes";

    // The page holds nothing, and is the same for every upstream.
    let document = server.ask("GET", page, &[], "");
    assert_eq!((document.status, document.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(!document.body.contains("notes"));
    let policy = document.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!(document.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(document.body, server.ask("GET", "/oauth/start?upstream=%3Cb%3E", &[], "").body);

    // Only callers begin a sign-in, and only from our own pages.
    let ann = format!("Bearer {ANN}");
    let begin = |headers: &[(&str, &str)]| server.ask("POST", page, headers, "");
    assert_eq!(begin(&[]).status, 401);
    assert_eq!(begin(&[("Authorization", "Bearer wrong")]).status, 401);
    assert_eq!(begin(&[("Authorization", &ann), ("Origin", "https://evil.example")]).status, 403);
    assert_eq!(begin(&[("Authorization", &ann), ("Host", "evil.example")]).status, 403);
    assert_eq!(server.ask("PUT", page, &[("Authorization", &ann)], "").status, 405);
    let unknown = server.ask("POST", "/oauth/start?upstream=nobody", &[("Authorization", &ann)], "");
    assert_eq!(
        (unknown.status, unknown.body.as_str()),
        (404, "nobody signs in to an upstream 'nobody' here")
    );
    let own = format!("http://127.0.0.1:{}", server.port);
    let begun = begin(&[("Authorization", &ann), ("Origin", &own)]);
    assert_eq!((begun.status, begun.header("cache-control")), (200, Some("no-store")), "{}", begun.body);
    let cookie = begun.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-ptc-"), "{cookie}");
    assert!(cookie.ends_with("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    let told: Value = serde_json::from_str(&begun.body).expect("JSON");

    // The browser where it began takes the answer back, and no other one.
    let back = consent(told["url"].as_str().expect("a link"));
    assert!(back.starts_with("/oauth/callback?"), "{back}");
    let other =
        cookie.split_once('=').map(|(name, _)| format!("{name}=AAAAAAAAAAAAAAAAAAAAAA")).expect("a pair");
    for headers in [&[][..], &[("Cookie", other.as_str())]] {
        let refused = server.ask("GET", &back, headers, "");
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains("No sign-in waits for this address."));
    }
    assert!(server.calls(ANN).contains("not signed in to upstream 'notes'"));
    let done = server.ask("GET", &back, &[("Cookie", &format!("a=b; {cookie}"))], "");
    assert_eq!(done.status, 200);
    assert!(done.body.contains("<p>Signed in. You can close this window.</p>"), "{}", done.body);
    assert!(done.header("content-security-policy").expect("a policy").starts_with("default-src 'none'"));
    assert_eq!(done.header("cache-control"), Some("no-store"));
    assert!(done.header("set-cookie").expect("it is taken away").contains("=; Max-Age=0;"));
    assert_eq!(server.ask("GET", &back, &[("Cookie", &cookie)], "").status, 400, "a state is good once");

    // She is signed in, as the next look into the store tells, and he is told where to go.
    let patience = Instant::now() + PATIENCE;
    while !server.calls(ANN).contains("hello") {
        assert!(Instant::now() < patience, "{}", server.calls(ANN));
        std::thread::sleep(Duration::from_millis(50));
    }
    let link = format!("not signed in to upstream 'notes'; a person must open: {own}{page}");
    let told = server.calls(BEN);
    assert!(told.contains(&link), "{told}");
}

#[test]
fn a_public_url_is_https_or_of_this_machine() {
    let refused = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
        .env_clear()
        .args(["start", "--http", "--public-url", "http://ptc.example/mcp"])
        .output()
        .expect("it runs");
    let said = String::from_utf8(refused.stderr).expect("text");
    assert!(
        !refused.status.success() && said.contains("--public-url / PTC_PUBLIC_URL must be the https URL"),
        "{said}"
    );
}
