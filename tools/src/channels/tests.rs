//! Whole calls of `lisp_eval` whose programs ask questions, on a real engine, in both eras.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Desk, Engine, EngineOptions, HostCalls, Limits, RunContext, SavedCall};
use ptc_host::questions::{Form, Level, Mode, Question, QuestionKind, Unanswered};
use ptc_host::state::{MemoryState, Secret, StateStore, StoreLimits};
use ptc_mcp::Era;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::strict::{Incoming, read};
use ptc_vm::graph::WireWriter;
use ptc_vm::machine::{HostRequest, Payload, Reply as CallReply};
use tokio::sync::mpsc;

use super::*;
use crate::lisp_eval::{ArgumentCaps, EvalOptions, LispEval};
use crate::shaping::Shaper;
use ptc_protocol::concurrency_limiter::CallLimits;
use ptc_protocol::request_state::{StateBinding, StateRules};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::Registry;
use ptc_protocol::{AskingSettings, CallResponse, Connection, HandlerOutcome, MessageContext, Service};

/// Upstreams that ask before they answer: tool `region` with a form, `page` with a page, `guarded` out of band,
/// `pinned` with a connection held open; `sent` is called without a question. Counts their calls.
#[derive(Default)]
struct Upstreams {
    sent: AtomicU32,
}

const REGION: &str =
    r#"{"type":"object","properties":{"region":{"type":"string","enum":["eu","us"]}},"required":["region"]}"#;

impl HostCalls for Upstreams {
    fn answer(
        self: Arc<Self>,
        _: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, CallReply> {
        let mut written = WireWriter::new();
        request.write(&mut written);
        let HostRequest::Upstream(call) = request else { panic!("{request:?}") };
        let tool = call.tool.unwrap();
        let arguments = String::from_utf8(call.arguments.unwrap().json.clone()).unwrap();
        let sent = self.sent.fetch_add(u32::from(tool == "sent"), Ordering::Relaxed) + 1;
        let mut binding = [0; 32];
        let binds = tool.bytes().chain(arguments.bytes()).enumerate();
        binds.for_each(|(at, byte)| binding[at % 32] ^= byte.rotate_left((at / 32) as u32));
        let question = Question {
            kind: QuestionKind::Upstream,
            message: format!("s asks: {arguments}"),
            mode: match tool.as_str() {
                "page" => Mode::Url("https://example.com/page".into()),
                _ => Mode::Form(Form::parse(REGION).unwrap()),
            },
            level: if tool == "guarded" { Level::OutOfBand } else { Level::Client },
            upstream: Some("s".into()),
            calls: Vec::new(),
            policy_revision: String::new(),
            binding,
        };
        async move {
            let keep = match tool.as_str() {
                "sent" => return CallReply::success(Payload::Json(sent.to_string().into_bytes().into())),
                "pinned" => None,
                _ => Some(SavedCall { request: written.into_bytes(), progress: None }),
            };
            let text = match desk.ask(vec![question], keep).await.pop().unwrap() {
                Ok(answer) => match answer.content {
                    Some(content) => content.get().to_owned(),
                    None => format!("\"{}\"", answer.action.as_str()),
                },
                Err(Unanswered::TooMany) => return CallReply::fault("cancelled", "too many"),
                Err(_) => return CallReply::fault("unanswerable", "nobody can be asked here"),
            };
            CallReply::success(Payload::Json(text.into_bytes().into()))
        }
        .boxed_local()
    }
}

/// One server. Servers with the same store and secret are replicas of each other.
struct Server {
    service: Arc<Service>,
    upstreams: Arc<Upstreams>,
}

/// How long an answer waits for a page.
const PAGE: Duration = Duration::from_millis(50);

const SECRET: &[u8] = b"a secret of at least 32 bytes, so long";

fn rules() -> StateRules {
    StateRules { ttl: Duration::from_secs(600), max_bytes: 256 << 10 }
}

impl Server {
    fn new(store: &Arc<dyn StateStore>, rules: StateRules, audience: &str) -> Server {
        Self::patient(Duration::from_secs(45), store, rules, audience)
    }

    /// A server whose calls wait that long for replies.
    fn patient(open: Duration, store: &Arc<dyn StateStore>, rules: StateRules, audience: &str) -> Server {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let states = RequestStates::new(&Secret::of(&[SECRET]).unwrap(), audience, rules);
        let asks = Asks::new(
            states.clone(),
            Some(store.clone()),
            AskRules { open, page: PAGE, questions: 32, console: None, out_of_band: false },
            None,
            None,
            None,
        );
        let upstreams = Arc::<Upstreams>::default();
        let options = EvalOptions {
            limits: Limits::aggregator(),
            caps: ArgumentCaps { max_program_bytes: 65_536, max_context_bytes: 65_536 },
            shaper: Shaper::new(Profile::Slim, 10_000),
            upstreams: Some(upstreams.clone()),
            max_attached_bytes: 5 << 20,
            fits_client: false,
            programs: None,
            card: None,
            read_only: false,
            redactor: Redactor::new(),
            reports: false,
            runs: None,
            recent: None,
            tells_of_ask: false,
            asks: Some(asks),
        };
        let tool = LispEval::new(Arc::new(engine), options);
        let mut service = Service::new(Registry::new(vec![Box::new(tool)]), CallLimits::shared(64));
        service.asking = Some(AskingSettings { states, open, page: PAGE });
        Server { service: Arc::new(service), upstreams }
    }

    fn alone() -> Server {
        Server::new(&store(), rules(), "stdio")
    }

    fn handle(
        &self,
        connection: &Arc<Connection>,
        era: Era,
        caller: &Principal,
        message: &Value,
    ) -> HandlerOutcome {
        let text = message.to_string();
        match read(text.as_bytes()).unwrap() {
            Incoming::Single(message) => {
                self.service.handle(MessageContext::new(connection, era, caller), &message)
            }
            other => panic!("{other:?}"),
        }
    }

    /// A modern `tools/call` of `principal`, to its answer.
    async fn call(&self, principal: &str, params: &Value) -> Value {
        let (connection, caller) = (Connection::stateless(), Principal::named(principal));
        let message = json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":params.clone()});
        let body = match self.handle(&connection, Era::Modern, &caller, &message) {
            HandlerOutcome::Reply(reply) => reply.body,
            HandlerOutcome::Call(call) => finished(call.run(|_| ()).await),
            _ => panic!("no answer"),
        };
        serde_json::from_slice(&body).unwrap()
    }
}

fn finished(finished: CallResponse) -> Vec<u8> {
    finished.into_reply().unwrap()
}

fn store() -> Arc<dyn StateStore> {
    Arc::new(MemoryState::new(StoreLimits::default()))
}

/// The parameters of a modern call whose client declares these modes.
fn params(program: &str, modes: Value) -> Value {
    let capabilities = if modes.is_null() { json!({}) } else { json!({"elicitation": modes}) };
    json!({"name":"lisp_eval","arguments":{"program":program},
           "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities":capabilities}})
}

/// The same call again, with the state of `answer` and these answers.
fn again(params: &Value, answer: &Value, responses: Value) -> Value {
    let mut params = params.clone();
    params["requestState"] = answer["result"]["requestState"].clone();
    params["inputResponses"] = responses;
    params
}

fn accepts(region: &str) -> Value {
    json!({"action":"accept","content":{"region":region}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

fn reason(answer: &Value) -> &str {
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    answer["error"]["data"]["reason"].as_str().unwrap()
}

fn tool(name: &str, arguments: &str) -> String {
    format!("(tool/call {{:server \"s\" :tool \"{name}\" :args {{:n {arguments}}}}})")
}

/// Two calls that ask and one that does not, in the middle of `map`.
fn program() -> String {
    let (one, other) = (tool("region", "x"), tool("sent", "0"));
    format!("(let [n (:value {other})] [n (map (fn [x] (get (:value {one}) \"region\")) [1 2])])")
}

#[tokio::test]
async fn a_program_travels_with_its_client_and_makes_no_call_twice() {
    let server = Server::alone();
    let first = params(&program(), json!({}));
    let asked = server.call("alice", &first).await;
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let request = json!({"method":"elicitation/create","params":{
        "mode":"form","message":"s asks: {\"n\":1}","requestedSchema":serde_json::from_str::<Value>(REGION).unwrap()}});
    assert_eq!(result["inputRequests"], json!({"q1":request}));
    let state = result["requestState"].as_str().unwrap();
    assert!(state.starts_with("ptc1.") && state.len() < 4096, "{}", state.len());
    assert!(result.get("content").is_none() && result.get("isError").is_none());
    // The client formats the same arguments in another way.
    let mut second = again(&first, &asked, json!({"q1":accepts("eu"),"other":{"action":"cancel"}}));
    second["_meta"]["more"] = json!(1);
    let asked = server.call("alice", &second).await;
    assert_eq!(asked["result"]["inputRequests"]["q2"]["params"]["message"], "s asks: {\"n\":2}", "{asked}");
    let done = server.call("alice", &again(&first, &asked, json!({"q2":accepts("us")}))).await;
    assert_eq!(done["result"]["resultType"], "complete");
    assert!(text(&done).contains(r#"[1 ["eu" "us"]]"#), "{done}");
    assert_eq!(server.upstreams.sent.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_is_missing_or_does_not_fit_is_asked_again() {
    let server = Server::alone();
    let pair = format!("(pmap (fn [x] (:value {})) [1 2])", tool("region", "x"));
    let first = params(&pair, json!({"form":{}}));
    let asked = server.call("alice", &first).await;
    assert_eq!(asked["result"]["inputRequests"].as_object().unwrap().len(), 2, "{asked}");
    // No answer, then one of them.
    let mut bare = again(&first, &asked, Value::Null);
    bare.as_object_mut().unwrap().remove("inputResponses");
    let none = server.call("alice", &bare).await;
    assert_eq!(none["result"]["inputRequests"], asked["result"]["inputRequests"]);
    let one = server.call("alice", &again(&first, &none, json!({"q2":accepts("us")}))).await;
    assert_eq!(one["result"]["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["q1"]);
    // Earlier answers are kept.
    let mut asked = one;
    for bad in [json!("mars"), json!(7), Value::Null] {
        let responses = json!({"q1":{"action":"accept","content":{"region":bad}},"q2":accepts("eu")});
        asked = server.call("alice", &again(&first, &asked, responses)).await;
        let message = &asked["result"]["inputRequests"]["q1"]["params"]["message"];
        let message = message.as_str().unwrap_or_else(|| panic!("{asked}"));
        assert!(
            message.starts_with("field \"region\": got ") && message.ends_with(". s asks: {\"n\":1}"),
            "{message}"
        );
    }
    // After three misfits the next one cancels the question.
    let done = server.call("alice", &again(&first, &asked, json!({"q1":accepts("mars")}))).await;
    assert!(text(&done).contains(r#"["cancel" {"region" "us"}]"#), "{done}");
}

#[tokio::test]
async fn states_are_refused_to_others_and_in_other_forms() {
    let server = Server::alone();
    let first = params(&program(), json!({}));
    let asked = server.call("alice", &first).await;
    let responses = json!({"q1":accepts("eu")});
    let retry = again(&first, &asked, responses.clone());
    assert_eq!(reason(&server.call("bob", &retry).await), "seal");
    let other = again(&params("(+ 1 2)", json!({})), &asked, responses.clone());
    assert_eq!(reason(&server.call("alice", &other).await), "seal");
    let mut changed = retry.clone();
    let state = asked["result"]["requestState"].as_str().unwrap();
    changed["requestState"] = json!(format!("{}{}", &state[..state.len() - 2], "AA"));
    assert!(["seal", "malformed"].contains(&reason(&server.call("alice", &changed).await)));
    for (state, expected) in [
        (json!("ptc1.AAAA"), "malformed"),
        (json!(7), "malformed"),
        (json!("x"), "malformed"),
        (json!(format!("ptc1.{}", "A".repeat(200))), "key"),
    ] {
        changed["requestState"] = state;
        assert_eq!(reason(&server.call("alice", &changed).await), expected);
    }
    for (bad, message) in [
        (Value::Null, "inputResponses is not an object of elicitation results"),
        (json!([]), "inputResponses is not an object of elicitation results"),
        (json!({"q1":7}), "inputResponses.q1 is not an elicitation result"),
        (json!({"x":{"action":"maybe"}}), "inputResponses.x is not an elicitation result"),
        (json!({"q1":{"content":{}}}), "inputResponses.q1 is not an elicitation result"),
    ] {
        let answer = server.call("alice", &again(&first, &asked, bad)).await;
        assert_eq!(reason(&answer), "responses");
        assert_eq!(answer["error"]["message"], format!("Invalid params: {message}"));
    }
    let digest = arguments_digest(Some(&first["arguments"].to_string()));
    let (alice, states) = (Principal::named("alice"), &server.service.asking.as_ref().unwrap().states);
    let bound =
        StateBinding { principal: alice.name(), method: "tools/call", tool: "lisp_eval", arguments: &digest };
    for content in [&b""[..], b"\x02", b"\x02 as an older build has sealed it", b"\x04\0 no record"] {
        changed["requestState"] = json!(states.seal(bound, content, states.until()).unwrap());
        let answer = server.call("alice", &changed).await;
        assert_eq!(reason(&answer), "build");
        let message = "Invalid params: this program was started by another build of ptc; run it again";
        assert_eq!(answer["error"]["message"], message);
    }
    let elsewhere = Server::new(&store(), rules(), "https://other.example/mcp");
    assert_eq!(reason(&elsewhere.call("alice", &retry).await), "seal");
    let brief = StateRules { ttl: Duration::ZERO, ..rules() };
    let brief = Server::new(&store(), brief, "stdio");
    let ended = brief.call("alice", &first).await;
    assert_eq!(reason(&brief.call("alice", &again(&first, &ended, responses)).await), "expired");
    // None of these calls has used up the state.
    let next = server.call("alice", &retry).await;
    assert_eq!(next["result"]["resultType"], "input_required", "{next}");
    // Answers without a state belong to a new call.
    let mut new = first.clone();
    new["inputResponses"] = json!({"q1":accepts("eu")});
    assert!(server.call("alice", &new).await["result"]["inputRequests"]["q1"].is_object());
}

#[tokio::test]
async fn replicas_run_a_state_once_and_both_get_the_outcome() {
    let store = store();
    let [a, b] = [(), ()].map(|()| Server::new(&store, rules(), "https://ptc.example/mcp"));
    let call = format!("[(:value {}) (:value {})]", tool("region", "1"), tool("sent", "0"));
    let first = params(&call, json!({}));
    let asked = a.call("alice", &first).await;
    let retry = again(&first, &asked, json!({"q1":accepts("eu")}));
    let (at_a, at_b) = tokio::join!(a.call("alice", &retry), b.call("alice", &retry));
    assert!(text(&at_a).contains(r#"[{"region" "eu"} 1]"#), "{at_a}");
    assert_eq!(text(&at_a), text(&at_b));
    let sent = |server: &Server| server.upstreams.sent.load(Ordering::Relaxed);
    assert_eq!(sent(&a) + sent(&b), 1);
    // The same call once more, then with other answers.
    assert_eq!(text(&b.call("alice", &retry).await), text(&at_a));
    let other = again(&first, &asked, json!({"q1":accepts("us")}));
    let spent = b.call("alice", &other).await;
    assert_eq!(reason(&spent), "spent");
    assert_eq!(spent["error"]["message"], "Invalid params: this request was already continued");
    assert_eq!(sent(&a) + sent(&b), 1);
}

#[tokio::test]
async fn a_program_that_is_too_large_to_travel_stays_and_its_handle_travels() {
    let store = store();
    let rules = StateRules { max_bytes: 1500, ..rules() };
    let [a, b] = [(), ()].map(|()| Server::new(&store, rules, "stdio"));
    let large = format!(
        "(let [xs (mapv (fn [i] (* i 7919 i i)) (range 3000))] [(get (:value {}) \"region\") (reduce + xs)])",
        tool("region", "1")
    );
    let first = params(&large, json!({}));
    let asked = a.call("alice", &first).await;
    assert!(asked["result"]["requestState"].as_str().unwrap().len() <= 1500, "{asked}");
    let retry = again(&first, &asked, json!({"q1":accepts("eu")}));
    let done = b.call("alice", &retry).await;
    assert!(text(&done).contains("\"eu\""), "{done}");
    assert_eq!(
        text(&a.call("alice", &retry).await),
        text(&done),
        "also when the program is not kept any more"
    );
}

#[tokio::test]
async fn clients_are_asked_by_what_they_declare() {
    let server = Server::alone();
    let ask = |name: &str, modes: Value| {
        let call = tool(name, "1");
        params(&format!("(let [r {call}] (if (:ok r) (:value r) (:reason r)))"), modes)
    };
    for modes in [Value::Null, json!(null), json!(7)] {
        let answer = server.call("alice", &ask("region", modes)).await;
        assert!(text(&answer).contains(":unanswerable"), "{answer}");
    }
    for (name, modes) in [("guarded", json!({"form":{},"url":{}})), ("region", json!({"url":{}}))] {
        let answer = server.call("alice", &ask(name, modes)).await;
        assert!(text(&answer).contains(":unanswerable"), "{answer}");
    }
    let page = ask("page", json!({"form":{},"url":{}}));
    let asked = server.call("alice", &page).await;
    let shown = json!({"mode":"url","url":"https://example.com/page","message":"s asks: {\"n\":1}"});
    assert_eq!(asked["result"]["inputRequests"]["q1"]["params"], shown);
    let done = server.call("alice", &again(&page, &asked, json!({"q1":{"action":"accept"}}))).await;
    assert!(text(&done).contains("\"accept\""), "{done}");
    // A client that opens no pages gets the address.
    let asked = server.call("alice", &ask("page", json!({}))).await;
    let shown = &asked["result"]["inputRequests"]["q1"]["params"];
    assert_eq!((&shown["mode"], &shown["requestedSchema"]["properties"]), (&json!("form"), &json!({})));
    assert!(shown["message"].as_str().unwrap().contains("https://example.com/page"), "{shown}");
}

#[tokio::test]
async fn the_ninth_suspension_is_not_the_clients() {
    let server = Server::alone();
    let many = format!("(reduce (fn [n x] (if (:ok {}) (inc n) n)) 0 (range 12))", tool("region", "x"));
    let first = params(&many, json!({}));
    let mut asked = server.call("alice", &first).await;
    let mut rounds = 0;
    while asked["result"]["resultType"] == "input_required" {
        rounds += 1;
        let id = format!("q{rounds}");
        asked = server.call("alice", &again(&first, &asked, json!({id:accepts("eu")}))).await;
    }
    assert_eq!(rounds, 8);
    assert!(text(&asked).contains("user=> 8"), "{asked}");
}

#[tokio::test]
async fn a_program_asks_no_more_than_it_may() {
    let server = Server::alone();
    let many = format!("(frequencies (pmap (fn [x] (:ok {})) (range 33)))", tool("region", "x"));
    let first = params(&many, json!({}));
    let mut asked = server.call("alice", &first).await;
    let mut answered = 0;
    while let Some(open) = asked["result"]["inputRequests"].as_object() {
        // At most sixteen at a time.
        assert!(open.len() <= 16, "{}", open.len());
        answered += open.len();
        let responses = open.keys().map(|id| (id.to_string(), accepts("eu"))).collect::<Vec<_>>();
        let responses = responses.into_iter().fold(json!({}), |mut all, (id, answer)| {
            all[&*id] = answer;
            all
        });
        asked = server.call("alice", &again(&first, &asked, responses)).await;
    }
    assert_eq!(answered, 32);
    assert!(
        text(&asked).contains("{false 1 true 32}") || text(&asked).contains("{true 32 false 1}"),
        "{asked}"
    );
}

/// A conversation of the handshake era on a pipe.
struct Pipe<'s> {
    server: &'s Server,
    connection: Arc<Connection>,
    sent: mpsc::UnboundedReceiver<Value>,
    sink: mpsc::UnboundedSender<Value>,
}

impl Pipe<'_> {
    fn handle(&self, message: &Value) -> HandlerOutcome {
        self.server.handle(&self.connection, Era::Handshake, &Principal::process(), message)
    }

    fn open<'s>(server: &'s Server, revision: &str, capabilities: Value) -> Pipe<'s> {
        let (sink, sent) = mpsc::unbounded_channel();
        let connection = Connection::over_pipe(16);
        let pipe = Pipe { server, connection, sent, sink };
        let params = json!({"protocolVersion":revision,"capabilities":capabilities});
        let hello = json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":params});
        assert!(matches!(pipe.handle(&hello), HandlerOutcome::Reply(_)));
        pipe
    }

    fn call(&self, program: &str) {
        let params = json!({"name":"lisp_eval","arguments":{"program":program}});
        let message = json!({"jsonrpc":"2.0","id":"call","method":"tools/call","params":params});
        let HandlerOutcome::Call(call) = self.handle(&message) else { panic!("no call") };
        let sink = self.sink.clone();
        tokio::spawn(async move {
            let notes = sink.clone();
            let note = move |note: Vec<u8>| drop(notes.send(serde_json::from_slice(&note).unwrap()));
            let body = finished(call.run(note).await);
            drop(sink.send(serde_json::from_slice(&body).unwrap()));
        });
    }

    async fn next(&mut self) -> Value {
        self.sent.recv().await.unwrap()
    }

    fn reply(&self, asked: &Value, result: Value) {
        let message = json!({"jsonrpc":"2.0","id":asked["id"],"result":result});
        assert!(matches!(self.handle(&message), HandlerOutcome::Silent));
    }
}

#[tokio::test]
async fn a_client_of_the_handshake_era_is_asked_while_its_program_waits() {
    let server = Server::alone();
    let mut pipe = Pipe::open(&server, "2025-11-25", json!({"elicitation":{"form":{},"url":{}}}));
    let pair =
        format!("(pmap (fn [x] (:value (if (= x 1) {} {}))) [1 2])", tool("region", "x"), tool("page", "x"));
    pipe.call(&pair);
    let (form, page) = (pipe.next().await, pipe.next().await);
    assert_eq!((&form["method"], &form["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
    assert!(form["id"].as_str().unwrap().starts_with("q_") && form["id"] != page["id"]);
    assert_eq!(page["params"]["url"], "https://example.com/page");
    pipe.reply(&page, json!({"action":"accept"}));
    let told = pipe.next().await;
    assert_eq!(told["method"], "notifications/elicitation/complete");
    assert_eq!(told["params"], json!({"elicitationId":page["params"]["elicitationId"]}));
    pipe.reply(&page, json!({"action":"decline"}));
    pipe.reply(&form, accepts("mars"));
    let second = pipe.next().await;
    assert!(
        second["params"]["message"].as_str().unwrap().starts_with("field \"region\": got \"mars\""),
        "{second}"
    );
    pipe.reply(&form, accepts("us"));
    pipe.reply(&second, accepts("eu"));
    assert!(text(&pipe.next().await).contains(r#"[{"region" "eu"} "accept"]"#));
}

#[tokio::test]
async fn what_waits_and_cannot_leave_is_asked_here_too() {
    let server = Server::alone();
    let mut pipe = Pipe::open(&server, "2025-06-18", json!({"elicitation":{}}));
    pipe.call(&format!("(:value {})", tool("pinned", "1")));
    let asked = pipe.next().await;
    assert!(asked["params"].get("mode").is_none(), "that revision has no modes: {asked}");
    pipe.reply(&asked, json!({"action":"decline"}));
    assert!(text(&pipe.next().await).contains("\"decline\""));
    // An error is no answer.
    pipe.call(&format!("(:value {})", tool("region", "1")));
    let asked = pipe.next().await;
    let message = json!({"jsonrpc":"2.0","id":asked["id"],"error":{"code":-32601,"message":"no"}});
    pipe.handle(&message);
    assert!(text(&pipe.next().await).contains("\"cancel\""));
    let mut silent = Pipe::open(&server, "2025-06-18", json!({}));
    silent.call(&format!("(:reason {})", tool("region", "1")));
    assert!(text(&silent.next().await).contains(":unanswerable"));
}

#[tokio::test]
async fn nobody_waits_longer_than_a_question_is_open() {
    let server = Server::patient(Duration::from_millis(100), &store(), rules(), "stdio");
    let mut pipe = Pipe::open(&server, "2025-11-25", json!({"elicitation":{}}));
    pipe.call(&format!("(:value {})", tool("region", "1")));
    let asked = pipe.next().await;
    // Withdrawn, since no call waits for it any more.
    let taken_back = pipe.next().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    assert!(text(&pipe.next().await).contains("\"cancel\""));
    pipe.reply(&asked, accepts("eu"));
}
