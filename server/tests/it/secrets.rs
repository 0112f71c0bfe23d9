//! Secrets of every credential source, echoed by upstreams in every place and encoding that they can, and searched for in
//! everything that the program puts out: answers, records, catalog, log, traces, debug records, session listings, metrics,
//! the console, and what `ptc check`, `ptc tools` and `ptc call` print.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ptc_mcp::json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PTC: &str = env!("CARGO_BIN_EXE_ptc");

/// Characters that every encoding treats in its own way.
const BEARER: &str = "bearer-s3cr\"et\\p/a+s%41s ~w0rd?";
const USER: &str = "user-n/me+one";
const PASSWORD: &str = "pass\"w\\rd two&three";
const LITERAL: &str = "literal-k=y&\"x\"+/<tag>";
const CHILD: &str = "child-token-/42+a%20b";
/// What callers of the server itself show.
const CALLER: &str = "caller-token-0123456789-abcdefghij";

/// Where a tool server can put what it knows. The shell server knows the first few.
const PLACES: [&str; 17] = [
    "text",
    "structured",
    "json_text",
    "tool_error",
    "tool_error_without_text",
    "rpc_error",
    "bad_request",
    "forbidden",
    "server_error",
    "redirect",
    "header",
    "events",
    "malformed",
    "other_id",
    "not_an_object",
    "input_required",
    "rate_limited",
];

const FORMS: [&str; 5] = ["plain", "json", "percent", "base64", "base64url"];

/// A secret as an encoding writes it.
fn encoded(secret: &str, form: &str) -> String {
    match form {
        "json" => {
            let quoted = Value::from(secret).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        }
        "percent" => secret
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect(),
        "base64" => STANDARD.encode(secret),
        "base64url" => URL_SAFE_NO_PAD.encode(secret),
        _ => secret.to_owned(),
    }
}

/// All texts that must not show: each secret in each encoding, and each of those as JSON strings hold it, twice over.
fn needles() -> Vec<String> {
    let basic = format!("{USER}:{PASSWORD}");
    let mut needles = Vec::new();
    for secret in [BEARER, USER, PASSWORD, &basic, LITERAL, CHILD, CALLER] {
        for form in FORMS {
            let once = encoded(secret, form).trim_end_matches('=').to_owned();
            let twice = encoded(&once, "json");
            needles.extend([encoded(&twice, "json"), twice, once]);
        }
    }
    needles.sort();
    needles.dedup();
    needles
}

/// An HTTP tool server that echoes the credential of each request.
fn echoing_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

fn serve(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let (mut length, mut secret) = (0, String::new());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                if line.trim_end().is_empty() { break } else { continue }
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "x-api-key" => secret = value.to_owned(),
                "authorization" => match value.split_once(' ')? {
                    ("Basic", text) => secret = String::from_utf8(STANDARD.decode(text).ok()?).ok()?,
                    (_, token) => secret = token.to_owned(),
                },
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, headers, body) = answer(&request, &secret);
        let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).ok()?;
    }
}

/// Status, further headers and body for a request that carries `secret`.
fn answer(request: &Value, secret: &str) -> (u16, String, String) {
    let id = &request["id"];
    let plain = "content-type: application/json\r\n".to_owned();
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    let rpc_error = |text: &str| {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": text}}).to_string()
    };
    match request["method"].as_str() {
        Some("initialize") => {
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "instructions": secret,
                               "serverInfo": {"name": secret, "version": secret}});
            (200, plain, result(hello))
        }
        Some("tools/list") => {
            let schema = json!({"type": "object", "title": secret, "properties": {
                "place": {"type": "string", "description": secret}, "form": {"type": "string"},
                secret: {"const": secret, "enum": [secret], "default": secret}}});
            let tools = json!({"tools": [
                {"name": "echo", "title": secret, "description": format!("gives {secret} away"), "inputSchema": schema,
                 "outputSchema": {"type": "object", "properties": {secret: {"type": "string"}}},
                 "annotations": {"title": secret, secret: true}},
                {"name": format!("tool-{secret}"), "description": "named for it", "inputSchema": {"type": "object"}}]});
            (200, plain, result(tools))
        }
        Some("tools/call") => {
            let arguments = &request["params"]["arguments"];
            let leak = encoded(secret, arguments["form"].as_str().unwrap_or_default());
            let said = format!("the credential is {leak}!");
            let text = |text: &str| json!([{"type": "text", "text": text}]);
            match arguments["place"].as_str().unwrap_or_default() {
                "text" => (200, plain, result(json!({"content": text(&said)}))),
                "structured" => {
                    (200, plain, result(json!({"structuredContent": {&leak: [said, {"deep": leak}]}})))
                }
                "json_text" => {
                    (200, plain, result(json!({"content": text(&json!({"key": leak}).to_string())})))
                }
                "tool_error" => (200, plain, result(json!({"isError": true, "content": text(&said)}))),
                "tool_error_without_text" => {
                    (200, plain, result(json!({"isError": true, "content": [], "why": said})))
                }
                "rpc_error" => (200, plain, rpc_error(&said)),
                "bad_request" => (400, plain, rpc_error(&said)),
                "forbidden" => (403, plain, said),
                "server_error" => (500, plain, said),
                "redirect" => (302, format!("location: http://127.0.0.1:1/?token={leak}\r\n"), said),
                "header" => (
                    200,
                    format!("{plain}x-echo: {leak}\r\nset-cookie: t={leak}\r\n"),
                    result(json!({"content": []})),
                ),
                "events" => {
                    let reply = result(json!({"content": text(&said)}));
                    let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": said}});
                    (
                        200,
                        "content-type: text/event-stream\r\n".to_owned(),
                        format!("data: {note}\n\ndata: {reply}\n\n"),
                    )
                }
                "malformed" => (200, plain, format!("{{\"id\": {id}, \"result\": {said}")),
                "other_id" => (200, plain, json!({"id": 77, "result": said}).to_string()),
                "not_an_object" => (200, plain, json!([said]).to_string()),
                "input_required" => (
                    200,
                    plain,
                    result(json!({"resultType": "input_required", "inputRequests": {leak: said}})),
                ),
                "rate_limited" => (429, plain, said),
                other => (200, plain, rpc_error(&format!("no place {other}"))),
            }
        }
        Some("server/discover") => (400, plain, rpc_error(secret)),
        _ => (202, String::new(), String::new()),
    }
}

/// A stdio server that says its token wherever it speaks; with `$1` it ends at the start.
const CHATTY: &str = r#"
echo "logging in with $TOKEN" >&2
[ "$1" = dead ] && exit 1
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *'"initialize"'*) reply "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"$TOKEN\",\"version\":\"1\"}}" ;;
    *'"tools/list"'*) reply "{\"tools\":[{\"name\":\"echo\",\"description\":\"uses $TOKEN\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
    *die*) echo "dying with $TOKEN" >&2; exit 3 ;;
    *error*) reply "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"not with $TOKEN\"}]}" ;;
    *'"tools/call"'*) echo "not JSON: $TOKEN"; reply "{\"content\":[{\"type\":\"text\",\"text\":\"$TOKEN\"}]}" ;;
  esac
done
"#;

fn configuration(folder: &Path, port: u16) -> std::path::PathBuf {
    std::fs::write(folder.join("basic"), format!("{USER}:{PASSWORD}\n")).unwrap();
    let http = |auth: Value| {
        json!({"transport": "mcp_http", "url": format!("http://127.0.0.1:{port}/mcp"), "auth": [auth],
               "allow_insecure_http": true, "allow_insecure_auth": true, "backoff_initial_ms": 1})
    };
    let child = |mode: &str| {
        json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", CHATTY, "chatty", mode], "required": false,
               "env": {"TOKEN": "${CHILD_TOKEN}"}, "backoff_initial_ms": 1})
    };
    let file = json!({
        "credentials": {
            "from-env": {"source": "env", "var": "BEARER_TOKEN"},
            "from-file": {"source": "file", "path": folder.join("basic")},
            "literal": {"source": "literal", "value": LITERAL}
        },
        "upstreams": {
            "bearer": http(json!({"scheme": "bearer", "binding": "from-env"})),
            "basic": http(json!({"scheme": "basic", "binding": "from-file"})),
            "custom": http(json!({"scheme": "custom_header", "header": "X-Api-Key", "binding": "literal"})),
            "child": child("alive"),
            "dead": child("dead")
        }
    });
    let path = folder.join("upstreams.json");
    std::fs::write(&path, file.to_string()).unwrap();
    path
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PTC);
    command
        .args(arguments)
        .env("HOME", folder)
        .env("BEARER_TOKEN", BEARER)
        .env("CHILD_TOKEN", CHILD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Programs that make upstreams speak, and show what they said in every way there is.
fn programs() -> Vec<String> {
    let mut programs = vec![
        "(tool/servers)".to_owned(),
        "(apropos \"secret credential token bearer echo tool\" {:limit 50})".to_owned(),
    ];
    for server in ["bearer", "basic", "custom"] {
        programs.extend([
            format!("(dir \"{server}\")"),
            format!("(doc \"{server}/echo\")"),
            format!("(meta \"{server}/echo\")"),
            format!("(tool/call {{:server \"{server}\" :tool \"none\"}})"),
            format!("(tool/call {{:server \"{server}\" :tool \"echo\" :args {{:place #{{1}} :f inc}}}})"),
        ]);
        let forms = FORMS.map(|form| format!("{form:?}")).join(" ");
        for place in PLACES {
            let call = format!(
                "(tool/call {{:server \"{server}\" :tool \"echo\" :args {{:place {place:?} :form f}}}})"
            );
            programs.push(format!("(mapv (fn [f] {call}) [{forms}])"));
        }
        let call = format!(
            "(:value (tool/call {{:server \"{server}\" :tool \"echo\" :args {{:place \"text\" :form \"json\"}}}}))"
        );
        programs.push(format!("(do (println {call}) (fail {call}))"));
        programs.push(format!("(do (println {call}) (/ {call} 0))"));
        programs.push(format!("(tool/call {{:server \"{server}\" :tool \"echo\" :args {{:place {call}}}}})"));
        programs.push(format!("(return {{(keyword {call}) #{{{call}}}}})"));
    }
    for place in ["text", "error", "die", "text"] {
        programs.push(format!("(tool/call {{:server \"child\" :tool \"echo\" :args {{:place {place:?}}}}})"));
    }
    programs.push("(tool/call {:server \"dead\" :tool \"echo\"})".to_owned());

    programs
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
}

/// What a server puts out while it answers everything that [`programs`] asks, and some questions about that.
fn converse(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = command(folder, arguments).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let log = std::thread::spawn(move || {
        let mut log = Vec::new();
        stderr.read_to_end(&mut log).map(|_| log)
    });
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut output = BufReader::new(output);
    let mut heard = Vec::new();
    let mut ask = |requests: &[Value]| {
        let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
        input.write_all(lines.as_bytes()).unwrap();
        let start = heard.len();
        for _ in requests {
            assert!(output.read_until(b'\n', &mut heard).unwrap() > 0, "the server ended");
        }
        String::from_utf8(heard[start..].to_vec()).unwrap()
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    ask(&[
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ]);
    let asked: Vec<Value> = programs()
        .iter()
        .enumerate()
        .map(|(n, program)| call(&format!("p{n}"), "lisp_eval", &json!({ "program": program })))
        .collect();
    ask(&asked);
    if arguments.contains(&"--sessions") {
        converse_in_session(|tool, arguments| ask(&[call("s", tool, &arguments)]));
    }
    if arguments.contains(&"--debug-tool") {
        for question in DEBUG_QUESTIONS {
            ask(&[call("d", "lisp_debug", &serde_json::from_str(question).unwrap())]);
        }
    }
    drop(input);
    output.read_to_end(&mut heard).unwrap();
    let status = child.wait().unwrap();
    Output { status, stdout: heard, stderr: log.join().unwrap().unwrap() }
}

const DEBUG_QUESTIONS: [&str; 3] =
    [r#"{"op":"recent","limit":100}"#, r#"{"op":"stats"}"#, r#"{"op":"recent"}"#];

/// Lets a session hold secrets, in a title, a name's value, prints and history, and looks at it in every way.
fn converse_in_session(mut ask: impl FnMut(&str, Value) -> String) {
    let started: Value =
        serde_json::from_str(&ask("lisp_session_start", json!({"title": format!("for {BEARER}")}))).unwrap();
    let session = &started["result"]["structuredContent"]["session_id"];
    assert!(session.is_string(), "{started}");
    for program in [
        "(def leak (:value (tool/call {:server \"bearer\" :tool \"echo\" :args {:place \"structured\" :form \"plain\"}})))",
        "(def known {leak (str leak)})",
        "(do (println leak) (tool/call {:server \"basic\" :tool \"echo\" :args {:place (str leak)}}))",
        "(fail leak)",
    ] {
        ask("lisp_session_eval", json!({"session_id": session, "program": program}));
    }
    for view in ["overview", "memory", "prints", "tool_calls", "history", "limits"] {
        ask("lisp_session_inspect", json!({"session_id": session, "view": view}));
    }
    ask("lisp_session_list", json!({}));
}

/// One request to a server, and its whole answer, head and body.
fn fetch(port: u16, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nAuthorization: Bearer {CALLER}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// What a server on HTTP answers to everything that [`programs`] asks, what its pages then show, and its log.
fn converse_over_http(folder: &Path, config: &str) -> (String, Vec<(&'static str, String)>, Vec<u8>) {
    let tokens = folder.join("tokens");
    std::fs::write(&tokens, format!("caller:{CALLER}\n")).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (port_text, tokens) = (port.to_string(), tokens.to_str().unwrap().to_owned());
    let arguments =
        ["start", "--upstreams-config", config, "--http", "--http-port", &port_text, "--http-metrics"];
    let more = [
        "--console",
        "--sessions",
        "--debug-tool",
        "--http-auth-token-file",
        &tokens,
        "--log-level",
        "debug",
    ];
    let mut child =
        command(folder, &[&arguments[..], &more[..]].concat()).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut log = Vec::new();
    while !log.ends_with(b"\n") || !String::from_utf8_lossy(&log).contains("http_listening") {
        assert!(stderr.read_until(b'\n', &mut log).unwrap() > 0, "{}", String::from_utf8_lossy(&log));
    }
    let rest = std::thread::spawn(move || stderr.read_to_end(&mut log).map(|_| log));
    let mut answers = String::new();
    let mut ask = |tool: &str, arguments: Value| {
        let mut message = call("h", tool, &arguments);
        message["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                            "io.modelcontextprotocol/clientCapabilities": {}});
        let headers =
            format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n");
        let answer = fetch(port, "POST", "/mcp", &headers, &message.to_string());
        answers.push_str(&answer);
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    for program in programs() {
        ask("lisp_eval", json!({ "program": program }));
    }
    converse_in_session(&mut ask);
    for question in DEBUG_QUESTIONS {
        ask("lisp_debug", serde_json::from_str(question).unwrap());
    }
    let pages = ["/metrics", "/console", "/console/api/state", "/console/api/catalog", "/health", "/ready"];
    let shown = pages.map(|page| (page, fetch(port, "GET", page, "", "")));
    let found = ("/console/api/calls", fetch(port, "POST", "/console/api/calls", "", "{}"));
    child.kill().unwrap();
    child.wait().unwrap();
    (answers, shown.into_iter().chain([found]).collect(), rest.join().unwrap().unwrap())
}

fn assert_clean(what: &str, bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    for needle in needles() {
        if let Some(at) = text.find(&needle) {
            let start = (0..=at.saturating_sub(300)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            panic!("{what} shows {needle:?}: …{}", &text[start..at + needle.len()]);
        }
    }
    text.matches("[REDACTED]").count()
}

#[test]
fn no_output_shows_a_secret_in_any_form() {
    let folder = tempfile::tempdir().unwrap();
    let config = configuration(folder.path(), echoing_server());
    let config = config.to_str().unwrap();
    let traces = folder.path().join("traces");

    let server = [
        "start",
        "--upstreams-config",
        config,
        "--log-level",
        "debug",
        "--catalog-mode",
        "inline",
        "--debug-tool",
        "--sessions",
        "--trace-dir",
        traces.to_str().unwrap(),
        "--trace-payloads",
        "full",
    ];
    let output = converse(folder.path(), &server);
    // Most echoes are cut out; the rest were never shown.
    assert!(assert_clean("an answer", &output.stdout) > 300);
    assert!(assert_clean("the log", &output.stderr) > 0);
    let files: Vec<_> = std::fs::read_dir(&traces).unwrap().flatten().collect();
    assert!(files.len() > 50, "{} traces", files.len());
    let shown: usize =
        files.iter().map(|file| assert_clean("a trace", &std::fs::read(file.path()).unwrap())).sum();
    assert!(shown > 100, "{shown}");

    for profile in ["slim", "structured"] {
        let server = ["start", "--upstreams-config", config, "--response-profile", profile];
        let output = converse(folder.path(), &server);
        assert!(assert_clean(profile, &output.stdout) > 100);
        assert_clean("the log", &output.stderr);
    }
    let (answers, pages, log) = converse_over_http(folder.path(), config);
    assert!(assert_clean("an answer over HTTP", answers.as_bytes()) > 300);
    assert!(assert_clean("the log of HTTP", &log) > 0);
    for (page, shown) in pages {
        assert!(shown.starts_with("HTTP/1.1 200"), "{page}: {shown}");
        let cut = assert_clean(page, shown.as_bytes());
        // The console shows programs, calls, sessions and the catalog; the other pages, nothing that upstreams say.
        assert_eq!(cut > 0, page.starts_with("/console/api"), "{page} has {cut} echoes cut out");
    }
    let echoed =
        "(tool/call {:server \"bearer\" :tool \"echo\" :args {:place \"structured\" :form \"plain\"}})";
    let commands: [&[&str]; 9] = [
        &["check", "--upstreams-config", config],
        &["check", "--upstreams-config", config, "--json"],
        &["tools", "--upstreams-config", config],
        &["tools", "--upstreams-config", config, "--json", "echo"],
        &[
            "call",
            "--upstreams-config",
            config,
            "basic",
            "echo",
            "--args",
            r#"{"place":"text","form":"base64"}"#,
        ],
        &[
            "call",
            "--upstreams-config",
            config,
            "bearer",
            "echo",
            "--args",
            r#"{"place":"rpc_error","form":"plain"}"#,
        ],
        &["eval", "--upstreams-config", config, "-e", "(dir \"custom\")"],
        &["eval", "--upstreams-config", config, "-e", echoed],
        &["eval", "--upstreams-config", config, "-e", &format!("(do (println {echoed}) (fail {echoed}))")],
    ];
    for command in commands {
        let output = self::command(folder.path(), command).stdin(Stdio::null()).output().unwrap();
        let shown = assert_clean(&command.join(" "), &output.stdout);
        assert!(
            shown + assert_clean(&command.join(" "), &output.stderr) > 0,
            "{command:?} shows nothing at all"
        );
    }
}
