//! A stranger's program that embeds `ptc-agent` and has data of its own.
//!
//! Cargo builds each dependency once with the features that anybody asks for. A feature of `serde_json` that changes what a
//! number is, or how an object is ordered, would therefore reach into every program that depends on ours.

#![cfg(test)]

use ptc_agent::llm::{LlmResponse, ScriptedLlm, ToolCall};
use ptc_agent::schemars::{self, JsonSchema};
use ptc_agent::signature::Signature;
use ptc_agent::{Agent, Output, RunEvent, RunOptions, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, from_str, from_value, json, to_string};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", content = "value")]
enum Reading {
    Celsius(f64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Price {
    Amount(f64),
    Range { low: f64, high: f64 },
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Order {
    id: u64,
    #[serde(flatten)]
    line: Line,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Line {
    price: f64,
    weight: f32,
    count: i64,
}

/// Reads a value from text and from a tree, and writes it as it was.
fn goes_there_and_back<T>(text: &str, value: &T)
where
    T: std::fmt::Debug + PartialEq + Serialize + for<'a> Deserialize<'a>,
{
    assert_eq!(from_str::<T>(text).as_ref().ok(), Some(value), "{text}: {:?}", from_str::<T>(text).err());
    let tree: Json = from_str(text).expect("JSON");
    assert_eq!(
        from_value::<T>(tree.clone()).as_ref().ok(),
        Some(value),
        "{text}: {:?}",
        from_value::<T>(tree).err()
    );
    assert_eq!(to_string(value).expect("JSON"), text);
}

#[test]
fn tagged_types_hold_floats() {
    goes_there_and_back(r#"{"kind":"circle","radius":1.5}"#, &Shape::Circle { radius: 1.5 });
    goes_there_and_back(r#"{"kind":"square","side":1e+300}"#, &Shape::Square { side: 1e300 });
    goes_there_and_back(r#"{"type":"Celsius","value":-273.15}"#, &Reading::Celsius(-273.15));
}

#[test]
fn untagged_types_hold_floats() {
    goes_there_and_back("0.1", &Price::Amount(0.1));
    goes_there_and_back(r#"{"low":1.25,"high":2.5}"#, &Price::Range { low: 1.25, high: 2.5 });
    goes_there_and_back(r#""on request""#, &Price::Text("on request".into()));
}

#[test]
fn flattened_types_hold_floats() {
    let order = Order { id: 7, line: Line { price: 19.99, weight: 0.5, count: -3 } };
    goes_there_and_back(r#"{"id":7,"price":19.99,"weight":0.5,"count":-3}"#, &order);
}

#[test]
fn trees_of_json_are_what_serde_json_says_they_are() {
    // Without the feature that keeps every digit, a number of a tree is a machine number.
    assert_eq!(from_str::<Json>("1.0000000000000000000000001").expect("JSON"), json!(1.0));
    // Without the feature that keeps the order of keys, a tree sorts them.
    assert_eq!(from_str::<Json>(r#"{"b":1,"a":2}"#).expect("JSON").to_string(), r#"{"a":2,"b":1}"#);
}

#[test]
fn the_agent_is_there() {
    let signature = Signature::parse("(code :int) -> {total :float}").expect("a signature");
    assert_eq!(signature.to_string(), "(code :int) -> {total :float}");
}

/// All of the above in one, with numbers at their ends and fields of any name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Ledger {
    shapes: Vec<Shape>,
    reading: Option<Reading>,
    price: Price,
    order: Order,
    largest: u64,
    smallest: i64,
    ratio: f64,
    #[serde(flatten)]
    more: BTreeMap<String, Json>,
}

fn ledger() -> Ledger {
    Ledger {
        shapes: vec![Shape::Circle { radius: 0.1 }, Shape::Square { side: 1e300 }],
        reading: Some(Reading::Celsius(-273.15)),
        price: Price::Range { low: 1.25, high: 2.5 },
        order: Order { id: 7, line: Line { price: 19.99, weight: 0.5, count: -3 } },
        largest: u64::MAX,
        smallest: i64::MIN,
        ratio: 1.0 / 3.0,
        more: BTreeMap::from([("some-key".to_owned(), json!({"deep": [null, 1.5]}))]),
    }
}

fn text(response: impl Into<String>) -> LlmResponse {
    LlmResponse::text(response)
}

#[tokio::test]
async fn answers_are_types_of_ours() {
    let agent = Agent::builder("Give me the ledger.").output(Output::Text).build().expect("an agent");
    let wrong = to_string(&ledger()).expect("JSON").replace("18446744073709551615", "18446744073709551616");
    let model = Arc::new(ScriptedLlm::new([text(wrong), text(to_string(&ledger()).expect("JSON"))]));
    let answer = agent.run_as::<Ledger>(RunOptions::new(model)).await.expect("an answer");
    assert_eq!((answer.value, answer.step.usage.turns), (ledger(), 2));
}

#[tokio::test]
async fn tools_take_and_give_types_of_ours() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let post = move |ledger: Ledger| {
        noted.lock().expect("a list").push(ledger.clone());
        async move { Ok::<_, std::fmt::Error>(ledger) }
    };
    let agent = Agent::builder("Post the ledger.")
        .output(Output::Text)
        .add_tool(ToolSpec::typed("post", post).returning::<Ledger>())
        .build()
        .expect("an agent");
    let arguments = to_string(&ledger()).expect("JSON");
    let call = ToolCall::from_text(Some("c".into()), "post", &arguments);
    let model = Arc::new(ScriptedLlm::new([LlmResponse::calls(vec![call]), text("Done.")]));
    let mut events = agent.stream(RunOptions::new(model));
    let mut done = None;
    while let Some(event) = events.next().await {
        if let RunEvent::Done { step } = event {
            done = Some(step);
        }
    }
    let step = done.expect("a step");
    assert_eq!(step.value::<String>().expect("a text"), "Done.");
    assert_eq!(from_str::<Ledger>(&step.tool_calls[0].result).expect("a ledger"), ledger());
    assert_eq!(*seen.lock().expect("a list"), [ledger()]);
    // A step is JSON for a stranger's serde_json.
    assert_eq!(serde_json::to_value(&step).expect("JSON")["return"], "Done.");
}
