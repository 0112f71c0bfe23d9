//! The tests of a program: runs with given replies, without any upstream.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_host::aggregator::sent_pages;
use ptc_host::engine::{Asker, Desk, Engine, EvalRequest, HostCalls, RunContext, Verdict};
use ptc_host::questions::{Action, Answer, AnsweredBy, Channel, Mode, PendingQuestion, Question, QuestionId};
use ptc_host::sync::Mutex;
use ptc_host::text::clip;
use ptc_mcp::json::{Map, Value as Json, from_slice, from_str};
use ptc_vm::machine::{HostRequest, Payload, Reply, UpstreamCall};
use ptc_vm::paging::{CallFacts, Parameters};
use ptc_vm::value::ReplyWatch;
use ptc_vm::{Error, Reason};

use crate::program::KeptProgram;
use crate::run::text_of;
use crate::test_case::{ExpectedEnd, TestAnswer, TestCase, TestOutcome, TestReply};

/// Longest value that a report shows, in bytes.
const MAX_SHOWN: usize = 400;

/// What came of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestReport {
    /// How the test is called.
    pub title: String,
    /// The line where it stands.
    pub line: u32,
    /// What was not as expected; empty if it passed.
    pub failures: Vec<String>,
    /// Steps of the run.
    pub steps: u64,
    /// Calls of upstreams.
    pub calls: usize,
}

impl TestReport {
    /// What failed, in one sentence; `None` if it passed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let failed = !self.failures.is_empty();
        failed.then(|| format!("its test {:?} fails: {}", self.title, self.failures.join("; ")))
    }
}

/// The upstreams and the person of a test.
#[cfg(test)]
pub(crate) fn replaying(test: &TestCase) -> (Arc<dyn HostCalls>, Arc<dyn Asker>) {
    (Arc::new(Replay::of(test)), Arc::new(ReplayedAnswers::of(test)))
}

/// Runs one test of a program, whose text is `linked`. The same test has the same report each time.
#[expect(clippy::disallowed_methods, reason = "entry point: run_test()")]
pub async fn run_test(
    engine: &Engine,
    program: &KeptProgram,
    linked: &Arc<str>,
    test: &TestCase,
    template: EvalRequest,
) -> TestReport {
    let mut report = TestReport {
        title: test.title(),
        line: test.position.line,
        failures: Vec::new(),
        steps: 0,
        calls: 0,
    };
    let replay = Arc::new(Replay::of(test));
    let person = Arc::new(ReplayedAnswers::of(test));
    let now = test.now.and_then(|now| now.duration_since(UNIX_EPOCH).ok());
    let template = EvalRequest {
        upstreams: Some(replay.clone() as Arc<dyn HostCalls>),
        asker: Some(person.clone()),
        instant_ms: Some(now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))),
        ..template
    };
    let outcome = engine.eval(program.request(linked.clone(), text_of(&test.input), template)).await;
    report.steps = outcome.steps;
    let seen = replay.seen.lock();
    report.calls = seen.calls;
    let end = match &outcome.result {
        Ok(value) => match &value.json {
            Some(Ok(json)) => Ok(from_str::<Json>(json).unwrap_or_default()),
            Some(Err(why)) => Err(format!("the value has no JSON form: {why}")),
            None => Ok(Json::Null),
        },
        Err(failure) => Err(failure.full_message()),
    };
    let misfit = person.given.lock().misfit.clone();
    match seen.unknown.clone().or(misfit) {
        // Whatever the program made of it.
        Some(unknown) => report.failures.push(unknown),
        None => report.failures.extend(ended(test, end.as_ref().map_err(String::as_str))),
    }
    if report.failures.is_empty() {
        let unused = test.replies.iter().zip(&seen.left).filter(|(_, left)| **left > 0);
        report.failures.extend(unused.map(|(reply, left)| {
            let (upstream, tool, line) = (&reply.upstream, &reply.tool, reply.position.line);
            format!(
                "the reply of {upstream}/{tool} at line {line} was not asked for ({left} of {})",
                reply.times
            )
        }));
        match person.given.lock().left.len() {
            0 => {}
            left => report
                .failures
                .push(format!("{left} of its {} :answers were not asked for", test.answers.len())),
        }
    }
    report
}

/// What of an end is not as a test expects.
fn ended(test: &TestCase, end: Result<&Json, &str>) -> Option<String> {
    let shown = |json: &Json| clip(&json.to_string(), MAX_SHOWN).to_owned();
    match (&test.expected, end) {
        (ExpectedEnd::Value(expected), Ok(value)) => {
            let (place, expected, got) = difference(expected, value, String::new())?;
            let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
            let absent = |json: Option<&Json>| json.map_or_else(|| "nothing".to_owned(), shown);
            Some(format!("expected{place} {}, got {}", absent(expected), absent(got)))
        }
        (ExpectedEnd::Value(expected), Err(error)) => {
            Some(format!("expected {}, got the error: {error}", shown(expected)))
        }
        (ExpectedEnd::Error(expected), Ok(value)) => {
            Some(format!("expected the error {expected:?}, got {}", shown(value)))
        }
        (ExpectedEnd::Error(expected), Err(error)) if error.contains(expected.as_str()) => None,
        (ExpectedEnd::Error(expected), Err(error)) => {
            Some(format!("expected the error {expected:?}, got: {error}"))
        }
    }
}

/// The first place where two values differ, as a JSON pointer, with what is there. Numbers are compared by value.
pub(crate) fn difference<'a>(
    expected: &'a Json,
    got: &'a Json,
    place: String,
) -> Option<(String, Option<&'a Json>, Option<&'a Json>)> {
    match (expected, got) {
        (Json::Object(a), Json::Object(b)) => {
            let changed = a.iter().find_map(|(key, expected)| match b.get(key) {
                Some(got) => difference(expected, got, format!("{place}/{key}")),
                None => Some((format!("{place}/{key}"), Some(expected), None)),
            });
            let more = || b.iter().find(|(key, _)| !a.contains_key(key));
            changed.or_else(|| more().map(|(key, got)| (format!("{place}/{key}"), None, Some(got))))
        }
        (Json::Array(a), Json::Array(b)) => {
            (0..a.len().max(b.len())).find_map(|at| match (a.get(at), b.get(at)) {
                (Some(expected), Some(got)) => difference(expected, got, format!("{place}/{at}")),
                (expected, got) => Some((format!("{place}/{at}"), expected, got)),
            })
        }
        (Json::Number(a), Json::Number(b)) if a.as_f64() == b.as_f64() => None,
        (a, b) if a == b => None,
        _ => Some((place, Some(expected), Some(got))),
    }
}

/// Upstreams that answer with the replies of a test.
struct Replay {
    replies: Vec<TestReply>,
    seen: Mutex<Seen>,
}

/// What a program has asked for so far.
struct Seen {
    /// How many more calls each reply answers.
    left: Vec<u32>,
    calls: usize,
    /// The first call that no reply is for.
    unknown: Option<String>,
}

impl Replay {
    fn of(test: &TestCase) -> Replay {
        let left = test.replies.iter().map(|reply| reply.times).collect();
        Replay { replies: test.replies.clone(), seen: Mutex::new(Seen { left, calls: 0, unknown: None }) }
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Replay.reply")]
    fn reply(&self, call: &UpstreamCall) -> Reply {
        let (Ok(upstream), Ok(tool)) = (&call.server, &call.tool) else {
            return self.missing("a call names no upstream and tool".to_owned());
        };
        let arguments = match &call.arguments {
            Ok(arguments) => &*arguments.json,
            Err(_) => {
                return self.missing(format!("the arguments of a call of {upstream}/{tool} cannot be sent"));
            }
        };
        let asked = from_slice::<Json>(arguments).unwrap_or_default();
        let mut seen = self.seen.lock();
        seen.calls += 1;
        let fits = |reply: &TestReply| {
            reply.upstream == *upstream
                && reply.tool == *tool
                && reply.arguments.as_ref().is_none_or(|wanted| same_arguments(wanted, &asked))
        };
        // A reply for these arguments comes before one for any.
        let candidates =
            || (0..self.replies.len()).filter(|at| seen.left[*at] > 0 && fits(&self.replies[*at]));
        let exact = candidates().find(|at| self.replies[*at].arguments.is_some());
        let Some(at) = exact.or_else(|| candidates().next()) else {
            drop(seen);
            let shown = clip(&asked.to_string(), MAX_SHOWN).to_owned();
            return self.missing(format!("no reply is left for the call of {upstream}/{tool} with {shown}"));
        };
        seen.left[at] -= 1;
        drop(seen);
        answer(&self.replies[at], arguments, call)
    }

    /// The end of a program that asks for what its test does not have.
    fn missing(&self, what: String) -> Reply {
        let mut seen = self.seen.lock();
        seen.unknown.get_or_insert_with(|| what.clone());
        Reply::Raise(Error::verbatim(Reason::InvalidToolArgs, what))
    }
}

/// The reply to a call.
fn answer(reply: &TestReply, arguments: &[u8], call: &UpstreamCall) -> Reply {
    let parameters: Arc<Parameters> = Arc::default();
    let facts = CallFacts {
        tool: reply.tool.as_str().into(),
        sent: sent_pages(arguments, &parameters),
        parameters,
        by_pages: call.by_pages,
    };
    let watch = Some(Rc::new(ReplyWatch::of_call(facts)));
    match &reply.outcome {
        TestOutcome::Value(value) => {
            let payload = match value {
                Json::Null => Payload::JsonNull,
                Json::String(text) => Payload::of_text(Bytes::from(text.clone())),
                value => Payload::Json(Bytes::from(value.to_string())),
            };
            Reply::Success { payload, content: Vec::new(), raw: None, watch }
        }
        TestOutcome::Fault { reason, message } => Reply::Fault {
            reason: reason.as_str().to_owned(),
            message: message.clone(),
            sent: Some(true),
            data: None,
            raw: None,
            watch,
        },
    }
}

/// Whether arguments are the same, whichever way their keys are spelled: `customer-id` is sent as the tool spells it.
fn same_arguments(wanted: &Json, asked: &Json) -> bool {
    difference(&respelled(wanted), &respelled(asked), String::new()).is_none()
}

fn respelled(json: &Json) -> Json {
    match json {
        Json::Object(map) => {
            let mut respelt = Map::new();
            map.iter().for_each(|(key, value)| {
                respelt.insert(key.replace('-', "_"), respelled(value));
            });
            Json::Object(respelt)
        }
        Json::Array(items) => Json::Array(items.iter().map(respelled).collect()),
        other => other.clone(),
    }
}

impl HostCalls for Replay {
    fn answer(
        self: Arc<Self>,
        _: Rc<RunContext>,
        request: HostRequest,
        _: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let reply = match &request {
            HostRequest::Upstream(call) => self.reply(call),
            HostRequest::Feature(request) => {
                self.missing(format!("a test has no replies for {}", request.feature.form()))
            }
            HostRequest::Discovery { form, .. } => self.missing(format!("a test has no catalog for {form}")),
            HostRequest::Tool { name, .. } => self.missing(format!("there is no tool/{name}")),
            // The engine asks and waits.
            HostRequest::Ask { .. } | HostRequest::Sleep { .. } => Reply::Value(Payload::None),
        };
        std::future::ready(reply).boxed_local()
    }
}

/// The person of a test.
struct ReplayedAnswers {
    given: Mutex<Given>,
}

/// What the person has answered so far.
struct Given {
    left: VecDeque<TestAnswer>,
    count: usize,
    /// The first answer that is none to its question.
    misfit: Option<String>,
}

/// Why a question cannot be accepted with this content.
pub(crate) fn misfit(question: &Question, content: Option<&Json>) -> Option<String> {
    let Mode::Form(form) = &question.mode else { return None };
    form.check(content.unwrap_or(&Json::Object(Map::new()))).err()
}

impl ReplayedAnswers {
    fn of(test: &TestCase) -> ReplayedAnswers {
        let left = test.answers.iter().cloned().collect();
        ReplayedAnswers { given: Mutex::new(Given { left, count: 0, misfit: None }) }
    }

    fn next(&self, question: &Question) -> Answer {
        let mut given = self.given.lock();
        let mut answer = given.left.pop_front().unwrap_or(TestAnswer::Cancel);
        given.count += 1;
        if let TestAnswer::Accept(content) = &answer
            && let Some(why) = misfit(question, content.as_ref())
        {
            let why = format!("answer {} does not fit its question: {why}", given.count);
            given.misfit.get_or_insert(why);
            answer = TestAnswer::Cancel;
        }
        let (action, content) = match answer {
            TestAnswer::Accept(content) => (Action::Accept, content),
            TestAnswer::Decline => (Action::Decline, None),
            TestAnswer::Cancel => (Action::Cancel, None),
        };
        let content =
            content.and_then(|form| serde_json::value::RawValue::from_string(form.to_string()).ok());
        Answer { action, content, by: AnsweredBy { channel: Channel::Embedder, name: None }, at_ms: 0 }
    }

    fn answer(&self, mut open: Vec<PendingQuestion>) -> Vec<(QuestionId, Answer)> {
        open.sort_by_key(|open| open.id);
        open.iter().map(|open| (open.id, self.next(&open.question))).collect()
    }
}

impl Asker for ReplayedAnswers {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        std::future::ready(Verdict::Answered(self.answer(open))).boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        std::future::ready(self.answer(open)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::ProgramName;
    use ptc_compiler::parts::link;
    use ptc_host::engine::EngineOptions;

    async fn reports(text: &str) -> Vec<TestReport> {
        let program = KeptProgram::read(ProgramName::new("report").unwrap(), text).unwrap();
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let mut reports = Vec::new();
        let linked: Arc<str> = link(text, true, []).into();
        for test in &program.tests() {
            reports.push(run_test(&engine, &program, &linked, test, EvalRequest::new("")).await);
        }
        reports
    }

    const BODY: &str = r#"
(let [reply (tool/call {:server "billing" :tool "list" :args {:customer-id data/customer}})]
  (if (:ok reply)
    {:cents (reduce + 0 (map :cents (:value reply))) :day (str (LocalDate/now))}
    {:why (:reason reply)}))"#;

    async fn report_of(test: &str) -> TestReport {
        let head = r#":description "x" :tools ["billing/*"] :input {:properties {:customer {:type "string"}} :required ["customer"]}"#;
        reports(&format!("{{{head} :tests [{test}]}}{BODY}")).await.remove(0)
    }

    #[tokio::test]
    async fn a_test_replays_its_replies_at_its_instant() {
        let test = r#"{:input {:customer "ann"} :now "2026-01-31T12:00:00Z"
            :replies [{:tool "billing/list" :args {:customer_id "ann"} :value [{:cents 3} {:cents 4}]}]
            :value {:cents 7 :day "2026-01-31"}}"#;
        let (once, again) = (report_of(test).await, report_of(test).await);
        assert_eq!((once.failures.clone(), once.calls), (vec![], 1));
        assert_eq!(once, again);
    }

    #[tokio::test]
    async fn faults_are_replayed_and_wrong_ends_are_told() {
        let fault = r#":replies [{:tool "billing/list" :fault {:reason :timeout}}]"#;
        let ann = r#":input {:customer "ann"}"#;
        for (test, failure) in [
            (format!(r#"{{{ann} {fault} :value {{:why "timeout"}}}}"#), None),
            (
                format!(r#"{{{ann} {fault} :value {{:why "rate"}}}}"#),
                Some(r#"expected at /why "rate", got "timeout""#),
            ),
            (
                format!(r#"{{{ann} :value {{}}}}"#),
                Some(r#"no reply is left for the call of billing/list with {"customer-id":"ann"}"#),
            ),
            (
                format!(
                    r#"{{{ann} :replies [{{:tool "billing/list" :value [] :times 3}}] :value {{:cents 0 :day "1970-01-01"}}}}"#
                ),
                Some("the reply of billing/list at line 1 was not asked for (2 of 3)"),
            ),
            (r#"{:input {} :error "customer"}"#.to_owned(), None),
            (
                format!(r#"{{{ann} {fault} :answers [true] :value {{:why "timeout"}}}}"#),
                Some("1 of its 1 :answers were not asked for"),
            ),
            (
                r#"{:input {:customer 7} :value {}}"#.to_owned(),
                Some("expected {}, got the error: arguments do not fit the input schema: "),
            ),
        ] {
            let failures = report_of(&test).await.failures;
            match failure {
                None => assert_eq!(failures, Vec::<String>::new(), "{test}"),
                Some(text) => assert!(failures.len() == 1 && failures[0].starts_with(text), "{failures:?}"),
            }
        }
    }

    #[tokio::test]
    async fn pages_are_several_replies_and_answers_come_in_their_order() {
        let text = r#"{:description "x" :tools ["a/list"]
 :tests [{:replies [{:tool "a/list" :value {:items [1 2] :nextCursor "c"}}
                    {:tool "a/list" :args {:cursor "c"} :value {:items [3]}}]
          :answers [true]
          :value [[1 2 3] true]}
         {:replies [{:tool "a/list" :value {:items []}}] :answers [:decline] :value [[] "declined"]}]}
(let [all (tool/pages {:server "a" :tool "list"})
      said (ask {:message "Go on?"})]
  [all (if (:ok said) true (:reason said))])"#;
        let reports = reports(text).await;
        assert_eq!(
            reports.iter().map(|report| report.failures.clone()).collect::<Vec<_>>(),
            [vec![], Vec::<String>::new()]
        );
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_its_question_fails_the_test() {
        let text = |answer: &str| {
            format!(
                r#"{{:description "x" :tests [{{:answers [:cancel {answer}] :value "cancelled"}}]}}
(ask {{:message "First?"}})
(:reason (ask {{:message "How many?" :schema {{:type "object" :properties {{:n {{:type "integer"}}}} :required ["n"]}}}}))"#
            )
        };
        for (answer, why) in [
            (r#"{:n "3"}"#, "answer 2 does not fit its question: field \"n\": got \"3\", wanted an integer"),
            (
                r#"{:n 3 :m 4}"#,
                "answer 2 does not fit its question: got a field \"m\", which the form does not have",
            ),
            ("true", "answer 2 does not fit its question: field \"n\": got nothing, wanted an integer"),
        ] {
            assert_eq!(reports(&text(answer)).await[0].failures, [why]);
        }
        assert_eq!(reports(&text(":cancel")).await[0].failures, [""; 0]);
    }

    #[tokio::test]
    async fn called_programs_are_replayed_within_their_tools() {
        let called = |tools: &str| {
            format!(
                "{{:description \"b\" :tools [{tools}] :input {{:properties {{:n {{:type \"integer\"}}}}}}}}\n(:value (tool/call {{:server \"s\" :tool \"get\" :args {{:n data/n}}}}))"
            )
        };
        let main = r#"{:description "a" :tools ["s/*"]
 :tests [{:replies [{:tool "s/get" :args {:n 1} :value {:x 5}} {:tool "s/get" :args {:n 2} :value nil}] :value [{:x 5} nil]}]}
(pmap program/b [{:n 1} {:n 2}])"#;
        let program = KeptProgram::read(ProgramName::new("a").unwrap(), main).unwrap();
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        for (tools, failure) in [
            ("\"s/get\"", None),
            ("\"s/other\"", Some("program b may not call s/get: its :tools do not name it")),
        ] {
            let linked: Arc<str> = link(main, true, [("b", called(tools).as_str())]).into();
            let report =
                run_test(&engine, &program, &linked, &program.tests()[0], EvalRequest::new("")).await;
            match failure {
                None => assert_eq!((report.failures, report.calls), (Vec::new(), 2)),
                Some(text) => assert!(report.failures[0].contains(text), "{report:?}"),
            }
        }
    }
}
