//! The task with which a call is answered before it has ended (waiting.md 6.3).

use std::sync::Arc;

use ptc_mcp::RpcError;

use super::ToolReply;

/// A task as its client sees it.
#[derive(Debug, Clone)]
pub struct Task {
    /// The id of its run.
    pub id: Arc<str>,
    /// The message about its state.
    pub message: Option<String>,
    /// When its call arrived, in milliseconds since 1970.
    pub created_ms: i64,
    /// When its state changed last, in milliseconds since 1970.
    pub updated_ms: i64,
    /// How long after `created_ms` it is kept at least, in milliseconds.
    pub ttl_ms: u64,
    /// Its state.
    pub state: TaskState,
}

/// The state of a task.
#[derive(Debug, Clone)]
pub enum TaskState {
    /// Its program runs.
    Working,
    /// Its program waits for people: `inputRequests`, a JSON object of the open questions.
    Input(String),
    /// Its call has this result.
    Completed(Box<ToolReply>),
    /// Its call is answered with this error.
    Failed(RpcError),
    /// It was cancelled.
    Cancelled,
}
