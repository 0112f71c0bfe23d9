//! `--expose`: clients reach what upstreams have as if it were the server's own, through the binary, in both eras (server.md 4.6, 4.8).

mod callers;
mod features;
mod tools;

use ptc_mcp::json::{Value, json};
use ptc_test_support::steps::{self, Steps};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// A client over a pipe, with its server.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    is_modern: bool,
    name: &'static str,
    next: u64,
    /// What came besides answers.
    heard: VecDeque<Value>,
    /// Answers to questions, the last one first.
    says: Vec<&'static str>,
    steps: Steps,
    _folder: TempDir,
}

/// The tool server of these tests as an upstream.
fn fake(flags: &[&str]) -> Value {
    json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream"), "args": flags})
}

impl Client {
    /// A client of a server with these upstreams.
    fn of(folder: TempDir, upstreams: &Value, flags: &[&str], is_modern: bool) -> Client {
        Client::named("t", folder, upstreams, flags, is_modern)
    }

    fn named(
        name: &'static str,
        folder: TempDir,
        upstreams: &Value,
        flags: &[&str],
        is_modern: bool,
    ) -> Client {
        Client::started(name, folder, upstreams, flags, is_modern, Stdio::inherit())
    }

    /// A client of the era before the last, of a server whose log goes to a file.
    fn logging(log: File, folder: TempDir, upstreams: &Value, flags: &[&str]) -> Client {
        Client::started("t", folder, upstreams, flags, false, log.into())
    }

    fn started(
        name: &'static str,
        folder: TempDir,
        upstreams: &Value,
        flags: &[&str],
        is_modern: bool,
        log: Stdio,
    ) -> Client {
        let config = folder.path().join("upstreams.json");
        std::fs::write(&config, json!({"upstreams": upstreams}).to_string()).expect("written");
        let steps = Steps::new();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
            .arg("start")
            .arg("--upstreams-config")
            .arg(&config)
            .args(if flags.contains(&"--log-level") { &[][..] } else { &["--log-level", "error"] })
            .args(flags)
            .env_clear()
            .env("HOME", folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env(steps::VARIABLE, steps.socket())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let (heard, says) = (VecDeque::new(), Vec::new());
        Client { child, input, output, is_modern, name, next: 0, heard, says, steps, _folder: folder }
    }

    /// Begins the conversation.
    fn greet(&mut self) -> Value {
        match self.is_modern {
            true => self.ask("server/discover", json!({})),
            false => self.ask(
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
                    "clientInfo": {"name": self.name, "version": "1"}}),
            ),
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// The id of a request that is sent.
    fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
                "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": "1"}
            });
        }
        self.write(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").and_then(|()| self.input.flush()).expect("it reads");
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message();
            if message["method"] == "elicitation/create" {
                let action = self.says.pop().unwrap_or_else(|| panic!("it asks {message}"));
                let result = json!({"action": action, "content": {"decision": "allow"}});
                self.write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            }
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    fn message(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).expect("a line") > 0, "it ended");
        serde_json::from_str(&line).expect("JSON")
    }

    /// The next message that is no answer.
    fn told(&mut self) -> Value {
        let told = self.heard.pop_front();
        told.unwrap_or_else(|| self.message())
    }

    /// The result of a call, in the modern era after answers to its questions.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        loop {
            let mut answer = self.ask("tools/call", params.clone());
            assert!(answer["error"].is_null(), "{tool}: {answer}");
            let result = answer["result"].take();
            if result["resultType"] != "input_required" {
                return result;
            }
            let requests = result["inputRequests"].as_object().expect("questions").keys();
            let action = self.says.pop().expect("an answer to its question");
            let responses = requests
                .map(|key| (key.clone(), json!({"action": action, "content": {"decision": "allow"}})));
            params["inputResponses"] = Value::Object(responses.collect());
            params["requestState"] = result["requestState"].clone();
        }
    }

    /// All items of a list over its pages, and how many those are.
    fn pages(&mut self, method: &str, member: &str) -> (Vec<Value>, usize) {
        let (mut items, mut params, mut pages) = (Vec::new(), json!({}), 0);
        loop {
            let answer = self.ask(method, params);
            let result = &answer["result"];
            pages += 1;
            items.extend(result[member].as_array().unwrap_or_else(|| panic!("{answer}")).clone());
            match result["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return (items, pages),
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn names<'a>(items: &'a [Value], key: &str) -> Vec<&'a str> {
    items.iter().map(|item| item[key].as_str().expect("a name")).collect()
}
