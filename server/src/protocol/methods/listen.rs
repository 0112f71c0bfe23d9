//! `subscriptions/listen`: a channel for notifications outside any request (2026-07-28).
//!
//! With `--expose` its client is told of resources that change, and of lists of resources and prompts; changes of the tools
//! are never told, for lists have a time to live. The channel is open until the server stops, or its place is needed for
//! somebody who has fewer of them; then it ends with a result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw, Value};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::{debug, warn};

use crate::protocol::call::{Call, Channel, Work};
use crate::protocol::connection::{Connection, Refused};
use crate::protocol::handled::Handled;
use crate::protocol::reply::{self, Answers};
use crate::protocol::service::Service;
use crate::protocol::watches::Wanted;

/// Makes the channel ready to be opened.
pub fn answer(
    service: &Arc<Service>,
    connection: &Arc<Connection>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> Handled {
    let wanted = params.object().and_then(|params| params.notifications);
    let Some(wanted) = wanted.filter(|raw| raw.kind() == Kind::Object) else {
        let message = "Invalid params: notifications must be an object";
        return Handled::error(id, &RpcError::new(RpcError::INVALID_PARAMS, message));
    };
    debug!(event = "subscriptions_listen", request_id = %id);
    let saturated = |limit, reached: String| {
        let error = RpcError::new(RpcError::REFUSED, format!("server saturated: {reached}"));
        Handled::busy(reply::error(Answers::Request(id), &error), limit, reached)
    };
    let (ticket, cancelled) = match connection.enter(id) {
        Ok(entered) => entered,
        Err(Refused::Full(limit)) => {
            return saturated("in_flight", format!("{limit} requests of this conversation are open"));
        }
        Err(Refused::Duplicate) => {
            warn!(event = "duplicate_request_id", request_id = %id);
            return Handled::error(id, &RpcError::duplicate_id(id));
        }
    };
    let place = match service.listeners.try_open(&connection.owner().principal) {
        Ok(place) => place,
        Err(too_many) => return saturated(too_many.limit(), too_many.to_string()),
    };
    Handled::Call(Box::new(Call {
        service: service.clone(),
        id: id.clone(),
        era: Era::Modern,
        work: Work::Listen(Box::new(Channel { place, wanted: read(wanted) })),
        started: Instant::now(),
        cancelled,
        hearing: None,
        outgoing: None,
        patience: Duration::ZERO,
        ticket,
        permit: None,
        span: None,
    }))
}

/// What the client asks for. Whatever is not as it should be is not asked for.
fn read(notifications: Raw<'_>) -> Wanted {
    let given: Value = serde_json::from_str(notifications.text()).unwrap_or_default();
    let uris = given["resourceSubscriptions"].as_array();
    Wanted {
        uris: uris.into_iter().flatten().filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
        resources: given["resourcesListChanged"] == true,
        prompts: given["promptsListChanged"] == true,
    }
}
