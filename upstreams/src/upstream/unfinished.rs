//! Answers to calls that are not final: the upstream asks for input first, or names a task to wait for (waiting.md 2.4).

use serde_json::value::RawValue;

use super::elicitation::{Elicitation, NotAskable};
use super::sampling::{SamplingFault, SamplingRequest};

/// Longest `requestState` that is sent back, in bytes as written (waiting.md 3.2).
pub const MAX_REQUEST_STATE: usize = 256 * 1024;
/// Longest id of a task, in bytes (waiting.md 8).
pub const MAX_TASK_ID: usize = 1024;
/// Most questions of one answer, and of one task together (waiting.md 3.2).
pub const MAX_INPUT_REQUESTS: usize = 64;
/// Longest key of a question, in bytes (waiting.md 3.2).
pub const MAX_INPUT_KEY: usize = 1024;

/// An upstream's requirement before a call gets its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfinished {
    /// The call is sent again with answers (2026-07-28).
    Input(InputRequired),
    /// The call is sent again as it was, once these pages have been visited (error `-32042`).
    Pages(Vec<Result<Elicitation, NotAskable>>),
    /// The result is fetched once the task has ended (`io.modelcontextprotocol/tasks`).
    Task(TaskAnswer),
}

/// A result with `resultType: "input_required"`.
#[derive(Debug, Clone)]
pub struct InputRequired {
    /// The requests, by the server's keys, in its order.
    pub requests: Vec<(Box<str>, InputRequest)>,
    /// The state to return with the answers, a JSON string as written.
    pub state: Option<Box<RawValue>>,
}

impl PartialEq for InputRequired {
    fn eq(&self, other: &Self) -> bool {
        let state = |this: &Self| this.state.as_ref().map(|state| state.get().to_owned());
        self.requests == other.requests && state(self) == state(other)
    }
}

impl Eq for InputRequired {}

/// One of the things that a server asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputRequest {
    /// A person is to be asked.
    Elicit(Elicitation),
    /// A question to a person that is not permitted.
    Refused(NotAskable),
    /// A model is to answer, or why none can.
    Sample(Result<SamplingRequest, SamplingFault>),
    /// Something else: the method.
    Other(Box<str>),
}

impl InputRequest {
    /// Reads the `params` of an `elicitation/create`.
    pub fn of_params(params: &str) -> Self {
        match Elicitation::read(params) {
            Ok(elicitation) => Self::Elicit(elicitation),
            Err(why) => Self::Refused(why),
        }
    }

    /// Reads the `params` of a `sampling/createMessage`.
    pub fn of_sampling(params: &str) -> Self {
        Self::Sample(SamplingRequest::read(params))
    }

    /// A question that is not permitted, for a reason that is no longer known.
    pub fn not_askable() -> Self {
        Self::Refused(NotAskable("it may not be asked".to_owned()))
    }

    /// Reads one of `inputRequests`.
    #[expect(clippy::disallowed_methods, reason = "entry point: InputRequest.read")]
    pub(crate) fn read(request: &str) -> Self {
        #[derive(serde::Deserialize)]
        struct RequestMembers<'a> {
            method: String,
            #[serde(borrow, default)]
            params: Option<&'a RawValue>,
        }
        match serde_json::from_str::<RequestMembers<'_>>(request) {
            Ok(request) if request.method == "elicitation/create" => {
                Self::of_params(request.params.map_or("{}", RawValue::get))
            }
            Ok(request) if request.method == "sampling/createMessage" => {
                Self::of_sampling(request.params.map_or("{}", RawValue::get))
            }
            Ok(request) => Self::Other(ptc_mcp::text::clip(&request.method, 80).into()),
            Err(error) => Self::Refused(NotAskable(format!("its request is malformed: {error}"))),
        }
    }
}

/// The last known state of an upstream's task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskAnswer {
    /// Its id, at most [`MAX_TASK_ID`] bytes.
    pub id: Box<str>,
    /// How long to wait before it is asked after, in milliseconds as the server wishes.
    pub poll_interval_ms: Option<u64>,
}
