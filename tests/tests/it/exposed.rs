//! `--expose`: clients reach the resources, prompts and completions of two upstreams, through the binary, in both eras
//! (server.md 4.6); and an image that a program attaches reaches the client.

use ptc_mcp::json::{Value, json};
use ptc_test_support::steps::{self, Steps};
use ptc_test_support::wait_until;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    modern: bool,
    next: u64,
    /// What came besides answers.
    heard: VecDeque<Value>,
    steps: Steps,
    _folder: TempDir,
}

fn fake() -> Value {
    json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")})
}

/// The same, which hides some of what it has.
fn filtered() -> Value {
    let mut entry = fake();
    entry["deny_resources"] = json!(["secret:*"]);
    entry["allow_prompts"] = json!([]);
    entry
}

impl Client {
    fn start(flags: &[&str], modern: bool) -> Client {
        Client::over(&json!({"a": fake(), "b c": filtered()}), flags, modern)
    }

    /// A client of a server with these upstreams.
    fn over(upstreams: &Value, flags: &[&str], modern: bool) -> Client {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("upstreams.json");
        std::fs::write(&config, json!({"upstreams": upstreams}).to_string()).expect("written");
        let steps = Steps::new();
        let mut child = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
            .arg("start")
            .arg("--upstreams-config")
            .arg(&config)
            .args(["--log-level", "error"])
            .args(flags)
            .env_clear()
            .env("HOME", folder.path())
            .env(steps::VARIABLE, steps.socket())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Client { child, input, output, modern, next: 0, heard: VecDeque::new(), steps, _folder: folder }
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.next += 1;
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}
            });
        }
        let request = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        writeln!(self.input, "{request}").and_then(|()| self.input.flush()).expect("it reads");
        if method == "subscriptions/listen" {
            return json!(self.next);
        }
        let id = self.next;
        loop {
            let message = self.message();
            if message["id"] == id {
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

    /// The next notification.
    fn told(&mut self) -> Value {
        let told = self.heard.pop_front();
        told.unwrap_or_else(|| self.message())
    }

    /// Runs a program that calls a tool of an upstream, and gives the text of its answer.
    fn tool(&mut self, server: &str, tool: &str, uri: &str) -> String {
        let program = format!(
            "(:value (tool/call {{:server \"{server}\" :tool \"{tool}\" :args {{:uri \"{uri}\"}}}}))"
        );
        let params = json!({"name": "lisp_eval", "arguments": {"program": program}});
        let answer = self.ask("tools/call", params);
        answer["result"]["content"][0]["text"]
            .as_str()
            .expect("text")
            .trim_start_matches("user=> ")
            .to_owned()
    }

    fn greet(&mut self) -> Value {
        match self.modern {
            true => self.ask("server/discover", json!({})),
            false => self.ask(
                "initialize",
                json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"}}),
            ),
        }
    }

    /// All items of a list, over its pages.
    fn all(&mut self, method: &str, member: &str) -> Vec<Value> {
        let (mut items, mut params) = (Vec::new(), json!({}));
        loop {
            let answer = self.ask(method, params);
            let result = &answer["result"];
            items.extend(result[member].as_array().unwrap_or_else(|| panic!("{answer}")).clone());
            match result["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return items,
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

fn names(items: &[Value], key: &str) -> Vec<String> {
    items.iter().map(|item| item[key].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn clients_reach_what_upstreams_have_in_both_eras() {
    for modern in [false, true] {
        let mut client = Client::start(&["--expose", "resources,prompts"], modern);
        let greeting = client.greet();
        let capabilities = &greeting["result"]["capabilities"];
        for feature in ["resources", "prompts", "completions"] {
            assert!(capabilities[feature].is_object(), "{greeting}");
        }
        let resources = client.all("resources/list", "resources");
        assert_eq!(
            names(&resources, "uri"),
            [
                "ptc://a/text:[1]",
                "ptc://a/gone:",
                "ptc://a/secret:key",
                "ptc://a/blob:3",
                "ptc://b%20c/text:[1]",
                "ptc://b%20c/gone:",
                "ptc://b%20c/blob:3"
            ]
        );
        assert_eq!(resources[4]["name"], "b c/text:[1]");
        let templates = client.all("resources/templates/list", "resourceTemplates");
        assert_eq!(names(&templates, "uriTemplate"), ["ptc://a/text:{text}", "ptc://b%20c/text:{text}"]);
        let prompts = client.all("prompts/list", "prompts");
        assert_eq!(names(&prompts, "name"), ["a/greet"]);
        assert_eq!(prompts[0]["arguments"][0]["name"], "name");

        let read = client.ask("resources/read", json!({"uri": "ptc://b%20c/text:hello"}));
        assert_eq!(read["result"]["contents"], json!([{"uri": "ptc://b%20c/text:hello", "text": "hello"}]));
        assert_eq!(read["result"].get("resultType").is_some(), modern, "{read}");
        let blob = client.ask("resources/read", json!({"uri": "ptc://a/blob:3"}));
        assert_eq!(blob["result"]["contents"][0]["blob"], "AAAA");

        let prompt = client.ask("prompts/get", json!({"name": "a/greet", "arguments": {"name": "Ada"}}));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Greet \"Ada\".");
        let asked = json!({"ref": {"type": "ref/prompt", "name": "a/greet"},
            "argument": {"name": "name", "value": "Al"}, "context": {"arguments": {"town": "Ur"}}});
        let completion = client.ask("completion/complete", asked);
        assert_eq!(completion["result"]["completion"], json!({"values": ["Alan of Ur"], "hasMore": true}));
    }
}

#[test]
fn what_is_hidden_unknown_or_wrong_is_an_error() {
    let mut client = Client::start(&["--expose", "resources", "--expose", "prompts"], false);
    client.greet();
    for (method, params, code, message) in [
        ("resources/read", json!({"uri": "file:///x"}), -32002, "Resource not found"),
        ("resources/read", json!({"uri": "ptc://a/"}), -32002, "Resource not found"),
        ("resources/read", json!({"uri": "ptc://a/gone:"}), -32000, "upstream 'a': Resource not found"),
        (
            "resources/read",
            json!({"uri": "ptc://b%20c/secret:key"}),
            -32000,
            "upstream 'b c': the configuration hides resource \"secret:key\" of upstream 'b c' \
             (allow_resources, deny_resources)",
        ),
        ("resources/read", json!({}), -32602, "Invalid params: uri must be a non-empty string"),
        ("resources/list", json!({"cursor": "x"}), -32602, "Invalid params: unknown cursor"),
        ("resources/list", json!({"cursor": "[\"z\",null]"}), -32602, "Invalid params: unknown cursor"),
        ("prompts/get", json!({"name": "z/greet"}), -32602, "Unknown prompt: z/greet"),
        (
            "prompts/get",
            json!({"name": "a/greet", "arguments": [1]}),
            -32602,
            "Invalid params: arguments must be an object",
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/tool"}}),
            -32602,
            "Invalid params: ref must be a prompt or a resource that is offered",
        ),
        ("resources/subscribe", json!({"uri": 7}), -32602, "Invalid params: uri must be a non-empty string"),
    ] {
        let answer = client.ask(method, params);
        let error = &answer["error"];
        assert_eq!(
            (error["code"].as_i64(), error["message"].as_str()),
            (Some(code), Some(message)),
            "{answer}"
        );
    }
}

#[test]
fn requests_that_upstreams_are_not_sent_have_audit_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("audit");
    let mut bare = fake();
    bare["args"] = json!(["--only-tools"]);
    let gone = json!({"transport": "mcp_stdio", "command": "/nowhere/at/all", "required": false});
    let upstreams = json!({"bare": bare, "filtered": filtered(), "gone": gone});
    let flags = ["--expose", "resources,prompts", "--audit-log", log.to_str().expect("UTF-8")];
    let mut client = Client::over(&upstreams, &flags, false);
    client.greet();
    let complete = r#"(prompt/complete {:server "S" :name "p" :argument "a" :value "b"})"#;
    let mut wanted = Vec::new();
    for (server, form, method) in [
        ("bare", r#"(resource/list {:server "S"})"#, "resources/list"),
        ("bare", r#"(resource/templates {:server "S"})"#, "resources/templates/list"),
        ("bare", r#"(prompt/list {:server "S"})"#, "prompts/list"),
        ("bare", complete, "completion/complete"),
        ("filtered", complete, "completion/complete"),
        ("gone", complete, "completion/complete"),
        ("gone", r#"(resource/list {:server "S"})"#, "resources/list"),
    ] {
        let call = json!({"name": "lisp_eval", "arguments": {"program": form.replace('S', server)}});
        let answer = client.ask("tools/call", call);
        assert!(answer["result"]["isError"] != true, "{answer}");
        wanted.push((server.to_owned(), method.to_owned()));
    }
    let refused = client.ask("resources/read", json!({"uri": "ptc://filtered/secret:key"}));
    assert_eq!(refused["error"]["code"], -32000);
    wanted.push(("filtered".to_owned(), "resources/read".to_owned()));
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter(|line: &Value| line["kind"] == "upstream_call").collect()
    };
    wait_until("each request has its line", || lines().len() == wanted.len());
    for (line, (server, method)) in lines().iter().zip(&wanted) {
        assert_eq!((&line["upstream"], &line["tool"]), (&json!(server), &json!(method)));
        assert_ne!(line["outcome"], "ok", "{line}");
    }
}

#[test]
fn nothing_is_offered_unless_it_is_exposed() {
    let mut client = Client::start(&["--expose", "prompts"], false);
    let greeting = client.greet();
    assert!(greeting["result"]["capabilities"].get("resources").is_none(), "{greeting}");
    assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"], json!([]));
    assert_eq!(client.all("prompts/list", "prompts").len(), 1);
    let mut plain = Client::start(&[], false);
    let greeting = plain.greet();
    let offered: Vec<&String> =
        greeting["result"]["capabilities"].as_object().expect("capabilities").keys().collect();
    assert_eq!(offered, ["tools", "logging"]);
    assert_eq!(plain.ask("resources/subscribe", json!({"uri": "ptc://a/x"}))["error"]["code"], -32601);
    assert_eq!(plain.ask("prompts/list", json!({}))["result"]["prompts"], json!([]));
    assert_eq!(plain.ask("prompts/get", json!({"name": "a/x"}))["error"]["code"], -32601);
}

#[test]
fn an_attached_image_reaches_the_client() {
    for modern in [false, true] {
        let mut client = Client::start(&["--sessions"], modern);
        client.greet();
        let program = r#"(attach (:content (second (get-in (prompt/get {:server "a" :name "greet"}) [:value :messages]))))
                         (attach (:value (resource/read {:server "a" :uri "blob:5"}))) :done"#;
        let call = json!({"name": "lisp_eval", "arguments": {"program": program}});
        let answer = client.ask("tools/call", call);
        assert_eq!(
            answer["result"]["content"],
            json!([
                {"type": "text", "text": "user=> :done"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "resource", "resource": {"uri": "blob:5", "mimeType": "image/png", "blob": "AAAAAAA="}}
            ]),
            "{answer}"
        );
    }
}

#[test]
fn a_client_of_the_handshake_is_told_of_what_it_subscribed_to() {
    let mut client = Client::start(&["--expose", "resources,prompts"], false);
    let greeting = client.greet();
    let told = json!({"subscribe": true, "listChanged": true});
    assert_eq!(greeting["result"]["capabilities"]["resources"], told);
    let uri = json!({"uri": "ptc://a/text:1"});
    assert_eq!(client.ask("resources/subscribe", uri.clone())["result"], json!({}));
    assert_eq!(client.tool("a", "touch", "text:1"), "[\"text:1\"]");
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri});
    assert_eq!(client.told(), updated);
    // What nobody asked for, and another upstream's of the same name, is not told.
    client.tool("a", "touch", "text:2");
    client.tool("b c", "touch", "text:1");
    client.tool("a", "relist", "");
    for list in ["resources", "prompts"] {
        assert_eq!(client.told()["method"], format!("notifications/{list}/list_changed"));
    }
    assert_eq!(client.ask("resources/unsubscribe", uri)["result"], json!({}));
    assert_eq!(client.tool("a", "touch", "text:1"), "[]", "the upstream is not asked any more");
    // One that is hidden, one that is not there, one that is no URI of ours.
    let hidden = client.ask("resources/subscribe", json!({"uri": "ptc://b%20c/secret:x"}));
    assert!(hidden["error"]["message"].as_str().expect("refused").contains("hides"), "{hidden}");
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "text:1"}))["error"]["code"], -32002);
    // A server that was started anew is asked again, and what may have changed meanwhile is told.
    client.ask("resources/subscribe", json!({"uri": "ptc://a/text:3"}));
    client.tool("a", "die", "");
    let again = json!({"uri": "ptc://a/text:3"});
    wait_until("a change is told", || {
        // It is started again once it has rested for a while.
        client.steps.advance(Duration::from_secs(1));
        client.tool("a", "touch", "text:4");
        !client.heard.is_empty()
    });
    assert_eq!(client.told()["params"], again);
    assert_eq!(client.tool("a", "touch", "text:3"), "[\"text:3\"]");
}

#[test]
fn a_modern_client_listens() {
    let mut client = Client::start(&["--expose", "resources,prompts"], true);
    client.greet();
    let wanted = json!({
        "resourceSubscriptions": ["ptc://a/text:1", "ptc://b%20c/secret:x", "nonsense"],
        "promptsListChanged": true, "toolsListChanged": true
    });
    let channel = client.ask("subscriptions/listen", json!({"notifications": wanted}));
    let meta = json!({"io.modelcontextprotocol/subscriptionId": channel});
    let acknowledged = client.told();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let offered = json!({"resourceSubscriptions": ["ptc://a/text:1"], "promptsListChanged": true, "toolsListChanged": true});
    assert_eq!(acknowledged["params"], json!({"notifications": offered, "_meta": meta}));
    client.tool("a", "touch", "text:1");
    assert_eq!(client.told()["params"], json!({"uri": "ptc://a/text:1", "_meta": meta}));
    client.tool("a", "relist", "");
    let told = client.told();
    assert_eq!(
        (&told["method"], &told["params"]["_meta"]),
        (&json!("notifications/prompts/list_changed"), &meta)
    );
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "ptc://a/text:1"}))["error"]["code"], -32601);
}
