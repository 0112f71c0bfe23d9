//! PTC-Lisp agents over both transports.

use super::*;
use crate::agent::{Compaction, CompletionMode, MemoryStrategy, Output, Transport};

fn lisp() -> AgentBuilder {
    Agent::builder("Sum {{n}}")
}

fn by_tool() -> AgentBuilder {
    Agent::builder("Sum {{n}}").transport(Transport::ToolCall)
}

#[tokio::test]
async fn one_program_is_the_answer_of_a_single_shot() {
    let single = || lisp().max_turns(1).signature("(n :int) -> {total :int}");
    let step = run(single(), vec![fenced("{:total (+ data/n 1)}")]).await;
    assert_eq!(step.value, Some(json!({"total": 8})));
    assert!(step.prompt.contains("- n = 7") && step.prompt.contains("{total :int}"), "{}", step.prompt);
    let step = run(single(), vec![fenced("(+ 1")]).await;
    assert_eq!(step.fail.unwrap().reason, "parse_error");
    let step = run(single(), vec![LlmResponse::text("eight")]).await;
    assert!(
        failed(&step)
            .starts_with("max_turns_exceeded: Exceeded max_turns limit of 1. The last turn failed: ")
    );
    let step =
        run(single().retry_turns(1), vec![fenced("{:total \"x\"}"), fenced("(return {:total 1})")]).await;
    assert_eq!(step.value, Some(json!({"total": 1})));
    let step = run(single(), vec![fenced("{:total \"x\"}")]).await;
    assert_eq!(failed(&step), "validation_error: Return validation failed: total: expected int, got string");
}

#[tokio::test]
async fn turns_go_on_until_a_value_is_returned() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent =
        lisp().tool("rows", counting(&runs).cache(true)).signature("(n :int) -> {total :int, k :keyword}");
    let step = run(
        agent,
        vec![
            fenced("(def rows (tool/rows {})) (println \"seen\") (count rows)"),
            LlmResponse::text("```clojure\n(a)\n```\n```clojure\n(b)\n```"),
            fenced("(def again (tool/rows {})) (* *1 \u{201c}x\u{201d})"),
            fenced("(return {:total (+ *1 (count rows)) :k :done})"),
        ],
    )
    .await;
    assert_eq!(step.value, Some(json!({"total": 6, "k": "done"})), "{:?}", step.fail);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let told = told(&step);
    assert!(told[0].contains("source=\"result\">\nuser=> 3\n"), "{}", told[0]);
    assert!(told[0].contains("seen") && told[0].contains(";; rows = ") && told[0].ends_with("Turn 2 of 5."));
    assert!(told[1].starts_with("Error: Found 2 code blocks"), "{}", told[1]);
    assert!(told[2].contains("type_error") && told[2].ends_with("Turn 4 of 5."), "{}", told[2]);
    assert_eq!(step.turns.len(), 4);
    assert_eq!(step.turns[3].program.as_deref(), Some("(return {:total (+ *1 (count rows)) :k :done})"));
    assert!(step.turns[0].success() && !step.turns[2].success());
    // What the failed program defined is gone.
    assert_eq!(step.memory.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["rows"]);
}

#[tokio::test]
async fn a_program_that_gives_up_ends_the_run() {
    for (agent, answer) in [
        (lisp(), fenced("(def x 1) (fail {:why :empty})")),
        (by_tool(), eval("a", "(def x 1) (fail {:why :empty})")),
    ] {
        let step = run(agent, vec![answer]).await;
        assert_eq!(failed(&step), "fail: {:why :empty}");
        assert_eq!(step.memory, [("x".to_owned(), "1".to_owned())]);
    }
}

#[tokio::test]
async fn an_invalid_return_is_repaired_in_extra_turns_only() {
    let agent = || lisp().max_turns(2).retry_turns(2).signature("(n :int) -> :int").tool("t", tool());
    let wrong = || fenced("(return \"7\")");
    let step = run(agent(), vec![fenced("1"), wrong(), wrong(), fenced("(return 7)")]).await;
    assert_eq!(step.value, Some(json!(7)));
    let told = told(&step);
    assert!(told[0].contains("Turn 2 of 2, the last one: tools cannot be called any more."), "{}", told[0]);
    assert!(told[1].contains("root: expected int, got string") && told[1].contains("Expected :int."));
    assert!(told[1].ends_with("Retry 1 of 2: mend this. End with (return value) or (fail reason)."));
    let step = run(agent(), vec![fenced("(tool/t {})"), wrong(), wrong(), wrong()]).await;
    assert_eq!(failed(&step), "validation_error: Return validation failed: root: expected int, got string");
    // The last work turn is for the answer: its programs call nothing.
    let step = run(agent(), vec![fenced("(tool/t {})"), fenced("(tool/t {})")]).await;
    assert_eq!(step.turns[1].error.as_deref(), Some("Unknown tool: t. No tools available."));
}

fn tool() -> ToolSpec {
    ToolSpec::new(|_: JsonMap| async { Ok::<_, String>(json!("x")) })
}

#[tokio::test]
async fn the_last_good_value_stands_in_when_turns_are_used_up() {
    let agent = || lisp().max_turns(3).signature("(n :int) -> :int");
    let step = run(agent(), vec![fenced("41"), fenced("\"text\""), fenced("(oops)")]).await;
    assert_eq!(step.value, Some(json!(41)));
    assert!(step.usage.fallback_used);
    let step = run(agent(), vec![fenced("(oops)"), fenced("\"text\""), fenced("nil")]).await;
    assert_eq!(failed(&step), "max_turns_exceeded: Exceeded max_turns limit of 3");
    let explicit = || agent().completion_mode(CompletionMode::Explicit);
    let step = run(explicit(), vec![fenced("41"), fenced("42"), fenced("43")]).await;
    assert_eq!(failed(&step), "must_return_missing: Final turn must call (return value) or (fail reason)");
    let step =
        run(explicit().retry_turns(1), vec![fenced("(a)"), fenced("(a)"), fenced("(a)"), fenced("(a)")])
            .await;
    let told = failed(&step);
    assert!(
        told.starts_with(
            "budget_exhausted: Work and retry turns used up (3 and 1). The last program failed: "
        ),
        "{told}"
    );
}

#[tokio::test]
async fn lisp_eval_alone_ends_the_run_with_its_value() {
    let agent = by_tool().signature("(n :int) -> {total :int}").max_turns(10).tool("t", tool());
    let step = run(
        agent,
        vec![
            LlmResponse::calls(vec![call("a", "t", json!({}))]),
            LlmResponse::calls(vec![call("b", "lisp_eval", json!({})), call("c", "t", json!({}))]),
            LlmResponse::text("```clojure\n(return 1)\n```"),
            eval("d", "(return 5)"),
            eval("e", "(tool/t {})"),
            LlmResponse::calls(vec![call("f", "lisp_eval", json!({"program": " "}))]),
            eval("g", "(return {:total (count *1)})"),
        ],
    )
    .await;
    assert_eq!(step.value, Some(json!({"total": 1})), "{:?}", step.fail);
    let results = results(&step);
    assert_eq!(
        results[0].1["message"],
        "Unknown native tool `\"t\"`. Only `lisp_eval` is available natively in this transport."
    );
    assert!(results[0].1["feedback"].is_string());
    assert_eq!((results[1].0, &results[1].1["reason"]), ("b", &json!("multiple_tool_calls")));
    assert_eq!((results[2].0, &results[2].1["reason"]), ("c", &json!("multiple_tool_calls")));
    assert_eq!(results[3].1["reason"], "runtime_error");
    assert!(results[3].1["message"].as_str().unwrap().contains("root: expected map, got int"));
    assert_eq!(results[4].1["result"], "user=> \"x\"");
    assert_eq!(results[5].1["reason"], "args_error");
    assert_eq!(results[6].1["result"], "user=> {:total 1}");
    let told = told(&step);
    assert!(told[2].starts_with("In ptc_transport: :tool_call, call the lisp_eval tool"), "{told:?}");
}

#[tokio::test]
async fn direct_text_answers_if_it_fits() {
    let step =
        run(by_tool().signature("(n :int) -> :int"), vec![LlmResponse::text("many"), LlmResponse::text("7")])
            .await;
    assert_eq!(step.value, Some(json!(7)));
    let step = run(by_tool(), vec![LlmResponse::text("Seven.")]).await;
    assert_eq!(step.value, Some(json!("Seven.")));
}

#[tokio::test]
async fn memory_is_limited_strictly_or_by_rolling_back() {
    let big = "(def big (into [] (range 2000)))";
    let agent = || by_tool().memory_limit(Some(2000));
    let step = run(agent(), vec![eval("a", big)]).await;
    assert!(failed(&step).starts_with("memory_limit_exceeded: Memory limit exceeded ("), "{}", failed(&step));
    assert_eq!(results(&step).len(), 1);
    let agent = agent().memory_strategy(MemoryStrategy::Rollback);
    let step =
        run(agent, vec![eval("a", "(def small 1)"), eval("b", big), eval("c", "(return small)")]).await;
    assert_eq!(step.value, Some(json!(1)));
    let second = &results(&step)[1].1;
    assert_eq!(second["reason"], "memory_limit");
    assert!(second["message"].as_str().unwrap().ends_with(" bytes > 2000 bytes). Last turn rolled back."));
}

#[tokio::test]
async fn history_keeps_the_beginning_of_long_values_and_no_returned_ones() {
    let step = run(
        Agent::builder("p").output(Output::Text).transport(Transport::ToolCall).max_turns(9),
        vec![
            eval("a", "1"),
            eval("b", "(apply str (repeat 5000 \"x\"))"),
            eval("c", "(return 3)"),
            eval("d", "(fail 4)"),
            eval("e", "[(count *1) *2 *3]"),
            LlmResponse::text("done"),
        ],
    )
    .await;
    let display = results(&step)[4].1["result"].as_str().unwrap().to_owned();
    let count: usize = display["user=> [".len()..].split(' ').next().unwrap().parse().unwrap();
    assert!(count < 1100 && display.ends_with(" 1 nil]"), "{display}");
}

#[tokio::test]
async fn tasks_are_done_once_and_steps_are_noted() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = lisp().journaling(true).plan(["count", "sum"]).tool("t", counting(&runs));
    let (step, requests) = run_with(
        agent,
        vec![
            fenced("(task \"rows\" (tool/t {})) (step-done \"count\" \"3 rows\") (oops)"),
            fenced("(count (task \"rows\" (tool/t {})))"),
            fenced("(step-done \"count\" \"again\") (return *1)"),
        ],
        |_| {},
    )
    .await;
    assert!(requests[0].system.contains("<plan>\n1. count\n2. sum\n</plan>"));
    assert_eq!(step.value, Some(json!(3)), "{:?}", step.fail);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(step.journal.tasks[0].0, "rows");
    assert!(step.journal.summaries.contains(&("count".into(), "again".into())), "{:?}", step.journal);
}

#[tokio::test]
async fn long_conversations_are_shortened() {
    let compaction = Compaction { trigger_turns: Some(2), keep_recent_turns: 1, ..Compaction::default() };
    let answers = vec![fenced("1"), fenced("2"), fenced("3"), fenced("(return *1)")];
    let (step, requests) = run_with(lisp().compaction(compaction), answers, |_| {}).await;
    assert_eq!(step.value, Some(json!(3)));
    assert_eq!(requests.iter().map(|request| request.messages.len()).collect::<Vec<_>>(), [1, 3, 5, 3]);
    assert_eq!(step.usage.compactions, 1);
    assert!(
        matches!(&requests[3].messages[0], Message::User { content, .. } if content.contains("<mission>"))
    );
}

#[tokio::test]
async fn unreadable_values_are_no_answers() {
    let step =
        run(by_tool().max_turns(2), vec![eval("a", "(return inc)"), eval("b", "(return #{1 2})")]).await;
    assert_eq!(step.value, Some(json!([1, 2])));
    assert_eq!(results(&step)[0].1["reason"], "runtime_error");
}
