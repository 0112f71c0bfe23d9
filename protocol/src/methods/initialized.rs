//! `notifications/initialized`: the client has read the answer to `initialize`, and may be sent requests from now on.

use super::roots;
use crate::connection::Connection;
use crate::handler_outcome::HandlerOutcome;
use crate::service::Service;

/// Asks the client for its roots, if an upstream needs them.
pub fn act(service: &Service, connection: &Connection) -> HandlerOutcome {
    tracing::debug!(event = "notifications_initialized");
    roots::ask(service, connection)
}
