//! A server made with rmcp: two typed tools on standard streams, in whichever era it is asked.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{ServerHandler, ServiceExt as _, schemars, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, schemars::JsonSchema)]
struct Numbers {
    /// What to add up.
    numbers: Vec<i64>,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    total: i64,
    count: usize,
}

#[derive(Clone)]
struct Sums;

#[tool_router]
impl Sums {
    #[tool(description = "Adds numbers up")]
    async fn add_up(&self, Parameters(Numbers { numbers }): Parameters<Numbers>) -> Json<Sum> {
        Json(Sum { total: numbers.iter().sum(), count: numbers.len() })
    }

    #[tool(description = "Greets by name")]
    async fn greet(&self, Parameters(Name { name }): Parameters<Name>) -> String {
        format!("Hello, {name}")
    }
}

#[tool_handler]
impl ServerHandler for Sums {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Sums.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
