//! Calls that upstreams answer with tasks: programs wait for their results (waiting.md 7).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use libtest_mimic::Trial;
use ptc_host::engine::{Asker, Engine, EngineOptions, Verdict};
use ptc_host::questions::{Answer, PendingQuestion, QuestionId};
use ptc_mcp::json::{Value, json};

use crate::asking_programs::{Person, eu, fault, form, region, request, start, text, value};
use crate::support::{HOUR, advance, patient, run_out, run_out_of_all, trial};
use ptc_test_support::fake_http::{FakeHttp, Hit, Steps, reply};
use ptc_test_support::wait_until_async;

pub(crate) fn trials() -> Vec<Trial> {
    Vec::from([
        trial("tasks::a_program_gets_the_result_of_a_task", a_program_gets_the_result),
        trial("tasks::a_task_asks_each_question_once", a_task_asks_once),
        #[cfg(feature = "saved-sessions")]
        trial("tasks::a_task_is_waited_for_elsewhere", a_task_is_waited_for_elsewhere),
        trial("tasks::the_ends_of_tasks_are_told", the_ends_of_tasks),
        trial("tasks::a_program_that_ends_cancels_its_task_once", a_program_that_ends),
        trial("tasks::a_program_that_ends_while_a_person_is_asked_cancels_its_task_once", ends_while_asked),
    ])
}

/// A modern server that answers each call with a task. `get` answers `tasks/get`, with how often that was asked before.
fn server(get: impl Fn(&Hit, usize) -> Value + Send + Sync + 'static) -> FakeHttp {
    let asked = AtomicUsize::new(0);
    FakeHttp::start(move |hit| match hit.rpc() {
        "server/discover" => reply(
            200,
            &hit.result(json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                               "cacheScope": "public", "capabilities": {"tools": {}}})),
        ),
        "tools/list" => {
            let names = ["t", "long"];
            let tools: Value =
                names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
            reply(200, &hit.result(json!({"resultType": "complete", "tools": tools})))
        }
        "tools/call" => {
            let id =
                if hit.body["params"]["name"] == "long" { "x".repeat(1025) } else { "task-ü".to_owned() };
            reply(
                200,
                &hit.result(json!({"resultType": "task", "taskId": id, "status": "working",
                                          "createdAt": "x", "ttlMs": 60_000, "pollIntervalMs": 1})),
            )
        }
        "tasks/get" => steps(hit, get(hit, asked.fetch_add(1, Ordering::SeqCst))),
        "tasks/update" | "tasks/cancel" => reply(200, &hit.result(json!({"resultType": "complete"}))),
        _ => reply(404, &hit.error(-32601, "Method not found")),
    })
}

fn steps(hit: &Hit, state: Value) -> Steps {
    match state.get("code").and_then(Value::as_i64) {
        Some(500) => reply(500, &json!({})),
        Some(code) => reply(200, &hit.error(code, "no such task")),
        None => {
            let mut result = json!({"resultType": "complete", "taskId": "task-ü"});
            for (key, value) in state.as_object().unwrap() {
                result[key.as_str()] = value.clone();
            }
            reply(200, &hit.result(result))
        }
    }
}

fn done() -> Value {
    json!({"status": "completed", "result": {"structuredContent": {"rows": 7}}})
}

fn entry(server: &FakeHttp) -> Value {
    patient(json!({"transport": "mcp_http", "url": server.url.as_str(), "allow_insecure_http": true}))
}

/// The output of what asks again and again for the state of a task.
async fn polling<T>(program: impl Future<Output = T>) -> T {
    run_out_of_all(program, Duration::from_secs(1)).await
}

async fn eval(server: &FakeHttp, program: &str, person: &Arc<Person>) -> String {
    let aggregator = start(entry(server), true).await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let outcome = polling(engine.eval(request(&aggregator, program, person))).await;
    aggregator.shutdown().await;
    text(&outcome).to_owned()
}

async fn a_program_gets_the_result() {
    let server =
        server(|_, asked| if asked < 2 { json!({"status": "working", "pollIntervalMs": 1}) } else { done() });
    assert_eq!(eval(&server, &value("t"), &Person::who(false, eu)).await, r#"{"rows" 7}"#);
    let gets: Vec<Hit> = server.hits().into_iter().filter(|hit| hit.rpc() == "tasks/get").collect();
    assert_eq!(gets.len(), 3);
    for get in &gets {
        assert_eq!(get.header("mcp-name"), Some("=?base64?dGFzay3DvA==?="));
        assert_eq!(get.body["params"]["taskId"], "task-ü");
        let capabilities = &get.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(capabilities, &json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    }
    let call = server.hits().into_iter().find(|hit| hit.rpc() == "tools/call").unwrap();
    let capabilities = &call.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
    assert_eq!(server.count("tasks/cancel"), 0);
}

fn asking(asked: usize) -> Value {
    match asked {
        0 => json!({"status": "input_required", "inputRequests": {"k": region()}}),
        1 => {
            json!({"status": "input_required", "inputRequests": {"k": region(), "l": form("More?", json!({}))}})
        }
        2 => {
            json!({"status": "input_required", "inputRequests": {"k": region(), "l": form("More?", json!({}))}})
        }
        _ => done(),
    }
}

fn told(server: &FakeHttp) -> Vec<Value> {
    let updates = server.hits().into_iter().filter(|hit| hit.rpc() == "tasks/update");
    updates.map(|hit| hit.body["params"]["inputResponses"].clone()).collect()
}

async fn a_task_asks_once() {
    let server = server(|_, asked| asking(asked));
    let person = Person::who(false, eu);
    assert_eq!(eval(&server, &value("t"), &person).await, r#"{"rows" 7}"#);
    assert_eq!(person.messages(), [r"up asks: Which \u202eregion\u001b?", "up asks: More?"]);
    let accepted = json!({"action": "accept", "content": {"region": "eu"}});
    assert_eq!(told(&server), [json!({"k": accepted}), json!({"l": {"action": "cancel"}})], "each key once");
    assert_eq!(server.count("tools/call"), 1);
}

#[cfg(feature = "saved-sessions")]
async fn a_task_is_waited_for_elsewhere() {
    use ptc_host::engine::{Resume, Suspended};
    let server = server(|_, asked| if asked == 0 { asking(0) } else { done() });
    let aggregator = start(entry(&server), true).await;
    let person = Person::who(true, eu);
    let program = value("t");
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let mut outcome = polling(engine.eval(request(&aggregator, &program, &person))).await;
    let Suspended { snapshot, questions } = *outcome.suspended.take().expect("it leaves");
    let resume = Resume { snapshot, answers: person.answers(&questions), gate: None };
    let mut again = request(&aggregator, &program, &person);
    again.resume = Some(Arc::new(resume));
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    assert_eq!(text(&polling(engine.eval(again)).await), r#"{"rows" 7}"#);
    assert_eq!(told(&server), [json!({"k": {"action": "accept", "content": {"region": "eu"}}})]);
    assert_eq!((server.count("tools/call"), server.count("tasks/cancel")), (1, 0));
    aggregator.shutdown().await;
}

async fn the_ends_of_tasks() {
    for (end, expected) in [
        (json!({"status": "failed", "error": {"code": -32603, "message": "no disk"}}), "\"no disk\""),
        (json!({"status": "cancelled"}), "\"the upstream cancelled the task\""),
        (json!({"code": -32602}), "\"the upstream no longer knows the task\""),
        (json!({"status": "completed"}), "\"the task has ended without a result\""),
    ] {
        let server = server(move |_, _| end.clone());
        let person = Person::who(false, eu);
        assert_eq!(eval(&server, &fault("t"), &person).await, format!("[:upstream_error {expected}]"));
    }
    let ill = server(|_, _| json!({"code": 500}));
    let person = Person::who(false, eu);
    assert_eq!(eval(&ill, &fault("t"), &person).await, r#"[:upstream_unavailable "http 500"]"#);
    assert_eq!(ill.count("tasks/get"), 3);
    let recovering = server(|_, asked| if asked % 3 < 2 { json!({"code": 500}) } else { done() });
    assert_eq!(eval(&recovering, &value("t"), &person).await, r#"{"rows" 7}"#);
    let long = server(|_, _| done());
    let expected = r#"[:upstream_error "the task has an id of 1025 bytes; 1 to 1024 are usable"]"#;
    assert_eq!(eval(&long, &fault("long"), &person).await, expected);
    assert_eq!(long.count("tasks/get"), 0);
}

async fn a_program_that_ends() {
    let server = server(|_, _| json!({"status": "working"}));
    let aggregator = start(entry(&server), true).await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let mut request = request(&aggregator, &value("t"), &Person::who(false, eu));
    request.limits.timeout = HOUR;
    let outcome = run_out(engine.eval(request), async || {
        // The next look at the task is due.
        advance(Duration::from_secs(1));
        server.count("tasks/get") >= 2
    })
    .await;
    assert!(outcome.result.is_err());
    wait_until_async("the task is cancelled", async || server.count("tasks/cancel") > 0).await;
    assert_eq!(server.count("tasks/cancel"), 1);
    aggregator.shutdown().await;
}

/// Somebody who never answers.
#[derive(Default)]
struct Silent {
    asked: AtomicUsize,
}

impl Asker for Silent {
    fn ask(&self, _: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        std::future::pending().boxed()
    }

    fn hold(&self, _: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        panic!("{why}")
    }
}

async fn ends_while_asked() {
    let server = server(|_, _| asking(0));
    let aggregator = start(entry(&server), true).await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let silent = Arc::<Silent>::default();
    let mut request = request(&aggregator, &value("t"), &Person::who(false, eu));
    request.asker = Some(silent.clone());
    let running = tokio::spawn(async move { engine.eval(request).await });
    wait_until_async("somebody is asked", async || {
        advance(Duration::from_secs(1));
        silent.asked.load(Ordering::SeqCst) > 0
    })
    .await;
    assert_eq!(server.count("tasks/cancel"), 0);
    running.abort();
    wait_until_async("the task is cancelled", async || server.count("tasks/cancel") > 0).await;
    assert_eq!((server.count("tasks/cancel"), server.count("tasks/update")), (1, 0));
    aggregator.shutdown().await;
}
