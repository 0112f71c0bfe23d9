//! `shutdown`: running calls finish, new ones are refused.

use std::sync::Arc;

use ptc_mcp::message::id::RequestId;
use tracing::info;

use crate::connection::Connection;
use crate::handler_outcome::HandlerOutcome;
use crate::reply;

/// Answers `null` and drains the conversation.
pub fn answer(connection: &Arc<Connection>, id: &RequestId) -> HandlerOutcome {
    info!(event = "shutdown", rpc_id = %id);
    connection.drain();
    HandlerOutcome::answered(reply::result(id, |out| out.extend_from_slice(b"null")))
}
