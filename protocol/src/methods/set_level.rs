//! `logging/setLevel`: the least severity of upstreams' log messages that a client wants, for its own calls.

use std::sync::Arc;

use ptc_mcp::LogLevel;
use ptc_mcp::RpcError;
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;

use crate::connection::Connection;
use crate::handler_outcome::HandlerOutcome;
use crate::reply;

/// Sets the level for this conversation.
pub(super) fn answer(
    connection: &Arc<Connection>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> HandlerOutcome {
    let name = params.object().and_then(|params| params.level).and_then(Raw::as_str);
    let Some(level) = name.and_then(|name| LogLevel::from_name(&name)) else {
        let text = format!("Invalid params: level must be one of {}", LogLevel::names());
        return HandlerOutcome::error(id, &RpcError::new(RpcError::INVALID_PARAMS, text));
    };
    connection.set_log_level(level);
    if let Some(elsewhere) = connection.elsewhere() {
        elsewhere.level_set(level);
    }
    HandlerOutcome::answered(reply::result(id, |out| out.extend_from_slice(b"{}")))
}
