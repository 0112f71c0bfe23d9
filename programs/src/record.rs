//! Recording a run as a test.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Asker, CallObserver, RunContext, Verdict};
use ptc_host::questions::{Action, Answer, PendingQuestion, Question, QuestionId, QuestionKind};
use ptc_host::sync::Mutex;
use ptc_mcp::json::{Map, Value as Json, from_slice, from_str, json};
use ptc_vm::machine::{HostRequest, Payload, Reply};

use crate::edn::edn;
use crate::replay::misfit;

/// Most bytes of arguments and replies that are recorded.
const MAX_RECORDED: usize = 1 << 20;

/// Keeps the calls of one run with their replies.
#[derive(Default)]
pub struct Recorder(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    calls: Vec<Map>,
    /// The answers to the program's own questions.
    answers: Vec<Json>,
    bytes: usize,
    /// Why the run cannot be a test.
    unfit: Option<String>,
}

/// A call that has no reply yet.
pub struct RecordedCall {
    tool: String,
    arguments: Json,
}

impl CallObserver for Recorder {
    type Call = RecordedCall;

    #[expect(clippy::disallowed_methods, reason = "entry point: Recorder.before")]
    fn before(&self, request: &HostRequest) -> Option<RecordedCall> {
        match request {
            HostRequest::Upstream(call) => match (&call.server, &call.tool, &call.arguments) {
                (Ok(server), Ok(tool), Ok(arguments)) => {
                    let call = || RecordedCall {
                        tool: format!("{server}/{tool}"),
                        arguments: from_slice(&arguments.json).unwrap_or_default(),
                    };
                    self.has_room(arguments.json.len()).then(call)
                }
                _ => None,
            },
            HostRequest::Feature(feature) => {
                self.unfit(format!("it uses {}, for which tests have no replies", feature.feature.form()));
                None
            }
            HostRequest::Discovery { form, .. } => {
                self.unfit(format!("it looks into the catalog ({form}), which tests do not have"));
                None
            }
            HostRequest::Tool { .. } | HostRequest::Ask { .. } | HostRequest::Sleep { .. } => None,
        }
    }

    fn after(&self, call: RecordedCall, _: &RunContext, reply: &Reply) {
        let (key, value) = match reply {
            Reply::Success { payload, .. } => {
                if !self.has_room(payload.text().map_or(0, Bytes::len)) {
                    return;
                }
                match value_of(payload) {
                    Some(value) => ("value", value),
                    None => return self.unfit(format!("{} answered with binary content", call.tool)),
                }
            }
            Reply::Fault { reason, message, .. } => {
                if !self.has_room(message.len()) {
                    return;
                }
                ("fault", json!({"reason": reason, "message": message}))
            }
            // The program ends with it, and gives no value that a test could expect.
            Reply::Value(_) | Reply::Raise(_) => return,
        };
        let mut entry = Map::new();
        entry.insert("tool".to_owned(), json!(call.tool));
        entry.insert("args".to_owned(), call.arguments);
        entry.insert(key.to_owned(), value);
        self.0.lock().calls.push(entry);
    }
}

impl Recorder {
    /// Whether so many bytes more may be recorded; if not, the run is no test any more.
    fn has_room(&self, bytes: usize) -> bool {
        let mut recorded = self.0.lock();
        recorded.bytes = recorded.bytes.saturating_add(bytes);
        let has_room = recorded.bytes <= MAX_RECORDED;
        if !has_room {
            recorded.calls.clear();
            recorded
                .unfit
                .get_or_insert_with(|| format!("its calls and replies have more than {MAX_RECORDED} bytes"));
        }
        has_room
    }

    /// Has the answers recorded that `asker` gets to the program's own questions.
    pub fn asker(self: &Arc<Self>, asker: Arc<dyn Asker>) -> Arc<dyn Asker> {
        Arc::new(RecordedAsker { asker, recorder: self.clone() })
    }

    /// Records the answers to `open` questions. One that does not fit is none: the question is asked again.
    fn answered(&self, open: &[PendingQuestion], answers: &[(QuestionId, Answer)]) {
        let mut recorded = self.0.lock();
        for (id, answer) in answers {
            let Some(open) = open.iter().find(|open| open.id == *id) else { continue };
            let content = answer.content.as_ref().map(|form| form_of(form.get()));
            if answer.action == Action::Accept && misfit(&open.question, content.as_ref()).is_some() {
                continue;
            }
            recorded.answers.push(match (answer.action, &answer.content) {
                (Action::Accept, Some(form)) if form.get() != "{}" => form_of(form.get()),
                (Action::Accept, _) => Json::Bool(true),
                (Action::Decline, _) => Json::Bool(false),
                (Action::Cancel, _) => json!("cancel"),
            });
        }
    }

    /// Makes it a run that cannot be a test.
    pub(crate) fn unfit(&self, why: String) {
        self.0.lock().unfit.get_or_insert(why);
    }

    /// The test of the run, as data for `:tests`, without the secrets that `redactor` knows. `indent`: of lines after the first.
    ///
    /// # Errors
    /// Why the run cannot be a test: a sentence.
    pub fn test(
        &self,
        input: &Json,
        began: SystemTime,
        end: Result<&Json, &str>,
        redactor: &Redactor,
        indent: usize,
    ) -> Result<String, String> {
        let recorded = self.0.lock();
        if let Some(why) = &recorded.unfit {
            return Err(why.clone());
        }
        let mut test = Map::new();
        test.insert("input".to_owned(), input.clone());
        let now = Timestamp::try_from(began)
            .ok()
            .and_then(|now| Timestamp::from_millisecond(now.as_millisecond()).ok());
        test.extend(now.map(|now| ("now".to_owned(), json!(now.to_string()))));
        let replies: Vec<Json> = recorded.calls.iter().map(|call| Json::Object(call.clone())).collect();
        if !replies.is_empty() {
            test.insert("replies".to_owned(), Json::Array(replies));
        }
        if !recorded.answers.is_empty() {
            test.insert("answers".to_owned(), Json::Array(recorded.answers.clone()));
        }
        match end {
            Ok(value) => test.insert("value".to_owned(), value.clone()),
            Err(error) => test.insert("error".to_owned(), json!(error.lines().next().unwrap_or_default())),
        };
        let mut test = Json::Object(test);
        redactor.scrub_json(&mut test);
        Ok(edn(&test, indent))
    }
}

/// The person of a run that is recorded.
struct RecordedAsker {
    asker: Arc<dyn Asker>,
    recorder: Arc<Recorder>,
}

/// The questions that the program asks itself.
fn own_questions(open: &[PendingQuestion]) -> Vec<PendingQuestion> {
    open.iter().filter(|open| open.question.kind == QuestionKind::Ask).cloned().collect()
}

impl Asker for RecordedAsker {
    fn can_ask(&self, question: &Question) -> bool {
        self.asker.can_ask(question)
    }

    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        let (own, recorder) = (own_questions(&open), self.recorder.clone());
        let verdict = self.asker.ask(open);
        async move {
            let verdict = verdict.await;
            match &verdict {
                Verdict::Answered(answers) => recorder.answered(&own, answers),
                Verdict::Leave => recorder.unfit("it waited for people in another request".to_owned()),
            }
            verdict
        }
        .boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, why: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        let (own, recorder) = (own_questions(&open), self.recorder.clone());
        let held = self.asker.hold(open, why);
        async move {
            let answers = held.await;
            recorder.answered(&own, &answers);
            answers
        }
        .boxed()
    }

    fn came(&self, id: QuestionId, question: &Question, answer: &Answer) {
        self.asker.came(id, question, answer);
    }

    fn most_questions(&self) -> u32 {
        self.asker.most_questions()
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: form_of()")]
fn form_of(text: &str) -> Json {
    from_str(text).unwrap_or_default()
}

/// What a reply gives the program as JSON; `None` if it has no such form.
#[expect(clippy::disallowed_methods, reason = "entry point: value_of()")]
fn value_of(payload: &Payload) -> Option<Json> {
    let text = |bytes: &[u8]| Json::from(String::from_utf8_lossy(bytes).into_owned());
    Some(match payload {
        Payload::Json(bytes) => from_slice(bytes).ok()?,
        Payload::JsonOrText(bytes) => from_slice(bytes).unwrap_or_else(|_| text(bytes)),
        Payload::Text(bytes) => text(bytes),
        Payload::None | Payload::JsonNull => Json::Null,
        Payload::Content(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::linked;
    use crate::name::ProgramName;
    use crate::program::KeptProgram;
    use crate::replay::run_test;
    use ptc_host::engine::{Engine, EngineOptions, EvalRequest, HostCalls, ObservedCalls};
    use std::collections::BTreeMap;

    const HEAD: &str = r#"{:description "x" :tools ["a/*"] :tests ["#;
    const BODY: &str = r#"]}
(let [reply (tool/call {:server "a" :tool "list" :args {:page 1}})
      said (ask {:message "Go on?"})]
  {:items (:value reply) :ok (:ok said)})"#;

    #[tokio::test]
    async fn what_was_recorded_passes_as_a_test() {
        let read = |tests: &str| {
            KeptProgram::read(ProgramName::new("report").unwrap(), &format!("{HEAD}{tests}{BODY}")).unwrap()
        };
        let first = read(
            r#"{:replies [{:tool "a/list" :value [{:id 7 :token "s3cret-token"}]}] :answers [true] :value 1}"#,
        );
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let recorder = Arc::new(Recorder::default());
        let (upstreams, asker) = crate::replay::replaying(&first.tests()[0]);
        let upstreams = Arc::new(ObservedCalls::new(upstreams, recorder.clone())) as Arc<dyn HostCalls>;
        let template = EvalRequest {
            upstreams: Some(upstreams),
            asker: Some(recorder.asker(asker)),
            ..EvalRequest::new("")
        };
        let outcome =
            engine.eval(first.request(linked(&first, &BTreeMap::new()), "{}".into(), template)).await;
        let value: Json = from_str(&outcome.result.unwrap().json.unwrap().unwrap()).unwrap();
        let redactor = Redactor::new();
        let test = recorder.test(&json!({}), SystemTime::UNIX_EPOCH, Ok(&value), &redactor, 9).unwrap();
        let again = read(&test);
        let report = run_test(
            &engine,
            &again,
            &linked(&again, &BTreeMap::new()),
            &again.tests()[0],
            EvalRequest::new(""),
        )
        .await;
        assert_eq!(report.failures, Vec::<String>::new(), "{test}");
        assert!(test.contains(":answers [true]"), "{test}");
    }

    #[test]
    fn a_run_that_is_too_large_is_no_test() {
        let recorder = Recorder::default();
        assert!(recorder.has_room(MAX_RECORDED) && !recorder.has_room(1));
        let told = recorder.test(&json!({}), SystemTime::UNIX_EPOCH, Err("x"), &Redactor::new(), 0);
        assert_eq!(told, Err("its calls and replies have more than 1048576 bytes".to_owned()));
    }
}
