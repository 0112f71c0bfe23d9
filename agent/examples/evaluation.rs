//! An evaluation: every model answers every question; a table shows which answers are right, and the cost.
//!
//! `cargo run --example evaluation`. With models of your own, name them in the list.

mod common;

use ptc_agent::llm::{Llm, LlmResponse, ScriptedLlm, Usage};
use ptc_agent::schemars::{self, JsonSchema};
use ptc_agent::{Agent, FailReason, Output, RunOptions};
use serde::Deserialize;
use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Deserialize, JsonSchema)]
struct Verdict {
    /// Whether the review is favourable.
    favourable: bool,
}

const REVIEWS: [(&str, bool); 3] =
    [("I would buy it again.", true), ("It broke on the first day.", false), ("Not bad at all!", true)];

type NamedModel = (String, Arc<dyn Llm>);

/// Returns the table, as Markdown.
pub(crate) async fn run() -> Result<String, Box<dyn Error>> {
    let agent =
        Agent::builder("Is this review favourable?\n{{review}}").output(Output::Text).max_turns(2).build()?;
    let mut table = String::from("| Model | Right | Failed | Turns | Tokens |\n|---|---|---|---|---|\n");
    for (name, model) in models()? {
        let (mut right, mut failed, mut turns, mut tokens) = (0, Vec::new(), 0, 0);
        for (review, expected) in REVIEWS {
            let asked =
                agent.run_as::<Verdict>(RunOptions::new(model.clone()).context("review", review)).await;
            let step = match asked {
                Ok(verdict) => {
                    right += u32::from(verdict.favourable == expected);
                    verdict.step
                }
                Err(step) => {
                    failed.extend(step.fail.as_ref().map(|fail| fail.reason.clone()));
                    *step
                }
            };
            turns += step.usage.turns;
            tokens += step.usage.tokens.input + step.usage.tokens.output;
        }
        let failed: Vec<&str> = failed.iter().map(FailReason::as_str).collect();
        let of = REVIEWS.len();
        writeln!(table, "| {name} | {right}/{of} | {} | {turns} | {tokens} |", failed.join(", "))?;
    }
    Ok(table)
}

/// The models by their names: the one of `PTC_MODEL`, or two that read their answers from lists.
fn models() -> Result<Vec<NamedModel>, Box<dyn Error>> {
    if let Ok(name) = std::env::var("PTC_MODEL") {
        return Ok(vec![(name, common::model(Vec::new())?)]);
    }
    let says = |text: &str| LlmResponse {
        usage: Some(Usage { input: 50, output: 5, ..Usage::default() }),
        ..LlmResponse::text(text)
    };
    let (yes, no) = (r#"{"favourable": true}"#, r#"{"favourable": false}"#);
    let script = |answers: &[&str]| -> Arc<dyn Llm> {
        Arc::new(ScriptedLlm::new(answers.iter().map(|text| says(text)).collect::<Vec<_>>()))
    };
    Ok(vec![
        ("careful".into(), script(&[yes, no, yes])),
        // The second question takes it two turns, and the third is given up.
        ("hasty".into(), script(&[yes, "no", no, "well", "hm"])),
    ])
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run().await?);
    Ok(())
}
