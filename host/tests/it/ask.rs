//! `(ask …)`: what programs ask people themselves (waiting.md 3.4).

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::engine::{
    Asker, Engine, EngineOptions, EvalOutcome, EvalRequest, MOST_QUESTIONS, Resume, Suspended, Verdict,
};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, Channel, FormDialect, Mode, PendingQuestion, QuestionId, QuestionKind,
};
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const REGION: &str = r#"(ask {:message "Which region?" :schema {:type "object" :properties {:region {:type "string" :enum ["eu" "us"]}} :required ["region"]}})"#;

/// Says what is written down for it, question by question, and declines what comes after.
struct Person {
    says: Mutex<VecDeque<(Action, Option<&'static str>)>>,
    leaves: bool,
    most: u32,
    seen: Mutex<Vec<PendingQuestion>>,
}

impl Person {
    fn new(says: &[(Action, Option<&'static str>)]) -> Person {
        Person {
            says: Mutex::new(says.iter().copied().collect()),
            leaves: false,
            most: MOST_QUESTIONS,
            seen: Mutex::default(),
        }
    }

    fn answers(&self, open: &[PendingQuestion]) -> Vec<(QuestionId, Answer)> {
        let mut says = self.says.lock().unwrap();
        let mut answer = |open: &PendingQuestion| {
            let (action, content) = says.pop_front().unwrap_or((Action::Decline, None));
            let content = content.map(|content| RawValue::from_string(content.to_owned()).unwrap());
            let by = AnsweredBy { channel: Channel::Client, name: None };
            (open.id, Answer { action, content, by, at_ms: 1 })
        };
        open.iter().map(&mut answer).collect()
    }

    fn messages(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|open| open.question.message.clone()).collect()
    }
}

impl Asker for Person {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.seen.lock().unwrap().extend(open.iter().cloned());
        let verdict = if self.leaves { Verdict::Leave } else { Verdict::Answered(self.answers(&open)) };
        async move { verdict }.boxed()
    }

    fn hold(&self, _: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        panic!("it could leave: {why}")
    }

    fn most_questions(&self) -> u32 {
        self.most
    }
}

async fn eval(program: &str, asker: Option<Arc<Person>>) -> EvalOutcome {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let asker = asker.map(|asker| -> Arc<dyn Asker> { asker });
    engine.eval(EvalRequest { asker, ..EvalRequest::new(program) }).await
}

fn shown(outcome: &EvalOutcome) -> String {
    match &outcome.result {
        Ok(value) => value.text.clone(),
        Err(failure) => format!("!{}", failure.message),
    }
}

async fn said(program: &str, says: &[(Action, Option<&'static str>)]) -> (String, Arc<Person>) {
    let person = Arc::new(Person::new(says));
    (shown(&eval(program, Some(person.clone())).await), person)
}

#[tokio::test]
async fn an_answer_is_the_value() {
    let (value, person) = said(REGION, &[(Action::Accept, Some(r#"{"region":"eu"}"#))]).await;
    assert_eq!(value, r#"{:ok true :value {"region" "eu"} :value_kind :json}"#);
    let seen = person.seen.lock().unwrap();
    let question = &seen[0].question;
    assert_eq!((question.kind, &*question.message), (QuestionKind::Ask, "A program asks: Which region?"));
    let Mode::Form(form) = &question.mode else { panic!("{question:?}") };
    assert_eq!(
        form.to_json(FormDialect::Current),
        r#"{"type":"object","properties":{"region":{"type":"string","enum":["eu","us"]}},"required":["region"]}"#
    );
}

#[tokio::test]
async fn yes_or_no_is_an_empty_map() {
    for content in [None, Some("{}")] {
        let (value, _) = said(r#"(ask {:message "Sure?"})"#, &[(Action::Accept, content)]).await;
        assert_eq!(value, "{:ok true :value {} :value_kind :json}");
    }
}

#[tokio::test]
async fn what_is_not_answered_is_data() {
    let message =
        |reason: &str, message: &str| format!("{{:message \"{message}\" :ok false :reason :{reason}}}");
    let (value, _) = said(REGION, &[(Action::Decline, None)]).await;
    assert_eq!(value, message("declined", "the question was declined"));
    let (value, _) = said(REGION, &[(Action::Cancel, None)]).await;
    assert_eq!(value, message("cancelled", "the question was dismissed"));
    assert_eq!(shown(&eval(REGION, None).await), message("unanswerable", "nobody can be asked here"));
}

#[tokio::test]
async fn it_stands_wherever_a_call_may() {
    let yes = [(Action::Accept, None), (Action::Decline, None), (Action::Accept, None)];
    for program in [
        r#"(map (fn [n] (:ok (ask {:message (str "Number " n "?")}))) [1 2 3])"#,
        r#"(pmap (fn [n] (:ok (ask {:message (str "Number " n "?")}))) [1 2 3])"#,
        r#"(reduce (fn [all n] (conj all (:ok (ask {"message" (str "Number " n "?")})))) [] [1 2 3])"#,
        r#"(map :ok (map ask [{:message "Number 1?"} {:message "Number 2?"} {:message "Number 3?"}]))"#,
    ] {
        let (value, person) = said(program, &yes).await;
        assert_eq!(value, "[true false true]", "{program}");
        let asked = ["A program asks: Number 1?", "A program asks: Number 2?", "A program asks: Number 3?"];
        assert_eq!(person.messages(), asked, "{program}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_again() {
    let asia = (Action::Accept, Some(r#"{"region":"asia"}"#));
    let none = (Action::Accept, None);
    let (value, person) = said(REGION, &[asia, none, (Action::Accept, Some(r#"{"region":"us"}"#))]).await;
    assert_eq!(value, r#"{:ok true :value {"region" "us"} :value_kind :json}"#);
    assert_eq!(
        person.messages(),
        [
            "A program asks: Which region?",
            "The answer does not fit: field \"region\": got \"asia\", wanted one of \"eu\", \"us\".\nA program asks: Which region?",
            "The answer does not fit: field \"region\": got nothing, wanted one of \"eu\", \"us\".\nA program asks: Which region?",
        ]
    );
    let (value, person) = said(&format!("(let [r {REGION}] [(:reason r) (:message r)])"), &[asia; 5]).await;
    assert_eq!(person.messages().len(), 4);
    assert_eq!(
        value,
        r#"[:cancelled "the question was dismissed\nno answer fitted: field \"region\": got \"asia\", wanted one of \"eu\", \"us\""]"#
    );
}

/// Runs `program` with an engine of its own for each answer.
async fn moved(program: &str, says: &[(Action, Option<&'static str>)]) -> (String, Arc<Person>) {
    let person = Arc::new(Person { leaves: true, ..Person::new(says) });
    let asker: Option<Arc<dyn Asker>> = Some(person.clone());
    let mut resume = None;
    loop {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let request = EvalRequest { asker: asker.clone(), resume, ..EvalRequest::new(program) };
        let mut outcome = engine.eval(request).await;
        let Some(suspended) = outcome.suspended.take() else { return (shown(&outcome), person) };
        let Suspended { snapshot, questions } = *suspended;
        let answers = person.answers(&questions);
        resume = Some(Arc::new(Resume { snapshot, answers, gate: None }));
    }
}

#[tokio::test]
async fn a_program_that_asks_goes_on_elsewhere() {
    let asia = (Action::Accept, Some(r#"{"region":"asia"}"#));
    let us = (Action::Accept, Some(r#"{"region":"us"}"#));
    for says in
        [vec![us], vec![asia, us], vec![asia, asia, asia, us], vec![asia; 4], vec![(Action::Decline, None)]]
    {
        let (want, here) = said(REGION, &says).await;
        let (got, elsewhere) = moved(REGION, &says).await;
        assert_eq!(got, want, "{says:?}");
        assert_eq!(elsewhere.messages(), here.messages(), "{says:?}");
    }
    let program = format!("(pmap (fn [_] {REGION}) [1 2])");
    let (value, person) = moved(&program, &[asia, us, us]).await;
    assert_eq!(value.matches("\"us\"").count(), 2, "{value}");
    assert_eq!(person.messages().len(), 3);
}

#[tokio::test]
async fn a_program_asks_no_more_than_it_may() {
    let program = "(reduce (fn [n _] (ask {:message \"?\"}) (inc n)) 0 (range %))";
    let (value, person) = said(&program.replace('%', "32"), &[]).await;
    assert_eq!((value.as_str(), person.messages().len()), ("32", 32));
    let (value, person) = said(&program.replace('%', "33"), &[]).await;
    assert_eq!(value, "!runtime_error: ask: more than 32 questions");
    assert_eq!(person.messages().len(), 32);
    // What is asked again is no fault of the program.
    let person = Arc::new(Person { most: 1, ..Person::new(&[(Action::Accept, None)]) });
    let outcome = eval(&format!("(:reason {REGION})"), Some(person)).await;
    assert_eq!(shown(&outcome), ":cancelled");
}

#[tokio::test]
async fn the_programs_own_faults_are_told() {
    let long = format!("(ask {{:message \"{}\"}})", "ä".repeat(2_001));
    let form = |schema: &str| format!("(ask {{:message \"Which?\" :schema {schema}}})");
    let of = |properties: &str| form(&format!("{{:type \"object\" :properties {properties}}}"));
    for (program, fault) in [
        ("(ask 5)", "ask requires a map with :message (string), got 5"),
        ("(ask {})", "ask requires a map with :message (string), got {}"),
        ("(ask {:message 5})", "ask requires a map with :message (string), got {:message 5}"),
        ("(ask {:message \"\"})", "ask requires a map with :message (string), got {:message \"\"}"),
        (long.as_str(), "ask requires a map with :message (string), got {:message \"ää"),
        ("(ask {:message \"a\" :x 1})", "ask got unknown key \"x\""),
        ("(ask {:message \"a\" 5 1})", "ask got unknown key 5"),
        ("(ask {:message \"a\" \"message\" \"b\"})", "ask got duplicate key :message"),
        (&form("7"), "ask: schema is not a flat form: it must be a map, got 7"),
        (&form("{:type inc}"), "ask: schema is not a flat form: "),
        (
            &form("{:type \"object\"}"),
            "ask: schema is not a flat form: \"properties\" must be an object, got nothing",
        ),
        (
            &of("{:a {:type \"object\"}}"),
            "ask: schema is not a flat form: property \"a\": unsupported type \"object\"",
        ),
        (&of("{:password {:type \"string\"}}"), "ask: a form must not ask for secrets (\"password\")"),
    ] {
        let (value, person) = said(program, &[]).await;
        assert!(value.starts_with(&format!("!runtime_error: {fault}")), "{program}: {value}");
        assert!(person.messages().is_empty(), "{program}");
    }
    assert_eq!(said("(ask)", &[]).await.0, "!arity error: ask expects 1 argument(s), got 0");
}

#[tokio::test]
async fn hidden_characters_of_a_message_are_shown() {
    let (_, person) = said("(ask {:message \"a\\u001b[2J\\u202eb\\nAllow?\"})", &[]).await;
    assert_eq!(person.messages(), ["A program asks: a\\u001b[2J\\u202eb\\nAllow?"]);
}
