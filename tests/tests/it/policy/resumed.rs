//! A program that has waited for people goes on with the authority that it is resumed with.

use super::program::{World, text};
use super::rules;
use ptc_host::aggregator::SnapshotMode;
use ptc_host::engine::{Asker, EvalOutcome, EvalRequest, Limits, Resume, Verdict};
use ptc_host::policy::{CurrentPolicy, Policy};
use ptc_host::questions::{Action, Answer, AnsweredBy, Channel, PendingQuestion, Question, QuestionId};
use ptc_host::state::time_of_day_by;
use ptc_host::time::Clock;
use ptc_mcp::json::{Value, json};
use serde_json::value::RawValue;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Has programs wait elsewhere, and counts the answers that came meanwhile.
#[derive(Default)]
struct Leaves {
    came: AtomicUsize,
}

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

    fn came(&self, _id: QuestionId, question: &Question, _answer: &Answer) {
        assert!(question.calls.iter().all(|call| *call.tool == *"zq7visible"));
        self.came.fetch_add(1, Ordering::Relaxed);
    }
}

/// Keeps programs where they are, and lets another policy hold before it answers.
struct Stays {
    policy: Arc<CurrentPolicy>,
    next: Value,
    content: &'static str,
}

impl Asker for Stays {
    fn ask(&self, open: Vec<PendingQuestion>) -> Pin<Box<dyn Future<Output = Verdict> + Send>> {
        self.policy.replace(Policy::from_value(&self.next).expect("a right policy"));
        let answers = open.iter().map(|asked| (asked.id, accepted(self.content))).collect();
        Box::pin(std::future::ready(Verdict::Answered(answers)))
    }

    fn hold(
        &self,
        _open: Vec<PendingQuestion>,
        why: String,
    ) -> Pin<Box<dyn Future<Output = Vec<(QuestionId, Answer)>> + Send>> {
        panic!("{why}")
    }
}

fn accepted(content: &str) -> Answer {
    Answer {
        action: Action::Accept,
        content: Some(RawValue::from_string(content.to_owned()).expect("JSON")),
        by: AnsweredBy { channel: Channel::Console, name: None },
        at_ms: time_of_day_by(&Clock::current()),
    }
}

/// A program of a principal that no rule names, with the authority of `authority`.
fn request(world: &World, program: &str, authority: &str) -> EvalRequest {
    EvalRequest {
        limits: Limits { timeout: Duration::from_secs(60), ..Limits::aggregator() },
        upstreams: Some(world.aggregator.clone()),
        asker: Some(Arc::new(Leaves::default())),
        principal: Some("https://issuer|ann".into()),
        authority: Some(world.policy.of_name(authority)),
        ..EvalRequest::new(program)
    }
}

/// The outcome of a program that asks once, as `ann`, and is resumed as `resumed`, with its question accepted; and how many answers
/// are told of.
async fn resumed_as(world: &World, program: &str, content: &str, resumed: &str) -> (EvalOutcome, usize) {
    let waits = world.engine.eval(request(world, program, "ann")).await;
    let suspended = waits.suspended.unwrap_or_else(|| panic!("it waits: {:?}", waits.result));
    let answer = accepted(content);
    let answers = suspended.questions.iter().map(|asked| (asked.id, answer.clone())).collect();
    let resume = Resume { snapshot: suspended.snapshot, answers, gate: None };
    let asker = Arc::<Leaves>::default();
    let request = EvalRequest {
        resume: Some(Arc::new(resume)),
        asker: Some(asker.clone()),
        ..request(world, program, resumed)
    };
    let outcome = world.engine.eval(request).await;
    (outcome, asker.came.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_resumed_program_sees_what_its_caller_sees_then() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    let program = r#"(do (ask {:message "Go on?"}) (map :name (tool/servers)))"#;
    let (as_ann, told_ann) = resumed_as(&world, program, "{}", "ann").await;
    assert_eq!(text(&as_ann), r#"["zq7seen"]"#);
    let (as_ben, told_ben) = resumed_as(&world, program, "{}", "ben").await;
    assert_eq!(text(&as_ben), "[]");
    assert_eq!((told_ann, told_ben), (1, 1));
}

#[tokio::test]
async fn a_call_that_waited_for_its_approval_is_judged_anew() {
    let world = World::new(SnapshotMode::Frozen, &json!({"approve": "writes"})).await;
    let program = r#"(:value (tool/call {:server "zq7seen" :tool "zq7visible" :args {:path "/reports/a"}}))"#;
    let allow = r#"{"decision":"allow"}"#;
    let (as_ann, told_ann) = resumed_as(&world, program, allow, "ann").await;
    assert_eq!(text(&as_ann), r#"{"path" "/reports/a"}"#);
    let (as_ben, told_ben) = resumed_as(&world, program, allow, "ben").await;
    assert!(text(&as_ben).starts_with("!no upstream 'zq7seen' configured"), "{}", text(&as_ben));
    assert!(as_ben.upstream_calls.is_empty(), "nothing was sent");
    assert_eq!((told_ann, told_ben), (1, 1), "the answer is on record, whatever became of the call");
}

#[tokio::test]
async fn a_program_that_waited_in_its_process_is_judged_by_the_policy_of_the_moment() {
    let call = r#"(:value (tool/call {:server "zq7seen" :tool "zq7visible" :args {:path "/reports/a"}}))"#;
    let after_a_question = format!(r#"(do (ask {{:message "Go on?"}}) {call})"#);
    for (keys, program, content) in [
        (json!({"approve": "writes"}), call, r#"{"decision":"allow"}"#),
        (json!({}), &after_a_question, "{}"),
    ] {
        let narrow = |folder: &str| {
            let mut rules = rules("ann");
            rules["rules"][0]["upstreams"]["zq7seen"]["args"]["zq7visible"]["path"] =
                json!({"under": folder});
            rules
        };
        for (next, told) in [
            (rules("ann"), r#"{"path" "/reports/a"}"#),
            (narrow("/reports/a"), r#"{"path" "/reports/a"}"#),
            (narrow("/other"), "!argument 'path' of 'zq7seen.zq7visible' is not allowed for this caller"),
            (rules("ben"), "!no upstream 'zq7seen' configured"),
        ] {
            let world = World::new(SnapshotMode::Frozen, &keys).await;
            let asker = Stays { policy: world.policy.clone(), next, content };
            let request = EvalRequest { asker: Some(Arc::new(asker)), ..request(&world, program, "ann") };
            let outcome = world.engine.eval(request).await;
            assert!(text(&outcome).starts_with(told), "{told}: {}", text(&outcome));
            assert_eq!(outcome.upstream_calls.len(), usize::from(!told.starts_with('!')), "{told}");
        }
    }
}
