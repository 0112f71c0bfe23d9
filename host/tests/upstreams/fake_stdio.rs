//! A tool server on standard streams whose tools misbehave on demand.

use std::collections::BTreeSet;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::sys::signal::SigSet;
use ptc_mcp::json::{Value, json};

/// The first argument that makes the test binary this server; the second is its mode.
pub(crate) const ROLE: &str = "--fake-stdio-server";

/// The first argument of processes that the tool `family` starts.
pub(crate) const DESCENDANT_ROLE: &str = "--descendant";

/// The pause between two bytes of an answer that has no end.
const DRIP: Duration = Duration::from_millis(5);

const TOOLS: [&str; 27] = [
    "echo",
    "text",
    "fail",
    "error",
    "later",
    "signals",
    "never",
    "die",
    "noise",
    "twice",
    "big",
    "big_id_last",
    "big_again",
    "latin1",
    "ping",
    "half",
    "finish",
    "drip",
    "cancelled",
    "close_stdout",
    "family",
    "change",
    "neither",
    "ask",
    "ask_late",
    "answers",
    "write",
];

struct Server {
    mode: String,
    cancelled: BTreeSet<u64>,
    /// What the client answered to our requests.
    answers: Vec<Value>,
    /// A call that waits for an answer of the client.
    waiting: Option<Value>,
    /// Calls that wait for the answer to a question, by its id.
    asking: Vec<(Value, Value)>,
    /// Methods whose first request was refused for its revision.
    refused: BTreeSet<String>,
}

/// Serves until standard input ends.
pub(crate) fn serve(mode: &str) -> ! {
    if mode == "dies-at-start" {
        eprintln!("cannot open the database");
        std::process::exit(3);
    }
    let server = Arc::new(Mutex::new(Server {
        mode: mode.to_owned(),
        cancelled: BTreeSet::new(),
        answers: Vec::new(),
        waiting: None,
        asking: Vec::new(),
        refused: BTreeSet::new(),
    }));
    if mode == "prints-a-banner" {
        send("\u{1b}[32mServer ready\u{1b}[0m on stdio");
    }
    if mode == "marks-its-bytes" {
        std::io::stdout().write_all(b"\xef\xbb\xbf").unwrap();
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).expect("the client sends JSON lines");
        handle(&server, &message);
    }
    if mode == "ignores-eof" {
        std::thread::sleep(Duration::from_secs(600));
    }
    std::process::exit(0)
}

fn handle(server: &Arc<Mutex<Server>>, message: &Value) {
    let id = &message["id"];
    let mode = server.lock().unwrap().mode.clone();
    match message["method"].as_str() {
        // A server that does not know the revision at first, and yet offers it.
        Some(method @ ("server/discover" | "tools/list" | "tools/call"))
            if mode == "modern-updating" && server.lock().unwrap().refused.insert(method.to_owned()) =>
        {
            let data = json!({"supported": ["2026-07-28"]});
            let error = json!({"code": -32022, "message": "Unsupported protocol version", "data": data});
            send(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
        None => {
            let mut server = server.lock().unwrap();
            if let Some(at) = server.asking.iter().position(|(asked, _)| asked == id) {
                let (_, call) = server.asking.swap_remove(at);
                let told = if message["error"].is_null() { &message["result"] } else { &message["error"] };
                return reply(&call, json!({"structuredContent": told}));
            }
            server.answers.push(message.clone());
            if server.answers.len() == 2
                && let Some(id) = server.waiting.take()
            {
                let answers = std::mem::take(&mut server.answers);
                reply(&id, json!({"structuredContent": answers}));
            }
        }
        Some("initialize") if mode.starts_with("modern") => error(id, -32601, "Method not found"),
        Some("initialize") if matches!(&*mode, "no-initialize" | "prints-a-banner") => {}
        Some("initialize") if mode == "refuses" => error(id, -32000, "license expired"),
        Some("initialize") => {
            if mode == "pings-first" {
                send(&json!({"jsonrpc": "2.0", "id": "early", "method": "ping"}).to_string());
            }
            reply(
                id,
                json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": {"name": "fake", "version": "1"}}),
            );
        }
        Some("server/discover") if mode == "exits-on-discover" => std::process::exit(1),
        Some("server/discover") if mode.starts_with("modern") => reply(
            id,
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "public",
                   "capabilities": {"tools": {"listChanged": true}}}),
        ),
        Some("notifications/cancelled") => {
            let id = message["params"]["requestId"].as_u64().expect("a number");
            server.lock().unwrap().cancelled.insert(id);
        }
        Some("tools/list") => list(&mode, id, message),
        Some("tools/call") => call(server, id.clone(), message),
        Some("subscriptions/listen") => {
            assert_eq!(message["params"]["notifications"]["toolsListChanged"], true);
        }
        Some("notifications/initialized") => {}
        Some(other) => error(id, -32601, &format!("no method {other}")),
    }
}

/// A request of ours with this id, these params, and a method unless it is to ask a person.
fn question(args: &Value) -> String {
    let method = args["method"].as_str().unwrap_or("elicitation/create");
    json!({"jsonrpc": "2.0", "id": args["id"], "method": method, "params": args["params"]}).to_string()
}

/// Asks once, and answers with what it was told.
fn input_required(params: &Value) -> Value {
    if params["inputResponses"].is_object() {
        return json!({"structuredContent": {"told": params["inputResponses"], "state": params["requestState"]}});
    }
    let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let asked = json!({"method": "elicitation/create", "params": {"message": capabilities.to_string(),
                       "requestedSchema": {"type": "object", "properties": {}}}});
    json!({"resultType": "input_required", "requestState": "s\u{1F600}", "inputRequests": {"k": asked}})
}

fn list(mode: &str, id: &Value, message: &Value) {
    if mode == "odd-list" {
        return reply(id, json!({"tools": 7}));
    }
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let all: Vec<Value> = TOOLS.iter().map(tool).collect();
    if mode != "pages" {
        return reply(id, json!({ "tools": all }));
    }
    match message["params"]["cursor"].as_str() {
        None => reply(id, json!({"tools": all[..3], "nextCursor": "3"})),
        Some("3") => reply(id, json!({"tools": all[3..]})),
        Some(_) => error(id, -32602, "no such cursor"),
    }
}

fn call(server: &Arc<Mutex<Server>>, id: Value, message: &Value) {
    let mode = server.lock().unwrap().mode.clone();
    if mode == "modern-asks" {
        return reply(&id, input_required(&message["params"]));
    }
    if mode.starts_with("modern") {
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "every request says so");
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    }
    let args = &message["params"]["arguments"];
    let number = |name: &str| args[name].as_u64().unwrap_or(0);
    let filler = "x".repeat(number("bytes") as usize);
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    match message["params"]["name"].as_str().unwrap_or_default() {
        "echo" => reply(&id, json!({"content": [], "structuredContent": args})),
        "text" => reply(&id, text(args["text"].as_str().unwrap())),
        "fail" => reply(&id, json!({"isError": true, "content": [{"type": "text", "text": "no such PR"}]})),
        "error" => error(&id, -32602, "bad arguments"),
        "later" => {
            let (port, args) = (u16::try_from(number("port")).unwrap(), args.clone());
            std::thread::spawn(move || {
                hold(port, &args);
                reply(&id, json!({ "structuredContent": args }));
            });
        }
        "signals" => {
            let blocked = SigSet::thread_get_mask().unwrap().iter().count();
            reply(&id, json!({ "structuredContent": blocked }));
        }
        "never" => {}
        "die" => {
            eprintln!("out of cheese");
            std::process::exit(i32::try_from(number("status")).unwrap());
        }
        "noise" => {
            for line in [
                "Listening on stdio",
                "",
                "{\"broken\": ",
                "{}",
                "[1,2]",
                "null",
                "{\"id\":99999,\"result\":{}}",
            ] {
                send(line);
            }
            send(&json!({"id": null, "result": 1}).to_string());
            send(&json!({"method": "notifications/message", "params": {"data": "hello"}}).to_string());
            reply(&id, json!({"structuredContent": "after the noise"}));
        }
        "write" => {
            let mut out = std::io::stdout().lock();
            let text = args["text"].as_str().unwrap().replace("$ID", &id.to_string());
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).unwrap();
        }
        "twice" => {
            reply(&id, json!({"structuredContent": 1}));
            reply(&id, json!({"structuredContent": 2}));
        }
        "big" => reply(&id, text(&filler)),
        "big_again" => {
            reply(&id, text("1"));
            reply(&id, text(&filler));
        }
        "big_id_last" => send(&format!("{{\"result\":{},\"jsonrpc\":\"2.0\",\"id\":{id}}}", text(&filler))),
        "latin1" => {
            let mut line =
                json!({"jsonrpc": "2.0", "id": id, "result": text("caf?")}).to_string().into_bytes();
            let at = line.iter().position(|b| *b == b'?').unwrap();
            line[at] = 0xE9;
            send_bytes(&line);
        }
        "ping" => {
            server.lock().unwrap().waiting = Some(id);
            send(&json!({"jsonrpc": "2.0", "id": "p1", "method": "ping"}).to_string());
            send(&json!({"jsonrpc": "2.0", "id": 2, "method": "roots/list"}).to_string());
        }
        "ask" => {
            server.lock().unwrap().asking.push((args["id"].clone(), id));
            for _ in 0..args["times"].as_u64().unwrap_or(1) {
                send(&question(args));
            }
        }
        "ask_late" => {
            reply(&id, json!({"structuredContent": true}));
            send(&question(args));
        }
        "answers" => {
            let params = json!({"requestId": args["withdraws"]});
            if !params["requestId"].is_null() {
                let method = "notifications/cancelled";
                send(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
            }
            reply(&id, json!({"structuredContent": server.lock().unwrap().answers}));
        }
        "half" => {
            // A whole reply but for its newline, which `finish` brings.
            let line = json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": filler}]}});
            let mut out = std::io::stdout();
            out.write_all(line.to_string().as_bytes()).and_then(|()| out.flush()).unwrap();
        }
        "finish" => {
            send("");
            reply(&id, json!({"structuredContent": true}));
        }
        "drip" => {
            let line = json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string();
            std::thread::spawn(move || {
                for byte in line.bytes().cycle() {
                    std::io::stdout().write_all(&[byte]).unwrap();
                    std::io::stdout().flush().unwrap();
                    std::thread::sleep(DRIP);
                }
            });
        }
        "cancelled" => reply(&id, json!({"structuredContent": server.lock().unwrap().cancelled})),
        "close_stdout" => {
            // The same is what an `exec 1>&-` in a wrapper script does.
            let null = std::fs::File::open("/dev/null").unwrap();
            nix::unistd::dup2_stdout(null).unwrap();
        }
        "family" => reply(&id, json!({"structuredContent": family()})),
        "neither" => send(&json!({"jsonrpc": "2.0", "id": id}).to_string()),
        "change" => {
            send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).to_string());
            reply(&id, json!({"structuredContent": true}));
        }
        other => error(&id, -32602, &format!("Unknown tool: {other}")),
    }
}

/// Tells whoever listens at `port` of a call, and waits until they hang up.
fn hold(port: u16, args: &Value) {
    let mut holder = TcpStream::connect(("127.0.0.1", port)).unwrap();
    writeln!(holder, "{args}").unwrap();
    // Whoever is killed with answers held back resets the connection.
    let _ = holder.read(&mut [0; 1]);
}

/// Starts three long-lived descendants: a plain child, one in a session of its own, and the orphan of a process that
/// is gone. Yields their process ids and our own.
fn family() -> Vec<u32> {
    let run = |kind: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([DESCENDANT_ROLE, kind])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let (plain, session, parent) = (run("plain"), run("session"), run("parent"));
    let orphan = String::from_utf8(parent.wait_with_output().unwrap().stdout).unwrap();
    vec![std::process::id(), plain.id(), session.id(), orphan.trim().parse().unwrap()]
}

/// A process that [`family`] starts: sleeps, or leaves a sleeper behind.
pub(crate) fn descend(kind: &str) -> ! {
    if kind == "parent" {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([DESCENDANT_ROLE, "session"]).stdin(Stdio::null()).stdout(Stdio::null());
        println!("{}", command.spawn().unwrap().id());
        std::process::exit(0);
    }
    if kind == "session" {
        nix::unistd::setsid().unwrap();
    }
    std::thread::sleep(Duration::from_secs(600));
    std::process::exit(0)
}

fn reply(id: &Value, result: Value) {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
}

fn error(id: &Value, code: i64, message: &str) {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string());
}

fn send(line: &str) {
    send_bytes(line.as_bytes());
}

fn send_bytes(line: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}
