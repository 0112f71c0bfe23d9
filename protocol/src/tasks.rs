//! The tasks extension of 2026-07-28, `io.modelcontextprotocol/tasks` (waiting.md 6.3): the port of the protocol to
//! the owner of tasks, and the declarations of clients.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw};
use ptc_mcp::meta::TASKS;

use super::elicitation::Elicitation;
use super::tool::Task;
use crate::principal::Principal;

/// Most tasks of one channel.
pub(crate) const MOST_LISTENED: usize = 64;

/// Why a task cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskError {
    /// That principal has no task of that id.
    Unknown,
    /// The store is unavailable.
    Unavailable,
}

/// Why answers to a task are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAnswerError {
    /// There is no such task.
    Task(TaskError),
    /// The value of this key is not an elicitation result.
    Response(String),
}

/// The client that asks for tasks.
#[derive(Debug, Clone)]
pub struct TaskClient {
    /// The caller: tasks of others are unknown.
    pub principal: Principal,
    /// The modes of questions that its request declares.
    pub modes: Elicitation,
}

/// The tasks of a channel: the ids of those that are the caller's own, and a stream with each of them whenever it
/// changes.
pub type TaskNews = (Vec<String>, BoxStream<'static, Task>);

/// The owner of tasks.
pub trait TaskDesk: Send + Sync {
    /// The current state of the task of that id.
    fn get(&self, asking: TaskClient, id: String) -> BoxFuture<'static, Result<Task, TaskError>>;

    /// Takes answers to the questions of a task. `responses` is the text of a JSON object; keys that are not open are
    /// ignored.
    fn update(
        &self,
        asking: TaskClient,
        id: String,
        responses: String,
    ) -> BoxFuture<'static, Result<(), TaskAnswerError>>;

    /// Cancels a task. One that has ended stays as it is.
    fn cancel(&self, asking: TaskClient, id: String) -> BoxFuture<'static, Result<(), TaskError>>;

    /// Subscribes to these tasks. The stream begins with the current state of each; dropping it ends the
    /// subscription.
    fn listen(&self, asking: TaskClient, ids: Vec<String>) -> BoxFuture<'static, TaskNews>;
}

impl TaskError {
    /// The error for the client.
    pub(crate) fn error(self) -> RpcError {
        match self {
            TaskError::Unknown => {
                RpcError::new(RpcError::INVALID_PARAMS, "Failed to retrieve task: Task not found")
            }
            TaskError::Unavailable => RpcError::new(
                RpcError::REFUSED,
                "the state store is unavailable; the task is not lost: retry in a second",
            ),
        }
    }
}

impl TaskAnswerError {
    /// The error for the client.
    pub(crate) fn error(&self) -> RpcError {
        match self {
            TaskAnswerError::Task(why) => why.error(),
            TaskAnswerError::Response(key) => {
                let message = format!("Invalid params: inputResponses.{key} is not an elicitation result");
                let data = Some(r#"{"reason":"responses"}"#.into());
                RpcError { data, ..RpcError::new(RpcError::INVALID_PARAMS, message) }
            }
        }
    }
}

/// True if these capabilities of a request declare the extension.
pub(crate) fn declared(capabilities: Option<Raw<'_>>) -> bool {
    let extensions = find(capabilities, "extensions");
    find(extensions, TASKS).is_some_and(|settings| settings.kind() == Kind::Object)
}

fn find<'a>(object: Option<Raw<'a>>, name: &str) -> Option<Raw<'a>> {
    object?.members()?.find(|(key, _)| key == name).map(|(_, value)| value)
}

/// The refusal of a request that has not declared the extension.
pub fn undeclared() -> RpcError {
    let data = format!("{{\"requiredCapabilities\":{{\"extensions\":{{\"{TASKS}\":{{}}}}}}}}");
    let message = "Missing required client capability: this request does not declare the tasks extension";
    RpcError { data: Some(data.into()), ..RpcError::new(RpcError::MISSING_CAPABILITY, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_is_declared_by_an_object_at_its_name() {
        let declares = |text: &str| declared(Some(Raw::parse(text).unwrap()));
        assert!(declares(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#));
        assert!(declares(r#"{"extensions":{"a/b":{},"io.modelcontextprotocol/tasks":{"x":1}}}"#));
        for none in [
            "{}",
            "[]",
            r#"{"extensions":[]}"#,
            r#"{"extensions":{}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#,
            r#"{"tasks":{}}"#,
            r#"{"io.modelcontextprotocol/tasks":{}}"#,
        ] {
            assert!(!declares(none), "{none}");
        }
        assert!(!declared(None));
    }

    #[test]
    fn refusals_say_what_is_missing() {
        let error = undeclared();
        let data: serde_json::Value = serde_json::from_str(error.data.as_deref().unwrap()).unwrap();
        assert_eq!(data["requiredCapabilities"]["extensions"][TASKS], serde_json::json!({}));
        assert_eq!(error.code, -32021);
        let response = TaskAnswerError::Response("q1".into()).error();
        assert_eq!(response.message, "Invalid params: inputResponses.q1 is not an elicitation result");
    }
}
