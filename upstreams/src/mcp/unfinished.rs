//! Reading results that are not final: `input_required` and `task` (waiting.md 3.2 and 7).

use std::fmt;

use bytes::Bytes;
use ptc_mcp::RpcError;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::upstream::{
    CallFault, InputRequest, InputRequired, MAX_INPUT_KEY, MAX_INPUT_REQUESTS, MAX_REQUEST_STATE,
    MAX_TASK_ID, TaskAnswer, Unfinished,
};

/// The fault of a result of that type, with the server's requirement if it is one of these. `fault` is for callers that cannot
/// meet it.
pub(super) fn read(result: &[u8], result_type: Option<&str>, fault: CallFault) -> CallFault {
    let unfinished = match result_type {
        Some("\"input_required\"") => input_required(result).map(Unfinished::Input),
        Some("\"task\"") => task(result).map(Unfinished::Task),
        _ => return fault,
    };
    match unfinished {
        Ok(unfinished) => fault.unfinished(unfinished),
        Err(message) => CallFault { message, ..fault },
    }
}

/// Reads a result, or a task, that asks for input.
#[expect(clippy::disallowed_methods, reason = "entry point: input_required()")]
fn input_required(result: &[u8]) -> Result<InputRequired, String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InputRequiredMembers<'a> {
        #[serde(borrow, default)]
        input_requests: Option<Requests<'a>>,
        #[serde(borrow, default)]
        request_state: Option<&'a RawValue>,
    }
    let malformed = |error: serde_json::Error| format!("input_required is malformed: {error}");
    let members: InputRequiredMembers<'_> = serde_json::from_slice(result).map_err(malformed)?;
    let state = match members.request_state {
        Some(state) if !state.get().starts_with('"') => {
            return Err("input_required has a requestState that is no string".to_owned());
        }
        Some(state) if state.get().len() > MAX_REQUEST_STATE => {
            let bytes = state.get().len();
            return Err(format!(
                "input_required has a requestState of {bytes} bytes, more than {MAX_REQUEST_STATE}"
            ));
        }
        state => state.map(ToOwned::to_owned),
    };
    let requests = all(members.input_requests.unwrap_or_default());
    if requests.is_empty() && state.is_none() {
        return Err("input_required has neither inputRequests nor requestState".to_owned());
    }
    Ok(InputRequired { requests, state })
}

/// A task as `tasks/get` reports it.
#[derive(Debug)]
pub enum TaskState {
    /// It is being worked on.
    Working {
        /// How long to wait before it is asked after, as the server wishes.
        poll_interval_ms: Option<u64>,
    },
    /// It waits for input.
    Input(InputRequired),
    /// It has ended, with this result of `tools/call`.
    Completed(Bytes),
    /// It has ended with a JSON-RPC error, whose message this is.
    Failed(String),
    /// It was given up.
    Cancelled,
}

/// Reads the result of `tasks/get`.
///
/// # Errors
/// The fault in it.
#[expect(clippy::disallowed_methods, reason = "entry point: read_task()")]
pub fn read_task(answer: &Bytes) -> Result<TaskState, String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TaskStatusMembers<'a> {
        status: String,
        #[serde(default)]
        status_message: Option<String>,
        #[serde(default)]
        poll_interval_ms: ptc_mcp::json::Value,
        #[serde(borrow, default)]
        input_requests: Option<Requests<'a>>,
        #[serde(borrow, default)]
        result: Option<&'a RawValue>,
        #[serde(borrow, default)]
        error: Option<&'a RawValue>,
    }
    let members: TaskStatusMembers<'_> =
        serde_json::from_slice(answer).map_err(|error| format!("the task is malformed: {error}"))?;
    Ok(match (members.status.as_str(), members.result) {
        ("working", _) => TaskState::Working { poll_interval_ms: members.poll_interval_ms.as_u64() },
        ("input_required", _) => TaskState::Input(InputRequired {
            requests: all(members.input_requests.unwrap_or_default()),
            state: None,
        }),
        ("completed", Some(result)) => TaskState::Completed(answer.slice_ref(result.get().as_bytes())),
        ("completed", None) => return Err("the task has ended without a result".to_owned()),
        ("failed", _) => TaskState::Failed(match members.error {
            Some(error) => RpcError::read(error.get()).message,
            None => members.status_message.unwrap_or_else(|| "the task failed".to_owned()),
        }),
        ("cancelled", _) => TaskState::Cancelled,
        (other, _) => {
            return Err(format!("the task has the unknown status {}", ptc_mcp::text::clip(other, 40)));
        }
    })
}

fn all(requests: Requests<'_>) -> Vec<(Box<str>, InputRequest)> {
    let read = |(key, request): (String, &RawValue)| (key.into(), InputRequest::read(request.get()));
    requests.0.into_iter().map(read).collect()
}

#[expect(clippy::disallowed_methods, reason = "entry point: task()")]
fn task(result: &[u8]) -> Result<TaskAnswer, String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CreatedTaskMembers {
        task_id: String,
        #[serde(default)]
        poll_interval_ms: ptc_mcp::json::Value,
    }
    let members: CreatedTaskMembers =
        serde_json::from_slice(result).map_err(|error| format!("the task is malformed: {error}"))?;
    if members.task_id.is_empty() || members.task_id.len() > MAX_TASK_ID {
        let bytes = members.task_id.len();
        return Err(format!("the task has an id of {bytes} bytes; 1 to {MAX_TASK_ID} are usable"));
    }
    Ok(TaskAnswer { id: members.task_id.into(), poll_interval_ms: members.poll_interval_ms.as_u64() })
}

/// `inputRequests` in their order; of a repeated key the last counts. At most [`MAX_INPUT_REQUESTS`], with keys of at most
/// [`MAX_INPUT_KEY`] bytes.
#[derive(Default)]
struct Requests<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Requests<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RequestsVisitor;

        impl<'de> Visitor<'de> for RequestsVisitor {
            type Value = Requests<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of requests")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut requests: Vec<(String, &'de RawValue)> = Vec::new();
                while let Some((key, request)) = map.next_entry::<String, &'de RawValue>()? {
                    match requests.iter().position(|(known, _)| *known == key) {
                        Some(known) => requests[known].1 = request,
                        None if requests.len() == MAX_INPUT_REQUESTS => {
                            return Err(A::Error::custom(format_args!(
                                "it asks for more than {MAX_INPUT_REQUESTS} things at once"
                            )));
                        }
                        None if key.len() > MAX_INPUT_KEY => {
                            return Err(A::Error::custom(format_args!(
                                "a key of inputRequests has {} bytes, more than {MAX_INPUT_KEY}",
                                key.len()
                            )));
                        }
                        None => requests.push((key, request)),
                    }
                }
                Ok(Requests(requests))
            }
        }

        deserializer.deserialize_map(RequestsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::result::read_task_result;
    use super::*;
    use ptc_mcp::json::{Value, json};

    fn input(result: Value) -> Result<InputRequired, String> {
        input_required(result.to_string().as_bytes())
    }

    #[test]
    fn what_is_asked_for_keeps_its_order_and_the_state_its_bytes() {
        let text = r#"{"resultType":"input_required","requestState":"a\u0062\ud800","inputRequests":{
            "z":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{}}},
            "a":{"method":"sampling/createMessage","params":{}},
            "b":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"javascript:x"}},
            "c":7,"d":{"method":"roots/list"}}}"#;
        let read = input_required(text.as_bytes()).unwrap();
        assert_eq!(read.state.unwrap().get(), r#""a\u0062\ud800""#);
        let keys: Vec<&str> = read.requests.iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["z", "a", "b", "c", "d"]);
        assert!(matches!(&read.requests[4].1, InputRequest::Other(method) if &**method == "roots/list"));
        assert!(matches!(&read.requests[0].1, InputRequest::Elicit(asked) if asked.message == "m"));
        assert!(
            matches!(&read.requests[1].1, InputRequest::Sample(Err(why)) if why.message.starts_with("its params are malformed"))
        );
        assert!(
            matches!(&read.requests[2].1, InputRequest::Refused(why) if why.to_string() == "its url is not https")
        );
        assert!(
            matches!(&read.requests[3].1, InputRequest::Refused(why) if why.to_string().starts_with("its request is malformed"))
        );
        let waits = input(json!({"requestState": "s"})).unwrap();
        assert!(waits.requests.is_empty() && waits.state.is_some());
    }

    #[test]
    fn a_request_for_input_that_cannot_be_met_says_why() {
        assert_eq!(
            input(json!({})).unwrap_err(),
            "input_required has neither inputRequests nor requestState"
        );
        assert_eq!(
            input(json!({"requestState": 7})).unwrap_err(),
            "input_required has a requestState that is no string"
        );
        assert!(
            input(json!({"inputRequests": []})).unwrap_err().starts_with("input_required is malformed: ")
        );
        let many = |count: usize| {
            let requests = (0..count).map(|at| (format!("k{at}"), json!({"method": "roots/list"})));
            input(json!({"inputRequests": ptc_mcp::json::Map::from_iter(requests)}))
        };
        assert_eq!(many(MAX_INPUT_REQUESTS).unwrap().requests.len(), MAX_INPUT_REQUESTS);
        // A hundred thousand take no longer than one too many.
        for count in [MAX_INPUT_REQUESTS + 1, 100_000] {
            assert!(
                many(count)
                    .unwrap_err()
                    .starts_with("input_required is malformed: it asks for more than 64 things at once")
            );
        }
        let keyed = |bytes: usize| input(json!({"inputRequests": {("k".repeat(bytes)): 7}}));
        assert!(keyed(MAX_INPUT_KEY).is_ok());
        assert!(keyed(MAX_INPUT_KEY + 1).unwrap_err().contains("a key of inputRequests has 1025 bytes"));
        let state = |bytes: usize| input(json!({"requestState": "x".repeat(bytes - 2)}));
        assert!(state(MAX_REQUEST_STATE).is_ok());
        assert_eq!(
            state(1 << 20).unwrap_err(),
            "input_required has a requestState of 1048576 bytes, more than 262144"
        );
    }

    #[test]
    fn a_task_has_an_id_of_bounded_length() {
        let of = |result: Value| task(result.to_string().as_bytes());
        let read = of(json!({"taskId": "t", "pollIntervalMs": 5, "status": "working"})).unwrap();
        assert_eq!((&*read.id, read.poll_interval_ms), ("t", Some(5)));
        assert_eq!(of(json!({"taskId": "t", "pollIntervalMs": "x"})).unwrap().poll_interval_ms, None);
        assert!(of(json!({"taskId": "x".repeat(MAX_TASK_ID)})).is_ok());
        for bytes in [0, MAX_TASK_ID + 1] {
            let wrong = of(json!({"taskId": "x".repeat(bytes)})).unwrap_err();
            assert_eq!(wrong, format!("the task has an id of {bytes} bytes; 1 to 1024 are usable"));
        }
        assert!(of(json!({})).unwrap_err().starts_with("the task is malformed: "));
    }

    #[test]
    fn a_task_is_read_by_its_status() {
        let of = |answer: Value| read_task(&answer.to_string().into());
        assert!(matches!(
            of(json!({"status": "working", "pollIntervalMs": 9})),
            Ok(TaskState::Working { poll_interval_ms: Some(9) })
        ));
        let done = of(json!({"status": "completed", "result": {"structuredContent": 1}})).unwrap();
        let TaskState::Completed(result) = done else { panic!("{done:?}") };
        assert_eq!(read_task_result(result, false).unwrap().envelope, r#"{"structuredContent":1}"#);
        let again: Bytes = r#"{"resultType":"task","taskId":"t"}"#.into();
        assert!(read_task_result(again, false).unwrap_err().unfinished.is_none(), "a task has no task");
        let failed =
            of(json!({"status": "failed", "error": {"code": -32603, "message": "no disk"}})).unwrap();
        assert!(matches!(failed, TaskState::Failed(message) if message == "no disk"));
        assert!(matches!(of(json!({"status": "cancelled"})), Ok(TaskState::Cancelled)));
        let asks = json!({"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}});
        let waits = of(json!({"status": "input_required", "inputRequests": {"k": asks}})).unwrap();
        assert!(
            matches!(waits, TaskState::Input(input) if matches!(input.requests[0].1, InputRequest::Elicit(_)))
        );
        for (odd, why) in [
            (json!({"status": "completed"}), "the task has ended without a result"),
            (json!({"status": "lost"}), "the task has the unknown status lost"),
            (json!({}), "the task is malformed: missing field `status`"),
        ] {
            assert!(of(odd).unwrap_err().starts_with(why), "{why}");
        }
    }
}
