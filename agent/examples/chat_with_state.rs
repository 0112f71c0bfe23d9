//! A chat: the conversation, the definitions of programs and the results of tools carry over from turn to turn.
//!
//! `cargo run --example chat_with_state`.

mod common;

use ptc_agent::llm::{LlmResponse, Message, ToolCall};
use ptc_agent::schemars::{self, JsonSchema};
use ptc_agent::{Agent, ChatState, Expose, Output, RunOptions, ToolContext, ToolSpec, Transport, json};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Deserialize, JsonSchema)]
struct Query {
    /// The year of the orders.
    year: u16,
}

#[derive(Serialize, JsonSchema)]
struct Order {
    customer: &'static str,
    cents: u32,
}

/// The host's database, which counts how often it is asked.
pub(crate) struct Database {
    asked: AtomicU32,
}

async fn orders(query: Query, context: ToolContext) -> Result<Vec<Order>, String> {
    let database = context.get::<Arc<Database>>().ok_or("there is no database")?;
    database.asked.fetch_add(1, Ordering::Relaxed);
    let cents = u32::from(query.year);
    Ok(vec![Order { customer: "Ada", cents }, Order { customer: "Bob", cents: 2 * cents }])
}

/// Returns the replies, and how often the database was asked.
pub(crate) async fn run() -> Result<(Vec<String>, u32), Box<dyn Error>> {
    let agent = Agent::builder("You answer questions about orders.")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .add_tool(
            ToolSpec::typed("orders", orders)
                .returning::<Vec<Order>>()
                .description("The orders of a year.")
                .expose(Expose::Both)
                .cache(true),
        )
        .build()?;
    let program = |id: &str, source: &str| {
        let arguments = json::json!({"program": source}).to_string();
        LlmResponse::calls(vec![ToolCall::from_text(Some(id.into()), "lisp_eval", &arguments)])
    };
    let model = common::model(vec![
        program("c1", "(def spent (tool/orders {:year 2000}))\n(count spent)"),
        LlmResponse::text("There were 2 orders."),
        // The second question is answered with the definition of the first.
        program("c2", "(reduce + (map #(get % \"cents\") spent))"),
        LlmResponse::text("6000 cents."),
    ])?;
    let database = Arc::new(Database { asked: AtomicU32::new(0) });
    let (mut messages, state): (Vec<Message>, _) = (Vec::new(), ChatState::default());
    let mut replies = Vec::new();
    for question in ["How many orders were there in 2000?", "What did they come to?"] {
        let options = RunOptions {
            initial_messages: messages,
            state: Some(state.clone()),
            ..RunOptions::new(model.clone()).extension(database.clone())
        };
        let reply = agent.chat(question, options).await?;
        println!("> {question}\n{}", reply.text);
        messages = reply.messages;
        replies.push(reply.text);
    }
    Ok((replies, database.asked.load(Ordering::Relaxed)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (_, asked) = run().await?;
    println!("the database was asked {asked} time(s)");
    Ok(())
}
