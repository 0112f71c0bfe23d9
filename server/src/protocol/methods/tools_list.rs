//! `tools/list`: the whole list at once. It changes once at most: when upstreams that were slow to start are known.

use std::sync::Arc;

use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::json::Kind;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::debug;

use crate::protocol::handled::Handled;
use crate::protocol::reply;
use crate::protocol::results::{write_cache_hints, write_server_meta};
use crate::protocol::service::Service;

/// Lists the tools. We issue no cursors, so every cursor is invalid.
pub(super) fn answer(service: &Arc<Service>, era: Era, id: &RequestId, params: &ParamsMember<'_>) -> Handled {
    debug!(event = "tools_list", request_id = %id);
    let cursor = params.object().and_then(|params| params.cursor);
    if cursor.is_some_and(|raw| raw.kind() != Kind::Null) {
        return Handled::error(
            id,
            &RpcError::new(RpcError::INVALID_PARAMS, "Invalid params: unknown cursor"),
        );
    }
    let listing = service.tools.listing();
    Handled::answered(reply::result(id, |out| {
        out.reserve(listing.len() + 256);
        out.extend_from_slice(b"{\"tools\":");
        out.extend_from_slice(&listing);
        if era == Era::Modern {
            out.extend_from_slice(b",\"resultType\":\"complete\"");
            write_cache_hints(service, out);
            write_server_meta(service, out, None);
        }
        out.push(b'}');
    }))
}
