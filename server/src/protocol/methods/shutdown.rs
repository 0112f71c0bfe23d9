//! `shutdown`: running calls finish, new ones are refused.

use std::sync::Arc;

use tracing::info;

use crate::protocol::connection::Connection;
use crate::protocol::message::RequestId;
use crate::protocol::reply;
use crate::protocol::service::{Handled, Reply};

/// Answers `null` and drains the conversation.
pub fn answer(connection: &Arc<Connection>, id: &RequestId) -> Handled {
    info!(event = "shutdown", request_id = %id);
    connection.drain();
    Handled::Reply(Reply::ok(reply::result(id, |out| out.extend_from_slice(b"null"))))
}
