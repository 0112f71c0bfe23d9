//! PTC-Lisp mode: the model writes programs, and the value that one returns is the answer, checked against a type.
//!
//! `cargo run --example typed_answer`.

mod common;

use ptc_agent::agent::Agent;
use ptc_agent::json::{Value as Json, json};
use ptc_agent::llm::LlmResponse;
use ptc_agent::run::RunOptions;
use ptc_agent::tool::JsonMap;
use std::error::Error;

/// Returns the answer: an object of exactly the declared fields' types.
pub(crate) async fn run() -> Result<Json, Box<dyn Error>> {
    let agent = Agent::builder("Which customer spent the most, and how much?")
        .signature("{customer :string, total :float, orders :int}")
        // Two more turns, only for a returned value that does not fit.
        .retry_turns(2)
        .build()?;

    let program = |source: &str| LlmResponse::text(format!("```clojure\n{source}\n```"));
    let model = common::model(vec![
        // A first attempt that fails: the model reads why, and mends it.
        program("(def by (group-by #(get % \"customer\") data/orders))\n(map-entries by)"),
        program(
            "(def by (group-by #(get % \"customer\") data/orders))\n\
             (def spent (map (fn [[who os]] {:customer who :orders (count os) \
                 :total (reduce + (map #(get % \"amount\") os))}) by))\n\
             (return (last (sort-by :total spent)))",
        ),
    ])?;
    let orders = json!([
        {"customer": "Ada", "amount": 12.5}, {"customer": "Bob", "amount": 40}, {"customer": "Ada", "amount": 30}
    ]);
    let options =
        RunOptions { context: JsonMap::from_iter([("orders".to_owned(), orders)]), ..RunOptions::new(model) };
    let step = agent.run(options).await?;
    for turn in &step.turns {
        println!(
            "turn {}: {}",
            turn.number,
            turn.error.as_deref().or(turn.result.as_deref()).unwrap_or("nil")
        );
    }
    Ok(step.value.unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}
