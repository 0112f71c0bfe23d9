//! Calls that a person has to allow (waiting.md 3.3): what is asked, what the answer does, and that nothing goes around it.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptc_host::aggregator::{
    Aggregator, AggregatorLimits, AggregatorOptions, AuditedCall, CallAudit, SnapshotMode,
};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::credentials::Secret;
use ptc_host::engine::{
    Asker, CallStatus, Engine, EngineOptions, EvalOutcome, EvalRequest, Limits, Resume, Suspended, Verdict,
};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, Level, PendingQuestion, QuestionId, QuestionKind,
};
use ptc_host::state::time_of_day_by;
use ptc_host::time::Clock;
use ptc_mcp::json::{Value, json};
use ptc_test_support::wait_until_async;
use ptc_tests::product;
use serde_json::value::RawValue;

/// How long an approval is good for here.
const TTL: Duration = Duration::from_secs(60);

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

struct World {
    engine: Engine,
    aggregator: Arc<Aggregator>,
    clock: Clock,
    audited: Arc<Audited>,
}

/// A line for each call: tool, outcome, who allowed it.
#[derive(Default)]
struct Audited(Mutex<Vec<String>>);

impl CallAudit for Audited {
    fn called(&self, call: &AuditedCall<'_>) {
        let by = call.approved.map(|by| format!("{} {:?}", by.channel.as_str(), by.name));
        let outcome = call.fault.map_or("ok", |fault| fault.as_str());
        self.0.lock().unwrap().push(format!("{} {outcome} {by:?}", call.tool));
    }
}

impl World {
    /// The fake tool server with these keys in its entry.
    async fn new(keys: Value) -> World {
        let mut entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream")});
        for (key, value) in keys.as_object().expect("keys") {
            entry[key.as_str()] = value.clone();
        }
        let env = ProcessEnv::current();
        let load = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = json!({"upstreams": {"fake": entry}});
        let config = UpstreamsConfig::from_value(&config, &load).expect("a right file");
        let (clock, audited) = (Clock::stepped(), Arc::<Audited>::default());
        let options = AggregatorOptions {
            limits: AggregatorLimits { max_calls: 12, ..AggregatorLimits::default() },
            clock: clock.clone(),
            approval_ttl: TTL,
            audit: Some(audited.clone()),
            ..AggregatorOptions::new(SnapshotMode::Live)
        };
        World {
            engine: Engine::start(EngineOptions { threads: 2, ..EngineOptions::default() }).expect("threads"),
            aggregator: Aggregator::start(config, options).await.expect("the fake starts"),
            clock,
            audited,
        }
    }

    fn request(&self, program: &str, asker: Option<&Arc<Person>>) -> EvalRequest {
        EvalRequest {
            limits: Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() },
            upstreams: Some(self.aggregator.clone()),
            asker: asker.cloned().map(|person| person as Arc<dyn Asker>),
            principal: Some("alice".into()),
            ..EvalRequest::new(program)
        }
    }

    async fn eval(&self, program: &str, asker: Option<&Arc<Person>>) -> EvalOutcome {
        self.engine.eval(self.request(program, asker)).await
    }

    fn now(&self) -> u64 {
        time_of_day_by(&self.clock)
    }
}

/// Answers as told, one after the other; then leaves.
struct Person {
    answers: Mutex<Vec<Answer>>,
    seen: Mutex<Vec<Vec<PendingQuestion>>>,
    /// Set ahead by this after the first answer.
    dawdles: Option<(Clock, Duration)>,
}

impl Person {
    fn saying(answers: impl IntoIterator<Item = Answer>) -> Arc<Person> {
        let mut answers: Vec<Answer> = answers.into_iter().collect();
        answers.reverse();
        Arc::new(Person { answers: Mutex::new(answers), seen: Mutex::default(), dawdles: None })
    }

    fn seen(&self) -> Vec<Vec<PendingQuestion>> {
        self.seen.lock().unwrap().clone()
    }
}

impl Asker for Person {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<Verdict> {
        self.seen.lock().unwrap().push(open.clone());
        let answer = self.answers.lock().unwrap().pop();
        if let (Some((clock, by)), 1) = (&self.dawdles, self.seen.lock().unwrap().len()) {
            clock.advance(*by);
        }
        let verdict = answer.map_or(Verdict::Leave, |answer| {
            Verdict::Answered(open.iter().map(|open| (open.id, answer.clone())).collect())
        });
        Box::pin(async move { verdict })
    }

    fn hold(&self, _open: Vec<PendingQuestion>, why: String) -> BoxFuture<Vec<(QuestionId, Answer)>> {
        panic!("{why}")
    }
}

fn answer(action: Action, content: Option<&str>, at_ms: u64) -> Answer {
    let content = content.map(|text| RawValue::from_string(text.to_owned()).unwrap());
    let by = AnsweredBy { channel: Channel::Console, name: Some("bob".into()) };
    Answer { action, content, by, at_ms }
}

fn allow(world: &World) -> Answer {
    answer(Action::Accept, Some(r#"{"decision":"allow"}"#), world.now())
}

fn text(outcome: &EvalOutcome) -> &str {
    match &outcome.result {
        Ok(answer) => &answer.text,
        Err(failure) => &failure.message,
    }
}

fn call(tool: &str) -> String {
    format!("(tool/call {{:server \"fake\" :tool \"{tool}\" :args {{}}}})")
}

#[tokio::test]
async fn where_nobody_can_be_asked_no_call_that_needs_an_approval_is_sent() {
    // Live: the first call is made before the tools of the server are known.
    let world = World::new(json!({"approve": "writes"})).await;
    // `hang` would never answer, `die` would end the server.
    let (hang, die) = (call("hang"), call("die"));
    let program = format!(
        "[(map :reason [{hang} {die}]) (frequencies (map :reason (pmap (fn [_] {hang}) (range 20)))) (:message {die})]"
    );
    let outcome = world.eval(&program, None).await;
    assert_eq!(
        text(&outcome),
        "[[:unanswerable :unanswerable] {:unanswerable 20} \"nobody can be asked here\"]",
        "and none of them took a number of the cap of twelve"
    );
    assert_eq!(outcome.upstream_calls.len(), 23);
    for call in &outcome.upstream_calls {
        let found = (call.status, call.reason.as_deref(), call.duration_ms);
        assert_eq!(found, (CallStatus::Error, Some("unanswerable"), 0));
    }
    assert_eq!(world.audited.0.lock().unwrap()[0], "hang unanswerable None");
}

#[tokio::test]
async fn named_tools_alone_are_asked_for() {
    let world = World::new(json!({"approve_tools": ["ha*"]})).await;
    let outcome = world.eval(&format!("[(:reason {}) (:ok {})]", call("hang"), call("echo")), None).await;
    assert_eq!(text(&outcome), "[:unanswerable true]");
}

#[tokio::test]
async fn one_answer_allows_all_calls_that_one_question_shows() {
    let world = World::new(json!({"approve": "destructive", "approve_level": "out_of_band"})).await;
    let person = Person::saying([allow(&world)]);
    let outcome = world
        .eval(
            "(map :value (pmap (fn [n] (tool/call {:server \"fake\" :tool \"echo\" :args {:text (str \"f\" n)}})) (range 9)))",
            Some(&person),
        )
        .await;
    let echoed: Vec<String> = (0..9).map(|n| format!("\"f{n}\"")).collect();
    assert!(echoed.iter().all(|text_| text(&outcome).contains(text_)), "{}", text(&outcome));
    let seen = person.seen();
    let [open] = seen.as_slice() else { panic!("{seen:?}") };
    let [PendingQuestion { id, question, .. }] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!(
        (id.to_string().as_str(), question.kind, question.level),
        ("q1", QuestionKind::Approval, Level::OutOfBand)
    );
    let lines: Vec<String> = (0..9).map(|n| format!("{{\"text\":\"f{n}\"}}")).collect();
    assert_eq!(question.message, format!("Allow 9 call(s) of echo at fake?\n{}", lines.join("\n")));
    assert_eq!(question.calls.len(), 9);
    let audited = world.audited.0.lock().unwrap();
    assert_eq!(audited.len(), 9);
    assert!(audited.iter().all(|line| line == "echo ok Some(\"console Some(\\\"bob\\\")\")"), "{audited:?}");
}

#[tokio::test]
async fn a_call_whose_arguments_hold_a_secret_is_refused_with_its_place() {
    let world = World::new(json!({"approve_tools": ["echo"]})).await;
    for (principal, token) in [("alice", "production-database"), ("bob", "production-cluster")] {
        world.aggregator.redactor().replace("tokens", principal, &[Secret::new(token)]).unwrap();
    }
    let person = Person::saying([allow(&world)]);
    let call =
        |text: &str| format!("(tool/call {{:server \"fake\" :tool \"echo\" :args {{:text {text:?}}}}})");
    let outcome =
        world.eval(&format!("(:message {})", call("drop production-database")), Some(&person)).await;
    assert_eq!(
        text(&outcome),
        "\"the arguments hold a secret at /text, which cannot be shown to whoever allows the call: leave it out; nothing was sent\""
    );
    assert!(person.seen().is_empty());
    // What another's authorization server has picked is a word like any other.
    let outcome = world.eval(&format!("(:ok {})", call("drop production-cluster")), Some(&person)).await;
    assert_eq!(text(&outcome), "true");
    assert!(person.seen()[0][0].question.message.ends_with("{\"text\":\"drop production-cluster\"}"));
}

#[tokio::test]
async fn more_than_ten_calls_and_long_arguments_have_questions_of_their_own() {
    let world = World::new(json!({"approve_tools": ["echo"]})).await;
    let person = Person::saying([allow(&world)]);
    let program = "(frequencies (map :ok (pmap (fn [n] (tool/call {:server \"fake\" :tool \"echo\" :args {:text (if (= n 3) (apply str (repeat 3000 \"x\")) (str n))}})) (range 12))))";
    let outcome = world.eval(program, Some(&person)).await;
    assert_eq!(text(&outcome), "{true 12}");
    let counts: Vec<usize> = person.seen()[0].iter().map(|open| open.question.calls.len()).collect();
    assert_eq!(counts, [10, 1, 1]);
    assert!(person.seen()[0].iter().any(|open| {
        open.question
            .message
            .contains("… 1011 of 3011 characters are not shown; all arguments have the SHA-256 v2:")
    }));
}

#[tokio::test]
async fn more_than_anybody_is_asked_about_is_the_programs_fault() {
    let world = World::new(json!({"approve_tools": ["echo"]})).await;
    let program = |bytes: usize| {
        // `{"text":""}` around it.
        let text = format!("(apply str (repeat {} \"x\"))", bytes - 11);
        format!("(:ok (tool/call {{:server \"fake\" :tool \"echo\" :args {{:text {text}}}}}))")
    };
    let person = Person::saying([allow(&world)]);
    assert_eq!(text(&world.eval(&program(262_144), Some(&person)).await), "true");
    let refused = world.eval(&program(262_145), Some(&person)).await;
    let text = text(&refused);
    let fault = "tool 'fake.echo' rejected args: 262145 bytes of JSON, and a call that needs approval may have 262144";
    assert!(text.contains(fault), "{text}");
    assert_eq!(person.seen().len(), 1, "nobody is asked about it");
}

#[tokio::test]
async fn a_call_whose_program_is_given_up_has_its_audit_line() {
    let world = World::new(json!({})).await;
    let upstream = world.aggregator.unfiltered().upstreams().next().expect("one").1.clone();
    let request = world.request(&call("hang"), None);
    tokio::select! {
        outcome = world.engine.eval(request) => panic!("it hangs: {outcome:?}"),
        () = wait_until_async("the call is in flight", async || upstream.health().in_flight == 1) => {}
    }
    let lines = || world.audited.0.lock().unwrap().clone();
    wait_until_async("it has its line", async || lines() == ["hang cancelled None"]).await;
}

#[tokio::test]
async fn what_is_asked_for_besides_tools_has_its_audit_line() {
    let world = World::new(json!({})).await;
    let read = |uri: &str| format!("(:ok (resource/read {{:server \"fake\" :uri \"{uri}\"}}))");
    for (program, lines) in [
        (read("text:a"), &["resources/read ok None"][..]),
        (read("gone:"), &["resources/read upstream_error None"]),
        (
            "(:ok (prompt/get {:server \"fake\" :name \"greet\" :args {:name \"Ada\"}}))".into(),
            &["prompts/get ok None"],
        ),
        ("(some? (prompt/list {:server \"fake\"}))".into(), &["prompts/list ok None"]),
        ("(some? (resource/templates {:server \"fake\"}))".into(), &["resources/templates/list ok None"]),
        (
            "(some? (prompt/complete {:server \"fake\" :name \"greet\" :argument \"name\" :value \"A\"}))"
                .into(),
            &["completion/complete ok None"],
        ),
    ] {
        world.eval(&program, None).await;
        assert_eq!(std::mem::take(&mut *world.audited.0.lock().unwrap()), lines, "{program}");
    }
    // A client of the server asks by itself.
    let features = world.aggregator.unfiltered().features("fake").expect("it is there");
    let limits = AggregatorLimits::default().per_call();
    features.read("text:b", limits, None).await.expect("a text");
    features.get_prompt("greet", b"{}", limits, None).await.expect("a prompt");
    assert!(features.read("gone:", limits, None).await.is_err());
    let lines = world.audited.0.lock().unwrap().clone();
    assert_eq!(
        lines,
        ["resources/read ok None", "prompts/get ok None", "resources/read upstream_error None"]
    );
    let long = format!("text:{}", "x".repeat(5 << 20));
    let refused = features.read(&long, limits, None).await.expect_err("too long");
    assert!(refused.message.contains("the limit of a call is 4194304"), "{}", refused.message);
    let lines = world.audited.0.lock().unwrap().split_off(3);
    assert_eq!(lines, ["resources/read upstream_error None"], "what is not sent has its line, too");
}

#[tokio::test]
async fn only_the_word_allow_of_an_accepted_form_allows() {
    let world = World::new(json!({"approve": "writes"})).await;
    let now = world.now();
    let accept = |content| answer(Action::Accept, content, now);
    let empty = || accept(Some("{}"));
    for (answers, reason, asked) in [
        (vec![answer(Action::Decline, None, now)], "declined", 1),
        (vec![answer(Action::Decline, Some(r#"{"decision":"allow"}"#), now)], "declined", 1),
        (vec![answer(Action::Cancel, None, now)], "cancelled", 1),
        (vec![accept(Some(r#"{"decision":"refuse"}"#))], "declined", 1),
        (vec![empty(), accept(None), accept(Some(r#"{"decision":"always"}"#))], "cancelled", 3),
        (vec![empty(), accept(Some(r#"{"decision":"refuse"}"#))], "declined", 2),
    ] {
        let person = Person::saying(answers);
        let outcome = world.eval(&format!("(:reason {})", call("hang")), Some(&person)).await;
        assert_eq!((text(&outcome), person.seen().len()), (format!(":{reason}").as_str(), asked));
    }
    let person = Person::saying([empty(), allow(&world)]);
    let outcome = world.eval(&format!("(:ok {})", call("echo")), Some(&person)).await;
    assert_eq!((text(&outcome), person.seen().len()), ("true", 2), "asked again, and then allowed");
}

#[tokio::test]
async fn calls_that_were_refused_take_no_number_of_the_cap() {
    let world = World::new(json!({"approve_tools": ["hang"]})).await;
    let now = world.now();
    let person = Person::saying((0..9).map(|_| answer(Action::Decline, None, now)));
    let program = format!(
        "[(frequencies (map (fn [_] (:reason {})) (range 9))) (frequencies (map (fn [_] (:ok {})) (range 12)))]",
        call("hang"),
        call("echo")
    );
    assert_eq!(text(&world.eval(&program, Some(&person)).await), "[{:declined 9} {true 12}]");
}

#[tokio::test]
async fn an_approval_grows_old() {
    let world = World::new(json!({"approve": "writes"})).await;
    let now = world.now();
    let late = TTL + Duration::from_millis(1);
    let decision = Some(r#"{"decision":"allow"}"#);
    // The second answer is given after the clock has gone on.
    let answers = [answer(Action::Accept, decision, now), answer(Action::Accept, decision, now + 2 * 60_001)];
    let mut person = Person::saying(answers);
    Arc::get_mut(&mut person).unwrap().dawdles = Some((world.clock.clone(), late));
    let outcome = world.eval(&format!("(:ok {})", call("echo")), Some(&person)).await;
    assert_eq!((text(&outcome), person.seen().len()), ("true", 2));
}

/// Lets `program` leave at its first question.
async fn suspended(world: &World, program: &str) -> Suspended {
    let person = Person::saying([]);
    let outcome = world.eval(program, Some(&person)).await;
    *outcome.suspended.expect("it waits")
}

/// Goes on with it in `world` with these answers to its first question.
async fn resumed(
    world: &World,
    program: &str,
    suspended: Suspended,
    answer: Answer,
    person: &Arc<Person>,
) -> EvalOutcome {
    let answers = suspended.questions.iter().map(|open| (open.id, answer.clone())).collect();
    let resume = Resume { snapshot: suspended.snapshot, answers, gate: None };
    let request = EvalRequest { resume: Some(Arc::new(resume)), ..world.request(program, Some(person)) };
    world.engine.eval(request).await
}

#[tokio::test]
async fn an_approval_is_checked_again_where_the_program_goes_on() {
    let program = format!("[(:ok {}) (:ok {})]", call("echo"), call("echo"));
    let before = World::new(json!({"approve": "writes"})).await;
    let written = suspended(&before, &program).await;
    let message = "Allow 1 call(s) of echo at fake?\n{}";
    assert_eq!(written.questions[0].question.message, message);

    let same = World::new(json!({"approve": "writes"})).await;
    let person = Person::saying([allow(&same)]);
    let outcome = resumed(&same, &program, written.clone(), allow(&same), &person).await;
    assert_eq!(text(&outcome), "[true true]");
    assert_eq!(person.seen().len(), 1, "the second call alone: an approval is good for one sending");

    let stricter = World::new(json!({"approve": "writes", "approve_level": "out_of_band"})).await;
    let person = Person::saying([allow(&stricter), allow(&stricter)]);
    let outcome = resumed(&stricter, &program, written.clone(), allow(&stricter), &person).await;
    assert_eq!(text(&outcome), "[true true]");
    assert_eq!(person.seen().len(), 2, "another policy asks again");

    let old = World::new(json!({"approve": "writes"})).await;
    let answered = allow(&old);
    old.clock.advance(TTL + Duration::from_millis(1));
    let person = Person::saying([allow(&old), allow(&old)]);
    let outcome = resumed(&old, &program, written.clone(), answered, &person).await;
    assert_eq!((text(&outcome), person.seen().len()), ("[true true]", 2), "an old one as well");

    let gone = World::new(json!({"approve": "writes", "deny_tools": ["echo"]})).await;
    let person = Person::saying([]);
    let outcome = resumed(&gone, &program, written, allow(&gone), &person).await;
    assert!(
        text(&outcome).starts_with("runtime_error: no tool 'echo' in upstream 'fake'"),
        "{}",
        text(&outcome)
    );
    assert_eq!(person.seen().len(), 0);
}

#[tokio::test]
async fn an_answer_for_another_principal_is_none() {
    let program = format!("(:ok {})", call("echo"));
    let world = World::new(json!({"approve": "writes"})).await;
    let written = suspended(&world, &program).await;
    let answers = written.questions.iter().map(|open| (open.id, allow(&world))).collect();
    let resume = Resume { snapshot: written.snapshot, answers, gate: None };
    let person = Person::saying([answer(Action::Decline, None, world.now())]);
    let request = EvalRequest {
        resume: Some(Arc::new(resume)),
        principal: Some("mallory".into()),
        ..world.request(&program, Some(&person))
    };
    let outcome = world.engine.eval(request).await;
    assert_eq!((text(&outcome), person.seen().len()), ("false", 1));
}

#[test]
fn calls_leave_by_two_doors_alone() {
    let mut found = Vec::new();
    for path in product::sources() {
        let source = std::fs::read_to_string(&path).expect("a source");
        let product = source.split("#[cfg(test)]").next().unwrap_or_default();
        if ["upstream.call(", "handle.call("].iter().any(|call| product.contains(call)) {
            found.push(path.strip_prefix(product::root()).expect("below the root").display().to_string());
        }
    }
    found.sort();
    assert_eq!(
        found,
        [
            "host/src/aggregator/input.rs",
            "host/src/aggregator/outside_calls.rs",
            "host/src/aggregator/reported_roots.rs",
            "upstreams/src/upstream/per_principal.rs"
        ],
        "whoever calls an upstream asks for the approval first (of programs in call.rs); the third reads one tool that only tells its folders and needs none; the last one hands on what came by the others"
    );
}

#[test]
fn ptc_call_sends_nothing_that_nobody_has_allowed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("upstreams.json");
    let entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream"), "approve": "writes"});
    std::fs::write(&file, json!({"upstreams": {"fake": entry}}).to_string()).expect("a file");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    command.args(["call", "fake", "die", "--upstreams-config"]).arg(&file).stdin(std::process::Stdio::null());
    let output = command.output().expect("it runs");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("unanswerable: nobody can be asked here"), "{said}");
}
