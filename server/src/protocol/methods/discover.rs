//! `server/discover`: what the modern era has instead of a handshake.

use std::sync::Arc;

use ptc_host::engine::EvalId;
use ptc_mcp::Revision;
use ptc_mcp::json::write_string;
use tracing::debug;

use super::tools_list::write_cache_hints;
use crate::protocol::message::RequestId;
use crate::protocol::reply;
use crate::protocol::service::{Handled, Reply, Service};

/// Names the modern revisions, the capabilities and the server.
pub fn answer(service: &Arc<Service>, id: &RequestId) -> Handled {
    debug!(event = "server_discover", request_id = %id);
    Handled::Reply(Reply::ok(reply::result(id, |out| {
        out.extend_from_slice(b"{\"resultType\":\"complete\",\"supportedVersions\":[");
        for (at, revision) in Revision::MODERN.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_string(out, revision.name());
        }
        out.extend_from_slice(b"],\"capabilities\":{\"tools\":{\"listChanged\":false}}");
        if !service.instructions.is_empty() {
            out.extend_from_slice(b",\"instructions\":");
            write_string(out, &service.instructions);
        }
        write_cache_hints(service, out);
        write_server_meta(service, out, None);
        out.push(b'}');
    })))
}

/// Writes `_meta` of a modern result: who answers, and which evaluation it was.
pub fn write_server_meta(service: &Service, out: &mut Vec<u8>, eval_id: Option<EvalId>) {
    out.extend_from_slice(b",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":");
    out.extend_from_slice(service.server_info.as_bytes());
    if let Some(eval_id) = eval_id {
        out.extend_from_slice(b",\"eval_id\":");
        write_eval_id(out, eval_id);
    }
    out.push(b'}');
}

/// Writes the id of an evaluation as a JSON string.
pub fn write_eval_id(out: &mut Vec<u8>, eval_id: EvalId) {
    // Neither its letters nor its digits need an escape.
    out.push(b'"');
    eval_id.write(out);
    out.push(b'"');
}
