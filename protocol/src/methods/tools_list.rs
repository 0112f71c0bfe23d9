//! `tools/list`: the whole list at once if it fits a page. While upstreams start, the answer waits a moment for them. After that the
//! list changes at most once more, when the slow ones are known, unless it follows the upstreams' lists.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::time;
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, write_string};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::debug;

use super::features;
use crate::call::CallWork;
use crate::client::{KnownClient, ListStyle};
use crate::handler_outcome::HandlerOutcome;
use crate::principal::Principal;
use crate::reply::{self, Answers};
use crate::results::{write_cache_hints, write_server_meta};
use crate::service::{MessageContext, Service};

/// How long the answer waits for lists that upstreams make for the caller alone.
const LISTED_WITHIN: Duration = Duration::from_secs(1);

/// Lists the tools, or a page of them.
pub(super) fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> HandlerOutcome {
    debug!(event = "tools_list", rpc_id = %id);
    let cursor = params.object().and_then(|params| params.cursor).filter(|raw| raw.kind() != Kind::Null);
    let Ok(cursor) = cursor.map(|raw| raw.as_str().ok_or(())).transpose() else {
        return HandlerOutcome::error(id, &unknown_cursor());
    };
    let era = from.era;
    let info = params.object().and_then(|params| params.meta.client_info);
    let style = from.client(info).map(KnownClient::list_style).unwrap_or_default();
    let caller = from.owner(service).principal;
    let before = service.tools.before_listing(&caller);
    if service.lists_tools() && before.is_none() {
        return HandlerOutcome::answered(listed(service, caller, era, style, cursor.as_deref(), id));
    }
    let (own, request) = (service.clone(), id.clone());
    let cursor = cursor.map(|cursor| cursor.into_owned());
    let running = Box::pin(async move {
        own.until_tools_are_listed().await;
        if let Some(before) = before {
            // What is not known by then is listed later.
            let _ = time::timeout(LISTED_WITHIN, before).await;
        }
        listed(&own, caller, era, style, cursor.as_deref(), &request)
    });
    features::admit(service, from, id, false, CallWork::Feature { method: "tools/list", running })
}

fn unknown_cursor() -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, "Invalid params: unknown cursor")
}

fn listed(
    service: &Service,
    caller: Principal,
    era: Era,
    style: ListStyle,
    cursor: Option<&str>,
    id: &RequestId,
) -> Vec<u8> {
    let Ok(page) = service.tools.page(style, &caller, cursor) else {
        return reply::error(Answers::Request(id), &unknown_cursor());
    };
    reply::result(id, |out| {
        out.reserve(page.json.len() + 256);
        out.extend_from_slice(b"{\"tools\":");
        out.extend_from_slice(&page.json);
        if let Some(next) = &page.next {
            out.extend_from_slice(b",\"nextCursor\":");
            write_string(out, next);
        }
        if era == Era::Modern {
            out.extend_from_slice(b",\"resultType\":\"complete\"");
            write_cache_hints(service, out);
            write_server_meta(service, out, None);
        }
        out.push(b'}');
    })
}
