//! A long log summarised: 50 000 lines stay in the program's data, and the model reads and answers with counts.
//!
//! `cargo run --release --example log_summary`

mod common;

use ptc_agent::agent::{Agent, Output, Transport};
use ptc_agent::json::{Value as Json, json};
use ptc_agent::llm::{LlmResponse, ToolCall};
use ptc_agent::run::RunOptions;
use ptc_agent::tool::{Expose, JsonMap, ToolSpec};
use std::error::Error;
use std::time::Duration;

/// The outcome.
pub(crate) struct Report {
    /// The summary.
    pub(crate) answer: Json,
    /// The program's result, as the model read it.
    pub(crate) computed: String,
    /// Lines of the log of which some text was in the conversation.
    pub(crate) crossed: usize,
    /// Bytes of the log.
    pub(crate) log_bytes: usize,
    /// Bytes of the conversation.
    pub(crate) sent_bytes: usize,
}

const LINES: usize = 50_000;

/// A log of a day: every seventh line is a warning, every hundredth an error, most of them at noon.
fn line(n: usize) -> String {
    let level = match n {
        n if n.is_multiple_of(100) => "ERROR",
        n if n.is_multiple_of(7) => "WARN",
        _ => "INFO",
    };
    let hour = if n.is_multiple_of(100) && !n.is_multiple_of(300) { 12 } else { n * 24 / LINES };
    let worker = n % 13;
    format!(
        "2026-05-04T{hour:02}:{:02}:{:02}Z {level} worker-{worker} request {n} took {} ms",
        n % 60,
        n % 59,
        n % 997
    )
}

/// Runs the summary.
pub(crate) async fn run() -> Result<Report, Box<dyn Error>> {
    let log: String = (0..LINES).map(|n| line(n) + "\n").collect();
    let text = log.clone();
    let read = ToolSpec::new(move |_: JsonMap| {
        let text = text.clone();
        async move { Ok::<Json, String>(text.into()) }
    })
    .description("The log of the day: lines of time, level, worker, message.")
    .expose(Expose::Both)
    .cache(true);
    let agent = Agent::builder(
        "Summarise the log of the day: lines by level, the hour with most errors, the slowest worker.",
    )
    .output(Output::Text)
    .transport(Transport::ToolCall)
    .signature("{levels :map, worst_hour :string, errors_then :int, slowest_worker :string}")
    .tool("day_log", read)
    .timeout(Duration::from_secs(60))
    .build()?;

    // What is defined would stay for later programs; nothing here has to.
    let summarise = r#"(let [rows (map (fn [line] (str/split line #" ")) (str/split-lines (tool/day_log {})))
      hour (fn [row] (subs (first row) 11 13))
      errors (frequencies (map hour (filter (fn [row] (= "ERROR" (second row))) rows)))
      worst (apply max-key val errors)
      mean (fn [rows] (/ (reduce + (map (fn [row] (parse-long (nth row 6))) rows)) (count rows)))
      means (map (fn [[worker rows]] [worker (mean rows)]) (group-by (fn [row] (nth row 2)) rows))]
  (return {:levels (frequencies (map second rows))
           :worst_hour (key worst) :errors_then (val worst)
           :slowest_worker (first (apply max-key second means))}))"#;
    let call = |id: &str, tool: &str, arguments: Json| {
        LlmResponse::calls(vec![ToolCall::from_text(Some(id.into()), tool, &arguments.to_string())])
    };
    let answer = json!({"levels": {"ERROR": 500, "WARN": 7071, "INFO": 42_429}, "worst_hour": "12",
        "errors_then": 340, "slowest_worker": "worker-4"});
    let model = common::model(vec![
        call("call_1", "day_log", json!({})),
        call("call_2", "lisp_eval", json!({"program": summarise})),
        LlmResponse::text(answer.to_string()),
    ])?;
    let step = agent.run(RunOptions::new(model)).await?;
    let sent = serde_json::to_string(&step.messages)?;
    let said = |n: &usize| sent.contains(&line(*n)[..20]) || sent.contains(&format!("request {n} took"));
    let crossed = (0..LINES).filter(said).count();
    let computed = step.tool_calls.last().map(|call| call.result.clone()).unwrap_or_default();
    let answer = step.value.unwrap_or_default();
    Ok(Report { answer, computed, crossed, log_bytes: log.len(), sent_bytes: sent.len() })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let report = run().await?;
    println!("{}\n{:#}", report.computed, report.answer);
    println!("log                {} bytes", report.log_bytes);
    println!("conversation       {} bytes", report.sent_bytes);
    println!("lines that crossed {} of {LINES}", report.crossed);
    Ok(())
}
