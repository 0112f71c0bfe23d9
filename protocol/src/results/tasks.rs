//! Writes tasks as JSON.

use jiff::Timestamp;
use ptc_mcp::json::Object;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::meta::SUBSCRIPTION_ID;

use super::{write_server_meta, write_task_result};
use crate::reply;
use crate::service::Service;
use crate::tool::{Task, TaskState};

/// The interval at which a client should poll, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1000;

/// The whole response of a `tools/call` that has become a task.
pub(crate) fn created(service: &Service, id: &RequestId, task: &Task) -> Vec<u8> {
    reply::result(id, |out| {
        let mut result = Object::new(out);
        result.string("resultType", "task");
        write_members(&mut result, task);
        write_server_meta(service, out, None);
        out.push(b'}');
    })
}

/// The whole response of `tasks/get`.
pub(crate) fn detailed(service: &Service, id: &RequestId, task: &Task) -> Vec<u8> {
    reply::result_of(room(task), id, |out| {
        let mut result = Object::new(out);
        result.string("resultType", "complete");
        write_members(&mut result, task);
        write_detail(&mut result, service, task);
        write_server_meta(service, out, None);
        out.push(b'}');
    })
}

/// The whole response of `tasks/update` and `tasks/cancel`.
pub(crate) fn acknowledgement(service: &Service, id: &RequestId) -> Vec<u8> {
    reply::result(id, |out| {
        out.extend_from_slice(b"{\"resultType\":\"complete\"");
        write_server_meta(service, out, None);
        out.push(b'}');
    })
}

/// The notification of a task on the channel `channel`.
pub(crate) fn notification(service: &Service, channel: &RequestId, task: &Task) -> Vec<u8> {
    let mut out = Vec::with_capacity(512 + room(task));
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":");
    let mut params = Object::new(&mut out);
    write_members(&mut params, task);
    write_detail(&mut params, service, task);
    let mut meta = Object::new(params.key("_meta"));
    meta.raw(SUBSCRIPTION_ID, channel.json());
    meta.end();
    params.end();
    out.push(b'}');
    out
}

fn room(task: &Task) -> usize {
    match &task.state {
        TaskState::Completed(reply) => reply.len_hint(),
        TaskState::Input(requests) => requests.len(),
        TaskState::Working | TaskState::Failed(_) | TaskState::Cancelled => 0,
    }
}

/// Writes the members that all tasks have.
fn write_members(object: &mut Object<'_>, task: &Task) {
    object.string("taskId", &task.id);
    object.string(
        "status",
        match &task.state {
            TaskState::Working => "working",
            TaskState::Input(_) => "input_required",
            TaskState::Completed(_) => "completed",
            TaskState::Failed(_) => "failed",
            TaskState::Cancelled => "cancelled",
        },
    );
    if let Some(message) = &task.message {
        object.string("statusMessage", message);
    }
    object.string("createdAt", &instant(task.created_ms));
    object.string("lastUpdatedAt", &instant(task.updated_ms));
    object.integer("ttlMs", task.ttl_ms);
    object.integer("pollIntervalMs", POLL_INTERVAL_MS);
}

/// Writes the members that depend on the state.
fn write_detail(object: &mut Object<'_>, service: &Service, task: &Task) {
    match &task.state {
        TaskState::Working | TaskState::Cancelled => {}
        TaskState::Input(requests) => object.raw("inputRequests", requests),
        TaskState::Completed(reply) => write_task_result(service, object.key("result"), reply),
        TaskState::Failed(error) => {
            let mut failure = Object::new(object.key("error"));
            failure.raw("code", &error.code.to_string());
            failure.string("message", &error.message);
            if let Some(data) = &error.data {
                failure.raw("data", data);
            }
            failure.end();
        }
    }
}

/// ISO 8601 in UTC, to the millisecond.
fn instant(ms: i64) -> String {
    Timestamp::from_millisecond(ms).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_as_long_as_each_other_and_sort_as_texts() {
        let [whole, tenth, later] = [1_796_000_000_000, 1_796_000_000_100, 1_796_000_000_101].map(instant);
        assert_eq!(tenth, "2026-11-30T00:53:20.100Z");
        assert!(whole < tenth && tenth < later, "{whole} {tenth} {later}");
    }
}
