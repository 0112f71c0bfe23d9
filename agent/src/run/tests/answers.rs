//! What a model reads of a program, and what its text is taken for.

use super::*;
use crate::agent::{Output, Transport};
use crate::llm::{LlmError, LlmErrorKind, StopReason, Usage};
use crate::tool::Expose;

fn text() -> AgentBuilder {
    Agent::builder("p").output(Output::Text)
}

fn combined() -> AgentBuilder {
    text().transport(Transport::ToolCall)
}

#[tokio::test]
async fn json_that_does_not_fit_is_passed_over_for_json_that_does() {
    for (signature, says, wanted) in [
        ("{total :int}", "See [1]. {\"total\": 5}", json!({"total": 5})),
        ("{total :int}", "```json\n[1, 2]\n```\nso {\"total\": 5} [3]", json!({"total": 5})),
        ("{total :int}", "```json\n{\"n\": 1}\n```\n```json\n{\"total\": 6}\n```", json!({"total": 6})),
        ("[:int]", "For {\"x\": 1}: [1, 2]", json!([1, 2])),
        ("[{id :int}]", "As in [1]: [{\"id\": 2}]", json!([{"id": 2}])),
    ] {
        let step = run(text().signature(signature).max_turns(1), vec![LlmResponse::text(says)]).await;
        assert_eq!(step.value, Some(wanted), "{says}: {}", failed(&step));
    }
    // Where nothing fits, the first is what the model is told of.
    let step =
        run(text().signature("{total :int}").max_turns(1), vec![LlmResponse::text("{\"a\":1} [2]")]).await;
    assert_eq!(failed(&step), "validation_error: total: expected field, got nil");
}

#[tokio::test]
async fn a_scalar_is_read_however_the_model_dresses_it() {
    for (signature, says, wanted) in [
        (":int", "4.0", json!(4)),
        (":int", "\"42\"", json!(42)),
        (":int", "```\n42\n```", json!(42)),
        (":int", "```json\n42\n```", json!(42)),
        (":int", "**42**", json!(42)),
        (":int", "`42`", json!(42)),
        (":int", " 42. ", json!(42)),
        (":int?", "**null**", Json::Null),
        (":float", "**2.5**", json!(2.5)),
        (":float", "\"3\"", json!(3)),
        (":bool", "True", json!(true)),
        (":bool", "FALSE", json!(false)),
        (":bool", "**true**", json!(true)),
        (":bool", "\"false\"", json!(false)),
        (":keyword", "**open**", json!("open")),
        (":datetime", "`2026-01-02T03:04:05+02:00`", json!("2026-01-02T01:04:05Z")),
    ] {
        let step = run(text().signature(signature).max_turns(1), vec![LlmResponse::text(says)]).await;
        assert_eq!(step.value, Some(wanted), "{signature} {says}: {}", failed(&step));
    }
    for (signature, says, why) in [
        (":int", "4.5", "validation_error: Return validation failed: root: expected int, got float"),
        (":int", "four", "json_parse_error: Could not parse JSON from response."),
        (":bool", "1", "validation_error: Return validation failed: root: expected bool, got int"),
    ] {
        let step = run(text().signature(signature).max_turns(1), vec![LlmResponse::text(says)]).await;
        assert_eq!(failed(&step), why);
    }
}

#[tokio::test]
async fn the_model_reads_each_thing_once() {
    let program = "(def marked 7654321) (println \"printed-once\") [\"result-once\"]";
    let step = run(combined(), vec![eval("a", program), LlmResponse::text("done")]).await;
    let body = &results(&step)[0].1;
    let whole = body.to_string();
    for text in ["result-once", "printed-once", "7654321"] {
        assert_eq!(whole.matches(text).count(), 1, "{text}: {whole}");
    }
    assert_eq!(
        (&body["result"], &body["prints"]),
        (&json!("user=> [\"result-once\"]"), &json!(["printed-once"]))
    );
    let step = run(combined(), vec![eval("a", "(oops-once)"), LlmResponse::text("done")]).await;
    let whole = results(&step)[0].1.to_string();
    assert_eq!(whole.matches("oops-once").count(), 1, "{whole}");
}

#[tokio::test]
async fn nil_is_a_value_that_shows() {
    let step = run(combined(), vec![eval("a", "(println 1) nil"), LlmResponse::text("done")]).await;
    assert_eq!(results(&step)[0].1["result"], "user=> nil");
    let step = run(Agent::builder("p"), vec![fenced("(println 1) nil"), fenced("(return 1)")]).await;
    assert!(told(&step)[0].contains("user=> nil"), "{}", told(&step)[0]);
}

#[tokio::test]
async fn turns_that_are_used_up_say_what_the_last_program_failed_of() {
    let runs = Arc::new(AtomicU32::new(0));
    let lisp = || Agent::builder("p").tool("t", counting(&runs)).max_turns(1);
    let step = run(lisp(), vec![fenced("(+ 1 :a)")]).await;
    let told = failed(&step);
    assert!(
        told.starts_with("max_turns_exceeded: Exceeded max_turns limit of 1. The last program failed: "),
        "{told}"
    );
    assert!(told.contains("type_error"), "{told}");
    let step = run(lisp(), vec![LlmResponse::text("I cannot.")]).await;
    assert!(failed(&step).contains("No valid PTC-Lisp code found"), "{}", failed(&step));
    let step = run(lisp().transport(Transport::ToolCall), vec![eval("a", "(+ 1 :a)")]).await;
    assert!(failed(&step).contains("type_error"), "{}", failed(&step));
    let step = run(combined().max_turns(1), vec![eval("a", "(+ 1 :a)")]).await;
    assert!(failed(&step).contains("type_error"), "{}", failed(&step));
    let step = run(combined().max_turns(1), vec![eval("a", "1")]).await;
    assert_eq!(failed(&step), "max_turns_exceeded: Exceeded max_turns limit of 1");
}

#[tokio::test]
async fn a_fence_may_follow_words_on_its_line() {
    for says in [
        "Here it is: ```clojure\n(+ 1 2)\n```",
        "```clojure\n(+ 1 2)```",
        "Here: ```clojure (+ 1 2)```",
        "First `x`, then ```lisp\n(+ 1 2)\n``` as asked.",
    ] {
        let step = run(Agent::builder("p").max_turns(1), vec![LlmResponse::text(says)]).await;
        assert_eq!(step.value, Some(json!(3)), "{says}: {}", failed(&step));
    }
}

#[tokio::test]
async fn more_calls_than_a_run_answers_are_no_answer() {
    let runs = Arc::new(AtomicU32::new(0));
    let calls = (0..1025).map(|n| call(&format!("c{n}"), "t", json!({}))).collect();
    let step = run(text().tool("t", counting(&runs)), vec![LlmResponse::calls(calls)]).await;
    assert_eq!(failed(&step), "llm_error: LLM call failed: the answer has more than 1024 tool calls");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn coerced_arguments_are_one_key_on_both_sides() {
    let runs = Arc::new(AtomicU32::new(0));
    let signature = crate::signature::Signature::parse("(n :int) -> [:any]").unwrap();
    let tool = counting(&runs).signature(signature).expose(Expose::Both).cache(true);
    let step = run(
        combined().tool("t", tool),
        vec![
            LlmResponse::calls(vec![call("a", "t", json!({"n": "1"}))]),
            eval("b", "(count (tool/t {:n 1}))"),
            eval("c", "(count (tool/t {:n 1.0}))"),
            LlmResponse::text("3"),
        ],
    )
    .await;
    assert_eq!(step.value, Some(json!("3")), "{}", failed(&step));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(results(&step)[0].1["cache_hint"].as_str().unwrap().contains("(tool/t {:n 1})"));
}

#[tokio::test]
async fn usage_holds_the_tokens_of_nested_runs() {
    let costs = |input, output, response: LlmResponse| {
        let usage = Usage { input, output, ..Usage::default() };
        LlmResponse { usage: Some(usage), ..response }
    };
    let inner = Agent::builder("Double").max_turns(1).build().unwrap();
    let outer = || Agent::builder("p").tool("double", inner.as_tool());
    let answers = || {
        vec![
            costs(10, 1, fenced("(tool/double {})")),
            costs(100, 20, fenced("4")),
            costs(1000, 300, fenced("(return *1)")),
        ]
    };
    let step = run(outer(), answers()).await;
    assert_eq!((step.usage.tokens.input, step.usage.tokens.output), (1110, 321), "{}", failed(&step));
    assert_eq!(step.child_steps[0].usage.tokens.input, 100);
    let (step, _) = run_with(outer(), answers(), |options| options.token_limit = Some(120)).await;
    assert_eq!(failed(&step), "budget_exceeded: 131 tokens used, 120 allowed");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_the_deadline_does_not_take_the_blame() {
    let keeps = |request: LlmRequest| async move {
        tokio::time::sleep_until(request.deadline.unwrap()).await;
        Err::<LlmResponse, _>(LlmError::new(LlmErrorKind::Timeout, "no answer within 600000 ms"))
    };
    let agent = text().mission_timeout(Duration::from_millis(400)).build().unwrap();
    let step = agent.run(RunOptions::new(Arc::new(keeps)).with_engine(engine())).await.unwrap_err();
    assert_eq!(failed(&step), "mission_timeout: Mission timeout exceeded");
}

#[tokio::test]
async fn an_answer_that_was_cut_is_none() {
    let cut = |response: LlmResponse| LlmResponse { stop: StopReason::Length, ..response };
    let step = run(text(), vec![cut(LlmResponse::text("It is becau"))]).await;
    assert_eq!(failed(&step), "answer_cut: The answer was cut at its longest length");
    assert_eq!((step.stop, step.value.as_ref()), (Some(StopReason::Length), None));
    assert_eq!(
        (step.turns[0].stop, step.turns[0].raw_response.as_str()),
        (StopReason::Length, "It is becau")
    );
    // A value may be said again. `12` may be the beginning of `1234`.
    let typed = || text().signature(":int");
    let (step, _) =
        run_with(typed(), vec![cut(LlmResponse::text("12")), LlmResponse::text("1234")], |options| {
            options.max_tokens = Some(9);
        })
        .await;
    assert_eq!((step.value.as_ref(), step.stop), (Some(&json!(1234)), Some(StopReason::End)));
    assert_eq!(
        told(&step)[0],
        "Error: The answer was cut at its longest length (9 tokens). Please answer again with the value only, and \
         shorter."
    );
    let step = run(typed().max_turns(1), vec![cut(LlmResponse::text("12"))]).await;
    assert_eq!(failed(&step), "answer_cut: The answer was cut at its longest length");
    let step =
        run(Agent::builder("p").transport(Transport::ToolCall), vec![cut(LlmResponse::text("It"))]).await;
    assert_eq!(failed(&step), "answer_cut: The answer was cut at its longest length");
    // The beginning of a program does not run.
    let runs = Arc::new(AtomicU32::new(0));
    let agent = Agent::builder("p").tool("t", counting(&runs));
    let half = LlmResponse::text("```clojure\n(tool/t {})\n");
    let step = run(agent, vec![cut(half), fenced("(return 1)")]).await;
    assert_eq!((step.value.as_ref(), runs.load(Ordering::Relaxed)), (Some(&json!(1)), 0));
    assert!(
        told(&step)[0].starts_with("Error: Your answer was cut at its longest length"),
        "{}",
        told(&step)[0]
    );
}
