//! Programs whose upstreams have people asked: whole calls through engine and aggregator (waiting.md 3.2).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use libtest_mimic::Trial;
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Asker, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, Verdict};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, Mode, PendingQuestion, QuestionId, QuestionKind,
};
use ptc_mcp::json::{Value, json};
use serde_json::value::RawValue;

use crate::fake_stdio;
use crate::support::{AMPLE, HOUR, trial};
use ptc_test_support::fake_http::{FakeHttp, Hit, Steps, reply};
use ptc_test_support::wait_until_async;

pub(crate) fn trials() -> Vec<Trial> {
    Vec::from([
        trial("asking::a_program_goes_on_with_the_answer", a_program_goes_on_with_the_answer),
        #[cfg(feature = "saved-sessions")]
        trial("asking::a_program_goes_on_elsewhere", a_program_goes_on_elsewhere),
        #[cfg(feature = "saved-sessions")]
        trial("asking::discoveries_are_counted_on_elsewhere", discoveries_are_counted_on_elsewhere),
        trial("asking::a_person_may_say_no", a_person_may_say_no),
        trial("asking::nobody_can_be_asked", nobody_can_be_asked),
        trial("asking::seventeen_questions_are_two_rounds", seventeen_questions),
        trial("asking::what_may_not_be_asked_is_dismissed", what_may_not_be_asked),
        trial("asking::what_does_not_fit_never_reaches_the_upstream", what_does_not_fit),
        trial("asking::upstreams_that_ask_in_vain", upstreams_that_ask_in_vain),
        trial("asking::pages_are_visited_before_the_call_is_sent_again", pages_are_visited),
        trial("asking::a_child_of_the_handshake_era_asks", a_child_asks),
        trial("asking::a_call_behind_a_question_does_not_keep_it_back", a_call_behind_a_question),
        trial("asking::an_open_question_dismisses_none_of_others", an_open_question_dismisses_none),
    ])
}

/// Answers questions, here or after the program has left.
pub(crate) struct Person {
    leaves: bool,
    answers: fn(&PendingQuestion) -> Answer,
    seen: Mutex<Vec<Vec<PendingQuestion>>>,
    held: AtomicUsize,
}

impl Person {
    pub(crate) fn who(leaves: bool, answers: fn(&PendingQuestion) -> Answer) -> Arc<Person> {
        Arc::new(Person { leaves, answers, seen: Mutex::default(), held: AtomicUsize::new(0) })
    }

    pub(crate) fn answers(&self, open: &[PendingQuestion]) -> Vec<(QuestionId, Answer)> {
        open.iter().map(|open| (open.id, (self.answers)(open))).collect()
    }

    pub(crate) fn messages(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().flatten().map(|open| open.question.message.clone()).collect()
    }
}

impl Asker for Person {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        let answers = self.answers(&open);
        self.seen.lock().unwrap().push(open);
        let verdict = if self.leaves { Verdict::Leave } else { Verdict::Answered(answers) };
        std::future::ready(verdict).boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        self.held.fetch_add(1, Ordering::SeqCst);
        std::future::ready(self.answers(&open)).boxed()
    }
}

/// Counts what it is asked, and never answers.
#[derive(Default)]
struct Silent(AtomicUsize);

impl Asker for Silent {
    fn ask(&self, _: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().boxed()
    }

    fn hold(&self, _: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        std::future::pending().boxed()
    }
}

fn said(action: Action, content: Option<&str>) -> Answer {
    let content = content.map(|content| RawValue::from_string(content.to_owned()).unwrap());
    let by = AnsweredBy { channel: Channel::Client, name: None };
    Answer { action, content, by, at_ms: 7 }
}

pub(crate) fn eu(_: &PendingQuestion) -> Answer {
    said(Action::Accept, Some(r#"{"region":"eu"}"#))
}

fn no(_: &PendingQuestion) -> Answer {
    said(Action::Decline, None)
}

pub(crate) fn form(message: &str, properties: Value) -> Value {
    let schema = json!({"type": "object", "properties": properties});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

pub(crate) fn region() -> Value {
    form("Which \u{202e}region\u{1b}?", json!({"region": {"type": "string", "enum": ["eu", "us"]}}))
}

/// What the tools of a modern server answer.
fn answer(hit: &Hit) -> Steps {
    let params = &hit.body["params"];
    let asks = |requests: Value, state: Value| {
        let mut result = json!({"resultType": "input_required"});
        for (name, value) in [("inputRequests", requests), ("requestState", state)] {
            if !value.is_null() {
                result[name] = value;
            }
        }
        reply(200, &hit.result(result))
    };
    let told = json!({"structuredContent": {
        "told": params["inputResponses"], "state": params["requestState"], "args": params["arguments"]}});
    let is_again = params["inputResponses"].is_object();
    match params["name"].as_str().unwrap_or_default() {
        "endless" => asks(json!({"k": region()}), "s".into()),
        "state" => asks(json!({"k": region()}), "x".repeat(1 << 20).into()),
        "sampling" => asks(json!({"k": {"method": "sampling/createMessage", "params": {}}}), "s".into()),
        "idle" if params["requestState"].is_null() => asks(Value::Null, "later".into()),
        "page" => {
            let mut error = hit.error(-32042, "authorize first");
            let page = json!({"mode": "url", "url": "https://a.example/x", "message": "Authorize", "elicitationId": "1"});
            error["error"]["data"] = json!({"elicitations": [page]});
            reply(200, &error)
        }
        "many" if !is_again => {
            let requests = (0..17).map(|at| (format!("k{at}"), form(&format!("{at}"), json!({}))));
            asks(Value::Object(requests.collect()), Value::Null)
        }
        "bad" if !is_again => {
            let page = json!({"mode": "url", "url": "javascript:alert(1)", "message": "m"});
            asks(
                json!({
                    "a": form("m", json!({"x": {"$ref": "#/$defs/x"}})),
                    "b": {"method": "elicitation/create", "params": page},
                    "c": form("m", json!({"Pass-Word": {"type": "string"}})),
                    "d": region(),
                }),
                Value::Null,
            )
        }
        "region" if !is_again => asks(json!({"k": region()}), "s1".into()),
        _ => reply(200, &hit.result(told)),
    }
}

struct World {
    server: FakeHttp,
    aggregator: Arc<Aggregator>,
}

impl World {
    async fn new() -> World {
        Self::over(FakeHttp::modern(tools(), answer)).await
    }

    async fn over(server: FakeHttp) -> World {
        let entry = json!({"transport": "mcp_http", "url": server.url.as_str(), "allow_insecure_http": true});
        World { server, aggregator: start(entry, false).await }
    }

    async fn eval(&self, program: &str, person: &Arc<Person>) -> EvalOutcome {
        eval(&self.aggregator, program, person).await
    }

    fn calls(&self) -> Vec<Value> {
        let calls = self.server.hits().into_iter().filter(|hit| hit.rpc() == "tools/call");
        calls.map(|hit| hit.body["params"].clone()).collect()
    }
}

fn tools() -> Value {
    let names = ["region", "endless", "state", "sampling", "idle", "page", "many", "bad"];
    names.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect()
}

pub(crate) async fn start(entry: Value, tasks: bool) -> Arc<Aggregator> {
    let env = ProcessEnv::current();
    let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&json!({"upstreams": {"up": entry}}), &load).unwrap();
    let defaults = AggregatorOptions::new(SnapshotMode::Frozen);
    let limits = AggregatorLimits { call_timeout: AMPLE, ..defaults.limits };
    let options = AggregatorOptions { questions: true, tasks, limits, ..defaults };
    Aggregator::start(config, options).await.unwrap()
}

pub(crate) fn request(aggregator: &Arc<Aggregator>, program: &str, person: &Arc<Person>) -> EvalRequest {
    let mut request = EvalRequest::new(program);
    request.limits = Limits { timeout: AMPLE, ..Limits::aggregator() };
    request.upstreams = Some(aggregator.clone());
    request.asker = Some(person.clone());
    request
}

async fn eval(aggregator: &Arc<Aggregator>, program: &str, person: &Arc<Person>) -> EvalOutcome {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    engine.eval(request(aggregator, program, person)).await
}

pub(crate) fn text(outcome: &EvalOutcome) -> &str {
    match &outcome.result {
        Ok(answer) => &answer.text,
        Err(failure) => &failure.message,
    }
}

pub(crate) fn value(tool: &str) -> String {
    format!("(:value (tool/call {{:server \"up\" :tool \"{tool}\" :args {{:n 1}}}}))")
}

/// The reason and the message of a call that fails.
pub(crate) fn fault(tool: &str) -> String {
    format!("((juxt :reason :message) (tool/call {{:server \"up\" :tool \"{tool}\" :args {{}}}}))")
}

async fn a_program_goes_on_with_the_answer() {
    let world = World::new().await;
    let person = Person::who(false, eu);
    let program =
        format!("(map (fn [_] (get-in {} [\"told\" \"k\" \"content\" \"region\"])) [1 2])", value("region"));
    let outcome = world.eval(&program, &person).await;
    assert_eq!(text(&outcome), r#"["eu" "eu"]"#);
    assert_eq!(outcome.upstream_calls.len(), 2, "a call that is sent again is one call");
    let seen = person.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    let question = &seen[0][0].question;
    assert_eq!(question.message, r"up asks: Which \u202eregion\u001b?");
    assert_eq!((question.kind, question.upstream.as_deref()), (QuestionKind::Upstream, Some("up")));
    let calls = world.calls();
    assert_eq!(calls.len(), 4);
    assert_eq!(calls[1]["requestState"], "s1");
    assert_eq!(calls[1]["inputResponses"], json!({"k": {"action": "accept", "content": {"region": "eu"}}}));
    assert_eq!((&calls[0]["arguments"], &calls[1]["arguments"]), (&json!({"n": 1}), &json!({"n": 1})));
    let idle = world.eval(&format!("({} \"state\")", value("idle")), &person).await;
    assert_eq!(text(&idle), r#""later""#, "nothing is asked, and the call is sent again");
    world.aggregator.shutdown().await;
}

#[cfg(feature = "saved-sessions")]
async fn a_program_goes_on_elsewhere() {
    use ptc_host::engine::{Resume, Suspended};
    let world = World::new().await;
    let person = Person::who(true, eu);
    let program =
        format!("(map (fn [_] (get-in {} [\"told\" \"k\" \"content\" \"region\"])) [1 2])", value("region"));
    let mut outcome = world.eval(&program, &person).await;
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
    assert_eq!((text(&outcome), left), (r#"["eu" "eu"]"#, 2));
    assert_eq!(outcome.upstream_calls.len(), 2);
    let calls = world.calls();
    assert_eq!(calls.len(), 4, "nothing is sent twice for the first time");
    assert!(calls.iter().skip(1).step_by(2).all(|call| call["requestState"] == "s1"), "{calls:?}");
    world.aggregator.shutdown().await;
}

#[cfg(feature = "saved-sessions")]
async fn discoveries_are_counted_on_elsewhere() {
    use ptc_host::engine::Resume;
    let world = World::new().await;
    let program = format!(
        "(let [before (mapv (fn [n] (dir \"up\" {{:limit (inc n)}})) (range 25)) told {}] [(every? some? before) (some? told) (dir \"up\")])",
        value("region")
    );
    let person = Person::who(true, eu);
    let left = world.eval(&program, &person).await.suspended.expect("it has left");
    let resume = Resume { snapshot: left.snapshot, answers: person.answers(&left.questions), gate: None };
    let mut again = request(&world.aggregator, &program, &person);
    again.resume = Some(Arc::new(resume));
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let outcome = engine.eval(again).await;
    assert_eq!(text(&outcome), "[true true nil]", "{:?}", outcome.catalog_ops);
    world.aggregator.shutdown().await;
}

async fn a_person_may_say_no() {
    let world = World::new().await;
    let outcome = world.eval(&format!("(get {} \"told\")", value("region")), &Person::who(false, no)).await;
    assert_eq!(text(&outcome), r#"{"k" {"action" "decline"}}"#, "which the upstream is told");
    let page = world.eval(&fault("page"), &Person::who(false, no)).await;
    assert_eq!(text(&page), r#"[:declined "the question was declined"]"#);
    world.aggregator.shutdown().await;
}

async fn nobody_can_be_asked() {
    let world = World::new().await;
    let mut request = request(&world.aggregator, &fault("region"), &Person::who(false, eu));
    request.asker = None;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let outcome = engine.eval(request).await;
    assert!(text(&outcome).starts_with("[:upstream_error \"the tool asks for input"), "{}", text(&outcome));
    let capabilities = &world.calls()[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(capabilities, &json!({}), "and nothing is declared");
    world.aggregator.shutdown().await;
}

async fn seventeen_questions() {
    let world = World::new().await;
    let person = Person::who(false, |_| said(Action::Accept, None));
    let outcome = world.eval(&format!("(count (get {} \"told\"))", value("many")), &person).await;
    assert_eq!(text(&outcome), "17");
    let rounds: Vec<usize> = person.seen.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(rounds, [16, 1]);
    assert_eq!(world.calls().len(), 2, "the upstream gets all answers at once");
    world.aggregator.shutdown().await;
}

async fn what_may_not_be_asked() {
    let world = World::new().await;
    let person = Person::who(false, eu);
    let program =
        format!("(map (fn [k] (get-in {} [\"told\" k \"action\"])) [\"a\" \"b\" \"c\" \"d\"])", value("bad"));
    let outcome = world.eval(&program, &person).await;
    assert_eq!(text(&outcome), r#"["cancel" "cancel" "cancel" "accept"]"#);
    assert_eq!(person.messages().len(), 4, "each call asks once");
    world.aggregator.shutdown().await;
}

async fn what_does_not_fit() {
    let world = World::new().await;
    for content in [r#"{"region":"mars"}"#, r#"{"region":7}"#, r#"{"other":"eu"}"#] {
        let person: Arc<Person> = match content {
            r#"{"region":"mars"}"# => {
                Person::who(false, |_| said(Action::Accept, Some(r#"{"region":"mars"}"#)))
            }
            r#"{"region":7}"# => Person::who(false, |_| said(Action::Accept, Some(r#"{"region":7}"#))),
            _ => Person::who(false, |_| said(Action::Accept, Some(r#"{"other":"eu"}"#))),
        };
        let outcome = world.eval(&format!("(get {} \"told\")", value("region")), &person).await;
        assert_eq!(text(&outcome), r#"{"k" {"action" "cancel"}}"#, "{content}");
    }
    world.aggregator.shutdown().await;
}

async fn upstreams_that_ask_in_vain() {
    let world = World::new().await;
    let person = Person::who(false, eu);
    for (tool, expected) in [
        ("endless", r#"[:upstream_error "the upstream asked for input more than 10 times"]"#),
        (
            "state",
            r#"[:upstream_error "input_required has a requestState of 1048578 bytes, more than 262144"]"#,
        ),
        (
            "sampling",
            r#"[:upstream_error "the upstream asks for sampling/createMessage, which was not offered"]"#,
        ),
    ] {
        let before = world.calls().len();
        let outcome = world.eval(&fault(tool), &person).await;
        assert_eq!(text(&outcome), expected);
        assert_eq!(world.calls().len() - before, if tool == "endless" { 11 } else { 1 });
    }
    world.aggregator.shutdown().await;
}

async fn pages_are_visited() {
    let visits = Arc::new(AtomicUsize::new(0));
    let seen = visits.clone();
    let server = FakeHttp::modern(tools(), move |hit| match seen.fetch_add(1, Ordering::SeqCst) {
        1 => reply(200, &hit.result(json!({"structuredContent": "done"}))),
        _ => answer(hit),
    });
    let world = World::over(server).await;
    let person = Person::who(false, |open| {
        assert!(matches!(&open.question.mode, Mode::Url(url) if &**url == "https://a.example/x"));
        said(Action::Accept, None)
    });
    let outcome = world.eval(&value("page"), &person).await;
    assert_eq!(text(&outcome), r#""done""#);
    assert_eq!(person.messages(), ["up asks: Authorize"]);
    let calls = world.calls();
    assert!(calls[1].get("inputResponses").is_none() && calls[1].get("requestState").is_none());
    let outcome = world.eval(&fault("page"), &person).await;
    assert_eq!(text(&outcome), r#"[:upstream_error "authorize first"]"#);
    assert_eq!(world.calls().len(), 2 + 1 + 3, "sent again three times at most");
    world.aggregator.shutdown().await;
}

async fn a_child_asks() {
    let own = std::env::current_exe().unwrap();
    let entry = json!({"transport": "mcp_stdio", "command": own.to_str().unwrap(),
                       "args": [fake_stdio::ROLE, "plain"]});
    let aggregator = start(entry, false).await;
    let ask = |id: u32| {
        format!(
            "(:value (tool/call {{:server \"up\" :tool \"ask\" :args {{:id {id} :params {{:message \"Where?\" \
             :requestedSchema {{:type \"object\" :properties {{:region {{:type \"string\"}}}}}}}}}}}}))"
        )
    };
    // In one program the second call of which asks while the first one waits.
    let program = format!("(pmap (fn [n] (if (= n 1) {} {})) [1 2])", ask(1), ask(2));
    for leaves in [false, true] {
        let person = Person::who(leaves, eu);
        let outcome = eval(&aggregator, &program, &person).await;
        let told = r#"{"action" "accept" "content" {"region" "eu"}}"#;
        assert_eq!(text(&outcome), format!("[{told} {told}]"));
        assert_eq!(person.held.load(Ordering::SeqCst) > 0, leaves, "the connection pins it");
        assert_eq!(person.messages(), ["up asks: Where?", "up asks: Where?"]);
    }
    aggregator.shutdown().await;
}

async fn a_call_behind_a_question() {
    let own = std::env::current_exe().unwrap();
    let entry = json!({"transport": "mcp_stdio", "command": own.to_str().unwrap(), "max_concurrency": 1,
                       "args": [fake_stdio::ROLE, "plain"]});
    let aggregator = start(entry, false).await;
    let ask = "(:value (tool/call {:server \"up\" :tool \"ask\" :args {:id n :params {:message \"Where?\" \
               :requestedSchema {:type \"object\" :properties {:region {:type \"string\"}}}}}}))";
    let program = format!("(count (pmap (fn [n] {ask}) [1 2 3]))");
    for leaves in [false, true] {
        let person = Person::who(leaves, eu);
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let mut request = request(&aggregator, &program, &person);
        // Nobody would be asked before that.
        request.limits.timeout = HOUR;
        assert_eq!(text(&engine.eval(request).await), "3");
        assert_eq!(person.messages().len(), 3, "one after the other");
        assert_eq!(person.held.load(Ordering::SeqCst) > 0, leaves, "it cannot leave");
    }
    aggregator.shutdown().await;
}

async fn an_open_question_dismisses_none() {
    let own = std::env::current_exe().unwrap();
    let entry = json!({"transport": "mcp_stdio", "command": own.to_str().unwrap(),
                       "args": [fake_stdio::ROLE, "plain"]});
    let aggregator = start(entry, false).await;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let ask = "(:value (tool/call {:server \"up\" :tool \"ask\" :args {:id 1 :params {:message \"Where?\" \
               :requestedSchema {:type \"object\" :properties {:region {:type \"string\"}}}}}}))";
    let (silent, person) = (Arc::new(Silent::default()), Person::who(false, eu));
    let of = |principal: &str, asker: Arc<dyn Asker>| EvalRequest {
        asker: Some(asker),
        principal: Some(principal.into()),
        ..request(&aggregator, ask, &person)
    };
    let mut of_alice = Box::pin(engine.eval(of("alice", silent.clone())));
    assert!((&mut of_alice).now_or_never().is_none());
    wait_until_async("alice is asked", async || silent.0.load(Ordering::SeqCst) == 1).await;
    let outcome = engine.eval(of("bob", person.clone())).await;
    assert_eq!(text(&outcome), r#"{"action" "accept" "content" {"region" "eu"}}"#);
    assert_eq!(person.messages(), ["up asks: Where?"]);
    assert!((&mut of_alice).now_or_never().is_none(), "her question is open");
    drop(of_alice);
    aggregator.shutdown().await;
}
