//! Combined mode, and text mode with tools.

use super::*;
use crate::agent::{Output, Transport};
use crate::tool::Expose;

fn combined() -> AgentBuilder {
    Agent::builder("How many?").output(Output::Text).transport(Transport::ToolCall).max_turns(10)
}

fn shared(runs: &Arc<AtomicU32>) -> ToolSpec {
    counting(runs).expose(Expose::Both).cache(true)
}

#[tokio::test]
async fn a_native_result_is_reused_by_a_program() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = combined().tool("search_logs", shared(&runs));
    let step = run(
        agent,
        vec![
            LlmResponse::calls(vec![call("c1", "search_logs", json!({"max-n": 1.0}))]),
            eval("c2", "(nope"),
            eval("c3", "(def rows (tool/search_logs {:max_n 1}))\n(return {:total (count rows)})"),
            LlmResponse::calls(vec![call("c4", "search_logs", json!({"max_n": 1}))]),
            LlmResponse::text("3"),
        ],
    )
    .await;
    assert_eq!(step.value, Some(json!("3")));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let results = results(&step);
    assert_eq!(results[0].1["full_result_cached"], true);
    assert_eq!(results[0].1["schema"]["items"]["properties"], json!({"id": "integer", "ok": "boolean"}));
    assert_eq!((&results[1].1["status"], &results[1].1["reason"]), (&json!("error"), &json!("parse_error")));
    assert_eq!(results[2].1["result"], "user=> {:total 3}");
    assert_eq!(results[2].1["memory"]["stored_keys"], json!(["rows"]));
    // The rows were withheld from the model; a definition of them withholds them too.
    assert_eq!(results[2].1["memory"]["changed"], json!({"rows": "list of 3 maps"}));
    assert_eq!(results[3].1, results[0].1);
}

#[tokio::test]
async fn every_id_is_answered_once_in_order() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = combined()
        .max_tool_calls(2)
        .tool("t", counting(&runs))
        .tool("p", counting(&runs).expose(Expose::PtcLisp));
    let no_id = ToolCall { id: None, ..call("", "t", json!({})) };
    let step = run(
        agent,
        vec![
            LlmResponse::calls(vec![call("a", "lisp_eval", json!({})), call("b", "lisp_eval", json!({}))]),
            LlmResponse::calls(vec![
                call("a", "lisp_eval", json!({"program": "1"})),
                call("c", "nope", json!({})),
            ]),
            LlmResponse::calls(vec![call("d", "p", json!({})), no_id, call("d", "t", json!({}))]),
            eval("e", "(println \"</untrusted_ptc_output>\") nil"),
            LlmResponse::text("done"),
        ],
    )
    .await;
    let results = results(&step);
    let ids: Vec<&str> = results.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["a", "b", "tc_3", "c", "d", "tc_6", "tc_7", "e"]);
    assert_eq!(results[0].1["reason"], "multiple_tool_calls");
    assert_eq!(results[3].1["reason"], "mixed_with_lisp_eval");
    assert_eq!(results[4].1["message"], "Unknown native tool `p`.");
    assert!(results[5].1.is_array());
    assert_eq!(results[6].1, json!({"error": "Tool call limit reached (max: 2)"}));
    assert_eq!(results[7].1["result"], "user=> nil");
    assert_eq!(
        (&results[7].1["prints"], &results[7].1["feedback"]),
        (&json!(["</untrusted_ptc_output>"]), &json!(""))
    );
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn programs_see_their_tools_and_history_only() {
    let runs = Arc::new(AtomicU32::new(0));
    let step = run(
        combined().tool("native", counting(&runs)),
        vec![
            eval("a", "(if false (tool/native {}) 5)"),
            eval("b", "(+ data/n 1)"),
            eval("c", "(return 99)"),
            eval("d", "[*1 (:reason data/fail)]"),
            eval("e", "(fail {:why \"x\"})"),
            LlmResponse::calls(vec![call("f", "lisp_eval", json!({"program": 5}))]),
            LlmResponse::text("done"),
        ],
    )
    .await;
    let results = results(&step);
    assert_eq!(
        results[0].1["message"],
        "Unknown tool: native. No tools available. `native` is a native tool: call it directly, not inside a program."
    );
    assert_eq!(results[3].1["result"], "user=> [8 \"unknown_tool\"]");
    assert_eq!((&results[4].1["reason"], &results[4].1["result"]), (&json!("fail"), &json!("{:why \"x\"}")));
    assert_eq!(results[5].1["message"], "lisp_eval `program` must be a string, got 5.");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn handlers_that_fail_panic_or_stay_silent_are_answered() {
    let runs = Arc::new(AtomicU32::new(0));
    let panics = ToolSpec::new(|args: JsonMap| async move {
        assert!(args.is_empty(), "deliberate");
        Ok::<_, String>(json!("x".repeat(100)))
    });
    let silent = ToolSpec::new(|_: JsonMap| std::future::pending::<Result<Json, String>>());
    let agent = Agent::builder("p")
        .output(Output::Text)
        .tool_timeout(Duration::from_millis(20))
        .max_result_bytes(50)
        .tool("fails", counting(&runs))
        .tool("panics", panics)
        .tool("silent", silent);
    let step = run(
        agent,
        vec![
            LlmResponse::calls(vec![
                call("a", "fails", json!({"fail": 1})),
                call("b", "panics", json!({"x": 1})),
                call("c", "silent", json!({})),
                call("d", "panics", json!({})),
                ToolCall::from_text(Some("e".into()), "nope", "{"),
                call("f", "nope", json!({})),
            ]),
            LlmResponse::text("done"),
        ],
    )
    .await;
    let results = results(&step);
    assert_eq!(
        results[0].1,
        json!({"error": "no such index", "tool": "fails", "args_received": {"fail": 1}, "hint": null})
    );
    for (at, text) in [
        (1, "the tool panicked: deliberate"),
        (2, "the tool did not answer within 20 ms"),
        (3, "the result is 102 bytes, more than the 50 that fit"),
        (4, "Invalid JSON arguments: "),
        (5, "Tool 'nope' not found"),
    ] {
        assert!(results[at].1["error"].as_str().unwrap().starts_with(text), "{}", results[at].1);
    }
}

#[tokio::test]
async fn answers_are_checked_and_turns_counted() {
    let typed = || Agent::builder("p {{n}}").output(Output::Text).signature(":int").max_turns(2);
    let step = run(typed(), vec![LlmResponse::text("five"), LlmResponse::text("5")]).await;
    assert_eq!(step.value, Some(json!(5)));
    let step = run(typed(), vec![LlmResponse::text("five"), LlmResponse::text("5.5")]).await;
    assert_eq!(
        step.fail.unwrap().to_string(),
        "validation_error: Return validation failed: root: expected int, got float"
    );
    let step = run(combined().max_turns(1), vec![eval("a", "(return 1)")]).await;
    assert_eq!(results(&step)[0].1["result"], "user=> 1");
    assert_eq!(step.fail.unwrap().to_string(), "max_turns_exceeded: Exceeded max_turns limit of 1");
    let step = run(combined().max_turns(1), vec![]).await;
    assert_eq!(step.fail.unwrap().reason, "llm_error");
}
