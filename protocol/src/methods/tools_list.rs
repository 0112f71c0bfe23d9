//! `tools/list`: the whole list at once. While upstreams start, the answer waits a moment for them. After that the
//! list changes at most once more, when the slow ones are known.

use std::sync::Arc;

use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::json::Kind;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::debug;

use super::features;
use crate::call::CallWork;
use crate::client::{KnownClient, LongText};
use crate::handler_outcome::HandlerOutcome;
use crate::principal::Principal;
use crate::reply;
use crate::results::{write_cache_hints, write_server_meta};
use crate::service::{MessageContext, Service};

/// Lists the tools. We issue no cursors, so every cursor is invalid.
pub(super) fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> HandlerOutcome {
    debug!(event = "tools_list", request_id = %id);
    let cursor = params.object().and_then(|params| params.cursor);
    if cursor.is_some_and(|raw| raw.kind() != Kind::Null) {
        return HandlerOutcome::error(
            id,
            &RpcError::new(RpcError::INVALID_PARAMS, "Invalid params: unknown cursor"),
        );
    }
    let era = from.era;
    let info = params.object().and_then(|params| params.meta.client_info);
    let long_text = from.client(info).map(KnownClient::long_text).unwrap_or_default();
    if service.lists_tools() {
        return HandlerOutcome::answered(listed(service, from.owner(service).principal, era, long_text, id));
    }
    let (own, caller, request) = (service.clone(), from.owner(service).principal, id.clone());
    let running = Box::pin(async move {
        own.until_tools_are_listed().await;
        listed(&own, caller, era, long_text, &request)
    });
    features::admit(service, from, id, false, CallWork::Feature { method: "tools/list", running })
}

fn listed(service: &Service, caller: Principal, era: Era, long_text: LongText, id: &RequestId) -> Vec<u8> {
    let listing = service.tools.listing(long_text, caller.authority());
    reply::result(id, |out| {
        out.reserve(listing.len() + 256);
        out.extend_from_slice(b"{\"tools\":");
        out.extend_from_slice(&listing);
        if era == Era::Modern {
            out.extend_from_slice(b",\"resultType\":\"complete\"");
            write_cache_hints(service, out);
            write_server_meta(service, out, None);
        }
        out.push(b'}');
    })
}
