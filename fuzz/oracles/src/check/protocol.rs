//! Messages of clients, straight into the dispatcher: a whole server with its engine, without pipes and sockets.

use std::cell::RefCell;
use std::sync::Arc;

use crate::bounds::{Charged, bounded};
use crate::generate::Choices;
use crate::generate::greedy::greedy;
use clap::Command;
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, MemoryBudget};
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::strict::{self, Incoming, StrictMessage};
use ptc_mcp::meta;
use ptc_server::boot;
use ptc_server::options::command::arguments;
use ptc_server::options::flags::ALL;
use ptc_server::principal::Principal;
use ptc_server::protocol::{Connection, HandlerOutcome, MessageContext, Service};

/// Bytes that a program may hold, in its values and once more in its code.
const MEMORY: u64 = 2_000_000;
/// Steps that a program may take.
const STEPS: u64 = 20_000;
/// Steps that its compilation may take.
const COMPILATION_STEPS: u64 = 1_000_000;

/// The server of this thread. It lives as long as the process, sessions and all, as a real one does.
struct Server {
    service: Arc<Service>,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    fn start() -> Server {
        let flags = [
            "start",
            "--sessions",
            "--debug-tool",
            "--response-profile=structured",
            "--program-step-limit=20000",
            "--program-memory-limit-bytes=1000000",
            "--max-sessions=8",
            "--max-program-bytes=2000",
            "--max-context-bytes=2000",
        ];
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(flags);
        let settings = ptc_server::options::resolve(&matches, ProcessEnv::default()).expect("right options");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let inside = runtime.enter();
        let memory = MemoryBudget::new(64 << 20);
        let engine =
            Engine::start(EngineOptions { threads: 1, memory: Some(memory), ..EngineOptions::default() })
                .expect("a thread");
        let service =
            boot::assemble(&settings, &engine, None, &Redactor::new()).expect("no file is asked for").service;
        drop(inside);
        Server { service, runtime }
    }
}

thread_local! {
    static SERVER: RefCell<Server> = RefCell::new(Server::start());
}

/// Any message has the answers that it must have: a request one, with its id and a result or an error; a notification
/// none; and nothing a client sends is our fault (`-32603`).
pub fn protocol(data: &[u8]) {
    let text = std::str::from_utf8(data).ok().filter(|text| text.starts_with(['{', '[']));
    SERVER.with_borrow(|server| {
        let connection = Connection::over_pipe(16);
        if text.is_some() {
            one_of_many(server, &connection, data);
            return;
        }
        let mut choices = Choices::new(data);
        for _ in 0..8 {
            if choices.is_spent() {
                break;
            }
            let message = generated(&mut choices).to_string();
            one_of_many(server, &connection, message.as_bytes());
        }
    });
}

/// One message, which takes no more of the server than the limits of the programs that it may run, however many it has had.
fn one_of_many(server: &Server, connection: &Arc<Connection>, bytes: &[u8]) {
    let programs = 1 + bytes.windows(b"tools/call".len()).filter(|part| part == b"tools/call").count() as u64;
    let steps = programs * (STEPS + COMPILATION_STEPS);
    let charged = Charged { bytes: programs * MEMORY, steps, in_one_turn: false };
    bounded("the message", bytes.len(), || (one(server, connection, bytes), charged));
}

fn one(server: &Server, connection: &Arc<Connection>, bytes: &[u8]) {
    let plain: Option<Value> = serde_json::from_slice(bytes).ok();
    match strict::read(bytes) {
        Err(malformed) => {
            let answer = server.service.unparsable(connection.revision(), malformed);
            let answer: Value = serde_json::from_slice(&answer).expect("JSON");
            assert!(answer["error"]["code"].is_i64() && answer.get("result").is_none(), "{answer}");
        }
        Ok(Incoming::Single(message)) => handle(server, connection, &message, plain.as_ref()),
        Ok(Incoming::Batch(messages)) => {
            messages.iter().flatten().for_each(|message| handle(server, connection, message, None));
        }
        Ok(Incoming::BatchRefused | Incoming::NotAMessage) => {}
    }
}

fn handle(server: &Server, connection: &Arc<Connection>, message: &StrictMessage<'_>, plain: Option<&Value>) {
    let service = &server.service;
    let handled = {
        let _inside = server.runtime.enter();
        let caller = Principal::process();
        let era = Service::era_of(connection, message);
        service.handle(MessageContext::new(connection, era, &caller), message)
    };
    let id = plain.and_then(|plain| plain.get("id"));
    let asks = plain.is_some_and(|plain| plain.get("method").is_some_and(Value::is_string));
    let body = match handled {
        HandlerOutcome::Silent | HandlerOutcome::Exit => {
            // Whoever sends an id and a method hears of it; `exit` is the one that ends instead.
            assert!(
                !asks || id.is_none() || plain.is_some_and(|plain| plain["method"] == "exit"),
                "{plain:?}"
            );
            return;
        }
        HandlerOutcome::Reply(reply) => reply.body,
        // It would stay open until the client leaves.
        HandlerOutcome::Call(call) if call.is_subscription() => return,
        HandlerOutcome::Call(call) => {
            // What is told of progress belongs to nobody here.
            server.runtime.block_on(call.run(drop)).into_reply().expect("nobody cancels it")
        }
    };
    let answer: Value = serde_json::from_slice(&body).expect("JSON");
    assert!(!body.contains(&b'\n'), "an answer is one line");
    assert_eq!(answer["jsonrpc"], "2.0");
    assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
    assert_ne!(answer["error"]["code"], -32603, "{answer}");
    if let (Some(id), true) = (id, answer.get("result").is_some()) {
        assert_eq!(&answer["id"], id, "{answer}");
    }
}

fn generated(choices: &mut Choices<'_>) -> Value {
    let method = *choices.one(&[
        "tools/call",
        "tools/call",
        "tools/call",
        "tools/call",
        "initialize",
        "tools/list",
        "ping",
        "server/discover",
        "notifications/initialized",
        "notifications/cancelled",
        "subscriptions/listen",
        "nothing/known",
        "",
    ]);
    let mut params = match method {
        "tools/call" => json!({"name": tool(choices), "arguments": tool_arguments(choices)}),
        "initialize" => {
            json!({"protocolVersion": *choices.one(&["2025-11-25", "2024-11-05", "1999-01-01", ""]),
            "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}})
        }
        "notifications/cancelled" => json!({"requestId": value(choices, 1)}),
        "subscriptions/listen" => json!({"notifications": {"toolsListChanged": choices.once_in(2)}}),
        _ => json!({}),
    };
    if choices.once_in(3) {
        let version = *choices.one(&["2026-07-28", "2025-11-25", "x"]);
        params["_meta"] = json!({(meta::PROTOCOL_VERSION): version, (meta::CLIENT_CAPABILITIES): {}, "progressToken": value(choices, 1)});
    }
    let mut message = json!({"jsonrpc": "2.0", "id": id(choices), "method": method, "params": params});
    // One thing may be wrong with it, anywhere.
    if choices.once_in(4) {
        let members = ["jsonrpc", "id", "method", "params"];
        let member = *choices.one(&members);
        if choices.once_in(2) {
            message[member] = value(choices, 3);
        } else if let Some(object) = message.as_object_mut() {
            object.remove(member);
        }
    }
    message
}

fn id(choices: &mut Choices<'_>) -> Value {
    match choices.below(4) {
        0 => json!(choices.below(5)),
        1 => json!(choices.word() as i64),
        2 => json!(text(choices)),
        _ => value(choices, 1),
    }
}

fn tool(choices: &mut Choices<'_>) -> Value {
    let known = [
        "lisp_eval",
        "lisp_session_start",
        "lisp_session_list",
        "lisp_session_eval",
        "lisp_session_inspect",
        "lisp_session_forget",
        "lisp_session_close",
        "lisp_debug",
        "lisp_task",
        "nothing",
    ];
    if choices.once_in(12) { value(choices, 1) } else { json!(*choices.one(&known)) }
}

fn tool_arguments(choices: &mut Choices<'_>) -> Value {
    let names = [
        "program",
        "context",
        "session_id",
        "title",
        "view",
        "names",
        "reason",
        "op",
        "request_id",
        "limit",
        "output_schema",
        "signature",
        "strange",
    ];
    let mut arguments = ptc_mcp::json::Map::new();
    for _ in 0..choices.below(5) {
        let name = *choices.one(&names);
        let value = match name {
            "program" if choices.once_in(3) => json!(greedy(choices)),
            "program" if !choices.once_in(6) => json!(*choices.one(&[
                "(+ 1 2)",
                "(def x 1)",
                "x",
                "[*1 *2 *3]",
                "(println data/a) data/a",
                "(fail {:a 1})",
                "(loop [] (recur))",
                "(apply str (repeat 5000 \"x\"))",
                "(",
                "(tool/call {:server \"a\" :tool \"b\"})",
            ])),
            "op" if !choices.once_in(6) => json!(*choices.one(&["stats", "recent", "get"])),
            "view" if !choices.once_in(6) => {
                json!(*choices.one(&["overview", "memory", "limits", "history"]))
            }
            _ => value(choices, 3),
        };
        arguments.insert(name.to_owned(), value);
    }
    if choices.once_in(16) { value(choices, 1) } else { Value::Object(arguments) }
}

fn text(choices: &mut Choices<'_>) -> String {
    let length = choices.below(12);
    String::from_utf8_lossy(choices.bytes(length)).into_owned()
}

fn value(choices: &mut Choices<'_>, depth: usize) -> Value {
    match choices.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(choices.once_in(2)),
        2 => json!(choices.below(300)),
        3 => json!(choices.word() as i64),
        4 => json!(f64::from(choices.byte()) / 7.0),
        5 => json!(text(choices)),
        6 => (0..choices.below(4)).map(|_| value(choices, depth - 1)).collect(),
        _ => (0..choices.below(4))
            .map(|_| (text(choices), value(choices, depth - 1)))
            .collect::<ptc_mcp::json::Map>()
            .into(),
    }
}
