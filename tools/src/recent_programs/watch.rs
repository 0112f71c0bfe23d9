//! Watches one run of `lisp_eval`, so that it can become a draft.

use std::collections::BTreeSet;
use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::engine::{CallObserver, EvalFuture, EvalOutcome, EvalRequest, ObservedCalls};
use ptc_host::sync::Mutex;
use ptc_mcp::json::{Map, Value as Json, from_str, json};
use ptc_programs::draft_text::TEST_INDENT;
use ptc_programs::program::MAX_FILE_BYTES;
use ptc_programs::recording::RunRecording;
use ptc_protocol::principal::Owner;
use ptc_vm::machine::{Feature, HostRequest};

use super::{RecentProgram, RecentPrograms, RecordedTest};
use crate::evaluator::Evaluator;

/// Most resources and prompts of a run that are noted: a head has fewer.
const MOST_NOTED: usize = 256;

/// Watches one run.
pub(crate) struct ProgramWatch {
    recent: Arc<RecentPrograms>,
    owner: Owner,
    program: Arc<str>,
    context: Option<Arc<str>>,
    uses: Arc<FeatureUses>,
    recording: Option<RunRecording>,
    redactor: Redactor,
}

/// A run to be watched.
pub(crate) struct WatchedRun<'a> {
    /// In whose conversation.
    pub(crate) owner: &'a Owner,
    /// The program, as it was sent.
    pub(crate) program: &'a Arc<str>,
    /// Its context.
    pub(crate) context: Option<&'a Arc<str>>,
    /// Whether it is to be recorded as a test.
    pub(crate) record: bool,
    /// Whether it goes on with a program that began in another request.
    pub(crate) is_resumed: bool,
}

impl ProgramWatch {
    /// Watches the run of `request`, which `recent` is to remember.
    pub(crate) fn begin(
        recent: &Arc<RecentPrograms>,
        run: &WatchedRun<'_>,
        redactor: &Redactor,
        request: &mut EvalRequest,
    ) -> ProgramWatch {
        let uses = Arc::<FeatureUses>::default();
        if let Some(calls) = request.upstreams.take() {
            request.upstreams = Some(Arc::new(ObservedCalls::new(calls, uses.clone())));
        }
        let recording = run.record.then(|| RunRecording::begin_calls(request));
        if let Some(recording) = &recording {
            request.render.json = true;
            if run.is_resumed {
                recording.refuse("it waited for people in another request");
            }
        }
        ProgramWatch {
            recent: recent.clone(),
            owner: run.owner.clone(),
            program: run.program.clone(),
            context: run.context.cloned(),
            uses,
            recording,
            redactor: redactor.for_principal(Some(run.owner.principal.name())),
        }
    }

    /// The evaluator of its run, which has the answers of people recorded.
    pub(crate) fn evaluator(&self, evaluator: &Arc<dyn Evaluator>) -> Arc<dyn Evaluator> {
        match &self.recording {
            None => evaluator.clone(),
            Some(recording) => {
                Arc::new(RecordingEvaluator { evaluator: evaluator.clone(), recording: recording.clone() })
            }
        }
    }

    /// Keeps a program that ended well, with a value that a tool could give. A run that cannot be a test has a note that says why.
    pub(crate) fn ended(self, outcome: &mut EvalOutcome) {
        if outcome.suspended.is_some() {
            return;
        }
        // The form is made for recordings alone.
        let formless = match &outcome.result {
            Err(_) => return self.recent.note_failure(&self.owner),
            Ok(value) => value.json.as_ref().and_then(|json| json.as_ref().err()).cloned(),
        };
        if let Some(why) = formless {
            outcome.notes.push(format!("this program cannot be a tool: its value has no JSON form: {why}"));
            return self.recent.note_failure(&self.owner);
        }
        let input = self.context.as_deref().unwrap_or("{}");
        let test = match &self.recording {
            None => RecordedTest::None,
            Some(recording) => match recording.test(input, outcome, &self.redactor, TEST_INDENT) {
                Ok(test) if test.len() as u64 > MAX_FILE_BYTES => {
                    RecordedTest::Unfit(format!("the test has more than {MAX_FILE_BYTES} bytes"))
                }
                Ok(test) => RecordedTest::Test(test),
                Err(why) => RecordedTest::Unfit(why),
            },
        };
        if let RecordedTest::Unfit(why) = &test {
            outcome.notes.push(format!("this run was not recorded as a test: {why}"));
        }
        let called = outcome.upstream_calls.iter();
        let tools: BTreeSet<String> = called
            .filter(|call| !self.uses.is_method(&call.tool))
            .map(|call| format!("{}/{}", call.server, call.tool))
            .collect();
        let (resources, prompts) = self.uses.names();
        let input = schema_of(input);
        let tools = tools.into_iter().collect();
        let program = self.program;
        self.recent.add(&self.owner, RecentProgram { program, input, tools, resources, prompts, test });
    }
}

/// The schema of a context: its keys, with the types that their values have in JSON.
#[expect(clippy::disallowed_methods, reason = "entry point: schema_of()")]
fn schema_of(context: &str) -> Json {
    let context: Map = from_str(context).unwrap_or_default();
    let type_of = |value: &Json| match value {
        Json::Null => None,
        Json::Bool(_) => Some("boolean"),
        Json::Number(_) => Some("number"),
        Json::String(_) => Some("string"),
        Json::Array(_) => Some("array"),
        Json::Object(_) => Some("object"),
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, value) in &context {
        let schema = match type_of(value) {
            None => json!({}),
            Some(kind) => {
                required.push(key.clone());
                json!({"type": kind})
            }
        };
        properties.insert(key.clone(), schema);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The resources and prompts that a run uses.
#[derive(Default)]
struct FeatureUses(Mutex<FeatureNames>);

#[derive(Default)]
struct FeatureNames {
    resources: BTreeSet<String>,
    prompts: BTreeSet<String>,
}

impl FeatureUses {
    /// Whether records of calls have this name for a method that is no call of a tool.
    fn is_method(&self, tool: &str) -> bool {
        matches!(tool.split_once('/'), Some(("resources" | "prompts" | "completion", _)))
    }

    fn names(&self) -> (Vec<String>, Vec<String>) {
        let names = self.0.lock();
        (names.resources.iter().cloned().collect(), names.prompts.iter().cloned().collect())
    }
}

impl CallObserver for FeatureUses {
    type Call = ();

    fn before(&self, request: &HostRequest) -> Option<()> {
        let HostRequest::Feature(request) = request else { return None };
        let mut names = self.0.lock();
        let FeatureNames { resources, prompts } = &mut *names;
        let to = match request.feature {
            Feature::ResourceRead | Feature::ResourceComplete => resources,
            Feature::PromptGet | Feature::PromptComplete => prompts,
            Feature::ResourceList | Feature::ResourceTemplates | Feature::PromptList => return None,
        };
        if to.len() < MOST_NOTED {
            to.insert(format!("{}/{}", request.server, request.subject));
        }
        None
    }
}

/// Runs programs whose askers are recorded: they get them only now.
struct RecordingEvaluator {
    evaluator: Arc<dyn Evaluator>,
    recording: RunRecording,
}

impl Evaluator for RecordingEvaluator {
    fn eval(&self, mut request: EvalRequest) -> EvalFuture {
        self.recording.attach_asker(&mut request);
        self.evaluator.eval(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_a_context_has_its_keys_and_types() {
        let schema = schema_of(r#"{"a":1.5,"b":"x","c":null,"d":[1],"e":{"f":true},"g":false}"#);
        let expected = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}, "c": {},
            "d": {"type": "array"}, "e": {"type": "object"}, "g": {"type": "boolean"}},
            "required": ["a", "b", "d", "e", "g"]});
        assert_eq!(schema, expected);
        assert_eq!(schema_of("{}"), json!({"type": "object", "properties": {}}));
    }
}
