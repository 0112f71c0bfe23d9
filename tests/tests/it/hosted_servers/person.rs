//! A person at a terminal with a browser that knows no script.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use ptc_mcp::json::Value;
use tempfile::TempDir;

use ptc_test_support::PATIENCE;
use ptc_test_support::child_process::{self, write_program};

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

    /// A path in their home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file that is theirs alone; gives its path.
    pub(crate) fn writes(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its own");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Installs a program of theirs.
    pub(crate) fn installs(&self, name: &str, script: &str) {
        std::fs::create_dir_all(self.path("bin")).expect("a folder");
        write_program(&self.path(&format!("bin/{name}")), script);
    }

    /// Starts a command with their file.
    pub(crate) fn ptc(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
        command.args(arguments).arg("--upstreams-config").arg(self.home.path().join("upstreams.json"));
        command.env_clear().env("HOME", self.home.path());
        // What they have installed themselves goes first.
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        for variable in ["GITHUB_APP_SECRET", "SLACK_APP_SECRET", "FIGMA_APP_SECRET"] {
            command.env(variable, &self.secret);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts")
    }

    /// Signs in, and sees the page that says so.
    pub(crate) fn signs_in(&self, name: &str) {
        self.tries_to_sign_in(name).unwrap_or_else(|told| panic!("no sign-in: {told}"));
    }

    /// Signs in, or is told why not before there is a link.
    pub(crate) fn tries_to_sign_in(&self, name: &str) -> Result<(), Value> {
        self.tries_to_sign_in_with(&[name])
    }

    /// Signs in for all callers, where the entry says that each does for itself.
    pub(crate) fn signs_in_for_all(&self, name: &str) {
        let tried = self.tries_to_sign_in_with(&[name, "--principal", "*"]);
        tried.unwrap_or_else(|told| panic!("no sign-in: {told}"));
    }

    fn tries_to_sign_in_with(&self, arguments: &[&str]) -> Result<(), Value> {
        let mut login = self.begins_to_sign_in(&[arguments, &["--json"]].concat());
        let opened = login.event();
        let Some(url) = opened["url"].as_str().filter(|_| opened["event"] == "open") else {
            return Err(opened);
        };
        let (back, _) = get(url);
        let back = back.expect("a redirect");
        let (_, page) = get(&back);
        let signed_in = login.event();
        assert!(page.contains("<p>Signed in. You can close this window.</p>"), "{back}: {page} {signed_in}");
        assert_eq!(signed_in["event"], "signed_in", "{signed_in}");
        assert!(login.ends().0, "its status");
        Ok(())
    }

    /// A sign-in that goes on with what the caller does.
    pub(crate) fn begins_to_sign_in(&self, arguments: &[&str]) -> Login {
        Login::start(self.ptc(&[&["login"], arguments].concat()))
    }

    /// Runs a command to its end: whether it succeeded, and what it said on both outputs.
    pub(crate) fn runs(&self, arguments: &[&str]) -> (bool, String, String) {
        self.runs_with(arguments, "")
    }

    /// The same with this input.
    pub(crate) fn runs_with(&self, arguments: &[&str], input: &str) -> (bool, String, String) {
        let mut child = self.ptc(arguments);
        // A command that reads nothing may be over by now.
        let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ran");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.success(), text(output.stdout), text(output.stderr))
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
        let output = self.ptc(&["call", name, "whoami"]).wait_with_output().expect("it ran");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// `ptc login` while it runs.
pub(crate) struct Login {
    child: Child,
    lines: Receiver<String>,
    said: JoinHandle<String>,
    /// All lines so far.
    pub(crate) heard: String,
}

impl Login {
    fn start(mut child: Child) -> Login {
        let lines = child_process::lines(child.stdout.take().expect("piped"));
        let mut errors = child.stderr.take().expect("piped");
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            errors.read_to_string(&mut said).expect("text");
            said
        });
        Login { child, lines, said, heard: String::new() }
    }

    /// The next line; empty at the end.
    pub(crate) fn line(&mut self) -> String {
        let line = self.lines.recv_timeout(PATIENCE).unwrap_or_default();
        self.heard += &format!("{line}\n");
        line
    }

    /// The next event of `--json`.
    pub(crate) fn event(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no event: {line:?}"))
    }

    /// Types a line.
    pub(crate) fn types(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("piped");
        input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    /// Waits for its end: whether it succeeded, and what it said on standard error.
    pub(crate) fn ends(mut self) -> (bool, String) {
        let status = self.child.wait().expect("it ran");
        (status.success(), self.said.join().expect("text"))
    }
}

/// Asks for a page of this machine; gives where it redirects to, and its text.
pub(crate) fn get(url: &str) -> (Option<String>, String) {
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
