//! Typed extraction: the answer is a Rust value. The model reads the type's schema, and an answer that does not fit goes back
//! to it with the reason.
//!
//! `cargo run --example typed_extraction`.

mod common;

use ptc_agent::llm::LlmResponse;
use ptc_agent::schemars::{self, JsonSchema};
use ptc_agent::{Agent, Output, RunOptions};
use serde::Deserialize;
use std::error::Error;

/// The fields of an invoice.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct Invoice {
    /// As it is printed, with its letters.
    pub(crate) number: String,
    /// In euros.
    #[schemars(range(min = 0))]
    pub(crate) total: f64,
    pub(crate) lines: Vec<Line>,
    /// Absent if nothing is said of it.
    pub(crate) due: Option<Due>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct Line {
    pub(crate) what: String,
    pub(crate) count: u32,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Due {
    AtOnce,
    InDays(u16),
}

/// Returns the invoice, and how many turns it took.
pub(crate) async fn run() -> Result<(Invoice, u32), Box<dyn Error>> {
    let agent = Agent::builder("Read this invoice:\n{{text}}")
        .output(Output::Text)
        // What no type says: the model is told and answers again.
        .validate(|invoice| match invoice["lines"].as_array().map(Vec::len) {
            Some(0) => Err("an invoice has at least one line".into()),
            _ => Ok(()),
        })
        .build()?;
    let model = common::model(vec![
        LlmResponse::text(r#"{"number": "A-17", "total": "42.50", "lines": []}"#),
        LlmResponse::text(r#"{"number": "A-17", "total": 42.5, "lines": []}"#),
        LlmResponse::text(
            r#"{"number": "A-17", "total": 42.5, "lines": [{"what": "pen", "count": 5}], "due": {"in_days": 14}}"#,
        ),
    ])?;
    let text = "Invoice A-17. 5 pens at 8.50 each, 42.50 in all. Payable within two weeks.";
    let invoice = agent.run_as::<Invoice>(RunOptions::new(model).context("text", text)).await?;
    for turn in &invoice.step.turns {
        println!("turn {}: {}", turn.number, turn.error.as_deref().unwrap_or("accepted"));
    }
    Ok((invoice.value, invoice.step.usage.turns))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run().await?.0);
    Ok(())
}
