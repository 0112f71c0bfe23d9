mod answers;
mod asked;
mod combined;
mod images;
mod inputs;
mod limits;
mod lisp;
mod options;
mod seed;
mod telemetry;
mod typed;
mod upstreams;

use super::{RunOptions, Step};
use crate::agent::{Agent, AgentBuilder};
use crate::llm::{LlmRequest, LlmResponse, Message, ScriptedLlm, ToolCall};
use crate::tool::{JsonMap, ToolSpec};
use ptc_base::json::{Value as Json, json};
use ptc_engine::{Engine, EngineOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

fn call(id: &str, name: &str, args: Json) -> ToolCall {
    ToolCall::from_text(Some(id.into()), name, &args.to_string())
}

fn eval(id: &str, program: &str) -> LlmResponse {
    LlmResponse::calls(vec![call(id, "lisp_eval", json!({"program": program}))])
}

/// A response with a fenced program.
fn fenced(program: &str) -> LlmResponse {
    LlmResponse::text(format!("```clojure\n{program}\n```"))
}

/// A tool that gives three rows, or fails if it is told to, and counts its runs.
fn counting(runs: &Arc<AtomicU32>) -> ToolSpec {
    let runs = runs.clone();
    ToolSpec::new(move |args: JsonMap| {
        runs.fetch_add(1, Ordering::Relaxed);
        async move {
            if args.contains_key("fail") {
                return Err("no such index".to_owned());
            }
            Ok((0..3).map(|id| json!({"id": id, "ok": false})).collect::<Json>())
        }
    })
}

fn engine() -> Engine {
    Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
}

/// Runs an agent over a script; the context is `{"n": 7}`.
async fn run_with(
    agent: AgentBuilder,
    answers: Vec<LlmResponse>,
    change: impl FnOnce(&mut RunOptions),
) -> (Step, Vec<LlmRequest>) {
    let llm = Arc::new(ScriptedLlm::new(answers));
    let mut options = RunOptions::new(llm.clone()).with_engine(engine());
    options.context = json!({"n": 7}).as_object().unwrap().clone();
    change(&mut options);
    let step = agent.build().unwrap().run(options).await.unwrap_or_else(|step| *step);
    (step, llm.requests())
}

async fn run(agent: AgentBuilder, answers: Vec<LlmResponse>) -> Step {
    run_with(agent, answers, |_| {}).await.0
}

/// Ids and contents of the tool messages.
fn results(step: &Step) -> Vec<(&str, Json)> {
    step.messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { tool_call_id, content, .. } => {
                Some((tool_call_id.as_str(), serde_json::from_str(content).unwrap()))
            }
            _ => None,
        })
        .collect()
}

/// The user messages behind the first.
fn told(step: &Step) -> Vec<&str> {
    let users = step.messages.iter().filter_map(|message| match message {
        Message::User { content, .. } => Some(content.as_str()),
        _ => None,
    });
    users.skip(1).collect()
}

fn failed(step: &Step) -> String {
    step.fail.as_ref().map(ToString::to_string).unwrap_or_default()
}
