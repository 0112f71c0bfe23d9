//! Programs that wait for people: where they are, and elsewhere (waiting.md 2 and 3).

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_host::engine::{
    Asker, CallRecord, CallStatus, Desk, Engine, EngineOptions, EvalOutcome, EvalRequest, Failure, Gate,
    HostCalls, Limits, Resume, ResumeFault, RunContext, RunPermit, SavedCall, Suspended, Verdict,
};
use ptc_host::questions::{
    Action, Answer, AnsweredBy, ArgumentsDigest, AskedCall, Channel, Form, Level, Mode, PendingQuestion,
    Question, QuestionId, QuestionKind, Unanswered,
};
use ptc_host::time::{self, Clock};
use ptc_test_support::wait_until_async;
use ptc_vm::Reason;
use ptc_vm::graph::WireWriter;
use ptc_vm::machine::{HostRequest, Payload, Reply};
use serde_json::value::RawValue;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Upstreams whose every call of `ask…` asks first; how often they were really called.
#[derive(Default)]
struct Asking {
    sent: AtomicU32,
}

/// A question about a call with these arguments.
fn question(tool: &str, arguments: &str) -> Question {
    let mut binding = [0; 32];
    for (at, byte) in tool.bytes().chain(arguments.bytes()).enumerate() {
        binding[at % 32] ^= byte.rotate_left(u32::try_from(at / 32).unwrap());
    }
    let kind = match tool {
        "ask_approval" => QuestionKind::Approval,
        "sign_in" | "signed_in" => QuestionKind::SignIn,
        _ => QuestionKind::Upstream,
    };
    if kind == QuestionKind::SignIn {
        binding = [9; 32];
    }
    Question {
        kind,
        message: format!("{tool} {arguments}"),
        mode: Mode::Form(Form::yes_or_no()),
        level: Level::Client,
        upstream: Some("s".into()),
        calls: vec![AskedCall {
            tool: tool.into(),
            arguments: arguments.into(),
            digest: ArgumentsDigest::new([7; 32]),
        }],
        policy_revision: "r".into(),
        binding,
    }
}

impl HostCalls for Asking {
    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let mut written = WireWriter::new();
        request.write(&mut written);
        let HostRequest::Upstream(call) = request else { panic!("{request:?}") };
        let tool = call.tool.unwrap();
        let arguments = String::from_utf8(call.arguments.unwrap().json.clone()).unwrap();
        run.calls.set(run.calls.get() + 1);
        let sent = self.sent.fetch_add(u32::from(tool == "plain"), Ordering::Relaxed);
        async move {
            let progress = desk.progress().map_or(0, |progress| progress[0]);
            let keep = match tool.as_str() {
                "ask_pinned" => None,
                _ => Some(SavedCall { request: written.into_bytes(), progress: Some(vec![progress + 1]) }),
            };
            if tool == "signed_in" {
                desk.tell_sign_ins(|| Some(question(&tool, &arguments)));
            }
            let text = match tool.as_str() {
                // It has come back, and need not ask any more.
                "signed_in" if progress > 0 => "\"done\"".to_owned(),
                "plain" => format!("\"sent {}\"", sent + 1),
                "many" => {
                    let questions = (0..20).map(|at| question(&format!("ask{at}"), &arguments)).collect();
                    desk.ask(questions, keep).await.len().to_string()
                }
                _ => match desk.ask(vec![question(&tool, &arguments)], keep).await.pop().unwrap() {
                    Ok(answer) => match answer.content {
                        // How often it had asked before its program was written.
                        Some(content) if tool == "ask_again" => format!("[{content},{progress}]"),
                        Some(content) => format!("[{content}]"),
                        None => format!("\"{}\"", answer.action.as_str()),
                    },
                    Err(Unanswered::TooMany) => return Reply::fault("cancelled", "too many"),
                    Err(_) => return Reply::fault("unanswerable", "nobody"),
                },
            };
            run.log.push(record(&tool));
            Reply::success(Payload::Json(text.into_bytes().into()))
        }
        .boxed_local()
    }
}

fn record(tool: &str) -> CallRecord {
    CallRecord {
        server: "s".into(),
        tool: tool.into(),
        args: Some("{}".into()),
        status: CallStatus::Ok,
        offset_ms: 1,
        duration_ms: 2,
        reason: None,
        error: None,
        result_bytes: Some(3),
        oversize: false,
        auth: None,
        sent: None,
        http_status: Some(200),
        overview: None,
        looked_at: false,
        blocks: None,
        argument_note: Some("note".into()),
        answer_note: None,
        sample: None,
        beginning: None,
        seen_shape: None,
        page: None,
    }
}

/// Answers with a number that grows, leaves, or both.
#[derive(Default)]
struct Person {
    leaves: bool,
    hesitates: Option<Duration>,
    most: Option<u32>,
    /// The questions that were open together.
    seen: Mutex<Vec<Vec<PendingQuestion>>>,
    held: Mutex<Vec<String>>,
    /// Numbers of questions whose answers came while the program was away.
    came: Mutex<Vec<u32>>,
}

fn accepted(content: &str) -> Answer {
    Answer {
        action: Action::Accept,
        content: Some(RawValue::from_string(content.to_owned()).unwrap()),
        by: AnsweredBy { channel: Channel::Client, name: Some("alice".into()) },
        at_ms: 7,
    }
}

/// An answer to each of these: the number of its question.
fn answers(open: &[PendingQuestion]) -> Vec<(QuestionId, Answer)> {
    open.iter().map(|open| (open.id, accepted(&open.id.number().to_string()))).collect()
}

impl Asker for Person {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        let (leaves, hesitation) = (self.leaves, time::sleep(self.hesitates.unwrap_or_default()));
        self.seen.lock().unwrap().push(open.clone());
        async move {
            hesitation.await;
            if leaves { Verdict::Leave } else { Verdict::Answered(answers(&open)) }
        }
        .boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        self.held.lock().unwrap().push(why);
        async move { answers(&open) }.boxed()
    }

    fn came(&self, id: QuestionId, question: &Question, answer: &Answer) {
        assert!(question.upstream.is_some() && answer.at_ms == 7);
        self.came.lock().unwrap().push(id.number());
    }

    fn most_questions(&self) -> u32 {
        self.most.unwrap_or(32)
    }
}

fn engine() -> Engine {
    Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
}

fn request(program: &str, upstreams: &Arc<Asking>, person: &Arc<Person>) -> EvalRequest {
    EvalRequest {
        upstreams: Some(upstreams.clone()),
        asker: Some(person.clone()),
        ..EvalRequest::new(program)
    }
}

/// Runs `program` with questions answered where it is.
async fn here(program: &str) -> (EvalOutcome, Arc<Person>) {
    let person = Arc::<Person>::default();
    let outcome = engine().eval(request(program, &Arc::default(), &person)).await;
    (outcome, person)
}

fn text(outcome: &EvalOutcome) -> &str {
    &outcome.result.as_ref().unwrap_or_else(|failure| panic!("{failure:?}")).text
}

/// Runs `program`, which leaves at each suspension, each time in an engine of its own. How often it left.
async fn elsewhere(program: &str, upstreams: &Arc<Asking>) -> (EvalOutcome, usize) {
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let mut outcome = engine().eval(request(program, upstreams, &person)).await;
    let mut left = 0;
    while let Some(suspended) = outcome.suspended.take() {
        left += 1;
        let Suspended { snapshot, questions } = *suspended;
        let resume = Resume { snapshot, answers: answers(&questions), gate: None };
        let again = EvalRequest { resume: Some(Arc::new(resume)), ..request(program, upstreams, &person) };
        outcome = engine().eval(again).await;
    }
    (outcome, left)
}

const CALL: &str = "(defn f [tool n] (:value (tool/call {:server \"s\" :tool tool :args {:n n}})))";

#[tokio::test]
async fn a_program_is_the_same_here_and_elsewhere() {
    for (body, waits) in [
        ("(f \"ask\" 1)", 1),
        ("[(f \"plain\" 1) (f \"ask\" 2) (f \"plain\" 3)]", 1),
        ("(do (println \"a\") (let [r (map (fn [n] (f \"ask\" n)) [1 2 3])] (println \"b\") r))", 3),
        ("(pmap (fn [n] [(f \"plain\" 0) (f (str \"ask\" n) n) (f \"ask\" (* 2 n))]) [1 2])", 2),
        ("(reduce (fn [sum n] (+ sum (first (f \"ask\" n)))) 0 (range 4))", 4),
        ("(pmap (fn [n] (f \"ask_approval\" n)) (range 9))", 1),
        ("(pmap (fn [n] (f \"ask_approval\" n)) (range 21))", 1),
        ("(pmap (fn [n] (f \"ask\" n)) (range 20))", 2),
        ("(f \"many\" 1)", 2),
        ("(pmap (fn [n] (f \"sign_in\" n)) (range 40))", 1),
        ("[(f \"sign_in\" 1) (f \"ask\" 2) (f \"sign_in\" 3)]", 2),
        ("(pmap (fn [n] (if (= n 1) (f \"ask\" n) (sleep-ms 20))) [1 2 3])", 1),
        ("(pmap (fn [n] (if (= n 1) (f \"sign_in\" n) [(f \"ask\" 1) (f \"sign_in\" 2)])) [1 2])", 1),
    ] {
        let program = format!("{CALL} {body}");
        let (want, person) = here(&program).await;
        assert_eq!(person.seen.lock().unwrap().len(), waits, "{body}");
        let upstreams = Arc::<Asking>::default();
        let (got, left) = elsewhere(&program, &upstreams).await;
        assert_eq!(left, waits, "{body}");
        assert_eq!(text(&got), text(&want), "{body}");
        assert_eq!((&got.prints, got.steps), (&want.prints, want.steps), "{body}");
        let calls = |outcome: &EvalOutcome| -> Vec<(String, Option<u64>)> {
            let records = outcome.upstream_calls.iter();
            records.map(|record| (record.tool.clone(), record.result_bytes)).collect()
        };
        let (mut got_calls, mut want_calls) = (calls(&got), calls(&want));
        got_calls.sort();
        want_calls.sort();
        assert_eq!(got_calls, want_calls, "{body}");
        let sent = upstreams.sent.load(Ordering::Relaxed);
        assert_eq!(
            sent as usize,
            body.matches("plain").count().min(2) * if body.contains("pmap") { 2 } else { 1 }
        );
    }
}

#[tokio::test]
async fn approvals_of_one_tool_are_one_question_of_at_most_ten_calls() {
    let (outcome, person) =
        here(&format!("{CALL} (count (pmap (fn [n] (f \"ask_approval\" n)) (range 23)))")).await;
    assert_eq!(text(&outcome), "23");
    let seen = person.seen.lock().unwrap();
    let calls: Vec<usize> = seen[0].iter().map(|open| open.question.calls.len()).collect();
    assert_eq!(calls, [10, 10, 3]);
    assert!(
        seen[0][0]
            .question
            .message
            .starts_with("Allow 10 call(s) of ask_approval at s?\n{\"n\":0}\n{\"n\":1}")
    );
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn a_sign_in_is_one_question_of_a_program() {
    let body = "[(pmap (fn [n] (f \"sign_in\" n)) (range 400)) (f \"sign_in\" 7)]";
    let (outcome, person) = here(&format!("{CALL} (frequencies (apply concat {body}))")).await;
    assert_eq!(text(&outcome), "{1 1 [1] 400}");
    let seen = person.seen.lock().unwrap();
    let ids: Vec<Vec<u32>> =
        seen.iter().map(|open| open.iter().map(|open| open.id.number()).collect()).collect();
    assert_eq!(ids, [[1]], "asked once, and the same for the call behind it");
}

/// Answers what is no sign-in, and that later.
#[derive(Default)]
struct Slow {
    seen: Mutex<Vec<Vec<u32>>>,
}

impl Asker for Slow {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        let mut seen = self.seen.lock().unwrap();
        seen.push(open.iter().map(|open| open.id.number()).collect());
        let mut now: Vec<PendingQuestion> = open.clone();
        now.retain(|open| open.question.kind != QuestionKind::SignIn);
        let answered = if now.is_empty() { open } else { now };
        std::future::ready(Verdict::Answered(answers(&answered))).boxed()
    }

    fn hold(&self, _: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        panic!("{why}")
    }
}

#[tokio::test]
async fn a_call_joins_the_sign_in_that_is_asked_for_already() {
    let body = "(pmap (fn [n] (if (= n 1) (f \"sign_in\" n) [(f \"ask\" 1) (f \"sign_in\" 2)])) [1 2])";
    let slow = Arc::<Slow>::default();
    let program = format!("{CALL} {body}");
    let request = EvalRequest {
        upstreams: Some(Arc::<Asking>::default()),
        asker: Some(slow.clone()),
        ..EvalRequest::new(program)
    };
    assert_eq!(text(&engine().eval(request).await), "[[1] [[2] [1]]]");
    assert_eq!(*slow.seen.lock().unwrap(), [vec![1, 2], vec![1]]);
}

#[tokio::test]
async fn a_sign_in_that_was_made_meanwhile_is_told_of_although_nobody_asks_again() {
    let upstreams = Arc::<Asking>::default();
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let program = format!("{CALL} (f \"signed_in\" 1)");
    let mut outcome = engine().eval(request(&program, &upstreams, &person)).await;
    let Suspended { snapshot, questions } = *outcome.suspended.take().expect("it leaves");
    assert_eq!(questions[0].question.kind, QuestionKind::SignIn);
    let resume = Resume { snapshot, answers: answers(&questions), gate: None };
    let again = EvalRequest { resume: Some(Arc::new(resume)), ..request(&program, &upstreams, &person) };
    assert_eq!(text(&engine().eval(again).await), "\"done\"");
    assert_eq!(*person.came.lock().unwrap(), [1], "once");
}

#[tokio::test]
async fn long_arguments_have_a_question_of_their_own() {
    let long = "(apply str (repeat (if (= n 1) 3000 10) \"x\"))";
    let body = format!("(count (pmap (fn [n] (f \"ask_approval\" {long})) (range 12)))");
    let (outcome, person) = here(&format!("{CALL} {body}")).await;
    assert_eq!(calls_of(&person), [vec![10, 1, 1]]);
    assert_eq!(text(&outcome), "12");
}

/// How many calls each question was about, in each round.
fn calls_of(person: &Person) -> Vec<Vec<usize>> {
    let seen = person.seen.lock().unwrap();
    seen.iter().map(|open| open.iter().map(|open| open.question.calls.len()).collect()).collect()
}

#[tokio::test]
async fn at_most_sixteen_questions_are_open_and_no_number_is_used_twice() {
    let (_, person) = here(&format!("{CALL} (pmap (fn [n] (f \"ask\" n)) (range 20))")).await;
    let seen = person.seen.lock().unwrap();
    let ids: Vec<Vec<u32>> =
        seen.iter().map(|open| open.iter().map(|open| open.id.number()).collect()).collect();
    assert_eq!(ids, [(1..=16).collect::<Vec<u32>>(), (17..=20).collect()]);
}

#[tokio::test]
async fn nobody_is_asked_where_nobody_can_be() {
    let upstreams = Arc::<Asking>::default();
    let program = format!("{CALL} (tool/call {{:server \"s\" :tool \"ask\" :args {{}}}})");
    let alone = EvalRequest { upstreams: Some(upstreams), ..EvalRequest::new(program) };
    let outcome = engine().eval(alone).await;
    assert_eq!(text(&outcome), "{:message \"nobody\" :ok false :reason :unanswerable}");
}

#[tokio::test]
async fn what_cannot_leave_waits_where_it_is() {
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let program = format!("{CALL} (f \"ask_pinned\" 1)");
    let outcome = engine().eval(request(&program, &Arc::default(), &person)).await;
    assert_eq!(text(&outcome), "[1]");
    assert_eq!(*person.held.lock().unwrap(), ["an upstream holds a connection open with its question"]);
}

#[tokio::test]
async fn a_program_asks_no_more_than_it_may() {
    let person = Arc::new(Person { most: Some(3), ..Person::default() });
    let program = format!(
        "{CALL} (map (fn [n] (:reason (tool/call {{:server \"s\" :tool \"ask\" :args {{:n n}}}}))) (range 5))"
    );
    let outcome = engine().eval(request(&program, &Arc::default(), &person)).await;
    assert_eq!(text(&outcome), "[nil nil nil :cancelled :cancelled]");
}

#[tokio::test]
async fn calls_that_ask_are_kept_up_to_a_bound() {
    let person = Arc::new(Person { most: Some(2), ..Person::default() });
    let call = "(tool/call {:server \"s\" :tool \"ask_approval\" :args {:n n}})";
    let program = format!("{CALL} (frequencies (pmap (fn [n] (:ok {call})) (range 100)))");
    let outcome = engine().eval(request(&program, &Arc::default(), &person)).await;
    assert_eq!(text(&outcome), "{false 80 true 20}");
}

/// Lets nobody pass.
struct Shut;

impl Gate for Shut {
    fn pass(&self) -> BoxFuture<'static, Result<(), Failure>> {
        async { Err(Failure::new(Reason::InvalidConfig, "this request was already continued")) }.boxed()
    }
}

#[tokio::test]
async fn nothing_runs_behind_a_gate_that_stays_shut() {
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let upstreams = Arc::<Asking>::default();
    let program = format!("{CALL} (f \"ask\" 1) (f \"plain\" 1)");
    let mut outcome = engine().eval(request(&program, &upstreams, &person)).await;
    let Suspended { snapshot, questions } = *outcome.suspended.take().unwrap();
    let resume = Resume { snapshot, answers: answers(&questions), gate: Some(Arc::new(Shut)) };
    let again = EvalRequest { resume: Some(Arc::new(resume)), ..request(&program, &upstreams, &person) };
    let outcome = engine().eval(again).await;
    assert_eq!(outcome.result.unwrap_err().message, "this request was already continued");
    assert_eq!(upstreams.sent.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_question_without_an_answer_is_asked_again_under_its_number() {
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let upstreams = Arc::<Asking>::default();
    let program = format!("{CALL} (pmap (fn [n] (f \"ask_again\" n)) [1 2])");
    let mut outcome = engine().eval(request(&program, &upstreams, &person)).await;
    let Suspended { snapshot, questions } = *outcome.suspended.take().unwrap();
    let resume = Resume { snapshot, answers: answers(&questions[1..]), gate: None };
    let again = EvalRequest { resume: Some(Arc::new(resume)), ..request(&program, &upstreams, &person) };
    let mut outcome = engine().eval(again).await;
    let Suspended { snapshot, questions: open } = *outcome.suspended.take().unwrap();
    assert_eq!(open, questions[..1]);
    let resume = Resume { snapshot, answers: answers(&open), gate: None };
    let again = EvalRequest { resume: Some(Arc::new(resume)), ..request(&program, &upstreams, &person) };
    assert_eq!(text(&engine().eval(again).await), "[[1 2] [2 1]]");
    // Each answer is told once.
    assert_eq!(*person.came.lock().unwrap(), [2, 1]);
}

#[tokio::test]
async fn waiting_for_people_is_not_the_programs_time() {
    const HOUR: Duration = Duration::from_secs(3600);
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let person = Arc::new(Person { hesitates: Some(2 * HOUR), ..Person::default() });
    let program = format!("{CALL} (f \"ask\" 1)");
    let limits = Limits { timeout: HOUR, ..Limits::plain() };
    let request = EvalRequest { limits, ..request(&program, &Arc::default(), &person) };
    let engine = engine();
    let (outcome, ()) = tokio::join!(engine.eval(request), async {
        wait_until_async("somebody is asked", async || !person.seen.lock().unwrap().is_empty()).await;
        clock.advance(2 * HOUR);
    });
    assert_eq!(text(&outcome), "[1]");
    assert!(outcome.duration < HOUR, "{:?}", outcome.duration);
}

/// Counts how often its program began to do nothing but sleep.
#[derive(Default)]
struct Naps(AtomicU32);

impl RunPermit for Naps {
    fn lend(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn take_back(&self) {}
}

#[tokio::test]
async fn what_a_program_has_slept_comes_along() {
    const NAP: Duration = Duration::from_secs(10);
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let engine = engine();
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let upstreams = Arc::<Asking>::default();
    let naps = Arc::<Naps>::default();
    let program =
        format!("{CALL} (dotimes [_ 3] (sleep-ms 10000)) (f \"ask\" 1) (dotimes [_ 4] (sleep-ms 10000))");
    let limits = Limits { timeout: 10 * NAP, ..Limits::plain() };
    let request =
        || EvalRequest { limits, permit: Some(naps.clone()), ..request(&program, &upstreams, &person) };
    let after_naps = async |until: u32| {
        for nap in naps.0.load(Ordering::SeqCst)..until {
            wait_until_async("the program sleeps", async || naps.0.load(Ordering::SeqCst) > nap).await;
            clock.advance(NAP);
        }
    };
    let (mut outcome, ()) = tokio::join!(engine.eval(request()), after_naps(3));
    let Suspended { snapshot, questions } = *outcome.suspended.take().unwrap();
    let resume = Resume { snapshot, answers: answers(&questions), gate: None };
    let again = EvalRequest { resume: Some(Arc::new(resume)), ..request() };
    let (outcome, ()) = tokio::join!(engine.eval(again), after_naps(6));
    let failure = outcome.result.unwrap_err();
    assert_eq!(
        failure.message,
        "runtime_error: sleep-ms waits at most 60000 milliseconds in all of a program"
    );
    assert!(outcome.duration >= 6 * NAP, "the time is the program's: {:?}", outcome.duration);
}

#[tokio::test]
async fn damaged_programs_are_refused_in_one_sentence() {
    let person = Arc::new(Person { leaves: true, ..Person::default() });
    let upstreams = Arc::<Asking>::default();
    let program = format!("{CALL} (pmap (fn [n] (f \"ask\" n)) [1 2])");
    let mut outcome = engine().eval(request(&program, &upstreams, &person)).await;
    let Suspended { snapshot, questions } = *outcome.suspended.take().unwrap();
    let engine = engine();
    let mut refused = 0;
    for at in 0..snapshot.len() {
        for bytes in [snapshot[..at].to_vec(), {
            let mut bytes = snapshot.to_vec();
            bytes[at] ^= 1 << (at % 8);
            bytes
        }] {
            let resume = Resume { snapshot: bytes.into(), answers: answers(&questions), gate: None };
            let again =
                EvalRequest { resume: Some(Arc::new(resume)), ..request(&program, &upstreams, &person) };
            let outcome = engine.eval(again).await;
            if let Some(fault) = outcome.resume_fault {
                refused += 1;
                assert_eq!(outcome.result.unwrap_err().message, fault.to_string());
            }
        }
    }
    assert!(refused > snapshot.len(), "{refused} of {}", 2 * snapshot.len());
    let other = EvalRequest {
        resume: Some(Arc::new(Resume { snapshot, answers: Vec::new(), gate: None })),
        ..request("(+ 1 2)", &upstreams, &person)
    };
    let fault = engine.eval(other).await.resume_fault;
    assert_eq!(fault, Some(ResumeFault::OtherBuild), "another program");
}

#[tokio::test]
async fn an_answer_that_is_there_needs_nobody_who_could_be_asked() {
    let program = format!(
        "{CALL} [(f \"ask\" 1) (:reason (tool/call {{:server \"s\" :tool \"ask\" :args {{:n 2}}}}))]"
    );
    let (upstreams, person) = (Arc::default(), Arc::new(Person { leaves: true, ..Person::default() }));
    let suspended = engine().eval(request(&program, &upstreams, &person)).await.suspended.unwrap();
    let resume = Resume { snapshot: suspended.snapshot, answers: answers(&suspended.questions), gate: None };
    let again = request(&program, &upstreams, &person);
    let again = EvalRequest { asker: None, resume: Some(Arc::new(resume)), ..again };
    assert_eq!(text(&engine().eval(again).await), "[[1] :unanswerable]");
}
