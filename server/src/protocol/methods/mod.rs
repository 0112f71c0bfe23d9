//! One file per method, and the tables that say which era knows which.

pub mod cancelled;
pub mod discover;
pub mod exit;
pub mod initialize;
pub mod initialized;
pub mod listen;
pub mod ping;
pub mod shutdown;
pub mod tools_call;
pub mod tools_list;

use std::sync::Arc;

use tracing::{debug, warn};

use super::connection::Connection;
use super::error::RpcError;
use super::message::{Message, RequestId};
use super::reply::{self, Answers};
use super::service::{Era, Handled, Reply, Service};

/// Answers a request of the handshake era. `method` is `None` where it is no string.
pub(super) fn handshake_request(
    service: &Arc<Service>,
    connection: &Arc<Connection>,
    id: &RequestId,
    method: Option<&str>,
    message: &Message<'_>,
) -> Handled {
    match method {
        Some("initialize") => initialize::answer(service, connection, id, &message.params),
        Some("ping") => ping::answer(id),
        Some("tools/list") => tools_list::answer(service, Era::Handshake, id, &message.params),
        Some("tools/call") => tools_call::answer(service, connection, Era::Handshake, id, &message.params),
        Some("shutdown") => shutdown::answer(connection, id),
        Some("exit") => exit::answer(connection),
        // Sent with an id they are neither notification nor request.
        Some(name) if name.starts_with("notifications/") => {
            let body = reply::error(Answers::Request(id), &RpcError::invalid_request());
            Handled::Reply(Reply::under(400, body))
        }
        other => {
            warn!(event = "method_not_found", request_id = %id, method = shown(other));
            Handled::error(id, &RpcError::method_not_found())
        }
    }
}

/// Answers a request of the modern era whose `_meta` has been checked.
pub(super) fn modern_request(
    service: &Arc<Service>,
    connection: &Arc<Connection>,
    id: &RequestId,
    method: Option<&str>,
    message: &Message<'_>,
) -> Handled {
    match method {
        Some("server/discover") => discover::answer(service, id),
        Some("tools/list") => tools_list::answer(service, Era::Modern, id, &message.params),
        Some("tools/call") => tools_call::answer(service, connection, Era::Modern, id, &message.params),
        Some("subscriptions/listen") => listen::answer(service, connection, id, &message.params),
        other => {
            warn!(event = "method_not_found", request_id = %id, method = shown(other));
            let body = reply::error(Answers::Request(id), &RpcError::method_not_found());
            Handled::Reply(Reply::under(404, body))
        }
    }
}

/// Acts on a notification; there is never an answer. A tool call without id could not be answered and is not run.
pub(super) fn notification(connection: &Arc<Connection>, method: &str, message: &Message<'_>) -> Handled {
    match method {
        "notifications/cancelled" => cancelled::act(connection, &message.params),
        "notifications/initialized" => initialized::act(),
        "shutdown" => connection.drain(),
        "exit" => return exit::answer(connection),
        other => debug!(event = "notification_ignored", method = shown(Some(other))),
    }
    Handled::Silent
}

/// A method name as logs show it: bounded.
fn shown(method: Option<&str>) -> String {
    method.unwrap_or("(not a string)").chars().take(64).collect()
}
