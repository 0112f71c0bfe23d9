//! Typed answers, validators, events, failures and steps as JSON.

use super::*;
use crate::llm::{LlmError, LlmErrorKind, StopReason};
use crate::run::{FailReason, RunEvent};
use crate::settings::{Output, Transport};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Invoice {
    /// As it is printed.
    number: String,
    #[serde(rename = "net-total")]
    net_total: f64,
    lines: Vec<Line>,
    #[serde(default)]
    tags: BTreeMap<String, u32>,
    paid: Option<Paid>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Line {
    Item { name: String, count: u32 },
    Note(String),
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "lowercase")]
enum Paid {
    Card { last: u16 },
    Cash,
}

/// A number that its own code refuses if it is odd.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(with = "u32")]
struct Even(u32);

impl TryFrom<u32> for Even {
    type Error = String;

    fn try_from(number: u32) -> Result<Even, String> {
        if number.is_multiple_of(2) { Ok(Even(number)) } else { Err(format!("{number} is odd")) }
    }
}

fn text() -> AgentBuilder {
    Agent::builder("p").output(Output::Text)
}

fn options(answers: Vec<LlmResponse>) -> (RunOptions, Arc<ScriptedLlm>) {
    let llm = Arc::new(ScriptedLlm::new(answers));
    (RunOptions::new(llm.clone()).with_engine(engine()), llm)
}

#[tokio::test]
async fn an_answer_is_a_value_of_its_type() {
    let answer = json!({"number": "7-A", "net-total": 10.5, "lines": [{"name": "pen", "count": 2}, "thanks"],
        "tags": {"a-b": 1}, "paid": {"by": "card", "last": 4242}});
    let (options, llm) = options(vec![
        LlmResponse::text(r#"{"number": "7-A", "net_total": "10.5", "lines": []}"#),
        LlmResponse::text(answer.to_string()),
    ]);
    let invoice = text().build().unwrap().run_as::<Invoice>(options).await.unwrap();
    assert_eq!((invoice.number.as_str(), invoice.net_total, invoice.tags["a-b"]), ("7-A", 10.5, 1));
    assert_eq!(invoice.lines, [Line::Item { name: "pen".into(), count: 2 }, Line::Note("thanks".into())]);
    assert_eq!(invoice.paid, Some(Paid::Card { last: 4242 }));
    assert_eq!(invoice.step.usage.turns, 2);
    assert!(
        told(&invoice.step)[0].starts_with("Error: net-total: expected float, got string."),
        "{:?}",
        told(&invoice.step)
    );
    let sent = llm.requests()[0].schema.clone().unwrap();
    assert_eq!(sent["properties"]["number"]["description"], "As it is printed.");
    assert!(invoice.step.prompt.contains("- number: As it is printed."));
}

#[tokio::test]
async fn programs_answer_with_rust_types_too() {
    let (options, _) =
        options(vec![fenced("(return {:number \"1\" :net-total 3 :lines [\"x\"] :paid {:by \"cash\"}})")]);
    let invoice = Agent::builder("p").build().unwrap().run_as::<Invoice>(options).await.unwrap();
    assert_eq!((invoice.value.net_total, invoice.value.paid), (3.0, Some(Paid::Cash)));
}

#[tokio::test]
async fn what_a_type_refuses_goes_back_to_the_model() {
    let (options, llm) = options(vec![LlmResponse::text("3"), LlmResponse::text("4")]);
    let even = text().build().unwrap().run_as::<Even>(options).await.unwrap();
    assert_eq!(even.value, Even(4));
    let Some(Message::User { content, .. }) = llm.requests()[1].messages.last().cloned() else {
        panic!("no message")
    };
    assert!(content.starts_with("Error: 3 is odd."), "{content}");
}

#[tokio::test]
async fn validators_may_ask_again() {
    let agent = || {
        text().signature("{n :int}").max_turns(2).validate(|value| match value["n"].as_i64() {
            Some(n) if n > 10 => Ok(()),
            _ => Err("n must be more than 10".into()),
        })
    };
    let answers = |second: &str| vec![LlmResponse::text("{\"n\": 1}"), LlmResponse::text(second)];
    let step = run(agent(), answers("{\"n\": 11}")).await;
    assert_eq!(step.value, Some(json!({"n": 11})));
    assert!(told(&step)[0].starts_with("Error: n must be more than 10. Please return a valid JSON object"));
    let step = run(agent(), answers("{\"n\": 2}")).await;
    assert_eq!(failed(&step), "validation_error: n must be more than 10");
    // In the PTC-Lisp modes the program is told.
    let lisp =
        Agent::builder("p").validate(|value| if *value == json!(2) { Ok(()) } else { Err("not two".into()) });
    let step = run(lisp, vec![fenced("(return 1)"), fenced("(return 2)")]).await;
    assert_eq!(step.value, Some(json!(2)));
    assert!(told(&step)[0].contains("not two"), "{:?}", told(&step));
    let panics = text().max_turns(1).validate(|_| panic!("oh"));
    assert_eq!(
        failed(&run(panics, vec![LlmResponse::text("x")]).await),
        "validation_error: the check of the answer panicked: oh"
    );
}

#[tokio::test]
async fn a_text_agent_needs_no_engine() {
    let llm = Arc::new(ScriptedLlm::new([LlmResponse::text("hi")]));
    let step = text().build().unwrap().run(RunOptions::new(llm)).await.unwrap();
    assert_eq!(step.value::<String>().unwrap(), "hi");
    assert!(step.state.unwrap().0.chosen_engine().is_none());
    // A program starts one.
    let llm = Arc::new(ScriptedLlm::new([fenced("(return (+ data/n 1))")]));
    let step = Agent::builder("p").build().unwrap().run(RunOptions::new(llm).context("n", 1)).await.unwrap();
    assert_eq!(step.value::<u8>().unwrap(), 2);
    assert!(step.state.unwrap().0.chosen_engine().is_some());
}

#[tokio::test]
async fn tools_get_the_values_of_agent_and_run() {
    async fn who(_: BTreeMap<String, String>, context: crate::tool::ToolContext) -> Result<String, String> {
        Ok(format!("{:?} {:?}", context.get::<&str>(), context.get::<u8>()))
    }
    let agent =
        text().add_tool(ToolSpec::typed("who", who)).extension("agent's").extension(1_u8).build().unwrap();
    let calls = || vec![LlmResponse::calls(vec![call("c", "who", json!({}))]), LlmResponse::text("done")];
    let step = agent.run(options(calls()).0).await.unwrap();
    assert_eq!(results(&step)[0].1, json!("Some(\"agent's\") Some(1)"));
    let step = agent.run(options(calls()).0.extension("run's")).await.unwrap();
    assert_eq!(results(&step)[0].1, json!("Some(\"run's\") Some(1)"));
}

#[tokio::test]
async fn failures_say_what_the_model_said() {
    let error = LlmError { status: Some(429), ..LlmError::new(LlmErrorKind::RateLimit, "slow down") };
    let llm = Arc::new(ScriptedLlm::with_results([Err(error.clone())]));
    let step = text().build().unwrap().run(RunOptions::new(llm)).await.unwrap_err();
    let fail = step.fail.as_ref().unwrap();
    assert_eq!((&fail.reason, fail.llm_kind()), (&FailReason::LlmError, Some(LlmErrorKind::RateLimit)));
    assert_eq!(fail.llm, Some(error));
    assert!(step.value::<String>().unwrap_err().to_string().contains("llm_error"));
    let cut = LlmResponse { stop: StopReason::Length, ..LlmResponse::text("and so o") };
    let step = run(text(), vec![cut]).await;
    assert_eq!((step.stop, step.turns[0].stop), (Some(StopReason::Length), StopReason::Length));
    let step = run(Agent::builder("p").max_turns(1), vec![fenced("(fail \"no\")")]).await;
    assert_eq!(step.fail.unwrap().reason, FailReason::Program(ptc_vm::Reason::Fail));
}

#[tokio::test]
async fn steps_are_json() {
    let agent = text().name("a").tool("rows", counting(&Arc::default()));
    let answers =
        vec![LlmResponse::calls(vec![call("c", "rows", json!({"q": 1}))]), LlmResponse::text("done")];
    let step = run(agent, answers).await;
    let json: Json = serde_json::from_str(&serde_json::to_string(&step).unwrap()).unwrap();
    assert_eq!((&json["return"], &json["fail"], &json["name"]), (&json!("done"), &Json::Null, &json!("a")));
    assert_eq!(json["tool_calls"][0]["args"], json!({"q": 1}));
    assert_eq!(json["turns"][0]["tool_calls"][0]["name"], "rows");
    assert_eq!(json["messages"][0]["role"], "system");
    assert!(json["usage"]["duration_ms"].is_u64() && json["usage"].get("input_tokens").is_none());
    assert!(json["tool_calls"][0]["timestamp"].as_str().unwrap().starts_with("20"));
    assert_eq!(json["stop"], "end");
}

#[tokio::test]
async fn a_run_is_a_stream_of_events() {
    let agent = text()
        .transport(Transport::ToolCall)
        .tool("rows", counting(&Arc::default()).expose(crate::tool::Expose::Both))
        .build()
        .unwrap();
    let (options, _) = options(vec![
        LlmResponse::calls(vec![call("c1", "rows", json!({}))]),
        eval("c2", "(println \"p\") (count (tool/rows {}))"),
        LlmResponse::text("three"),
    ]);
    let mut events = agent.stream(options);
    let mut names = Vec::new();
    let mut last = None;
    while let Some(event) = events.next().await {
        let json: Json = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
        names.push(json["event"].as_str().unwrap().to_owned());
        match &event {
            RunEvent::ProgramEnded { result, prints, .. } => {
                assert_eq!((result.as_deref(), prints.as_slice()), (Some("3"), &["p".to_owned()][..]));
            }
            RunEvent::ToolStarted { name, .. } => assert_eq!(name, "rows"),
            RunEvent::Text { delta } => assert_eq!(delta, "three"),
            _ => {}
        }
        last = Some(event);
    }
    assert_eq!(
        names.join(" "),
        "turn_started tool_started tool_ended feedback turn_started program_started tool_started tool_ended program_ended \
         feedback turn_started text done"
    );
    let Some(RunEvent::Done { step }) = last else { panic!("{last:?}") };
    assert_eq!(step.value::<String>().unwrap(), "three");
    assert!(events.next().await.is_none());
    // A failed run ends its stream as well.
    let failed = agent.stream(self::options(Vec::new()).0).finish().await.unwrap_err();
    assert_eq!(failed.fail.unwrap().reason, "llm_error");
}
