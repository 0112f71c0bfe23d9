//! The recording of one run, from its request to its test.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ptc_host::credentials::Redactor;
use ptc_host::engine::{EvalOutcome, EvalRequest, ObservedCalls};
use ptc_host::time;
use ptc_mcp::json::{Value as Json, from_str};

use crate::record::Recorder;

/// The recording of one run.
#[derive(Clone)]
pub struct RunRecording {
    recorder: Arc<Recorder>,
    began: SystemTime,
}

impl RunRecording {
    /// Has the calls of a request recorded, and the answers that its asker gets.
    pub fn begin(request: &mut EvalRequest) -> RunRecording {
        let recording = RunRecording { recorder: Arc::default(), began: time::time_of_day() };
        recording.attach_calls(request);
        recording.attach_asker(request);
        recording
    }

    /// The same for a request that gets its asker later, for [`attach_asker`](Self::attach_asker).
    pub fn begin_calls(request: &mut EvalRequest) -> RunRecording {
        let recording = RunRecording { recorder: Arc::default(), began: time::time_of_day() };
        recording.attach_calls(request);
        recording
    }

    fn attach_calls(&self, request: &mut EvalRequest) {
        // The test sees the same instant, to the millisecond.
        let since = self.began.duration_since(UNIX_EPOCH).unwrap_or_default();
        request.instant_ms.get_or_insert(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        if let Some(calls) = request.upstreams.take() {
            request.upstreams = Some(Arc::new(ObservedCalls::new(calls, self.recorder.clone())));
        }
    }

    /// Has the answers recorded that the asker of a request gets.
    pub fn attach_asker(&self, request: &mut EvalRequest) {
        if let Some(asker) = request.asker.take() {
            request.asker = Some(self.recorder.asker(asker));
        }
    }

    /// Makes it a run that cannot be a test; `why`: a sentence without a subject.
    pub fn refuse(&self, why: &str) {
        self.recorder.unfit(why.to_owned());
    }

    /// The test of the run, as data for `:tests`, without the secrets that `redactor` knows. `input`: the text of its arguments.
    /// `indent`: of lines after the first.
    ///
    /// # Errors
    /// Why the run cannot be a test: a sentence.
    #[expect(clippy::disallowed_methods, reason = "entry point: RunRecording.test")]
    pub fn test(
        &self,
        input: &str,
        outcome: &EvalOutcome,
        redactor: &Redactor,
        indent: usize,
    ) -> Result<String, String> {
        let input: Json = from_str(input).unwrap_or_default();
        let end = match &outcome.result {
            Ok(value) => match &value.json {
                Some(Ok(json)) => Ok(from_str::<Json>(json).unwrap_or_default()),
                Some(Err(why)) => Err(format!("the value has no JSON form: {why}")),
                None => Err("the value has no JSON form".to_owned()),
            },
            Err(failure) => Err(failure.full_message()),
        };
        self.recorder.test(&input, self.began, end.as_ref().map_err(String::as_str), redactor, indent)
    }
}
