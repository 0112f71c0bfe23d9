//! The persisted progress of a call whose upstream asked for input, while its program is suspended (waiting.md 2.4).

use ptc_upstreams::upstream::{
    Elicitation, ElicitationMode, InputRequest, InputRequired, MAX_REQUEST_STATE, MAX_TASK_ID, TaskAnswer,
};
use serde_json::value::RawValue;

/// The progress of a call.
pub(super) struct InputProgress {
    /// How often it has been sent again with answers, this time included.
    pub(super) rounds: u32,
    /// How often pages had to be visited, this time included.
    pub(super) visits: u32,
    /// The input or the pages that it waits for.
    pub(super) wanted: ResendCause,
}

/// The cause that a call waits for before it is sent again.
pub(super) enum ResendCause {
    /// Answers, which go with it.
    Input(InputRequired),
    /// Visits to pages.
    Pages(Vec<Elicitation>),
    /// The end of a task, which wants to know this first.
    Task(TaskAnswer, InputRequired),
}

#[derive(serde::Serialize, serde::Deserialize)]
struct SavedProgress<'a> {
    rounds: u32,
    visits: u32,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    /// The task and its poll interval.
    task: Option<(String, Option<u64>)>,
    /// Keys and `params` of the requests; no `params` for a request that cannot be asked.
    #[serde(borrow)]
    requests: Option<Vec<(String, Option<&'a RawValue>)>>,
    /// Which of them a model is to answer, by their places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samplings: Vec<usize>,
    #[serde(borrow)]
    pages: Option<Vec<&'a RawValue>>,
}

impl InputProgress {
    /// As bytes, for [`read`](Self::read).
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let raw = |elicitation: &Elicitation| RawValue::from_string(elicitation.params().to_owned()).ok();
        let (state, requests, pages);
        let task = match &self.wanted {
            ResendCause::Task(task, _) => Some((String::from(&*task.id), task.poll_interval_ms)),
            ResendCause::Input(_) | ResendCause::Pages(_) => None,
        };
        let written = match &self.wanted {
            ResendCause::Input(input) | ResendCause::Task(_, input) => {
                state = input.state.as_deref();
                let params = |request: &InputRequest| match request {
                    InputRequest::Elicit(elicitation) => raw(elicitation),
                    InputRequest::Sample(Ok(request)) => {
                        RawValue::from_string(request.params().to_owned()).ok()
                    }
                    InputRequest::Refused(_) | InputRequest::Sample(Err(_)) | InputRequest::Other(_) => None,
                };
                let is_sampling = |(at, (_, request)): (usize, &(Box<str>, InputRequest))| {
                    matches!(request, InputRequest::Sample(_)).then_some(at)
                };
                requests = input
                    .requests
                    .iter()
                    .map(|(key, request)| (String::from(&**key), params(request)))
                    .collect::<Vec<_>>();
                let requests =
                    requests.iter().map(|(key, params)| (key.clone(), params.as_deref())).collect();
                SavedProgress {
                    rounds: self.rounds,
                    visits: self.visits,
                    state,
                    task,
                    requests: Some(requests),
                    samplings: input.requests.iter().enumerate().filter_map(is_sampling).collect(),
                    pages: None,
                }
            }
            ResendCause::Pages(visited) => {
                pages = visited.iter().filter_map(raw).collect::<Vec<_>>();
                let pages = pages.iter().map(|page| &**page).collect();
                SavedProgress {
                    rounds: self.rounds,
                    visits: self.visits,
                    state: None,
                    task,
                    requests: None,
                    samplings: Vec::new(),
                    pages: Some(pages),
                }
            }
        };
        serde_json::to_vec(&written).expect("what is in memory can be written there")
    }

    /// Reads the output of [`to_bytes`](Self::to_bytes); the bytes are untrusted.
    #[expect(clippy::disallowed_methods, reason = "entry point: InputProgress.read")]
    pub(super) fn read(bytes: &[u8]) -> Option<InputProgress> {
        let written: SavedProgress<'_> = serde_json::from_slice(bytes).ok()?;
        let state = written.state.map(ToOwned::to_owned);
        if state
            .as_ref()
            .is_some_and(|state| !state.get().starts_with('"') || state.get().len() > MAX_REQUEST_STATE)
        {
            return None;
        }
        let wanted = match (written.requests, written.pages) {
            (Some(requests), None) => {
                let requests = requests.into_iter().enumerate().map(|(at, (key, params))| {
                    let request = match params.map(RawValue::get) {
                        Some(params) if written.samplings.contains(&at) => InputRequest::of_sampling(params),
                        Some(params) => InputRequest::of_params(params),
                        None => InputRequest::not_askable(),
                    };
                    (key.into(), request)
                });
                let input = InputRequired { requests: requests.collect(), state };
                match written.task {
                    Some((id, _)) if id.is_empty() || id.len() > MAX_TASK_ID => return None,
                    Some((id, poll_interval_ms)) => {
                        ResendCause::Task(TaskAnswer { id: id.into(), poll_interval_ms }, input)
                    }
                    None => ResendCause::Input(input),
                }
            }
            (None, Some(pages)) if written.task.is_none() => {
                let pages = pages.into_iter().map(|page| Elicitation::read(page.get()).ok());
                let pages = pages.collect::<Option<Vec<_>>>()?;
                if !pages.iter().all(|page| matches!(page.mode, ElicitationMode::Url(_))) {
                    return None;
                }
                ResendCause::Pages(pages)
            }
            _ => return None,
        };
        Some(InputProgress { rounds: written.rounds, visits: written.visits, wanted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = r#"{"message":"m", "requestedSchema":{"type":"object"}}"#;

    const SAMPLING: &str =
        r#"{"maxTokens":7, "messages":[{"role":"user","content":{"type":"text","text":"x"}}]}"#;

    #[test]
    fn what_a_call_waits_for_is_read_as_it_was_written() {
        let state = RawValue::from_string(r#""\u0061""#.to_owned()).unwrap();
        let requests = vec![
            ("z".into(), InputRequest::of_params(FORM)),
            ("a\"".into(), InputRequest::of_params("{}")),
            ("s".into(), InputRequest::of_sampling(SAMPLING)),
        ];
        let input = InputRequired { requests, state: Some(state) };
        let bytes = InputProgress { rounds: 3, visits: 1, wanted: ResendCause::Input(input) }.to_bytes();
        let read = InputProgress::read(&bytes).unwrap();
        assert_eq!((read.rounds, read.visits), (3, 1));
        let ResendCause::Input(input) = read.wanted else { panic!() };
        assert_eq!(input.state.unwrap().get(), r#""\u0061""#);
        assert!(
            matches!(&input.requests[0], (key, InputRequest::Elicit(asked)) if &**key == "z" && asked.params() == FORM)
        );
        assert!(matches!(&input.requests[1], (key, InputRequest::Refused(_)) if &**key == "a\""));
        assert!(
            matches!(&input.requests[2], (_, InputRequest::Sample(Ok(asked))) if asked.params() == SAMPLING)
        );
        let page = r#"{"mode":"url","message":"m","url":"https://a.example/"}"#;
        let pages = vec![Elicitation::read(page).unwrap()];
        let bytes = InputProgress { rounds: 0, visits: 2, wanted: ResendCause::Pages(pages) }.to_bytes();
        let ResendCause::Pages(pages) = InputProgress::read(&bytes).unwrap().wanted else { panic!() };
        assert_eq!(pages[0].params(), page);
    }

    #[test]
    fn other_bytes_are_refused() {
        let long =
            format!(r#"{{"rounds":1,"visits":0,"requests":[],"state":"{}"}}"#, "x".repeat(MAX_REQUEST_STATE));
        for bytes in [
            "",
            "{}",
            "[]",
            r#"{"rounds":1,"visits":0}"#,
            r#"{"rounds":-1,"visits":0,"requests":[]}"#,
            r#"{"rounds":1,"visits":0,"requests":[],"pages":[]}"#,
            r#"{"rounds":1,"visits":0,"requests":[],"state":7}"#,
            r#"{"rounds":1,"visits":0,"pages":[{"message":"m","requestedSchema":{}}]}"#,
            &long,
        ] {
            assert!(InputProgress::read(bytes.as_bytes()).is_none(), "{bytes}");
        }
    }
}
