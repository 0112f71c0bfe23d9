//! An agent that hands work to others, all within one budget: turns are shared, and a limit of tokens and a deadline hold
//! for the whole family.
//!
//! `cargo run --example nested_budget`

mod common;

use ptc_agent::agent::{Agent, Output, Transport};
use ptc_agent::json::{Value as Json, json};
use ptc_agent::llm::{LlmResponse, ToolCall, Usage};
use ptc_agent::run::{RunOptions, Step};
use ptc_agent::tool::Expose;
use std::error::Error;
use std::time::Duration;

/// A run with a budget of so many responses of models for the lead and its experts together.
pub(crate) async fn run(turn_budget: u32) -> Result<Step, Box<dyn Error>> {
    // An expert needs two responses: it computes, and it answers.
    let expert = Agent::builder("Estimate the cost of {{part}} in euros.")
        .name("expert")
        .description("Estimates what one part of a house costs.")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .signature("(part :string) -> {euros :int}")
        .max_turns(3)
        .build()?;
    let lead = Agent::builder("What do the roof and the cellar cost together? Ask an expert for each.")
        .name("lead")
        .output(Output::Text)
        .tool("expert", expert.as_tool().expose(Expose::Native))
        .max_turns(4)
        .turn_budget(turn_budget)
        .mission_timeout(Duration::from_secs(300))
        .build()?;

    let said = |response: LlmResponse| LlmResponse {
        usage: Some(Usage { input: 100, output: 10, ..Usage::default() }),
        ..response
    };
    let call = |tool: &str, arguments: Json| {
        said(LlmResponse::calls(vec![ToolCall::from_text(None, tool, &arguments.to_string())]))
    };
    let compute = |program: &str| call("lisp_eval", json!({"program": program}));
    let model = common::model(vec![
        call("expert", json!({"part": "roof"})),
        compute("(* 120 250)"),
        said(LlmResponse::text("{\"euros\": 30000}")),
        call("expert", json!({"part": "cellar"})),
        compute("(* 80 400)"),
        said(LlmResponse::text("{\"euros\": 32000}")),
        said(LlmResponse::text("Both together cost 62,000 euros.")),
    ])?;
    let options = RunOptions {
        // Of the lead's requests and those of its experts, each of whose steps has its own as well.
        token_limit: Some(10_000),
        ..RunOptions::new(model)
    };
    Ok(lead.run(options).await.unwrap_or_else(|failed| *failed))
}

/// The usage of a run, by agent.
pub(crate) fn account(step: &Step) -> String {
    let one = |step: &Step| {
        let name = step.name.as_deref().unwrap_or("agent");
        let others = if step.child_steps.is_empty() { "" } else { ", with its experts" };
        let tokens = step.usage.tokens;
        format!(
            "{name}{others}: {} responses, {} tokens: {step}",
            step.usage.llm_requests,
            tokens.input + tokens.output
        )
    };
    std::iter::once(step).chain(&step.child_steps).map(one).collect::<Vec<_>>().join("\n")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    for budget in [7, 5] {
        println!("With {budget} responses for all:\n{}\n", account(&run(budget).await?));
    }
    Ok(())
}
