//! A person at a terminal with a browser that knows no script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;

use ptc_mcp::json::Value;
use tempfile::TempDir;

use crate::PATIENCE;

/// Their home, with an upstreams file and a store.
pub(crate) struct Person {
    home: TempDir,
    secret: String,
}

impl Person {
    /// With this upstreams file; every variable that it names is `secret`.
    pub(crate) fn new(file: &Value, secret: &str) -> Person {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("upstreams.json"), file.to_string()).expect("written");
        Person { home, secret: secret.to_owned() }
    }

    fn ptc(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
        command.args(arguments).arg("--upstreams-config").arg(self.home.path().join("upstreams.json"));
        command.env_clear().env("HOME", self.home.path());
        for variable in ["GITHUB_APP_SECRET", "SLACK_APP_SECRET", "FIGMA_APP_SECRET"] {
            command.env(variable, &self.secret);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    /// Signs in, and sees the page that says so.
    pub(crate) fn signs_in(&self, name: &str) {
        let mut child = self.ptc(&["login", name, "--json"]);
        let output = child.stdout.take().expect("piped");
        let (sender, events) = channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let event = || -> Value {
            let line = events.recv_timeout(PATIENCE).unwrap_or_default();
            serde_json::from_str(&line).unwrap_or_default()
        };
        let opened = event();
        let Some(url) = opened["url"].as_str().filter(|_| opened["event"] == "open") else {
            panic!("no link: {opened}, {}", end(child));
        };
        let (back, _) = get(url);
        let back = back.expect("a redirect");
        let (_, page) = get(&back);
        assert!(
            page.contains("<p>Signed in. You can close this window.</p>"),
            "{back}: {page} {}",
            end(child)
        );
        let signed_in = event();
        assert_eq!(signed_in["event"], "signed_in", "{signed_in}");
        assert!(child.wait().expect("it ran").success());
    }

    /// Is told why they cannot sign in.
    pub(crate) fn is_refused(&self, name: &str) -> Value {
        let output = self.ptc(&["login", name, "--json"]).wait_with_output().expect("it ran");
        assert_eq!(output.status.code(), Some(1));
        let told = String::from_utf8(output.stdout).expect("text");
        let told: Value = serde_json::from_str(told.lines().last().unwrap_or_default()).expect("an event");
        let (said, message) =
            (String::from_utf8(output.stderr).expect("text"), told["message"].as_str().unwrap_or_default());
        assert!(said.contains(&format!("ptc: cannot sign in to {name}: {message}\n")), "{said}");
        told
    }

    /// Calls the server's one tool; gives what it answers.
    pub(crate) fn calls(&self, name: &str) -> String {
        let output = self.ptc(&["call", name, "hello"]).wait_with_output().expect("it ran");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("text")
    }
}

fn end(mut child: Child) -> String {
    let mut said = String::new();
    // It may go on otherwise.
    let _ = child.kill();
    child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
    said
}

/// Asks for a page of this machine; gives where it redirects to, and its text.
fn get(url: &str) -> (Option<String>, String) {
    let url = url::Url::parse(url).expect("a URL");
    let address = ("127.0.0.1", url.port().expect("a port"));
    let mut stream = TcpStream::connect(address).expect("it listens");
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        url.host_str().unwrap_or_default()
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    (location, answer)
}
