//! `subscriptions/listen`: a channel for notifications outside any request (2026-07-28).
//!
//! With `--expose` its client is notified of resources that change, and of lists of resources and prompts. Changes of
//! the tools are never announced, as lists have a time to live. With `--long-runs` it is notified of its tasks. The
//! channel is open until the server stops, or until it is evicted for a principal with fewer channels; then it ends
//! with a result.

use std::sync::Arc;
use std::time::Duration;

use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw, Value};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::{debug, warn};

use super::tasks::{asking, undeclared};
use crate::call::{Call, CallWork, Channel};
use crate::connection::AdmissionError;
use crate::handler_outcome::HandlerOutcome;
use crate::observer::FeatureRequest;
use crate::reply::{self, Answers};
use crate::service::{MessageContext, Service};
use crate::tasks::{self, MOST_LISTENED};
use crate::watches::Subscription;
use ptc_host::time;

/// Resources of one channel that observers are told of: as many as a client may watch.
const MOST_RECORDED: usize = 100;

/// Prepares the channel.
pub fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> HandlerOutcome {
    let invalid = |what: &str| {
        let message = format!("Invalid params: {what}");
        HandlerOutcome::error(id, &RpcError::new(RpcError::INVALID_PARAMS, message))
    };
    let (connection, params) = (from.connection, params.object());
    let wanted = params.and_then(|params| params.notifications).filter(|raw| raw.kind() == Kind::Object);
    let (Some(params), Some(wanted)) = (params, wanted) else {
        return invalid("notifications must be an object");
    };
    let (wanted, tasks) = match read(wanted) {
        Ok(read) => read,
        Err(what) => return invalid(&what),
    };
    if tasks.is_some() && !tasks::declared(params.meta.capabilities) {
        return undeclared(id);
    }
    let tasks = tasks.map(|ids| (asking(service, from, params), ids));
    debug!(event = "subscriptions_listen", rpc_id = %id);
    let saturated = |limit, reached: String| {
        let error = RpcError::new(RpcError::REFUSED, format!("server saturated: {reached}"));
        HandlerOutcome::busy(reply::error(Answers::Request(id), &error), limit, reached)
    };
    let (ticket, cancelled) = match connection.enter(id) {
        Ok(entered) => entered,
        Err(AdmissionError::Full(limit)) => {
            return saturated("in_flight", format!("{limit} requests of this conversation are open"));
        }
        Err(AdmissionError::Duplicate) => {
            warn!(event = "duplicate_request_id", rpc_id = %id);
            return HandlerOutcome::error(id, &RpcError::duplicate_id(id));
        }
    };
    let place = match service.listeners.try_open(from.caller) {
        Ok(place) => place,
        Err(too_many) => return saturated(too_many.limit(), too_many.to_string()),
    };
    let caller = from.owner(service).principal;
    if let Some(observers) = service.observers.as_deref().filter(|_| service.exposed.is_some()) {
        for uri in wanted.uris.iter().take(MOST_RECORDED) {
            observers.requested(&FeatureRequest {
                principal: &caller,
                is_http: from.origin.is_some(),
                method: "subscriptions/listen",
                subject: Some(uri),
                error: None,
                duration_ms: 0,
            });
        }
    }
    HandlerOutcome::Call(Box::new(Call {
        service: service.clone(),
        id: id.clone(),
        era: Era::Modern,
        work: CallWork::Listen(Box::new(Channel { place, caller, wanted, tasks })),
        started: time::now(),
        cancelled,
        hearing: None,
        outgoing: None,
        patience: Duration::ZERO,
        ticket,
        permit: None,
        span: None,
        request_span: None,
        trace: None,
        logged: None,
    }))
}

/// The notifications that the client asks for, and the ids of its tasks. Invalid members other than tasks are
/// ignored.
///
/// # Errors
/// The fault in the ids of tasks.
#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
fn read(notifications: Raw<'_>) -> Result<(Subscription, Option<Vec<String>>), String> {
    let given: Value = serde_json::from_str(notifications.text()).unwrap_or_default();
    let uris = given["resourceSubscriptions"].as_array();
    let wanted = Subscription {
        uris: uris.into_iter().flatten().filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
        resources: given["resourcesListChanged"] == true,
        prompts: given["promptsListChanged"] == true,
        tools: given["toolsListChanged"] == true,
    };
    Ok((wanted, task_ids(&given["taskIds"])?))
}

/// The ids of tasks, without duplicates; `None` if none are asked for.
fn task_ids(given: &Value) -> Result<Option<Vec<String>>, String> {
    if given.is_null() {
        return Ok(None);
    }
    let ids = given.as_array().map(|ids| ids.iter().map(|id| id.as_str().map(str::to_owned)));
    let ids: Option<Vec<String>> = ids.and_then(Iterator::collect);
    let mut ids = ids.ok_or("notifications.taskIds must be an array of strings")?;
    if ids.len() > MOST_LISTENED {
        return Err(format!("notifications.taskIds may have {MOST_LISTENED} ids, not {}", ids.len()));
    }
    ids.sort();
    ids.dedup();
    Ok(Some(ids))
}
