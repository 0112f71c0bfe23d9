//! `tools/list`: the whole list at once; it never changes during a process.

use std::sync::Arc;

use ptc_mcp::json::Kind;
use tracing::debug;

use super::discover::write_server_meta;
use crate::protocol::error::RpcError;
use crate::protocol::message::{ParamsMember, RequestId};
use crate::protocol::reply;
use crate::protocol::service::{Era, Handled, Reply, Service};

/// How long a client may keep the answer, in milliseconds.
const TTL_MS: u32 = 60_000;

/// Lists the tools. We give no cursors, so any cursor is one we did not give.
pub fn answer(service: &Arc<Service>, era: Era, id: &RequestId, params: &ParamsMember<'_>) -> Handled {
    debug!(event = "tools_list", request_id = %id);
    let cursor = params.object().and_then(|params| params.cursor);
    if cursor.is_some_and(|raw| raw.kind() != Kind::Null) {
        return Handled::error(
            id,
            &RpcError::new(RpcError::INVALID_PARAMS, "Invalid params: unknown cursor"),
        );
    }
    Handled::Reply(Reply::ok(reply::result(id, |out| {
        out.reserve(service.tools.listing().len() + 256);
        out.extend_from_slice(b"{\"tools\":");
        out.extend_from_slice(service.tools.listing());
        if era == Era::Modern {
            out.extend_from_slice(b",\"resultType\":\"complete\"");
            write_cache_hints(service, out);
            write_server_meta(service, out, None);
        }
        out.push(b'}');
    })))
}

/// Writes `ttlMs` and `cacheScope`.
pub fn write_cache_hints(service: &Service, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!(",\"ttlMs\":{TTL_MS},\"cacheScope\":\"{}\"", service.cache_scope).as_bytes(),
    );
}
