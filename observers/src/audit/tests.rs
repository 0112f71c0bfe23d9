//! The lines of the file.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::engine::{Asker, EvalId, Verdict};
use ptc_host::questions::approval::{Decision, asked_call, message};
use ptc_host::questions::{Action, ArgumentsDigest, Channel, Form, Level, Mode};
use ptc_host::upstream::FaultReason;
use ptc_mcp::json::{Value, json};
use serde_json::value::RawValue;

use super::*;

/// Answers all with this decision, from the console.
struct Person(Decision);

impl Asker for Person {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        let answer = Answer {
            action: Action::Accept,
            content: RawValue::from_string(self.0.content().to_owned()).ok(),
            by: AnsweredBy { channel: Channel::Console, name: Some("bob".into()) },
            at_ms: 0,
        };
        let answers = open.iter().map(|open| (open.id, answer.clone())).collect();
        async move { Verdict::Answered(answers) }.boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        let Some(Verdict::Answered(answers)) = self.ask(open).now_or_never() else { unreachable!() };
        async move { answers }.boxed()
    }
}

#[test]
fn who_approved_what_is_a_line_without_the_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = Arc::new(AuditLog::open(&path).unwrap());
    let arguments = br#"{"path":"/a secret place"}"#;
    let digest = ArgumentsDigest::of_sent(arguments).now_or_never().unwrap();
    let call = asked_call("delete", arguments, digest).unwrap();
    let question = Question {
        kind: QuestionKind::Approval,
        message: message("fs", &call),
        mode: Mode::Form(Form::yes_or_no()),
        level: Level::OutOfBand,
        upstream: Some("fs".into()),
        calls: vec![call],
        policy_revision: "r".into(),
        binding: [0; 32],
    };
    let open = vec![PendingQuestion::new(QuestionId::new(1), question)];
    let run_id: Arc<str> = "run_a".into();
    let subject =
        Subject { principal: "alice".into(), eval: EvalId::from_number(1), run_id: Some(run_id.clone()) };
    let asker = log.clone().over(subject, Arc::new(Person(Decision::Allow)));
    let verdict = asker.ask(open.clone()).now_or_never().unwrap();
    assert!(matches!(verdict, Verdict::Answered(answers) if answers.len() == 1));
    // A second time it is the same question.
    asker.hold(open, "a connection is open".to_owned()).now_or_never().unwrap();
    let by = AnsweredBy { channel: Channel::Console, name: Some("bob".into()) };
    let called = AuditedCall {
        principal: Some("alice"),
        eval: Some(EvalId::from_number(1)),
        run_id: Some("run_a"),
        upstream: "fs",
        tool: "delete",
        arguments: digest,
        fault: Some(FaultReason::Timeout),
        duration_ms: 7,
        approved: Some(&by),
    };
    log.called(&called);
    log.called(&AuditedCall { fault: None, approved: None, principal: None, run_id: None, ..called });
    let request = br#"{"messages":"a secret place"}"#;
    let sampled = AuditedSampling {
        principal: Some("alice"),
        eval: EvalId::from_number(1),
        run_id: Some("run_1"),
        upstream: "fs",
        tool: "sum_up",
        request: ArgumentsDigest::of_sent(request).now_or_never().unwrap(),
        model: Some("m-1"),
        tokens: Some((10, 2)),
        outcome: "ok",
        duration_ms: 7,
    };
    log.sampled(&sampled);
    log.sampled(&AuditedSampling { model: None, tokens: None, outcome: "cancelled", ..sampled });
    log.flush(Duration::from_secs(30));

    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("secret"), "{text}");
    let mut lines: Vec<Value> = text.lines().map(|line| ptc_mcp::json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        let Value::Object(members) = line else { panic!("{line}") };
        assert!(members.shift_remove("at").unwrap().as_str().unwrap().ends_with('Z'));
    }
    let digest = format!("v2:{}", sha256_hex(arguments));
    let question = json!({"kind": "question", "principal": "alice", "run": "ev_00000001", "run_id": "run_a", "question": "q1", "question_kind": "approval",
        "level": "out_of_band", "upstream": "fs", "tool": "delete", "arguments_digests": [digest]});
    let mut answer = question.clone();
    answer["kind"] = json!("answer");
    answer["action"] = json!("accept");
    answer["decision"] = json!("allow");
    answer["by"] = json!({"channel": "console", "name": "bob"});
    let failed = json!({"kind": "upstream_call", "principal": "alice", "run": "ev_00000001", "run_id": "run_a", "upstream": "fs", "tool": "delete",
        "arguments_digest": digest, "outcome": "timeout", "duration_ms": 7, "by": {"channel": "console", "name": "bob"}});
    let mut made = failed.clone();
    made["principal"] = json!("process");
    made["outcome"] = json!("ok");
    let Value::Object(members) = &mut made else { unreachable!() };
    members.shift_remove("by");
    members.shift_remove("run_id");
    let sampled = json!({"kind": "sampling", "principal": "alice", "run": "ev_00000001", "run_id": "run_1", "upstream": "fs", "tool": "sum_up",
        "request_digest": format!("v2:{}", sha256_hex(request)), "model": "m-1", "input_tokens": 10, "output_tokens": 2, "outcome": "ok", "duration_ms": 7});
    let mut given_up = sampled.clone();
    given_up["outcome"] = json!("cancelled");
    let Value::Object(members) = &mut given_up else { unreachable!() };
    for key in ["model", "input_tokens", "output_tokens"] {
        members.shift_remove(key);
    }
    assert_eq!(lines, [question, answer.clone(), answer, failed, made, sampled, given_up]);
}
