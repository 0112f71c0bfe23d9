//! Pure text mode: a chat model with two tools of ours. The place to start from when tool results are small.
//!
//! `cargo run --example text_tools`, or with `PTC_MODEL=openai:gpt-4.1-mini` and a key for a real model.

mod common;

use ptc_agent::agent::{Agent, Output};
use ptc_agent::json::json;
use ptc_agent::llm::{LlmResponse, ToolCall};
use ptc_agent::run::RunOptions;
use ptc_agent::signature::Signature;
use ptc_agent::tool::{JsonMap, ToolSpec};
use std::error::Error;

/// Asks for the way to dress and returns the model's answer.
pub(crate) async fn run() -> Result<String, Box<dyn Error>> {
    let weather = ToolSpec::new(|args: JsonMap| async move {
        match args["city"].as_str() {
            Some("Oslo") => Ok(json!({"celsius": -4, "sky": "snow"})),
            Some("Rome") => Ok(json!({"celsius": 17, "sky": "clear"})),
            // An error is read by the model, so it says what to do.
            other => Err(format!("no station in {other:?}; there are Oslo and Rome")),
        }
    })
    .signature(Signature::parse("(city :string) -> {celsius :int, sky :string}")?)
    .description("Weather in a city right now.");

    let agent = Agent::builder("What should I wear in {{city}} today? One sentence.")
        .output(Output::Text)
        .signature("(city :string) -> :string")
        .tool("weather", weather)
        .build()?;

    let model = common::model(vec![
        LlmResponse::calls(vec![ToolCall::from_text(
            Some("call_1".into()),
            "weather",
            r#"{"city": "Oslo"}"#,
        )]),
        LlmResponse::text("Dress warmly: it is snowing at -4 degrees."),
    ])?;
    let options = RunOptions {
        context: JsonMap::from_iter([("city".to_owned(), json!("Oslo"))]),
        ..RunOptions::new(model)
    };
    let step = agent.run(options).await?;
    Ok(step.value.and_then(|answer| answer.as_str().map(str::to_owned)).unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}
