//! A program that has waited for people goes on with the authority that it is resumed with.

use super::program::{World, text};
use ptc_host::aggregator::SnapshotMode;
use ptc_host::engine::{Asker, EvalOutcome, EvalRequest, Limits, Resume, Verdict};
use ptc_host::questions::{Action, Answer, AnsweredBy, Channel, PendingQuestion, QuestionId};
use ptc_host::state::time_of_day_by;
use ptc_host::time::Clock;
use ptc_mcp::json::json;
use serde_json::value::RawValue;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Has programs wait elsewhere.
struct Leaves;

impl Asker for Leaves {
    fn ask(&self, _open: Vec<PendingQuestion>) -> Pin<Box<dyn Future<Output = Verdict> + Send>> {
        Box::pin(std::future::ready(Verdict::Leave))
    }

    fn hold(
        &self,
        _open: Vec<PendingQuestion>,
        why: String,
    ) -> Pin<Box<dyn Future<Output = Vec<(QuestionId, Answer)>> + Send>> {
        panic!("{why}")
    }
}

/// A program of a principal that no rule names, with the authority of `authority`.
fn request(world: &World, program: &str, authority: &str) -> EvalRequest {
    EvalRequest {
        limits: Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() },
        upstreams: Some(world.aggregator.clone()),
        asker: Some(Arc::new(Leaves)),
        principal: Some("https://issuer|ann".into()),
        authority: Some(world.policy.of_name(authority)),
        ..EvalRequest::new(program)
    }
}

/// The outcome of a program that asks once, as `ann`, and is resumed as `resumed`, with its question accepted.
async fn resumed_as(world: &World, program: &str, content: &str, resumed: &str) -> EvalOutcome {
    let waits = world.engine.eval(request(world, program, "ann")).await;
    let suspended = waits.suspended.unwrap_or_else(|| panic!("it waits: {:?}", waits.result));
    let answer = Answer {
        action: Action::Accept,
        content: Some(RawValue::from_string(content.to_owned()).expect("JSON")),
        by: AnsweredBy { channel: Channel::Console, name: None },
        at_ms: time_of_day_by(&Clock::current()),
    };
    let answers = suspended.questions.iter().map(|asked| (asked.id, answer.clone())).collect();
    let resume = Resume { snapshot: suspended.snapshot, answers, gate: None };
    let request = EvalRequest { resume: Some(Arc::new(resume)), ..request(world, program, resumed) };
    world.engine.eval(request).await
}

#[tokio::test]
async fn a_resumed_program_sees_what_its_caller_sees_then() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    let program = r#"(do (ask {:message "Go on?"}) (map :name (tool/servers)))"#;
    let as_ann = resumed_as(&world, program, "{}", "ann").await;
    assert_eq!(text(&as_ann), r#"["zq7seen"]"#);
    let as_ben = resumed_as(&world, program, "{}", "ben").await;
    assert_eq!(text(&as_ben), "[]");
}

#[tokio::test]
async fn a_call_that_waited_for_its_approval_is_judged_anew() {
    let world = World::new(SnapshotMode::Frozen, &json!({"approve": "writes"})).await;
    let program = r#"(:value (tool/call {:server "zq7seen" :tool "zq7visible" :args {:path "/reports/a"}}))"#;
    let allow = r#"{"decision":"allow"}"#;
    let as_ann = resumed_as(&world, program, allow, "ann").await;
    assert_eq!(text(&as_ann), r#"{"path" "/reports/a"}"#);
    let as_ben = resumed_as(&world, program, allow, "ben").await;
    assert!(text(&as_ben).starts_with("!no upstream 'zq7seen' configured"), "{}", text(&as_ben));
    assert!(as_ben.upstream_calls.is_empty(), "nothing was sent");
}
