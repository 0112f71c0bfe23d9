//! A tool that gives 200 MB, against the limits that agents have by default.
//!
//! One test in a process of its own: what it measures is the memory of the whole process.

use ptc_agent::agent::{Agent, Output, Transport};
use ptc_agent::llm::{LlmResponse, Message, ScriptedLlm, ToolCall};
use ptc_agent::run::RunOptions;
use ptc_agent::tool::{Expose, JsonMap, ToolSpec};
use ptc_host::engine::{Engine, EngineOptions};
use ptc_host::json::{Value as Json, json};
use std::sync::Arc;

const MB: usize = 1_000_000;

fn call(id: &str, name: &str, arguments: Json) -> ToolCall {
    ToolCall::from_text(Some(id.into()), name, &arguments.to_string())
}

fn eval(id: &str, program: &str) -> LlmResponse {
    LlmResponse::calls(vec![call(id, "lisp_eval", json!({"program": program}))])
}

/// The most memory that the process ever held, in bytes; `None` where the system does not say.
fn most_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok().map(|kb| kb * 1024)
}

#[tokio::test]
async fn two_hundred_megabytes_are_refused_and_every_call_is_answered() {
    // One text, and a list that is too large only in sum. Pieces of this size go back to the system when they are freed.
    let text = ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(Json::from("x".repeat(200 * MB))) });
    let rows = ToolSpec::new(|_: JsonMap| async {
        Ok::<_, String>((0..4).map(|_| Json::from("x".repeat(50 * MB))).collect::<Json>())
    });
    let agent = Agent::builder("How much is it?")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .tool("text", text.expose(Expose::Both))
        .tool("rows", rows.expose(Expose::Both).cache(true))
        .max_turns(6)
        .build()
        .unwrap();
    let llm = Arc::new(ScriptedLlm::new([
        LlmResponse::calls(vec![call("a", "text", json!({})), call("b", "rows", json!({}))]),
        eval("c", "(count (tool/rows {}))"),
        eval("d", "(count (tool/text {}))"),
        eval("e", "(+ 1 2)"),
        LlmResponse::text("Too much."),
    ]));
    let before = most_memory();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let step = agent.run(RunOptions::new(llm.clone()).with_engine(engine)).await.unwrap();
    assert_eq!(step.value, Some(json!("Too much.")));
    let answers: Vec<(&str, Json)> = step
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { tool_call_id, content, .. } => {
                Some((tool_call_id.as_str(), serde_json::from_str(content).unwrap()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    let why = "the result is larger than the 67108864 bytes of JSON that a tool may give; ask for less";
    assert_eq!((&answers[0].1["error"], &answers[1].1["error"]), (&json!(why), &json!(why)));
    assert_eq!(answers[2].1["message"], format!("Tool 'rows' failed: \"{why}\""));
    assert_eq!(answers[3].1["message"], format!("Tool 'text' failed: \"{why}\""));
    assert_eq!(answers[4].1["result"], "user=> 3");
    assert_eq!((step.usage.retained_bytes, step.state.unwrap().retained_bytes()), (0, 0));
    // The tool's own 200 MB, and what the rest of the process needs: nothing of it is copied.
    if let (Some(before), Some(after)) = (before, most_memory()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 200 * MB + 60 * MB, "{} MB", grown / MB);
    }
    let sent: usize = llm.requests().iter().map(|request| json!(request.messages).to_string().len()).sum();
    assert!(sent < 20_000, "{sent}");
}
