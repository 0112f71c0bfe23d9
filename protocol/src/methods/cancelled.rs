//! `notifications/cancelled`

use std::sync::Arc;

use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::ParamsMember;
use tracing::debug;

use crate::connection::Connection;

/// Cancels the running call that `requestId` names. A missing or null id is ignored. So is an unknown one, unless its
/// call runs on another replica: the call may have ended while the notification was in flight.
pub fn act(connection: &Arc<Connection>, params: &ParamsMember<'_>) {
    let id = params.object().and_then(|params| params.request_id).and_then(RequestId::from_raw);
    match id {
        Some(id) if connection.cancel(&id) => debug!(event = "notifications_cancelled", rpc_id = %id),
        Some(id) => {
            debug!(event = "cancelled_unknown", rpc_id = %id);
            if let Some(elsewhere) = connection.elsewhere() {
                elsewhere.cancelled(&id);
            }
        }
        None => debug!(event = "cancelled_unknown"),
    }
}
