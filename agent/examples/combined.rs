//! Combined mode: the model sees the shape of a large result, and computes over all of it with a program.
//!
//! `cargo run --example combined`. See `log_support` for the same over real HTTP, with the bytes counted.

mod common;

use ptc_agent::agent::{Agent, Output, Transport};
use ptc_agent::json::{Value as Json, json};
use ptc_agent::llm::{LlmResponse, ToolCall};
use ptc_agent::run::RunOptions;
use ptc_agent::signature::Signature;
use ptc_agent::tool::{Expose, JsonMap, ToolSpec};
use std::error::Error;

/// Asks for a typed answer and returns it.
pub(crate) async fn run() -> Result<Json, Box<dyn Error>> {
    let orders = ToolSpec::new(|args: JsonMap| async move {
        let year = args["year"].clone();
        let orders =
            (1..=5000).map(|id| json!({"id": id, "year": year, "cents": id * 7 % 900, "paid": id % 3 != 0}));
        Ok::<Json, String>(orders.collect())
    })
    .signature(Signature::parse("(year :int) -> [{id :int, cents :int, paid :bool}]")?)
    .description("All orders of a year.")
    // Both sides may call it, and share one result: the model gets a preview, programs get the rows.
    .expose(Expose::Both)
    .cache(true);

    let agent = Agent::builder("How many orders of {{year}} are unpaid, and how much is that in cents?")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .signature("(year :int) -> {unpaid :int, cents :int}")
        .tool("orders", orders)
        .build()?;

    let program = "(def unpaid (remove #(get % \"paid\") (tool/orders {:year 2025})))\n\
                   (return {:unpaid (count unpaid) :cents (reduce + (map #(get % \"cents\") unpaid))})";
    let call = |id: &str, tool: &str, arguments: Json| {
        LlmResponse::calls(vec![ToolCall::from_text(Some(id.into()), tool, &arguments.to_string())])
    };
    let model = common::model(vec![
        call("call_1", "orders", json!({"year": 2025})),
        call("call_2", "lisp_eval", json!({"program": program})),
        LlmResponse::text("{\"unpaid\": 1666, \"cents\": 745131}"),
    ])?;
    let options = RunOptions {
        context: JsonMap::from_iter([("year".to_owned(), json!(2025))]),
        ..RunOptions::new(model)
    };
    let step = agent.run(options).await?;
    for call in &step.tool_calls {
        println!("{} -> {}", call.name, call.result.chars().take(160).collect::<String>());
    }
    Ok(step.value.unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}
