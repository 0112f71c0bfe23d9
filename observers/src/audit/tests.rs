//! The lines of the file.

use std::time::Duration;

use std::net::IpAddr;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::engine::{Asker, EvalId, Verdict};
use ptc_host::questions::approval::{Decision, asked_call, message};
use ptc_host::questions::{Action, ArgumentsDigest, Channel, Form, Level, Mode};
use ptc_host::upstream::FaultReason;
use ptc_mcp::json::{Value, json};
use serde_json::value::RawValue;

use super::*;
use crate::metrics::Format;
use ptc_host::time::Clock;
use ptc_protocol::operator::OperatorUse;

/// As long as a disk may take.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let log = Arc::new(AuditLog::open(&path, AuditFull::Stop, AuditSync::Interval).unwrap());
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
    log.flush(PATIENCE);

    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("secret"), "{text}");
    // The first one is about the log itself.
    let mut lines: Vec<Value> =
        text.lines().skip(1).map(|line| ptc_mcp::json::from_str(line).unwrap()).collect();
    for (number, line) in lines.iter_mut().enumerate() {
        let Value::Object(members) = line else { panic!("{line}") };
        assert_eq!(members.shift_remove("seq"), Some(json!(number + 2)));
        assert_eq!(members.shift_remove("prev").unwrap().as_str().unwrap().len(), 64);
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

/// The members of the lines of that kind in a log, without those that each has.
fn of_kind(path: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| ptc_mcp::json::from_str::<Value>(line).unwrap());
    let of_kind = lines.filter(|line| line["kind"] == kind);
    of_kind
        .map(|mut line| {
            let Value::Object(members) = &mut line else { unreachable!() };
            for key in ["at", "kind", "seq", "prev"] {
                members.shift_remove(key);
            }
            line
        })
        .collect()
}

#[test]
fn callers_are_recorded_once_an_hour_and_refusals_by_their_number() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditFull::Stop, AuditSync::None).unwrap();
    let from: IpAddr = "192.0.2.7".parse().unwrap();
    for _ in 0..100 {
        log.signed_in("ann", SignInWay::Token, from);
        log.sign_in_refused("unknown", None, from);
    }
    clock.advance(Duration::from_secs(3600));
    log.signed_in("ann", SignInWay::Token, from);
    log.sign_in_refused("failed", Some(SignInWay::Page), from);
    log.flush(PATIENCE);
    let lines = of_kind(&path, "sign_in");
    let accepted = json!({"principal": "ann", "by": "token", "from": "192.0.2.7", "outcome": "ok"});
    assert_eq!(lines.iter().filter(|line| **line == accepted).count(), 2);
    let refused = json!({"from": "192.0.2.7", "outcome": "unknown"});
    assert_eq!(lines.iter().filter(|line| **line == refused).count(), 10);
    let last = json!({"by": "page", "from": "192.0.2.7", "outcome": "failed", "left_out": 90});
    assert_eq!(lines.last(), Some(&last));
    assert_eq!(lines.len(), 13);
}

#[test]
fn what_operators_do_is_a_line_each_and_what_pages_repeat_is_counted() {
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditFull::Stop, AuditSync::None).unwrap();
    for _ in 0..3 {
        log.operator("olga", OperatorUse::SeeRuns, None);
        log.operator(
            "olga",
            OperatorUse::AnswerRun,
            Some(OperatorSubject::Run { owner: "ann", run_id: "run_1" }),
        );
    }
    clock.advance(Duration::from_secs(600));
    log.operator("olga", OperatorUse::SeeRuns, None);
    log.flush(PATIENCE);
    let seen = |repeats: u64| match repeats {
        0 => json!({"principal": "olga", "use": "see_runs"}),
        _ => json!({"principal": "olga", "use": "see_runs", "repeats": repeats}),
    };
    let answered = json!({"principal": "olga", "use": "answer_run", "owner": "ann", "run_id": "run_1"});
    assert_eq!(of_kind(&path, "operator"), [seen(0), answered.clone(), answered.clone(), answered, seen(2)]);
}

#[test]
fn reloads_say_what_has_changed_or_why_nothing_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditFull::Stop, AuditSync::None).unwrap();
    let changes = [("policy", "3 rules".to_owned()), ("tokens", "1 added, 2 removed".to_owned())];
    log.reloaded(&ReloadRecord { by: "SIGHUP", refused: None, changes: &changes });
    log.reloaded(&ReloadRecord { by: "SIGHUP", refused: Some("policy: line 3: …"), changes: &[] });
    log.flush(PATIENCE);
    let applied = json!({"by": "SIGHUP", "outcome": "applied", "changes": {"policy": "3 rules", "tokens": "1 added, 2 removed"}});
    let refused = json!({"by": "SIGHUP", "outcome": "refused", "reason": "policy: line 3: …"});
    assert_eq!(of_kind(&path, "reload"), [applied, refused]);
}

#[test]
fn calls_stop_while_nothing_can_be_written_and_no_line_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditFull::Stop, AuditSync::None).unwrap();
    let from: IpAddr = "192.0.2.7".parse().unwrap();
    assert_eq!(CallAudit::stop(&log), None);
    log.switch(FreshAuditFile(AuditFile::over("/dev/full")));
    for _ in 0..3 {
        log.signed_out("ann", from);
    }
    log.flush(PATIENCE);
    let why = CallAudit::stop(&log).unwrap();
    assert!(why.contains("No space left on device") && why.contains("not of the call"), "{why}");
    let mut metrics = Exposition::new(Format::Text);
    log.write_metrics(&mut metrics);
    let text = metrics.finish();
    assert!(text.contains("ptc_audit_up 0") && text.contains("ptc_audit_refused_calls_total 1"), "{text}");
    std::fs::rename(&path, folder.path().join("audit.jsonl.1")).unwrap();
    log.switch(log.reopened().unwrap().unwrap());
    log.flush(PATIENCE);
    assert_eq!(CallAudit::stop(&log), None);
    assert_eq!(of_kind(&path, "sign_out").len(), 3);
}

#[test]
fn lines_that_may_be_lost_are_counted_and_the_next_one_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let log = AuditLog::open(&path, AuditFull::Drop, AuditSync::None).unwrap();
    log.switch(FreshAuditFile(AuditFile::over("/dev/full")));
    log.signed_out("ann", "192.0.2.7".parse().unwrap());
    log.flush(PATIENCE);
    assert_eq!(CallAudit::stop(&log), None, "calls go on");
    let mut metrics = Exposition::new(Format::Text);
    log.write_metrics(&mut metrics);
    let text = metrics.finish();
    assert!(text.contains("ptc_audit_up 0") && text.contains(r#"{outcome="lost"} 1"#), "{text}");
    std::fs::rename(&path, folder.path().join("audit.jsonl.1")).unwrap();
    log.switch(log.reopened().unwrap().unwrap());
    log.flush(PATIENCE);
    let lines = of_kind(&path, "log");
    assert_eq!((lines.len(), &lines[0]["event"], &lines[0]["lost"]), (1, &json!("opened"), &json!(1)));
}

#[test]
fn servers_of_clients_write_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let open = || AuditLog::open_beside_others(&path, AuditFull::Stop, AuditSync::None).unwrap();
    let logs = [open(), open(), open()];
    logs.iter().for_each(|log| log.close(Duration::from_secs(5)));
    drop(logs);
    let names = ["audit.jsonl", "audit-2.jsonl", "audit-3.jsonl"];
    let chains = names.map(|name| {
        let text = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let first: Value = ptc_mcp::json::from_str(text.lines().next().unwrap()).unwrap();
        first["chain"].as_str().unwrap().to_owned()
    });
    assert!(chains[0] != chains[1] && chains[1] != chains[2] && chains[0] != chains[2], "{chains:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    assert_eq!(numbered(Path::new("a/audit"), 2), Path::new("a/audit-2"));
}
