//! The events of a run.

use super::*;
use crate::agent::{Output, Transport};
use crate::telemetry::{Event, Scope};
use crate::tool::Expose;
use ptc_base::sync::Mutex;

type Seen = Arc<Mutex<Vec<(Scope, &'static str, Json)>>>;

fn observer(seen: &Seen) -> Arc<dyn crate::telemetry::Observer> {
    let seen = seen.clone();
    Arc::new(move |scope: &Scope, event: &Event<'_>| {
        seen.lock().push((scope.clone(), event.name(), event.fields()));
    })
}

#[tokio::test]
async fn the_transcript_is_told_event_by_event() {
    let runs = Arc::new(AtomicU32::new(0));
    let seen = Seen::default();
    let tool = counting(&runs).expose(Expose::Both).cache(true);
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .name("support")
        .tool("search_logs", tool);
    let (step, _) = run_with(
        agent,
        vec![
            LlmResponse::calls(vec![call("a", "search_logs", json!({"query": "error code 42"}))]),
            eval("b", "(return {:total (count (tool/search_logs {:query \"error code 42\"}))})"),
            LlmResponse::text("3"),
        ],
        |options| options.observer = Some(observer(&seen)),
    )
    .await;
    assert_eq!(step.value, Some(json!("3")));
    let seen = seen.lock();
    let calls: Vec<_> = seen
        .iter()
        .filter(|(_, name, _)| *name == "tool.call")
        .map(|(_, _, fields)| (&fields["tool_name"], &fields["exposure_layer"], &fields["cached"]))
        .map(|(tool, layer, cached)| {
            (tool.as_str().unwrap(), layer.as_str().unwrap(), cached == &json!(true))
        })
        .collect();
    assert_eq!(
        calls,
        [("search_logs", "native", false), ("search_logs", "ptc_lisp", true), ("lisp_eval", "native", false)]
    );
    let fields: Vec<&Json> =
        seen.iter().filter(|(_, name, _)| *name == "tool.call").map(|(.., fields)| fields).collect();
    assert_eq!(fields[0]["full_result_cached"], true);
    assert_eq!(fields[0]["retained_bytes"], 61);
    assert_eq!(fields[0]["cache_key_hash"], fields[1]["cache_key_hash"]);
    assert_eq!(fields[0]["cache_key_hash"].as_str().unwrap().len(), 16);
    assert_eq!(fields[0]["result_preview_truncated"], false);
    let names: Vec<&str> =
        seen.iter().map(|(_, name, _)| *name).filter(|name| *name != "tool.call").collect();
    assert_eq!(
        names,
        [
            "run.start",
            "turn.start",
            "llm.start",
            "llm.stop",
            "tool.start",
            "tool.stop",
            "turn.stop",
            "turn.start",
            "llm.start",
            "llm.stop",
            "tool.start",
            "tool.stop",
            "turn.stop",
            "turn.start",
            "llm.start",
            "llm.stop",
            "turn.stop",
            "run.stop"
        ]
    );
    let scope = |at: usize| &seen[at].0;
    assert_eq!(scope(0).agent_name.as_deref(), Some("support"));
    assert_eq!((scope(0).agent_id.len(), scope(0).trace_id.len(), scope(0).span_id.len()), (8, 32, 8));
    assert_eq!(scope(1).parent_span_id.as_ref(), Some(&scope(0).span_id));
    assert_eq!(scope(2).parent_span_id.as_ref(), Some(&scope(1).span_id));
    assert_eq!(scope(2).span_id, scope(3).span_id);
}

#[tokio::test]
async fn refused_and_failed_calls_are_events_and_never_cached() {
    let runs = Arc::new(AtomicU32::new(0));
    let seen = Seen::default();
    let tool = counting(&runs).expose(Expose::Both).cache(true);
    let agent = Agent::builder("p")
        .output(Output::Text)
        .transport(Transport::ToolCall)
        .max_tool_calls(2)
        .tool("t", tool);
    let fails = || call("a", "t", json!({"fail": 1}));
    run_with(
        agent,
        vec![
            LlmResponse::calls(vec![fails(), call("b", "nope", json!({})), call("c", "t", json!({}))]),
            LlmResponse::text("done"),
        ],
        |options| options.observer = Some(observer(&seen)),
    )
    .await;
    let seen = seen.lock();
    let calls: Vec<_> = seen.iter().filter(|(_, name, _)| *name == "tool.call").collect();
    assert_eq!(calls.len(), 3);
    for (.., fields) in calls {
        assert_eq!((&fields["error"], &fields["cached"]), (&json!(true), &json!(false)), "{fields}");
    }
    let broken = seen.iter().find(|(_, name, _)| *name == "tool.exception").unwrap();
    assert_eq!(broken.2["message"], "no such index");
}

#[tokio::test]
async fn a_run_that_is_dropped_is_an_exception_and_observers_may_panic() {
    let seen = Seen::default();
    let mute = |_: LlmRequest| std::future::pending::<Result<LlmResponse, crate::llm::LlmError>>();
    let mut options = RunOptions::new(Arc::new(mute)).with_engine(engine());
    options.observer = Some(observer(&seen));
    let agent = Agent::builder("p").build().unwrap();
    let mut run = Box::pin(agent.run(options));
    assert!(futures_util::FutureExt::now_or_never(&mut run).is_none());
    drop(run);
    assert_eq!(seen.lock().last().unwrap().1, "run.exception");
    let (step, _) = run_with(Agent::builder("p").max_turns(1), vec![fenced("1")], |options| {
        options.observer = Some(Arc::new(|_: &Scope, _: &Event<'_>| panic!("deliberate")));
    })
    .await;
    assert_eq!(step.value, Some(json!(1)));
}
