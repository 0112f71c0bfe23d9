//! What clients and people see: each method in both eras, each tool, each route.

use super::{absent, rules, same_as_absent, tells_nothing, upstreams, write};
use crate::kept_programs;
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Http, Launch, Pipes};
use ptc_tests::product::root;
use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use tempfile::TempDir;

/// Everything that shows something of upstreams.
const FLAGS: [&str; 14] = [
    "--program-drafts",
    "--expose",
    "resources,prompts,tools",
    "--sessions",
    "--debug-tool",
    "--long-runs",
    "--agentic",
    "--agentic-allow-writes",
    "--agentic-model",
    "anthropic:m",
    "--questions",
    "auto",
    "--catalog-snapshot-mode",
    "frozen",
];

/// A server whose callers of that name are under the rules.
fn launch(principal: &str, further: &[&str]) -> (Launch, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &Value| write(&folder, name, &content.to_string());
    let entries = upstreams(env!("CARGO_BIN_EXE_fake-upstream"));
    let (config, policy) =
        (write("upstreams.json", &json!({"upstreams": entries})), write("policy.json", &rules(principal)));
    // What these programs call says who is served them.
    for (name, upstream) in [("zq7hidden", "zq7hiddenhost"), ("zq7visible", "zq7seen")] {
        let text = format!("{{:description \"Is {name}.\" :tools [\"{upstream}/zq7visible\"]}}\n5\n");
        kept_programs::write(&folder.path().join(format!("programs/{name}.clj")), &text);
    }
    kept_programs::approve(folder.path());
    let programs = folder.path().join("programs");
    let programs = programs.to_str().expect("UTF-8");
    let files = ["--upstreams-config", &config, "--policy", &policy, "--programs", programs];
    (Launch::new(&[&files[..], &FLAGS, further].concat()), folder)
}

/// The methods that the sources have an arm for.
fn methods() -> BTreeSet<String> {
    let folder = root().join("protocol/src/methods");
    let arm = Regex::new(r#"(?m)^\s*(?:Some\("([a-zA-Z/]+)"\)(?: if [^=]+)?|"([a-z]+/[a-zA-Z/]+)") => "#)
        .expect("a pattern");
    let mut found = BTreeSet::new();
    for file in ["mod.rs", "features.rs", "tasks.rs"] {
        let text = fs::read_to_string(folder.join(file)).expect("text");
        for arm in arm.captures_iter(&text) {
            found.extend(arm.get(1).or(arm.get(2)).map(|name| name.as_str().to_owned()));
        }
    }
    // References of completions are no methods.
    found.retain(|name| !name.starts_with("notifications/") && !name.starts_with("ref/"));
    found
}

/// The parameters with which a method is asked; `SERVER` and `THING` stand for names. A method without a row has no answer here.
fn requests(method: &str) -> Vec<Value> {
    let client = json!({"name": "t", "version": "1"});
    let eval = |program: &str| json!({"name": "lisp_eval", "arguments": {"program": program}});
    let template = json!({"type": "ref/resource", "uri": "ptc://SERVER/zq7:THING/{x}"});
    let prompt = json!({"type": "ref/prompt", "name": "SERVER/THING"});
    let argument = json!({"name": "x", "value": ""});
    match method {
        "initialize" => vec![
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
            json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "claude-code", "version": "1"}}),
        ],
        "ping" | "server/discover" => vec![json!({})],
        // Cursors name upstreams. One of tools is a place among names, whether or not there is such a tool.
        "tools/list" | "resources/list" | "resources/templates/list" | "prompts/list" => {
            vec![
                json!({}),
                json!({"cursor": r#"["SERVER",null]"#}),
                json!({"cursor": r#"["SERVER","THING"]"#}),
            ]
        }
        "tools/call" => vec![
            eval(r#"(tool/call {:server "SERVER" :tool "THING"})"#),
            eval(r#"(doc "SERVER/THING")"#),
            eval("(tool/servers)"),
            eval("(program/THING {})"),
            eval("(doc 'program/THING)"),
            eval("(meta 'program/THING)"),
            eval("[(dir 'program) (apropos \"is THING\")]"),
            json!({"name": "THING", "arguments": {}}),
            json!({"name": "SERVER/THING", "arguments": {}}),
            json!({"name": "SERVER__THING", "arguments": {}}),
            json!({"name": "SERVER__zq7visible", "arguments": {"path": "THING"}}),
        ],
        "logging/setLevel" => vec![json!({"level": "debug"})],
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            vec![
                json!({"uri": "ptc://SERVER/zq7:THING"}),
                json!({"uri": "ptc://SERVER/"}),
                json!({"uri": "zq7:THING"}),
            ]
        }
        "prompts/get" => vec![json!({"name": "SERVER/THING"}), json!({"name": "THING"})],
        "completion/complete" => {
            vec![json!({"ref": template, "argument": argument}), json!({"ref": prompt, "argument": argument})]
        }
        "subscriptions/listen" => vec![json!({"notifications": {
            "resourceSubscriptions": ["ptc://SERVER/zq7:THING"], "resourcesListChanged": true, "promptsListChanged": true}})],
        "tasks/get" | "tasks/cancel" => vec![json!({"taskId": "THING"})],
        "tasks/update" => vec![json!({"taskId": "THING", "inputResponses": {}})],
        // They end the conversation, and say nothing.
        "shutdown" | "exit" => vec![],
        other => panic!("{other} has no row: how is a thing named there that the policy hides?"),
    }
}

/// The arguments with which a tool is called.
fn arguments(tool: &str) -> Vec<Value> {
    let program = r#"(tool/call {:server "SERVER" :tool "THING"})"#;
    match tool {
        "lisp_eval" => vec![
            json!({"program": program}),
            json!({"program": program, "wait_ms": 60000}),
            json!({"program": r#"(println (tool/servers)) (dir "SERVER")"#}),
            json!({"program": "(program/THING {})"}),
        ],
        "lisp_keep" => vec![
            json!({"name": "kept", "description": "x", "program": program}),
            json!({"name": "kept", "description": "THING", "tools": ["SERVER/THING"]}),
        ],
        "lisp_task" => vec![json!({"task": "Call THING of SERVER."})],
        "lisp_debug" => vec![json!({"view": "recent"}), json!({"view": "stats"}), json!({})],
        "lisp_session_start" => vec![json!({})],
        "lisp_session_eval" => vec![
            json!({"session_id": "SESSION", "program": program}),
            json!({"session_id": "SERVER", "program": program}),
        ],
        "lisp_session_inspect" | "lisp_session_forget" | "lisp_session_close" => {
            vec![json!({"session_id": "SERVER", "names": ["THING"]}), json!({"session_id": "SESSION"})]
        }
        "lisp_session_list" => vec![json!({})],
        "lisp_wait" | "lisp_cancel" => vec![json!({"run_id": "THING"})],
        "lisp_resume" => vec![json!({"run_id": "THING", "answers": {}})],
        "zq7seen__zq7visible" => {
            vec![json!({"path": "/reports/x", "zq7_of": "SERVER"}), json!({"path": "THING"})]
        }
        // A kept program takes what it declares.
        "zq7visible" => vec![json!({}), json!({"SERVER": "THING"})],
        other => panic!("{other} has no row: how is a thing named there that the policy hides?"),
    }
}

/// What a caller names: an upstream, and something there that is hidden.
const HIDDEN: [(&str, &str); 2] = [("zq7seen", "zq7hidden"), ("zq7hiddenhost", "zq7visible")];

/// The answers of a pipe.
struct Client {
    pipes: Pipes,
    is_modern: bool,
    next: u64,
    /// Kept as long as the server runs.
    _folder: TempDir,
}

impl Client {
    fn start(is_modern: bool) -> Client {
        let (launch, folder) = launch("process", &[]);
        Client { pipes: launch.on_pipes(), is_modern, next: 0, _folder: folder }
    }

    /// All that the server says until it has answered, the answer last.
    fn ask(&mut self, method: &str, params: &Value) -> String {
        self.next += 1;
        let mut params = params.clone();
        if self.is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
                "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "1"}
            });
        }
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.pipes.send_line(message.to_string().as_bytes());
        let mut said = String::new();
        loop {
            let answer = self.pipes.receive();
            let is_last = answer["id"] == id || method == "subscriptions/listen";
            said.push_str(&answer.to_string());
            if is_last {
                return said;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }
}

/// What differs from call to call.
fn settled(text: &str) -> String {
    let varies = Regex::new(
        r"\b(?:(?:run|ptcs|ev)_[A-Za-z0-9_-]{8,}|[0-9a-f]{64}\b|[0-9TZ:.-]{20,}|[0-9]+(?:\.[0-9]+)?\b)",
    );
    varies.expect("a pattern").replace_all(text, "#").into_owned()
}

fn named(text: &Value, server: &str, thing: &str) -> Value {
    let text = text.to_string().replace("SERVER", server).replace("THING", thing);
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn no_method_tells_of_what_is_hidden() {
    assert!(methods().len() > 15, "the sources are read: {:?}", methods());
    for is_modern in [false, true] {
        let mut client = Client::start(is_modern);
        if !is_modern {
            tells_nothing("initialize", &client.ask("initialize", &requests("initialize")[0]));
        }
        for method in methods() {
            for params in requests(&method) {
                for (server, thing) in HIDDEN {
                    let params = named(&params, server, thing);
                    let hidden = settled(&client.ask(&method, &params));
                    let twin = absent(&params.to_string());
                    let of_absent = client.ask(&method, &serde_json::from_str(&twin).expect("JSON"));
                    same_as_absent(
                        &format!("{method} {params}"),
                        &hidden,
                        &settled(&of_absent),
                        &[server, thing],
                    );
                }
            }
        }
    }
}

#[test]
fn clients_read_what_they_may() {
    let mut client = Client::start(true);
    for (method, params, said) in [
        ("server/discover", json!({}), "the tools of zq7seen with"),
        ("tools/list", json!({}), "zq7listed"),
        ("tools/list", json!({}), r#""name":"zq7seen__zq7visible""#),
        ("tools/list", json!({}), "program/zq7visible - Is zq7visible."),
        ("tools/call", json!({"name": "zq7visible", "arguments": {}}), "5"),
        (
            "tools/call",
            json!({"name": "lisp_eval", "arguments": {"program": "(program/zq7visible {})"}}),
            "5",
        ),
        (
            "tools/call",
            json!({"name": "zq7seen__zq7visible", "arguments": {"path": "/reports/x"}}),
            "/reports/x",
        ),
        ("resources/list", json!({}), "ptc://zq7seen/zq7:zq7visible"),
        ("resources/templates/list", json!({}), "ptc://zq7seen/zq7:zq7visible/{x}"),
        ("resources/read", json!({"uri": "ptc://zq7seen/zq7:zq7visible"}), "read"),
        ("prompts/list", json!({}), "zq7seen/zq7visible"),
        ("prompts/get", json!({"name": "zq7seen/zq7visible"}), "Use \\\"zq7visible\\\"."),
    ] {
        let answer = client.ask(method, &params);
        assert!(answer.contains(said), "{method}: {answer}");
        assert!(!answer.contains("\"error\":{\"code\""), "{method}: {answer}");
    }
}

#[test]
fn no_tool_tells_of_what_is_hidden() {
    let mut client = Client::start(true);
    let listed: Value = serde_json::from_str(&client.ask("tools/list", &json!({}))).expect("JSON");
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"lisp_task") && names.contains(&"lisp_session_eval"), "{names:?}");
    let started = client.call("lisp_session_start", &json!({}));
    let session = Regex::new("ptcs_[A-Za-z0-9_-]+").expect("a pattern");
    let session = session.find(&started).map(|found| found.as_str());
    let session = session.unwrap_or_else(|| panic!("a session: {started}")).to_owned();
    for tool in names {
        for given in arguments(tool) {
            let given: Value =
                serde_json::from_str(&given.to_string().replace("SESSION", &session)).expect("JSON");
            for (server, thing) in HIDDEN {
                let arguments = named(&given, server, thing);
                if tool == "lisp_keep" {
                    // From then on each draft replaces one.
                    client.call(tool, &arguments);
                }
                let hidden = settled(&client.call(tool, &arguments));
                let twin = absent(&arguments.to_string());
                let of_absent = client.call(tool, &serde_json::from_str(&twin).expect("JSON"));
                // It shows what the caller has done before, or does it once.
                let remembers =
                    ["lisp_debug", "lisp_session_inspect", "lisp_session_list", "lisp_session_close"]
                        .contains(&tool);
                if !remembers {
                    let about = format!("{tool} {arguments}");
                    same_as_absent(&about, &hidden, &settled(&of_absent), &[server, thing]);
                }
            }
        }
    }
}

/// The paths of data for people, as the sources name them.
fn routes() -> BTreeSet<String> {
    let path = Regex::new(r#"const [A-Z_]+: &str = "(/[a-z/.-]+)";"#).expect("a pattern");
    let mut found = BTreeSet::new();
    for file in [
        "console.rs",
        "console_runs.rs",
        "console_calls.rs",
        "console_drafts.rs",
        "console_trial.rs",
        "sign_in/mod.rs",
        "webhook.rs",
        "router.rs",
    ] {
        let text = fs::read_to_string(root().join("transport/src/http").join(file)).expect("text");
        found.extend(path.captures_iter(&text).map(|path| path[1].to_owned()));
    }
    found
}

#[test]
fn no_route_tells_of_what_is_hidden() {
    let (launch, _folder) = launch("anonymous", &["--console"]);
    let server: Http = launch.on_http();
    let mut seen = BTreeSet::new();
    for (path, holds) in [
        ("/console", "<"),
        ("/console/api/state", "zq7seen"),
        ("/console/api/catalog", "zq7listed"),
        ("/console/api/sign-ins", "sign_ins"),
        ("/console/api/runs", "runs"),
        ("/console/api/drafts", "\"drafts\":["),
        // Without a public URL there is no page for sign-ins; `an_upstream_that_is_not_seen_is_none_on_the_sign_in_page`.
        ("/oauth/start", ""),
        ("/oauth/callback", ""),
        ("/oauth/client.json", ""),
    ] {
        seen.insert(path.to_owned());
        let answer = server.get(path);
        assert!(answer.body.contains(holds), "{path}: {answer:?}");
        tells_nothing(path, &format!("{answer:?}"));
    }
    for (path, bodies) in [
        (
            "/console/api/calls",
            [json!({"upstream": "SERVER"}), json!({"tool": "THING"}), json!({"text": "THING"})],
        ),
        (
            "/console/api/trial",
            [
                json!({"upstream": "SERVER", "tool": "THING", "confirmed": true}),
                json!({"upstream": "SERVER", "tool": "THING"}),
                json!({"upstream": "zq7seen", "tool": "THING", "arguments": {"path": "/reports/a"}}),
            ],
        ),
    ] {
        seen.insert(path.to_owned());
        for body in bodies {
            for (upstream, thing) in HIDDEN {
                let body = named(&body, upstream, thing).to_string();
                let post = |body: &str| {
                    let length = body.len();
                    let head = format!(
                        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
                    );
                    let answer = server.exchange(&[head.as_bytes(), body.as_bytes()].concat());
                    settled(&format!("{} {}", answer.status, answer.body))
                };
                let (hidden, of_absent) = (post(&body), post(&absent(&body)));
                same_as_absent(&format!("{path} {body}"), &hidden, &of_absent, &[upstream, thing]);
            }
        }
    }
    let tools = server.get("/console/api/state").json();
    assert_eq!(tools["upstreams"].as_array().expect("upstreams").len(), 1);
    assert_eq!(tools["upstreams"][0]["tools"], 2, "what is hidden is not counted");
    let unseen: Vec<String> = routes().into_iter().filter(|path| !seen.contains(path)).collect();
    assert_eq!(unseen, [""; 0], "a route without a row: does it show upstreams?");
    assert!(server.eval(r#"(map :name (tool/servers))"#).contains("zq7seen"));
}

#[test]
fn two_callers_of_one_server_see_their_own_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| write(&folder, name, content);
    let rule = |name: &str, tool: &str| json!({"match": {"principal": name}, "upstreams": {"zq7seen": {"allow": [tool]}}});
    let rules = json!({"rules": [rule("ann", "zq7visible"), rule("ben", "zq7listed")]});
    let entries = json!({"upstreams": upstreams(env!("CARGO_BIN_EXE_fake-upstream"))});
    let tokens = ["ann", "ben"].map(|name| format!("{name}-0123456789abcdef0123456789abcdef"));
    let tokens_file = write("tokens", &format!("ann:{}\nben:{}\n", tokens[0], tokens[1]));
    let (config, policy) =
        (write("upstreams.json", &entries.to_string()), write("policy.json", &rules.to_string()));
    let flags = [
        "--upstreams-config",
        &config,
        "--policy",
        &policy,
        "--http-auth-token-file",
        &tokens_file,
        "--console",
    ];
    let server = Launch::of(env!("CARGO_BIN_EXE_ptc-under-test"), &flags).on_http();
    let ask = |token: &str, method: &str, params: &Value| {
        let mut params = params.clone();
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let headers = format!(
            "Authorization: Bearer {token}\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}"
        );
        let answer = server.post(&headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    };
    let dir = json!({"name": "lisp_eval", "arguments": {"program": r#"(dir "zq7seen")"#}});
    for _ in 0..2 {
        for (token, own, other) in
            [(&tokens[0], "zq7visible", "zq7listed"), (&tokens[1], "zq7listed", "zq7visible")]
        {
            let bearer = format!(
                "GET /console/api/catalog HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
            );
            let seen = [
                ask(token, "tools/list", &json!({})),
                ask(token, "server/discover", &json!({})) + own,
                ask(token, "tools/call", &dir),
                server.exchange(bearer.as_bytes()).body,
            ];
            for answer in seen {
                assert!(answer.contains(own) && !answer.contains(other), "{own}: {answer}");
                tells_nothing(own, &answer);
            }
        }
    }
}

#[test]
fn metrics_name_all_upstreams_and_are_for_operators() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| write(&folder, name, content);
    let [ann, olga] = ["ann", "olga"].map(|name| format!("{name}-0123456789abcdef0123456789abcdef"));
    let entries = json!({"upstreams": upstreams(env!("CARGO_BIN_EXE_fake-upstream"))});
    let files = [
        write("upstreams.json", &entries.to_string()),
        write("policy.json", &rules("ann").to_string()),
        write("tokens", &format!("ann:{ann}\n")),
        write("operators", &format!("olga:{olga}\n")),
    ];
    let flags = [
        "--upstreams-config",
        &files[0],
        "--policy",
        &files[1],
        "--http-auth-token-file",
        &files[2],
        "--http-operator-token-file",
        &files[3],
        "--http-metrics",
        // Of a loopback address nobody needs a token.
        "--http-host",
        "0.0.0.0",
    ];
    let server = Launch::of(env!("CARGO_BIN_EXE_ptc-under-test"), &flags).on_http();
    let scrape = |token: &str| {
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n");
        server.exchange(request.as_bytes())
    };
    let refused = scrape(&ann);
    assert_eq!(refused.status, 403);
    tells_nothing("/metrics", &refused.body);
    let told = scrape(&olga);
    assert_eq!(told.status, 200);
    assert!(told.body.contains("zq7hiddenhost"), "{}", told.body);
}
