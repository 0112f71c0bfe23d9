//! What was promised of combined mode, where no other test holds it ("Guarantees of combined mode" in docs/guide/agent.md).

use super::*;
use crate::agent::{Mode, Output, Transport};
use crate::tool::{Expose, NativeResult};

fn combined() -> AgentBuilder {
    Agent::builder("How many errors with code 42 last hour?")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .max_turns(6)
}

fn native(id: &str, name: &str, args: Json) -> LlmResponse {
    LlmResponse::calls(vec![call(id, name, args)])
}

#[test]
fn combined_mode_is_opt_in() {
    let mode = |agent: AgentBuilder| agent.build().unwrap().mode();
    assert_eq!(mode(Agent::builder("p")), Mode::Lisp);
    assert_eq!(mode(Agent::builder("p").output(Output::Text)), Mode::Text);
    assert_eq!(mode(combined()), Mode::Combined);
}

#[tokio::test]
async fn the_transcript_is_word_for_word() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let search = ToolSpec::new(move |_: JsonMap| {
        counted.fetch_add(1, Ordering::Relaxed);
        async {
            let row = |id: u32| json!({"id": id, "timestamp": "2026-01-02T03:04:05Z", "message": "error"});
            Ok::<_, String>((0..1842).map(row).collect::<Json>())
        }
    });
    let search = search
        .signature(crate::signature::Signature::parse("(query :string) -> [:any]").unwrap())
        .description("Search log events.")
        .expose(Expose::Both)
        .cache(true)
        .native_result(NativeResult::Metadata);
    let program = "(def rows (tool/search_logs {:query \"error code 42\"}))\n(return {:total (count rows)})";
    let last = "There were 1842 errors with code 42 in the queried window.";
    let (step, requests) = run_with(
        combined().tool("search_logs", search),
        vec![
            native("call_1", "search_logs", json!({"query": "error code 42"})),
            eval("call_2", program),
            LlmResponse::text(last),
        ],
        |options| options.context = JsonMap::new(),
    )
    .await;
    assert_eq!((step.value, step.usage.turns), (Some(json!(last)), 3));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["search_logs", "lisp_eval"]);
    assert!(
        requests[0]
            .system
            .contains("- `(tool/search_logs {...})` — `(query :string) -> [:any]` — Search log events.")
    );
    let results: Vec<(&str, Json)> = requests[2]
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Tool { tool_call_id, content, .. } => {
                Some((tool_call_id.as_str(), serde_json::from_str(content).unwrap()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        results[0],
        (
            "call_1",
            json!({
                "status": "ok", "result_count": 1842,
                "schema": {"type": "array", "items": {"type": "object",
                    "properties": {"id": "integer", "timestamp": "string", "message": "string"}}},
                "sample_keys": ["id", "message", "timestamp"], "full_result_cached": true,
                "cache_hint": "Call lisp_eval and then call (tool/search_logs {:query \"error code 42\"}) to process \
                               the full cached result.",
            })
        )
    );
    let (id, body) = &results[1];
    assert_eq!((*id, &body["status"], &body["prints"]), ("call_2", &json!("ok"), &json!([])));
    assert_eq!(body["result"], "user=> {:total 1842}");
}

#[tokio::test]
async fn whichever_side_calls_first_fills_the_cache() {
    let runs = Arc::new(AtomicU32::new(0));
    let step = run(
        combined().tool("t", counting(&runs).expose(Expose::Both).cache(true)),
        vec![
            eval("a", "(count (tool/t {:q 1}))"),
            native("b", "t", json!({"q": 1})),
            native("c", "t", json!({"q": 2})),
            LlmResponse::text("done"),
        ],
    )
    .await;
    assert_eq!(runs.load(Ordering::Relaxed), 2, "{}", failed(&step));
    assert_eq!(results(&step)[1].1["result_count"], 3);
}

#[tokio::test]
async fn both_sides_without_cache_run_the_tool_anew() {
    let runs = Arc::new(AtomicU32::new(0));
    let step = run(
        combined().tool("t", counting(&runs).expose(Expose::Both)),
        vec![native("a", "t", json!({})), eval("b", "(count (tool/t {}))"), LlmResponse::text("done")],
    )
    .await;
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    // Nothing is kept, so that the model gets it all.
    assert_eq!(results(&step)[0].1.as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn pure_text_looks_at_neither_exposure_nor_cache() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = Agent::builder("p")
        .output(Output::Text)
        .tool("p", counting(&runs).expose(Expose::PtcLisp))
        .tool("c", counting(&runs).expose(Expose::Both).cache(true));
    let (step, requests) = run_with(
        agent,
        vec![
            native("a", "p", json!({})),
            native("b", "c", json!({})),
            native("c", "c", json!({})),
            LlmResponse::text("done"),
        ],
        |_| {},
    )
    .await;
    assert_eq!(runs.load(Ordering::Relaxed), 3);
    assert!(results(&step).iter().all(|(_, body)| body.is_array()));
    assert!(!requests[0].system.contains("lisp_eval") && requests[0].tools.len() == 2);
}

#[tokio::test]
async fn the_final_text_is_the_answer_as_the_signature_says() {
    for (signature, says, wanted) in [
        (None, " As it *is*.\n", json!(" As it *is*.\n")),
        (Some(":string"), "{\"a\": 1}", json!("{\"a\": 1}")),
        (Some(":any"), "[1]", json!("[1]")),
        (Some("{total :int}"), "It is {\"total\": 3}.", json!({"total": 3})),
        (Some("[:int]"), "[1, 2]", json!([1, 2])),
        (Some(":int"), "3", json!(3)),
        (Some(":float"), "3.5", json!(3.5)),
        (Some(":bool"), "true", json!(true)),
        (Some(":datetime"), "2026-01-02T03:04:05Z", json!("2026-01-02T03:04:05Z")),
    ] {
        let agent = match signature {
            Some(signature) => combined().signature(signature),
            None => combined(),
        };
        // A program that returns something else that would fit decides nothing.
        let answers = vec![eval("a", "(return {:total 99})"), LlmResponse::text(says)];
        let step = run(agent, answers).await;
        assert_eq!(step.value, Some(wanted), "{signature:?}: {}", failed(&step));
    }
}

#[tokio::test]
async fn programs_take_turns_and_no_tool_calls() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = || combined().max_tool_calls(1).tool("t", counting(&runs));
    let evals = |n: u32| (0..n).map(|n| eval(&format!("e{n}"), "(return 7)")).collect::<Vec<_>>();
    let mut answers = evals(4);
    answers.extend([native("n", "t", json!({})), LlmResponse::text("done")]);
    let step = run(agent(), answers).await;
    assert_eq!((step.value.as_ref(), step.usage.turns), (Some(&json!("done")), 6), "{}", failed(&step));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    // Nothing is reserved for the answer: every id is answered, and the program's value is not the run's.
    let step = run(agent(), evals(6)).await;
    assert_eq!(failed(&step), "max_turns_exceeded: Exceeded max_turns limit of 6");
    assert_eq!((step.value.as_ref(), results(&step).len()), (None, 6));
}

#[tokio::test]
async fn results_live_as_long_as_their_run() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = || combined().tool("t", counting(&runs).expose(Expose::Both).cache(true));
    for expected in [1, 2] {
        let step = run(agent(), vec![native("a", "t", json!({})), LlmResponse::text("done")]).await;
        assert_eq!((runs.load(Ordering::Relaxed), step.usage.retained_bytes), (expected, 61));
    }
}

#[tokio::test]
async fn native_results_are_no_history() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = combined().tool("t", counting(&runs).expose(Expose::Both).cache(true)).journaling(true);
    let step = run(
        agent,
        vec![
            native("a", "t", json!({})),
            eval("b", "[*1 *2]"),
            eval("c", "(count *1)"),
            LlmResponse::text("x"),
        ],
    )
    .await;
    assert_eq!(results(&step)[1].1["result"], "user=> [nil nil]");
    assert_eq!(results(&step)[2].1["result"], "user=> 2");
    assert!(step.journal.tasks.is_empty() && step.journal.summaries.is_empty());
}
