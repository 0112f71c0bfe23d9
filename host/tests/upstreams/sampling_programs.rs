//! Programs whose upstreams have a model of the operator's answer: whole calls through engine and aggregator (waiting.md 3.2).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use libtest_mimic::Trial;
use ptc_host::aggregator::{
    Aggregator, AggregatorLimits, AggregatorOptions, AuditedCall, AuditedSampling, CallAudit, Sampler,
    SnapshotMode,
};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Secret;
use ptc_host::engine::{Engine, EngineOptions, EvalOutcome};
use ptc_host::time;
use ptc_host::upstream::{Sampled, SamplingContent, SamplingFault, SamplingRequest, SamplingStop};
use ptc_mcp::json::{Value, json};
use tokio::time::Instant;

use crate::asking_programs::{Person, eu, fault, region, request, text, value};
use crate::fake_stdio;
use crate::support::{AMPLE, HOUR, advance, patient, run_out, run_out_of_all, trial};
use ptc_test_support::fake_http::{FakeHttp, Hit, Step, Steps, event, event_head, reply, response};
use ptc_test_support::wait_until_async;

pub(crate) fn trials() -> Vec<Trial> {
    Vec::from([
        trial("sampling::a_call_is_sent_again_with_the_models_answer", a_call_is_sent_again),
        #[cfg(feature = "saved-sessions")]
        trial("sampling::a_program_that_goes_on_elsewhere_samples_once", a_program_goes_on_elsewhere),
        trial("sampling::what_is_not_offered_is_not_declared", nothing_offered),
        trial("sampling::upstreams_that_ask_in_vain", upstreams_that_ask_in_vain),
        trial("sampling::a_task_may_ask_a_model", a_task_asks),
        trial("sampling::a_child_of_the_handshake_era_asks_a_model", a_child_asks),
        trial("sampling::a_stream_of_a_call_asks_a_model", a_stream_asks),
        trial("sampling::a_request_that_belongs_to_no_run_is_refused", belongs_to_no_run),
        trial("sampling::a_model_that_hangs_ends_with_its_program", a_model_that_hangs),
        trial("sampling::a_withdrawn_request_is_given_up", a_withdrawn_request),
    ])
}

type Said = Result<Sampled, SamplingFault>;

/// A model that answers by a function of what it is asked and of how often it was before; `None` never comes.
struct Model {
    answer: fn(&SamplingRequest, usize) -> Option<Said>,
    takes: Duration,
    seen: Mutex<Vec<SamplingRequest>>,
}

fn says(text: &str) -> Option<Said> {
    let stop = Some(SamplingStop::EndTurn);
    Some(Ok(Sampled { text: text.to_owned(), model: "m-1".to_owned(), stop, tokens: Some((10, 2)) }))
}

impl Model {
    fn new(answer: fn(&SamplingRequest, usize) -> Option<Said>) -> Arc<Model> {
        Arc::new(Model { answer, takes: Duration::ZERO, seen: Mutex::default() })
    }

    fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Sampler for Model {
    fn sample(&self, request: SamplingRequest, deadline: Instant) -> BoxFuture<'_, Said> {
        assert!(deadline > time::now());
        let pause = time::sleep(self.takes);
        let before = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        async move {
            pause.await;
            match (self.answer)(&request, before) {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}

/// What the audit log is told of requests for a model's answer.
#[derive(Default)]
struct Audit(Mutex<Vec<String>>);

impl CallAudit for Audit {
    fn called(&self, _: &AuditedCall<'_>) {}

    fn sampled(&self, sampling: &AuditedSampling<'_>) {
        let AuditedSampling { upstream, tool, model, tokens, outcome, .. } = *sampling;
        self.0.lock().unwrap().push(format!("{upstream} {tool} {model:?} {tokens:?} {outcome}"));
    }
}

struct World {
    aggregator: Arc<Aggregator>,
    audit: Arc<Audit>,
}

impl World {
    async fn new(entry: Value, model: Option<&Arc<Model>>) -> World {
        World::within(AMPLE, entry, model).await
    }

    async fn within(call_timeout: Duration, mut entry: Value, model: Option<&Arc<Model>>) -> World {
        if entry["sampling"].is_null() {
            entry["sampling"] = true.into();
        }
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&json!({"upstreams": {"up": entry}}), &load).unwrap();
        let audit = Arc::new(Audit::default());
        let defaults = AggregatorOptions::new(SnapshotMode::Frozen);
        defaults.redactor.register([&Secret::new("s3cret-of-mine")]).unwrap();
        let options = AggregatorOptions {
            questions: true,
            tasks: true,
            sampler: model.map(|model| model.clone() as Arc<dyn Sampler>),
            audit: Some(audit.clone()),
            limits: AggregatorLimits { call_timeout, ..defaults.limits },
            ..defaults
        };
        World { aggregator: Aggregator::start(config, options).await.unwrap(), audit }
    }

    async fn eval(&self, program: &str, person: Option<&Arc<Person>>) -> EvalOutcome {
        let nobody = Person::who(false, eu);
        let mut request = request(&self.aggregator, program, person.unwrap_or(&nobody));
        if person.is_none() {
            request.asker = None;
        }
        Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap().eval(request).await
    }

    fn audited(&self) -> Vec<String> {
        self.audit.0.lock().unwrap().clone()
    }

    /// How many requests ended so.
    fn count(&self, outcome: &str) -> u64 {
        let (_, counts) = self.aggregator.samplings().next().expect("it may ask");
        counts.requests().filter(|(word, _)| *word == outcome).map(|(_, count)| count).sum()
    }
}

fn params(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 1_000_000_000,
           "systemPrompt": "Keep s3cret-of-mine to yourself.", "stopSequences": ["END"]})
}

fn sampling(params: &Value) -> Value {
    json!({"method": "sampling/createMessage", "params": params})
}

/// A modern server. Each of its tools asks for the answers of one set of requests, and answers with what it was told.
fn modern() -> FakeHttp {
    let names = ["both", "model", "endless", "tools", "audio"];
    let tools = names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
    FakeHttp::modern(tools, |hit| {
        let params_of_call = &hit.body["params"];
        let asks = |requests: Value| {
            let result =
                json!({"resultType": "input_required", "requestState": "s", "inputRequests": requests});
            reply(200, &hit.result(result))
        };
        let asked = params("Sum up: s3cret-of-mine");
        let is_again = params_of_call["inputResponses"].is_object();
        match params_of_call["name"].as_str().unwrap_or_default() {
            "endless" => asks(json!({"a": sampling(&asked)})),
            "both" if !is_again => asks(json!({"m": sampling(&asked), "k": region()})),
            "model" if !is_again => asks(json!({"m": sampling(&asked)})),
            "tools" => {
                let mut asked = asked;
                asked["tools"] = json!([]);
                asks(json!({"k": region(), "m": sampling(&asked)}))
            }
            "audio" => {
                let mut asked = asked;
                asked["messages"][0]["content"] =
                    json!({"type": "audio", "data": "", "mimeType": "audio/wav"});
                asks(json!({"m": sampling(&asked)}))
            }
            _ => reply(200, &hit.result(json!({"structuredContent": params_of_call["inputResponses"]}))),
        }
    })
}

fn entry(server: &FakeHttp) -> Value {
    patient(json!({"transport": "mcp_http", "url": server.url.as_str(), "allow_insecure_http": true}))
}

fn calls(server: &FakeHttp) -> Vec<Value> {
    let calls = server.hits().into_iter().filter(|hit| hit.rpc() == "tools/call");
    calls.map(|hit| hit.body["params"].clone()).collect()
}

fn declared(call: &Value) -> &Value {
    &call["_meta"]["io.modelcontextprotocol/clientCapabilities"]
}

async fn a_call_is_sent_again() {
    let (server, model) = (modern(), Model::new(|_, _| says("short s3cret-of-mine")));
    let world = World::new(entry(&server), Some(&model)).await;
    let person = Person::who(false, eu);
    let outcome = world.eval(&value("both"), Some(&person)).await;
    let answer = r#""m" {"content" {"text" "short [REDACTED]" "type" "text"} "model" "m-1" "role" "assistant" "stopReason" "endTurn"}"#;
    assert_eq!(
        text(&outcome),
        format!(r#"{{"k" {{"action" "accept" "content" {{"region" "eu"}}}} {answer}}}"#)
    );
    assert_eq!(person.messages().len(), 1);
    let seen = model.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].max_tokens, seen[0].stop_sequences.as_slice()), (4096, &["END".to_owned()][..]));
    assert_eq!(seen[0].system.as_deref(), Some("Keep [REDACTED] to yourself."));
    assert_eq!(seen[0].messages[0].content, [SamplingContent::Text("Sum up: [REDACTED]".to_owned())]);
    let alone = world.eval(&value("model"), None).await;
    assert_eq!(text(&alone), format!("{{{answer}}}"), "nobody needs to be there");
    let tasks = json!({"io.modelcontextprotocol/tasks": {}});
    let [first, .., last] = &calls(&server)[..] else { panic!() };
    assert_eq!(
        declared(first),
        &json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "extensions": tasks})
    );
    assert_eq!(declared(last), &json!({"sampling": {}, "extensions": tasks}));
    assert_eq!(last["requestState"], "s");
    assert_eq!(
        world.audited(),
        ["up both Some(\"m-1\") Some((10, 2)) ok", "up model Some(\"m-1\") Some((10, 2)) ok"]
    );
    let (_, counts) = world.aggregator.samplings().next().unwrap();
    assert_eq!((world.count("ok"), counts.tokens()), (2, [("input", 20), ("output", 4)]));
    world.aggregator.shutdown().await;
}

#[cfg(feature = "saved-sessions")]
async fn a_program_goes_on_elsewhere() {
    use ptc_host::engine::{Resume, Suspended};
    let (server, model) = (modern(), Model::new(|_, before| says(&format!("{before}"))));
    let mut entry = entry(&server);
    entry["max_concurrency"] = 1.into();
    let world = World::new(entry, Some(&model)).await;
    let person = Person::who(true, eu);
    // Seven answers before it leaves and one behind it are as many as there may be.
    let program = format!("[(dotimes [_ 7] {}) {} {}]", value("model"), value("both"), fault("model"));
    let mut outcome = world.eval(&program, Some(&person)).await;
    let mut left = 0;
    while let Some(suspended) = outcome.suspended.take() {
        left += 1;
        let Suspended { snapshot, questions } = *suspended;
        let resume = Resume { snapshot, answers: person.answers(&questions), gate: None };
        let mut again = request(&world.aggregator, &program, &person);
        again.resume = Some(Arc::new(resume));
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        outcome = engine.eval(again).await;
    }
    assert!(text(&outcome).contains(r#""text" "7""#), "{}", text(&outcome));
    assert!(
        text(&outcome).ends_with(
            "[:upstream_error \"the upstream gets no answer of a model: this program may have a model answer 8 times \
             (flag `--max-samplings-per-program`)\"]]"
        ),
        "{}",
        text(&outcome)
    );
    assert_eq!((left, model.count()), (1, 8), "the number goes with the program, and nothing is asked twice");
    world.aggregator.shutdown().await;
}

async fn nothing_offered() {
    let model = Model::new(|_, _| says("x"));
    let refused =
        r#"[:upstream_error "the upstream asks for sampling/createMessage, which was not offered"]"#;
    for (key, model) in [(false, Some(&model)), (true, None)] {
        let server = modern();
        let mut entry = entry(&server);
        entry["sampling"] = key.into();
        let world = World::new(entry, model).await;
        let person = Person::who(false, eu);
        for tool in ["both", "model", "tools"] {
            assert_eq!(text(&world.eval(&fault(tool), Some(&person)).await), refused, "{tool}");
        }
        assert!(person.messages().is_empty(), "nobody is asked for what is of no use");
        assert!(calls(&server).iter().all(|call| declared(call)["sampling"].is_null()));
        assert!(world.aggregator.samplings().next().is_none() && world.audited().is_empty());
        world.aggregator.shutdown().await;
        let own = std::env::current_exe().unwrap();
        let child = json!({"transport": "mcp_stdio", "command": own.to_str().unwrap(), "args": [fake_stdio::ROLE, "plain"], "sampling": key});
        let world = World::new(child, model).await;
        let outcome = world.eval(&asks_model(&params("x")), Some(&person)).await;
        assert_eq!(text(&outcome), r#"{"code" -32601 "message" "Method not found"}"#);
        world.aggregator.shutdown().await;
    }
    assert_eq!(model.count(), 0);
}

async fn upstreams_that_ask_in_vain() {
    let server = modern();
    let broken = Model::new(|_, before| match before {
        0 => Some(Err(SamplingFault::model("HTTP 429 with s3cret-of-mine"))),
        1 => says(&"x".repeat((1 << 20) + 1)),
        _ => says("x"),
    });
    let world = World::new(entry(&server), Some(&broken)).await;
    let person = Person::who(false, eu);
    for (tool, why, asked) in [
        ("model", "HTTP 429 with [REDACTED]", 1),
        ("model", "the model's answer has 1048577 bytes, more than 1048576", 1),
        ("tools", "tools and toolChoice were not offered", 0),
        ("audio", "messages[0]: audio is not supported", 0),
        ("endless", "this program may have a model answer 8 times (flag `--max-samplings-per-program`)", 8),
    ] {
        let before = broken.count();
        let outcome = world.eval(&fault(tool), Some(&person)).await;
        let expected = format!("[:upstream_error \"the upstream gets no answer of a model: {why}\"]");
        assert_eq!(text(&outcome), expected);
        assert_eq!(broken.count() - before, asked, "{tool}");
    }
    assert!(person.messages().is_empty(), "a call that fails anyway asks nobody");
    assert_eq!((world.count("failed"), world.count("refused"), world.count("ok")), (2, 1, 8));
    world.aggregator.shutdown().await;
}

async fn a_task_asks() {
    let asked = AtomicUsize::new(0);
    let server = FakeHttp::start(move |hit| {
        match hit.rpc() {
        "server/discover" => reply(
            200,
            &hit.result(json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0,
                               "cacheScope": "public", "capabilities": {"tools": {}}})),
        ),
        "tools/list" => {
            reply(200, &hit.result(json!({"resultType": "complete", "tools": [{"name": "t", "inputSchema": {"type": "object"}}]})))
        }
        "tools/call" => {
            let task = json!({"resultType": "task", "taskId": "1", "status": "working", "pollIntervalMs": 1});
            reply(200, &hit.result(task))
        }
        "tasks/get" => {
            let state = match asked.fetch_add(1, Ordering::SeqCst) {
                0 => json!({"status": "input_required", "inputRequests": {"m": sampling(&params("x"))}}),
                _ => json!({"status": "completed", "result": {"structuredContent": {"rows": 7}}}),
            };
            reply(200, &hit.result(state))
        }
        _ => reply(200, &hit.result(json!({"resultType": "complete"}))),
    }
    });
    let model = Model::new(|_, _| says("short"));
    let world = World::new(entry(&server), Some(&model)).await;
    let outcome = run_out_of_all(world.eval(&value("t"), None), Duration::from_secs(1)).await;
    assert_eq!(text(&outcome), r#"{"rows" 7}"#);
    let update = server.hits().into_iter().find(|hit| hit.rpc() == "tasks/update").unwrap();
    assert_eq!(update.body["params"]["inputResponses"]["m"]["content"]["text"], "short");
    world.aggregator.shutdown().await;
}

/// A call of the child's tool that asks a model, and answers with what it was told.
fn asks_model(params: &Value) -> String {
    let params = lisp(params);
    format!(
        "(:value (tool/call {{:server \"up\" :tool \"ask\" :args {{:id 7 :method \"sampling/createMessage\" :params {params}}}}}))"
    )
}

/// JSON as a program writes it.
fn lisp(value: &Value) -> String {
    format!("(json/parse-string {})", Value::from(value.to_string()))
}

fn child() -> Value {
    let own = std::env::current_exe().unwrap();
    json!({"transport": "mcp_stdio", "command": own.to_str().unwrap(), "args": [fake_stdio::ROLE, "plain"]})
}

async fn a_child_asks() {
    // The model takes longer than a call may, by a clock that runs as soon as it is asked.
    let model = Arc::new(Model {
        answer: |asked, before| match before {
            0 => says(asked.system.as_deref().unwrap_or_default()),
            1 => Some(Err(SamplingFault::request("images are not supported"))),
            _ => Some(Err(SamplingFault::model("no connection"))),
        },
        takes: 2 * HOUR,
        seen: Mutex::default(),
    });
    let world = World::within(HOUR, child(), Some(&model)).await;
    let ask = async |params: &Value| {
        let (before, takes) = (model.count(), model.takes);
        let program = asks_model(params);
        let taking = async {
            wait_until_async("the model is asked", async || model.count() > before).await;
            advance(takes);
        };
        tokio::join!(world.eval(&program, None), taking).0
    };
    let outcome = ask(&params("x")).await;
    let answer = r#"{"content" {"text" "Keep [REDACTED] to yourself." "type" "text"} "model" "m-1" "role" "assistant" "stopReason" "endTurn"}"#;
    assert_eq!(text(&outcome), answer);
    for told in [
        r#"{"code" -32602 "message" "images are not supported"}"#,
        r#"{"code" -32603 "message" "no connection"}"#,
    ] {
        assert_eq!(text(&ask(&params("x")).await), told);
    }
    let wrong = json!({"messages": "x", "maxTokens": 1});
    let outcome = world.eval(&asks_model(&wrong), None).await;
    assert!(
        text(&outcome).starts_with(r#"{"code" -32602 "message" "its params are malformed"#),
        "{}",
        text(&outcome)
    );
    let quick = Model::new(|_, _| says("x"));
    world.aggregator.shutdown().await;
    let world = World::new(child(), Some(&quick)).await;
    let nine = format!("(map (fn [_] (get {} \"code\")) (range 9))", asks_model(&params("x")));
    assert_eq!(text(&world.eval(&nine, None).await), "[nil nil nil nil nil nil nil nil -1]");
    assert_eq!(quick.count(), 8);
    world.aggregator.shutdown().await;
}

async fn a_stream_asks() {
    let (tell, told) = std::sync::mpsc::channel::<Value>();
    let (tell, told) = (Mutex::new(tell), Mutex::new(Some(told)));
    let server = FakeHttp::start(move |hit| match (hit.method.as_str(), hit.rpc()) {
        ("DELETE", _) => response(200, &[], b""),
        ("GET", _) => response(405, &[], b""),
        (_, "initialize") => reply(
            200,
            &hit.result(json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}})),
        ),
        (_, "tools/list") => {
            reply(200, &hit.result(json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})))
        }
        (_, "tools/call") => asks_on_its_stream(hit, told.lock().unwrap().take().expect("one call")),
        (_, "") => {
            tell.lock().unwrap().send(hit.body.clone()).unwrap();
            response(202, &[], b"")
        }
        (_, method) if method.starts_with("notifications/") => response(202, &[], b""),
        _ => reply(400, &hit.error(-32000, "Bad Request: Server not initialized")),
    });
    let model = Model::new(|_, _| says("short"));
    let world = World::new(entry(&server), Some(&model)).await;
    let outcome =
        world.eval(&format!("(get-in {} [\"result\" \"content\" \"text\"])", value("t")), None).await;
    assert_eq!(text(&outcome), r#""short""#);
    let greeted = server.hits().into_iter().find(|hit| hit.rpc() == "initialize").unwrap();
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}});
    assert_eq!(greeted.body["params"]["capabilities"], capabilities);
    world.aggregator.shutdown().await;
}

fn asks_on_its_stream(hit: &Hit, told: std::sync::mpsc::Receiver<Value>) -> Steps {
    let mut question = sampling(&params("x"));
    question["jsonrpc"] = "2.0".into();
    question["id"] = "s1".into();
    let (write, stream) = std::sync::mpsc::channel();
    let answer = hit.clone();
    std::thread::spawn(move || {
        let Ok(told) = told.recv() else { return };
        let Step::Bytes(bytes) = event(&answer.result(json!({"structuredContent": told}))) else { return };
        let _ = write.send(bytes);
    });
    vec![event_head(), event(&question), Step::Follow(stream)]
}

async fn belongs_to_no_run() {
    let model = Model::new(|_, _| says("x"));
    let world = World::new(child(), Some(&model)).await;
    // While a call of another program is in flight, nobody can tell whose budget pays.
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let never = "(tool/call {:server \"up\" :tool \"never\" :args {}})";
    let mut slow = Box::pin(engine.eval(request(&world.aggregator, never, &Person::who(false, eu))));
    assert!((&mut slow).now_or_never().is_none());
    let upstream = world.aggregator.unfiltered().upstreams().next().unwrap().1.clone();
    wait_until_async("it is in flight", async || upstream.health().in_flight == 1).await;
    let echo = "(:value (tool/call {:server \"up\" :tool \"echo\" :args {:a 1}}))";
    assert_eq!(text(&world.eval(echo, None).await), r#"{"a" 1}"#);
    let outcome = world.eval(&asks_model(&params("x")), None).await;
    assert_eq!(text(&outcome), r#"{"code" -1 "message" "calls of several programs are in flight"}"#);
    drop(slow);
    wait_until_async("it is given up", async || upstream.health().in_flight == 0).await;
    // What comes behind the call's own answer belongs to nobody, or to a later call that is over before it has an answer.
    let late = "(tool/call {:server \"up\" :tool \"ask_late\" :args {:id 7 :method \"sampling/createMessage\" :params {}}})";
    assert!(world.eval(late, None).await.result.is_ok());
    let answers = "(:value (tool/call {:server \"up\" :tool \"answers\" :args {}}))";
    let mut answered = String::new();
    wait_until_async("the request is answered", async || {
        answered = text(&world.eval(answers, None).await).to_owned();
        answered != "[]"
    })
    .await;
    assert!(answered.contains("\"error\""), "{answered}");
    assert_eq!(model.count(), 0);
    world.aggregator.shutdown().await;
}

async fn a_model_that_hangs() {
    let model = Model::new(|_, _| None);
    let server = modern();
    for entry in [child(), entry(&server)] {
        let world = World::new(entry.clone(), Some(&model)).await;
        let is_child = entry["command"].is_string();
        let program = if is_child { asks_model(&params("x")) } else { value("model") };
        let mut request = request(&world.aggregator, &program, &Person::who(false, eu));
        request.limits.timeout = HOUR;
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let asked = model.count() + 1;
        let outcome = run_out(engine.eval(request), async || model.count() == asked).await;
        assert!(outcome.result.is_err(), "{}", text(&outcome));
        wait_until_async("it is given up", async || !world.audited().is_empty()).await;
        let tool = if is_child { "ask" } else { "model" };
        assert_eq!(world.audited(), [format!("up {tool} None None cancelled")]);
        world.aggregator.shutdown().await;
    }
    assert_eq!(model.count(), 2);
}

async fn a_withdrawn_request() {
    let model = Model::new(|_, _| None);
    let world = World::within(HOUR, child(), Some(&model)).await;
    let asks = asks_model(&params("x")).replace("(:value", "(:reason");
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let mut asking = Box::pin(engine.eval(request(&world.aggregator, &asks, &Person::who(false, eu))));
    assert!((&mut asking).now_or_never().is_none());
    wait_until_async("the model is at it", async || model.count() == 1).await;
    let withdraws = "(:value (tool/call {:server \"up\" :tool \"answers\" :args {:withdraws 7}}))";
    assert_eq!(text(&world.eval(withdraws, None).await), "[]");
    wait_until_async("it is given up", async || !world.audited().is_empty()).await;
    assert_eq!(world.audited(), ["up ask None None cancelled"]);
    let outcome = run_out(asking, async || true).await;
    assert_eq!(text(&outcome), ":timeout", "the time of the call goes on, and it gets no answer");
    world.aggregator.shutdown().await;
}
