//! One file per method, and the tables of the methods in each era.

pub mod cancelled;
pub mod discover;
pub mod exit;
mod features;
pub mod initialize;
pub mod initialized;
pub mod listen;
mod meta;
pub mod ping;
mod roots;
mod set_level;
pub mod shutdown;
mod tasks;
pub mod tools_call;
mod tools_list;

use std::sync::Arc;

use ptc_host::trace::within_sync;
use ptc_mcp::Era;
use ptc_mcp::Revision;
use ptc_mcp::RpcError;
use ptc_mcp::message::id::{IdMember, RequestId};
use ptc_mcp::message::strict::StrictMessage;
use tracing::{debug, warn};

use super::call::Call;
use super::client_requests::hand_on;
use super::connection::Connection;
use super::handler_outcome::{Disposition, HandlerOutcome};
use super::reply::{self, Answers};
use super::request_span::{RequestSpan, trace_of};
use super::service::{MessageContext, Service};
use crate::principal::Principal;
use meta::check_meta;

impl Service {
    /// Answers one message.
    pub fn handle(self: &Arc<Self>, from: MessageContext<'_>, message: &StrictMessage<'_>) -> HandlerOutcome {
        let revision = match from.era {
            Era::Modern => Some(Revision::V2026_07_28),
            Era::Handshake => from.connection.revision(),
        };
        let invalid = |id| {
            let body = reply::error(Answers::from_id(id, revision), &RpcError::invalid_request());
            HandlerOutcome::reply(Disposition::Invalid, body)
        };
        if message.method.is_none() && message.is_response() {
            if !from.connection.client_requests().take(message) {
                hand_on(from.connection, message);
                roots::take(self, from.connection, message);
            }
            return HandlerOutcome::Silent;
        }
        let id = match &message.id {
            IdMember::Invalid => return invalid(None),
            IdMember::Absent if !message.well_formed || message.method.is_none() => return invalid(None),
            IdMember::Absent => None,
            IdMember::Valid(id) => Some(id),
        };
        let Some(method) = message.method.as_ref().filter(|_| message.well_formed) else {
            return invalid(id);
        };
        let method = method.as_deref();
        match id {
            None => notification(self, from.connection, method.unwrap_or_default(), message),
            Some(id) => match from.era {
                Era::Handshake => request(self, from, id, method, message),
                Era::Modern => match check_meta(id, message) {
                    Ok(()) => request(self, from, id, method, message),
                    Err(refusal) => refusal,
                },
            },
        }
    }
}

/// Answers a request, whose `_meta` has been checked in the modern era, within its trace. `method` is `None` if it is not a string.
fn request(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: Option<&str>,
    message: &StrictMessage<'_>,
) -> HandlerOutcome {
    if method == Some("tools/call") {
        return tools_call::answer(service, from, id, &message.params);
    }
    let answer = || match from.era {
        Era::Handshake => handshake_request(service, from, id, method, message),
        Era::Modern => modern_request(service, from, id, method, message),
    };
    let Some(trace) = trace_of(service, from, method, message.params.object()) else { return answer() };
    let span = RequestSpan::begin(&trace, from, id, method, &message.params);
    match within_sync(trace.clone(), answer) {
        HandlerOutcome::Call(call) => {
            HandlerOutcome::Call(Box::new(Call { trace: Some(trace), request_span: span, ..*call }))
        }
        HandlerOutcome::Reply(reply) => {
            if let Some(span) = span {
                span.answered(&reply.body);
            }
            HandlerOutcome::Reply(reply)
        }
        outcome @ (HandlerOutcome::Silent | HandlerOutcome::Exit) => outcome,
    }
}

/// Answers a request of the handshake era. `method` is `None` if it is not a string.
fn handshake_request(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: Option<&str>,
    message: &StrictMessage<'_>,
) -> HandlerOutcome {
    match method {
        Some("initialize") => initialize::answer(service, from, id, &message.params),
        Some("ping") => ping::answer(id),
        Some("tools/list") => tools_list::answer(service, from, id, &message.params),
        Some("logging/setLevel") if service.upstreams_say.is_some() && from.connection.lasts() => {
            set_level::answer(from.connection, id, &message.params)
        }
        Some("shutdown") => shutdown::answer(from.connection, id),
        Some("exit") => exit::answer(from.connection),
        // With an id they are neither notification nor request.
        Some(name) if name.starts_with("notifications/") => {
            let body = reply::error(Answers::Request(id), &RpcError::invalid_request());
            HandlerOutcome::reply(Disposition::Invalid, body)
        }
        other => {
            let feature =
                other.and_then(|method| features::answer(service, from, id, method, &message.params));
            feature.unwrap_or_else(|| {
                not_found(service, from.caller, id, other);
                HandlerOutcome::error(id, &RpcError::method_not_found())
            })
        }
    }
}

/// Answers a request of the modern era whose `_meta` has been checked.
fn modern_request(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: Option<&str>,
    message: &StrictMessage<'_>,
) -> HandlerOutcome {
    match method {
        Some("server/discover") => discover::answer(service, from, id),
        Some("tools/list") => tools_list::answer(service, from, id, &message.params),
        Some("subscriptions/listen") => listen::answer(service, from, id, &message.params),
        other => {
            let feature = other.and_then(|method| {
                tools_call::prompt(service, from, id, method, &message.params)
                    .or_else(|| features::answer(service, from, id, method, &message.params))
                    .or_else(|| tasks::answer(service, from, id, method, &message.params))
            });
            feature.unwrap_or_else(|| {
                not_found(service, from.caller, id, other);
                let body = reply::error(Answers::Request(id), &RpcError::method_not_found());
                HandlerOutcome::reply(Disposition::UnknownMethod, body)
            })
        }
    }
}

/// Processes a notification. There is never an answer. A tool call without an id cannot be answered and is not run.
fn notification(
    service: &Service,
    connection: &Arc<Connection>,
    method: &str,
    message: &StrictMessage<'_>,
) -> HandlerOutcome {
    match method {
        "notifications/cancelled" => cancelled::act(connection, &message.params),
        "notifications/initialized" => return initialized::act(service, connection),
        "notifications/roots/list_changed" => return roots::ask(service, connection),
        "shutdown" => connection.drain(),
        "exit" => return exit::answer(connection),
        other => debug!(event = "notification_ignored", method = loggable(Some(other))),
    }
    HandlerOutcome::Silent
}

/// Logs an unknown method.
fn not_found(service: &Service, caller: &Principal, id: &RequestId, method: Option<&str>) {
    let method = loggable(method);
    match service.refusals.line(caller.hash()) {
        Some(0) => warn!(event = "method_not_found", rpc_id = %id, method),
        Some(left_out) => warn!(event = "method_not_found", rpc_id = %id, method, left_out),
        None => debug!(event = "method_not_found", rpc_id = %id, method),
    }
}

/// A method name for logs, with bounded length.
fn loggable(method: Option<&str>) -> String {
    method.unwrap_or("(not a string)").chars().take(64).collect()
}
