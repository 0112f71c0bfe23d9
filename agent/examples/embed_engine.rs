//! Only the engine, without any model: programs from wherever you like, with tools of your own.
//!
//! `cargo run --example embed_engine`.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ptc_host::engine::{AppTools, Engine, EngineOptions, EvalRequest, Limits, Render};
use ptc_host::json::{Value as Json, json};
use ptc_vm::machine::{Payload, Reply};
use ptc_vm::{Error as ProgramError, Reason};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// `(tool/price {:sku "a"})`
struct Prices;

impl AppTools for Prices {
    fn names(&self) -> Vec<String> {
        vec!["price".into()]
    }

    fn call(&self, _: &str, arguments: Vec<u8>) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            // Whatever takes its time: the program is plain data meanwhile, and other programs go on.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let arguments: Json = serde_json::from_slice(&arguments).unwrap_or_default();
            let cents = match arguments["sku"].as_str() {
                Some("tea") => 450,
                Some("cup") => 800,
                other => {
                    let text = format!("no price for {other:?}; there are tea and cup");
                    return Reply::Raise(ProgramError::verbatim(Reason::ToolError, text));
                }
            };
            Reply::Value(Payload::Json(Bytes::from(json!({"cents": cents}).to_string())))
        })
    }
}

/// Runs a program that asks for both prices at the same time; returns its value as JSON.
pub(crate) async fn run() -> Result<String, Box<dyn Error>> {
    let engine = Engine::start(EngineOptions::default())?;
    let limits = Limits { timeout: Duration::from_secs(2), ..Limits::plain() };
    let request = EvalRequest {
        context: Some(json!({"basket": [["tea", 3], ["cup", 1]]}).to_string().into()),
        tools: Some(Arc::new(Prices)),
        limits,
        render: Render { max_text_bytes: None, json: true },
        ..EvalRequest::new(
            "(defn line [[sku n]] (* n (get (tool/price {:sku sku}) \"cents\")))\n\
             {:total (reduce + (pmap line data/basket))}",
        )
    };
    let outcome = engine.eval(request).await;
    let answer = outcome.result.map_err(|failure| failure.full_message())?;
    println!("{} ({} steps, at most {} bytes)", answer.text, outcome.steps, outcome.memory_peak_bytes);
    Ok(answer.json.ok_or("the value was asked for as JSON")??)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}
