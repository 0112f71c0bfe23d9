//! `ping`

use ptc_mcp::message::id::RequestId;

use crate::handler_outcome::HandlerOutcome;
use crate::reply;

/// Answers `{}`.
pub fn answer(id: &RequestId) -> HandlerOutcome {
    HandlerOutcome::answered(reply::result(id, |out| out.extend_from_slice(b"{}")))
}
