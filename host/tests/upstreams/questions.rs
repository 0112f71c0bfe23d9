//! What upstreams ask of people, in both eras and over both transports (waiting.md 3.2).

use std::sync::{Arc, mpsc};

use futures_util::FutureExt as _;
use libtest_mimic::Trial;
use ptc_host::config::{Offered, UpstreamConfig};
use ptc_host::time;
use ptc_host::upstream::{
    Call, CallFault, CallLimits, CallQuestion, CallReply, Caller, ElicitationMode, InputRequest,
    InputRequired, QuestionSink, ResendMembers, Unfinished, Upstream,
};
use ptc_mcp::json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::http::upstream_with;
use crate::stdio;
use crate::support::{HOUR, advance, fault_of, json_of, limits, settle, trial};
use ptc_test_support::fake_http::{FakeHttp, Hit, Step, Steps, event, event_head, reply, response};
use ptc_test_support::wait_until_async;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("questions::a_modern_call_is_sent_again_with_the_answers", a_modern_call_is_sent_again),
        trial("questions::a_modern_child_asks_too", a_modern_child_asks_too),
        trial("questions::an_error_names_pages_to_visit", an_error_names_pages),
        trial("questions::a_stream_of_a_call_asks_for_that_call", a_stream_of_a_call_asks),
        trial(
            "questions::a_stream_that_no_call_opened_asks_nobody_between_calls",
            a_stream_apart_asks_nobody,
        ),
        trial("questions::a_stream_that_no_call_opened_asks_the_only_run", a_stream_apart_asks_the_only_run),
        trial("questions::the_old_stream_asks_the_only_run", the_old_stream_asks),
        trial("questions::a_pipe_asks_the_only_run", a_pipe_asks_the_only_run),
        trial("questions::a_pipe_asks_nobody_while_two_runs_have_calls", two_runs_are_not_asked),
        trial("questions::a_serial_upstream_serves_one_run_at_a_time", a_serial_upstream),
        trial("questions::what_is_asked_twice_is_asked_once", asked_twice),
        trial("questions::a_withdrawn_question_is_not_answered", a_withdrawn_question),
        trial("questions::a_question_after_its_call_is_dismissed", a_late_question),
        trial("questions::what_is_not_offered_is_not_declared", nothing_offered),
    ]
}

const FORM: &str =
    r#"{"message":"Which?","requestedSchema":{"type":"object","properties":{"r":{"type":"string"}}}}"#;

fn asks(config: &mut UpstreamConfig) {
    config.offered = Offered { questions: true, ..Offered::default() };
}

/// The time of a call whose person answers behind it.
fn less_than_the_person_takes() -> CallLimits {
    CallLimits { timeout: HOUR, deadline: time::now() + HOUR, ..limits() }
}

/// Lets the time pass at which a call times out that has an hour, and does not while its person is asked.
async fn past_an_hour() {
    advance(2 * HOUR);
    settle().await;
}

/// A call of a run, and what is asked during it.
struct Questions {
    asking: Arc<QuestionSink>,
    asked: UnboundedReceiver<CallQuestion>,
}

impl Questions {
    fn of_run(run: usize) -> Self {
        let (asking, asked) = QuestionSink::new(run);
        Self { asking: Arc::new(asking), asked }
    }
}

async fn call(
    upstream: &dyn Upstream,
    asking: &Arc<QuestionSink>,
    (tool, arguments): (&str, &str),
    again: ResendMembers<'_>,
    limits: CallLimits,
) -> Result<CallReply, CallFault> {
    let caller = Caller { asking: Some(asking), ..Caller::default() };
    let arguments = arguments.as_bytes();
    upstream
        .call(Call {
            tool,
            arguments,
            again,
            limits,
            arrivals: None,
            caller,
            may_wrap: false,
            judged_by: None,
        })
        .await
}

fn wanted(fault: CallFault) -> InputRequired {
    match fault.unfinished.as_deref() {
        Some(Unfinished::Input(input)) => input.clone(),
        _ => panic!("{fault:?}"),
    }
}

fn asked(method: &str, params: Value) -> Value {
    json!({"method": method, "params": params})
}

async fn a_modern_call_is_sent_again() {
    let server = FakeHttp::modern(json!([{"name": "t"}]), |hit| {
        let params = &hit.body["params"];
        if params["inputResponses"].is_object() {
            return reply(200, &hit.result(json!({"structuredContent": {"state": params["requestState"]}})));
        }
        let form: Value = serde_json::from_str(FORM).unwrap();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"input_required","requestState":"\u0061\/b","inputRequests":{{"k":{}}}}}}}"#,
            hit.body["id"],
            asked("elicitation/create", form)
        );
        response(200, &[("content-type", "application/json")], text.as_bytes())
    });
    let upstream = upstream_with(&server.url, |_, config| asks(config));
    let questions = Questions::of_run(1);
    let of = ("t", r#"{"a":1}"#);
    let first = call(&upstream, &questions.asking, of, ResendMembers::default(), limits()).await.unwrap_err();
    let input = wanted(first);
    let (key, InputRequest::Elicit(elicitation)) = &input.requests[0] else { panic!("{input:?}") };
    assert_eq!((&**key, elicitation.message.as_str()), ("k", "Which?"));
    let state = input.state.as_deref().map(serde_json::value::RawValue::get);
    let again = ResendMembers { responses: Some(r#"{"k":{"action":"accept","content":{"r":"eu"}}}"#), state };
    let reply = call(&upstream, &questions.asking, of, again, limits()).await.unwrap();
    assert_eq!(json_of(reply), r#"{"state":"a/b"}"#);
    let calls: Vec<Hit> = server.hits().into_iter().filter(|hit| hit.rpc() == "tools/call").collect();
    for hit in &calls {
        let capabilities = &hit.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(capabilities, &json!({"elicitation": {"form": {}, "url": {}}}));
        assert_eq!(hit.body["params"]["arguments"], json!({"a": 1}));
    }
    assert!(calls[1].text.contains(r#""requestState":"\u0061\/b""#), "byte for byte: {}", calls[1].text);
    assert_eq!(calls[1].body["params"]["inputResponses"]["k"]["content"], json!({"r": "eu"}));
    assert_ne!(calls[0].body["id"], calls[1].body["id"]);
    upstream.shutdown().await;
}

async fn a_modern_child_asks_too() {
    let upstream = stdio::upstream_of(stdio::entry("modern-asks"), asks);
    let questions = Questions::of_run(1);
    let of = ("ask", "{}");
    let first = call(&upstream, &questions.asking, of, ResendMembers::default(), limits()).await.unwrap_err();
    let input = wanted(first);
    let (_, InputRequest::Elicit(elicitation)) = &input.requests[0] else { panic!("{input:?}") };
    assert_eq!(elicitation.message, r#"{"elicitation":{"form":{},"url":{}}}"#);
    let state = input.state.as_deref().map(serde_json::value::RawValue::get);
    let again = ResendMembers { responses: Some(r#"{"k":{"action":"decline"}}"#), state };
    let reply = call(&upstream, &questions.asking, of, again, limits()).await.unwrap();
    let told: Value = serde_json::from_str(&json_of(reply)).unwrap();
    assert_eq!(told, json!({"told": {"k": {"action": "decline"}}, "state": "s\u{1F600}"}));
    upstream.shutdown().await;
}

async fn an_error_names_pages() {
    let server = FakeHttp::handshake(|hit| {
        let mut answer = hit.error(-32042, "authorize first");
        answer["error"]["data"] = json!({"elicitations": [
            {"mode": "url", "elicitationId": "7", "url": "https://a.example/x", "message": "Authorize"}]});
        reply(200, &answer)
    });
    let upstream = upstream_with(&server.url, |_, config| asks(config));
    let questions = Questions::of_run(1);
    let fault = call(&upstream, &questions.asking, ("t", "{}"), ResendMembers::default(), limits())
        .await
        .unwrap_err();
    assert_eq!(fault.message, "authorize first");
    let Some(Unfinished::Pages(pages)) = fault.unfinished.as_deref() else { panic!("{fault:?}") };
    let page = pages[0].as_ref().unwrap();
    assert!(matches!(&page.mode, ElicitationMode::Url(url) if &**url == "https://a.example/x"));
    let greeted = server.hits().into_iter().find(|hit| hit.rpc() == "initialize").unwrap();
    assert_eq!(greeted.body["params"]["capabilities"], json!({"elicitation": {"form": {}, "url": {}}}));
    upstream.shutdown().await;
}

/// A server of the handshake era that asks on the stream of each call, and answers it with what it was told.
fn asking_server() -> FakeHttp {
    let (tell, told) = mpsc::channel::<Value>();
    let told = std::sync::Mutex::new(Some(told));
    let tell = std::sync::Mutex::new(tell);
    FakeHttp::start(move |hit| match (hit.method.as_str(), hit.rpc()) {
        ("GET", _) => response(405, &[], b""),
        ("DELETE", _) => response(200, &[], b""),
        (_, "initialize") => {
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}});
            reply(200, &hit.result(result))
        }
        (_, "tools/list") => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
        (_, "tools/call") => asks_on_its_stream(hit, told.lock().unwrap().take().expect("one call")),
        (_, "") => {
            tell.lock().unwrap().send(hit.body.clone()).unwrap();
            response(202, &[], b"")
        }
        (_, method) if method.starts_with("notifications/") => response(202, &[], b""),
        _ => reply(400, &hit.error(-32000, "Bad Request: Server not initialized")),
    })
}

fn asks_on_its_stream(hit: &Hit, told: mpsc::Receiver<Value>) -> Steps {
    let form: Value = serde_json::from_str(FORM).unwrap();
    let question = json!({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": form});
    let (write, stream) = mpsc::channel();
    let answer = hit.clone();
    std::thread::spawn(move || {
        let Ok(told) = told.recv() else { return };
        let Step::Bytes(bytes) = event(&answer.result(json!({"structuredContent": told}))) else { return };
        let _ = write.send(bytes);
    });
    vec![event_head(), event(&question), Step::Follow(stream)]
}

async fn a_stream_of_a_call_asks() {
    let server = asking_server();
    let upstream = upstream_with(&server.url, |_, config| asks(config));
    upstream.ensure_started().await.unwrap();
    let mut questions = Questions::of_run(1);
    let limits = less_than_the_person_takes();
    let calling = call(&upstream, &questions.asking, ("t", "{}"), ResendMembers::default(), limits);
    let answering = async {
        let question = questions.asked.recv().await.unwrap();
        assert_eq!(question.elicitation.message, "Which?");
        past_an_hour().await;
        question.answer.send(r#"{"action":"accept","content":{"r":"eu"}}"#.to_owned()).unwrap();
    };
    let (reply, ()) = tokio::join!(calling, answering);
    let told: Value = serde_json::from_str(&json_of(reply.unwrap())).unwrap();
    assert_eq!(
        told,
        json!({"jsonrpc": "2.0", "id": "e1", "result": {"action": "accept", "content": {"r": "eu"}}})
    );
    upstream.shutdown().await;
}

async fn a_stream_apart_asks_nobody() {
    let server = FakeHttp::start(|hit| match (hit.method.as_str(), hit.rpc()) {
        ("DELETE", _) => response(200, &[], b""),
        ("GET", _) => {
            let form: Value = serde_json::from_str(FORM).unwrap();
            let question = json!({"jsonrpc": "2.0", "id": 5, "method": "elicitation/create", "params": form});
            vec![event_head(), event(&question), Step::Hang]
        }
        (_, "initialize") => {
            let capabilities = json!({"tools": {"listChanged": true}});
            let result =
                json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {}});
            reply(200, &hit.result(result))
        }
        (_, "tools/list") => reply(200, &hit.result(json!({"tools": [{"name": "t"}]}))),
        (_, "" | "notifications/initialized") => response(202, &[], b""),
        _ => reply(400, &hit.error(-32000, "Bad Request: Server not initialized")),
    });
    let upstream = upstream_with(&server.url, |_, config| asks(config));
    upstream.ensure_started().await.unwrap();
    let _events = upstream.events();
    wait_until_async("the question is answered", async || server.count("") > 1).await;
    let answer = server.hits().into_iter().find(|hit| hit.body["id"] == 5).unwrap();
    assert_eq!(answer.body["result"], json!({"action": "cancel"}));
    upstream.shutdown().await;
}

/// A server that asks on the stream that is open beside the calls, and answers each call with what it was told, at the end and in one piece.
fn apart(old: bool) -> FakeHttp {
    let (say, said) = mpsc::channel::<Vec<u8>>();
    let (tell, told) = mpsc::channel::<Value>();
    let (say, said) = (std::sync::Mutex::new(say), std::sync::Mutex::new(Some(said)));
    let (tell, told) = (std::sync::Mutex::new(tell), std::sync::Mutex::new(told));
    let says = move |message: &Value| {
        let Step::Bytes(bytes) = event(message) else { unreachable!() };
        let _ = say.lock().unwrap().send(bytes);
    };
    FakeHttp::start(move |hit| {
        // On the old stream everything is said there.
        let answers = |result: Value| match old {
            true => {
                says(&hit.result(result));
                response(202, &[], b"")
            }
            false => reply(200, &hit.result(result)),
        };
        match (hit.method.as_str(), hit.rpc()) {
            ("DELETE", _) => response(200, &[], b""),
            ("GET", _) => match said.lock().unwrap().take() {
                Some(said) if old => {
                    vec![
                        event_head(),
                        Step::Bytes(b"event: endpoint\ndata: /mcp\n\n".to_vec()),
                        Step::Follow(said),
                    ]
                }
                Some(said) => vec![event_head(), Step::Follow(said)],
                None => response(405, &[], b""),
            },
            (_, "initialize") => {
                answers(json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}))
            }
            (_, "tools/list") => {
                let names = ["t", "quick", "never"];
                answers(json!({"tools": names.map(|name| json!({"name": name}))}))
            }
            (_, "tools/call") if hit.body["params"]["name"] == "never" => vec![event_head(), Step::Hang],
            (_, "tools/call") if hit.body["params"]["name"] == "quick" => {
                answers(json!({"structuredContent": 1}))
            }
            (_, "tools/call") => {
                let form: Value = serde_json::from_str(FORM).unwrap();
                says(&json!({"jsonrpc": "2.0", "id": "e1", "method": "elicitation/create", "params": form}));
                let told = told.lock().unwrap().recv().unwrap();
                answers(json!({"structuredContent": told["result"]}))
            }
            (_, "") => {
                tell.lock().unwrap().send(hit.body.clone()).unwrap();
                response(202, &[], b"")
            }
            (_, method) if method.starts_with("notifications/") => response(202, &[], b""),
            _ => reply(400, &hit.error(-32000, "Bad Request: Server not initialized")),
        }
    })
}

async fn asks_apart(old: bool) {
    let server = apart(old);
    let upstream = upstream_with(&server.url, |entry, config| {
        entry.old_stream = old;
        asks(config);
    });
    upstream.ensure_started().await.unwrap();
    let mut questions = Questions::of_run(1);
    let limits = less_than_the_person_takes();
    let calling = call(&upstream, &questions.asking, ("t", "{}"), ResendMembers::default(), limits);
    let answering = async {
        let question = questions.asked.recv().await.unwrap();
        // The stream is read meanwhile: another call of the run is answered.
        let other = Questions::of_run(1);
        let quick =
            call(&upstream, &other.asking, ("quick", "{}"), ResendMembers::default(), self::limits()).await;
        assert_eq!(json_of(quick.unwrap()), "1");
        past_an_hour().await;
        question.answer.send(r#"{"action":"accept","content":{"r":"eu"}}"#.to_owned()).unwrap();
    };
    let (reply, ()) = tokio::join!(calling, answering);
    assert_eq!(json_of(reply.unwrap()), r#"{"action":"accept","content":{"r":"eu"}}"#);
    upstream.shutdown().await;
}

async fn a_stream_apart_asks_the_only_run() {
    asks_apart(false).await;
    // With the calls of two runs nobody can tell whose it is.
    let server = apart(false);
    let upstream = upstream_with(&server.url, |_, config| asks(config));
    upstream.ensure_started().await.unwrap();
    let (mine, mut theirs) = (Questions::of_run(1), Questions::of_run(2));
    let mut slow =
        Box::pin(call(&upstream, &mine.asking, ("never", "{}"), ResendMembers::default(), limits()));
    assert!((&mut slow).now_or_never().is_none());
    let dismissed = call(&upstream, &theirs.asking, ("t", "{}"), ResendMembers::default(), limits()).await;
    assert_eq!(json_of(dismissed.unwrap()), r#"{"action":"cancel"}"#);
    assert!(theirs.asked.try_recv().is_err());
    drop(slow);
    upstream.shutdown().await;
}

async fn the_old_stream_asks() {
    asks_apart(true).await;
}

/// Arguments of the tool that asks.
fn question(id: u64, more: Value) -> String {
    let mut arguments = json!({"id": id, "params": serde_json::from_str::<Value>(FORM).unwrap()});
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    arguments.to_string()
}

async fn a_pipe_asks_the_only_run() {
    let upstream = stdio::upstream_of(stdio::entry("plain"), asks);
    upstream.ensure_started().await.unwrap();
    let (mut first, mut second) = (Questions::of_run(7), Questions::of_run(7));
    let limits = less_than_the_person_takes();
    let (one, two) = (question(1, json!({})), question(2, json!({})));
    let calling = async {
        tokio::join!(
            call(&upstream, &first.asking, ("ask", &one), ResendMembers::default(), limits),
            call(&upstream, &second.asking, ("ask", &two), ResendMembers::default(), limits),
        )
    };
    let answering = async {
        let asked = (first.asked.recv().await.unwrap(), second.asked.recv().await.unwrap());
        past_an_hour().await;
        asked.0.answer.send(r#"{"action":"accept","content":{"r":"a"}}"#.to_owned()).unwrap();
        asked.1.answer.send(r#"{"action":"decline"}"#.to_owned()).unwrap();
    };
    let ((one, two), ()) = tokio::join!(calling, answering);
    let told = [one, two].map(|reply| json_of(reply.unwrap()));
    assert_eq!(told, [r#"{"action":"accept","content":{"r":"a"}}"#, r#"{"action":"decline"}"#]);
    upstream.shutdown().await;
}

async fn two_runs_are_not_asked() {
    let upstream = stdio::upstream_of(stdio::entry("plain"), asks);
    upstream.ensure_started().await.unwrap();
    let (mine, mut theirs) = (Questions::of_run(1), Questions::of_run(2));
    let slow = call(&upstream, &mine.asking, ("never", "{}"), ResendMembers::default(), limits());
    let mut slow = Box::pin(slow);
    assert!((&mut slow).now_or_never().is_none());
    let asks = question(1, json!({}));
    let dismissed = call(&upstream, &theirs.asking, ("ask", &asks), ResendMembers::default(), limits()).await;
    assert_eq!(json_of(dismissed.unwrap()), r#"{"action":"cancel"}"#);
    assert!(theirs.asked.try_recv().is_err());
    drop(slow);
    upstream.shutdown().await;
}

async fn a_serial_upstream() {
    let upstream = stdio::upstream_of(stdio::entry("plain"), |config| {
        asks(config);
        config.serial = true;
    });
    upstream.ensure_started().await.unwrap();
    let (mut mine, theirs) = (Questions::of_run(1), Questions::of_run(2));
    let asks = question(1, json!({}));
    let mut asking =
        Box::pin(call(&upstream, &mine.asking, ("ask", &asks), ResendMembers::default(), limits()));
    assert!((&mut asking).now_or_never().is_none());
    let mut other =
        Box::pin(call(&upstream, &theirs.asking, ("echo", r#"{"a":1}"#), ResendMembers::default(), limits()));
    let question = tokio::select! {
        question = mine.asked.recv() => question.unwrap(),
        _ = &mut asking => panic!("it asks"),
        _ = &mut other => panic!("another run has the upstream"),
    };
    assert!((&mut other).now_or_never().is_none());
    question.answer.send(r#"{"action":"decline"}"#.to_owned()).unwrap();
    assert_eq!(json_of(asking.await.unwrap()), r#"{"action":"decline"}"#);
    assert_eq!(json_of(other.await.unwrap()), r#"{"a":1}"#);
    upstream.shutdown().await;
}

async fn asked_twice() {
    let upstream = stdio::upstream_of(stdio::entry("plain"), asks);
    upstream.ensure_started().await.unwrap();
    let mut questions = Questions::of_run(1);
    let arguments = question(1, json!({"times": 3}));
    let calling = call(&upstream, &questions.asking, ("ask", &arguments), ResendMembers::default(), limits());
    let answering = async {
        let question = questions.asked.recv().await.unwrap();
        // What is answered now was said behind all three.
        let other = Questions::of_run(1);
        call(&upstream, &other.asking, ("echo", "{}"), ResendMembers::default(), limits()).await.unwrap();
        assert!(questions.asked.try_recv().is_err(), "the same id while it is open");
        question.answer.send(r#"{"action":"decline"}"#.to_owned()).unwrap();
    };
    let (reply, ()) = tokio::join!(calling, answering);
    assert_eq!(json_of(reply.unwrap()), r#"{"action":"decline"}"#);
    let answers =
        call(&upstream, &questions.asking, ("answers", "{}"), ResendMembers::default(), limits()).await;
    assert_eq!(json_of(answers.unwrap()), "[]", "it is answered once");
    upstream.shutdown().await;
}

async fn a_withdrawn_question() {
    let upstream = stdio::upstream_of(stdio::entry("plain"), asks);
    upstream.ensure_started().await.unwrap();
    let mut questions = Questions::of_run(1);
    let arguments = question(1, json!({}));
    let withdrawing = Questions::of_run(1);
    let short = less_than_the_person_takes();
    let calling = call(&upstream, &questions.asking, ("ask", &arguments), ResendMembers::default(), short);
    let answering = async {
        let mut question = questions.asked.recv().await.unwrap();
        let of = ("answers", r#"{"withdraws":1}"#);
        call(&upstream, &withdrawing.asking, of, ResendMembers::default(), limits()).await.unwrap();
        question.answer.closed().await;
        past_an_hour().await;
    };
    let (fault, ()) = tokio::join!(calling, answering);
    assert_eq!(fault_of(fault).1, "mcp_stdio request timed out", "its time goes on");
    upstream.shutdown().await;
}

async fn a_late_question() {
    let upstream = stdio::upstream_of(stdio::entry("plain"), asks);
    upstream.ensure_started().await.unwrap();
    let ask = async |tool, arguments: &str| {
        // A question that comes during a later call of the run is taken for one of that call, which ends before it is answered.
        let questions = Questions::of_run(1);
        let reply =
            call(&upstream, &questions.asking, (tool, arguments), ResendMembers::default(), limits()).await;
        json_of(reply.unwrap())
    };
    assert_eq!(ask("ask_late", &question(1, json!({}))).await, "true");
    let dismissed = json!([{"jsonrpc": "2.0", "id": 1, "result": {"action": "cancel"}}]).to_string();
    wait_until_async("the question is dismissed", async || ask("answers", "{}").await == dismissed).await;
    upstream.shutdown().await;
}

async fn nothing_offered() {
    let server = asking_server();
    let upstream = upstream_with(&server.url, |_, _| {});
    let mut questions = Questions::of_run(1);
    let reply =
        call(&upstream, &questions.asking, ("t", "{}"), ResendMembers::default(), limits()).await.unwrap();
    let told: Value = serde_json::from_str(&json_of(reply)).unwrap();
    assert_eq!(told["error"]["code"], -32601);
    assert!(questions.asked.try_recv().is_err());
    let greeted = server.hits().into_iter().find(|hit| hit.rpc() == "initialize").unwrap();
    assert_eq!(greeted.body["params"]["capabilities"], json!({}));
    upstream.shutdown().await;
}
