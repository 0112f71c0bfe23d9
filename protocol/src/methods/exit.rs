//! `exit`: ends the conversation. It is not answered, with or without an id.

use std::sync::Arc;

use tracing::debug;

use crate::connection::Connection;
use crate::handler_outcome::HandlerOutcome;

/// Drains the conversation and lets the transport end it.
pub fn answer(connection: &Arc<Connection>) -> HandlerOutcome {
    debug!(event = "exit_notification", in_flight = connection.running());
    connection.drain();
    HandlerOutcome::Exit
}
