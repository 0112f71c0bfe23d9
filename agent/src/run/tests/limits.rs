//! Tests of failures: misbehaving models, misbehaving tools, exhausted budgets.

use super::*;
use crate::agent::{Output, Transport};
use crate::run::{Fail, OnBudgetExceeded, TraceMode};
use crate::tool::{Expose, ToolContext, ToolError, ToolHandler};
use futures_util::future::BoxFuture;
use ptc_base::sync::Mutex;

fn text() -> AgentBuilder {
    Agent::builder("p").output(Output::Text).max_turns(6)
}

#[tokio::test]
async fn twenty_calls_at_once_run_together_and_answer_in_order() {
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let tool = {
        let (now, most) = (now.clone(), most.clone());
        ToolSpec::new(move |args: JsonMap| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // The first ones end last.
                let turns = 40 - args["n"].as_u64().unwrap();
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, String>(args["n"].clone())
            }
        })
    };
    let calls = || {
        let calls = (0..20).map(|n| call(&format!("c{n}"), "t", json!({"n": n})));
        LlmResponse::calls(calls.collect())
    };
    for (parallel, at_once) in [(1, 1), (8, 8)] {
        most.store(0, Ordering::SeqCst);
        let agent = text().tool("t", tool.clone()).parallel_tool_calls(parallel);
        let step = run(agent, vec![calls(), LlmResponse::text("done")]).await;
        let answers: Vec<Json> = results(&step).into_iter().map(|(_, body)| body).collect();
        assert_eq!(answers, (0..20).map(Json::from).collect::<Vec<_>>());
        assert_eq!(most.load(Ordering::SeqCst), at_once);
    }
}

#[tokio::test]
async fn equal_calls_at_once_run_once() {
    let runs = Arc::new(AtomicU32::new(0));
    let tool = counting(&runs).expose(Expose::Both).cache(true);
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .parallel_tool_calls(4)
        .tool("t", tool);
    let calls = (0..4).map(|n| call(&format!("c{n}"), "t", json!({"q": 1}))).collect();
    let step = run(agent, vec![LlmResponse::calls(calls), LlmResponse::text("done")]).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(results(&step).len(), 4);
}

#[tokio::test]
async fn a_model_that_never_stops_is_stopped() {
    let runs = Arc::new(AtomicU32::new(0));
    let again =
        || (0..30).map(|n| LlmResponse::calls(vec![call(&format!("c{n}"), "t", json!({}))])).collect();
    let step = run(text().tool("t", counting(&runs)), again()).await;
    assert_eq!(failed(&step), "max_turns_exceeded: Exceeded max_turns limit of 6");
    assert_eq!((runs.load(Ordering::Relaxed), results(&step).len()), (6, 6));
    let step = run(text().max_turns(100).tool("t", counting(&runs)), again()).await;
    assert_eq!(failed(&step), "turn_budget_exhausted: Turn budget exhausted");
    assert_eq!(step.usage.turns, 20);
}

#[tokio::test]
async fn nothing_at_all_is_told_and_then_fails() {
    let empty = || LlmResponse { content: None, ..LlmResponse::default() };
    let step = run(text().max_turns(2), vec![empty(), empty()]).await;
    assert_eq!(failed(&step), "empty_response: LLM returned neither content nor tool calls");
    assert!(told(&step)[0].starts_with("Error: LLM returned neither content nor tool calls. Please use"));
}

#[tokio::test]
async fn enormous_results_are_refused_on_both_sides() {
    let huge = ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(Json::from("x".repeat(200_000))) });
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .max_tool_bytes(100_000)
        .tool("huge", huge.expose(Expose::Both));
    let step = run(
        agent,
        vec![
            LlmResponse::calls(vec![call("a", "huge", json!({}))]),
            eval("b", "(count (tool/huge {}))"),
            LlmResponse::text("done"),
        ],
    )
    .await;
    let results = results(&step);
    let text = "the result is larger than the 100000 bytes of JSON that a tool may give; ask for less";
    assert_eq!(results[0].1["error"], text);
    assert_eq!(results[1].1["message"], format!("Tool 'huge' failed: \"{text}\""));
}

#[tokio::test]
async fn what_cannot_be_kept_is_told() {
    let runs = Arc::new(AtomicU32::new(0));
    let tool = || counting(&runs).expose(Expose::Both).cache(true);
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .tool_cache_limit(100)
        .tool("small", tool().max_cached_bytes(10))
        .tool("t", tool());
    let step = run(
        agent,
        vec![
            LlmResponse::calls(vec![
                call("a", "small", json!({})),
                call("b", "t", json!({})),
                call("c", "t", json!({"q": 2})),
                call("d", "t", json!({"a-b": 1, "a_b": 2})),
            ]),
            eval("e", "(count (tool/t {}))"),
            LlmResponse::text("done"),
        ],
    )
    .await;
    let results = results(&step);
    let kept: Vec<&Json> = results.iter().take(4).map(|(_, body)| &body["full_result_cached"]).collect();
    assert_eq!(kept, [&json!(false), &json!(true), &json!(false), &json!(false)]);
    assert!(
        results[0].1["cache_note"].as_str().unwrap().contains("this tool may keep 10"),
        "{}",
        results[0].1
    );
    assert!(results[2].1["cache_note"].as_str().unwrap().contains("of the 100 that may be kept"));
    assert!(results[3].1["cache_note"].as_str().unwrap().contains("the same name"));
    assert!(results[0].1.get("cache_hint").is_none() && results[1].1.get("cache_note").is_none());
    assert_eq!(runs.load(Ordering::Relaxed), 4);
    assert_eq!(step.usage.retained_bytes, 61);
}

#[tokio::test(start_paused = true)]
async fn the_mission_ends_on_time_whoever_is_slow() {
    let silent = || ToolSpec::new(|_: JsonMap| std::future::pending::<Result<Json, String>>());
    let agent = || text().mission_timeout(Duration::from_secs(3)).tool("t", silent());
    let step = run(agent(), vec![LlmResponse::calls(vec![call("a", "t", json!({}))])]).await;
    assert_eq!(failed(&step), "mission_timeout: Mission timeout exceeded");
    assert_eq!(results(&step).len(), 1);
    let mute = |_: LlmRequest| std::future::pending::<Result<LlmResponse, crate::llm::LlmError>>();
    let options = RunOptions::new(Arc::new(mute)).with_engine(engine());
    let step = agent().build().unwrap().run(options).await.unwrap_err();
    assert_eq!(failed(&step), "mission_timeout: Mission timeout exceeded");
}

#[tokio::test]
async fn hosts_may_end_a_run() {
    let usage = crate::llm::Usage { input: 90, output: 20, ..crate::llm::Usage::default() };
    let costly = |response: LlmResponse| LlmResponse { usage: Some(usage), ..response };
    let answers = || vec![costly(fenced("41")), costly(fenced("42"))];
    let (step, _) = run_with(Agent::builder("p"), answers(), |options| options.token_limit = Some(100)).await;
    assert_eq!(failed(&step), "budget_exceeded: 110 tokens used, 100 allowed");
    let (step, _) = run_with(Agent::builder("p"), answers(), |options| {
        options.token_limit = Some(100);
        options.on_budget_exceeded = OnBudgetExceeded::Return;
        options.trace = TraceMode::OnError;
    })
    .await;
    assert_eq!((step.value, step.usage.fallback_used, step.turns.len()), (Some(json!(41)), true, 0));
    let (step, _) = run_with(Agent::builder("p"), answers(), |options| {
        options.budget = Some(Arc::new(|step: &Step| match step.usage.turns {
            0 => Ok(()),
            _ => Err(Fail::new("enough", "The host has seen enough.")),
        }));
    })
    .await;
    assert_eq!(failed(&step), "enough: The host has seen enough.");
}

#[tokio::test]
async fn a_step_goes_on_in_the_next_agent() {
    let first = run(Agent::builder("p").max_turns(1), vec![fenced("{:x 5}")]).await;
    let (second, _) =
        run_with(Agent::builder("{{x}}").max_turns(1), vec![fenced("(inc data/x)")], |options| {
            options.previous = Some(Arc::new(first));
        })
        .await;
    assert_eq!(second.value, Some(json!(6)));
    let failed_step = run(Agent::builder("p").max_turns(1), vec![]).await;
    let (step, requests) = run_with(Agent::builder("p"), vec![], |options| {
        options.previous = Some(Arc::new(failed_step));
    })
    .await;
    assert_eq!(failed(&step), "chained_failure: Upstream agent failed: llm_error");
    assert!(requests.is_empty());
}

#[tokio::test]
async fn agents_are_tools_of_agents() {
    let inner = Agent::builder("Double {{n}}").signature("(n :int) -> :int").max_turns(1).build().unwrap();
    let outer = Agent::builder("p").tool("double", inner.as_tool());
    let step = run(
        outer,
        vec![
            fenced("(map #(tool/double {:n %}) [4])"),
            fenced("(* 2 data/n)"),
            fenced("(return (first *1))"),
        ],
    )
    .await;
    assert_eq!(step.value, Some(json!(8)), "{:?}", step.fail);
    // Each level asks for one more, until there may be none: the third one fails, and the others with it.
    let itself =
        Agent::builder("p {{n}}").signature("(n :int) -> :int").max_depth(2).max_turns(1).self_tool("again");
    let deeper = || fenced("(return (tool/again {:n 1}))");
    let (step, requests) = run_with(itself, vec![deeper(), deeper()], |_| {}).await;
    let told = step.turns[0].error.clone().unwrap_or_default();
    assert!(told.starts_with("Tool 'again' failed: \"max_turns_exceeded: "), "{told}");
    assert!(failed(&step).ends_with(&format!("limit of 1. The last program failed: tool_error: {told}")));
    assert_eq!(requests.len(), 2);
}

#[tokio::test]
async fn programs_ask_the_model_and_search_text() {
    let agent = Agent::builder("p").llm_query(true).builtin_grep(true);
    let program = "(return [(tool/llm-query {:prompt \"{{n}}?\" :signature \":int\"}) \
                    (tool/grep {:pattern \"B\" :text \"a\\nb\"})])";
    let (step, requests) = run_with(agent, vec![fenced(program), LlmResponse::text("5")], |_| {}).await;
    assert_eq!(step.value, Some(json!([5, ["b"]])), "{:?}", step.fail);
    assert!(
        matches!(&requests[1].messages[0], Message::User { content, .. } if content.contains("\n{{n}}?\n"))
    );
}

#[tokio::test]
async fn handlers_know_who_calls_and_how_long_they_have() {
    type Entry = (u32, &'static str, bool);
    struct Asked(Arc<Mutex<Vec<Entry>>>);
    impl ToolHandler for Asked {
        fn call(&self, _: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
            let entry = (context.turn, context.layer.as_str(), context.deadline.is_some());
            self.0.lock().push(entry);
            Box::pin(std::future::ready(Ok(Json::Null)))
        }
    }
    let asked = Arc::new(Mutex::new(Vec::new()));
    let tool = ToolSpec::new(Asked(asked.clone())).expose(Expose::Both);
    let agent = Agent::builder("p").output(Output::Text).transport(Transport::ToolCall).tool("t", tool);
    let calls = LlmResponse::calls(vec![call("a", "t", json!({}))]);
    run(agent, vec![calls, eval("b", "(tool/t {})"), LlmResponse::text("done")]).await;
    assert_eq!(*asked.lock(), [(1, "native", true), (2, "ptc_lisp", true)]);
}
