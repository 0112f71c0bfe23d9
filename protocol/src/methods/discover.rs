//! `server/discover`: the modern era's replacement for the handshake.

use std::sync::Arc;

use ptc_mcp::Revision;
use ptc_mcp::json::write_string;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::meta::TASKS;
use tracing::debug;

use crate::handler_outcome::HandlerOutcome;
use crate::reply;
use crate::results::{write_cache_hints, write_server_meta};
use crate::service::{MessageContext, Service};

/// Names the modern revisions, the capabilities and the server.
pub fn answer(service: &Arc<Service>, from: MessageContext<'_>, id: &RequestId) -> HandlerOutcome {
    debug!(event = "server_discover", rpc_id = %id);
    HandlerOutcome::answered(reply::result(id, |out| {
        out.extend_from_slice(b"{\"resultType\":\"complete\",\"supportedVersions\":[");
        for (at, revision) in Revision::MODERN.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(out, revision.name());
        }
        let changes = service.tools_may_change();
        out.extend_from_slice(
            format!("],\"capabilities\":{{\"tools\":{{\"listChanged\":{changes}}}").as_bytes(),
        );
        if service.upstreams_say.is_some() {
            out.extend_from_slice(b",\"logging\":{}");
        }
        out.extend(service.exposed.iter().flat_map(|exposed| exposed.capabilities(true).into_bytes()));
        if service.tasks.is_some() {
            out.extend_from_slice(format!(",\"extensions\":{{\"{TASKS}\":{{}}}}").as_bytes());
        }
        out.push(b'}');
        let instructions = service.instructions_for(from);
        if !instructions.is_empty() {
            out.extend_from_slice(b",\"instructions\":");
            write_string(out, &instructions);
        }
        write_cache_hints(service, out);
        write_server_meta(service, out, None);
        out.push(b'}');
    }))
}
