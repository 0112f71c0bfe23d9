//! `ping`

use ptc_mcp::message::id::RequestId;

use crate::protocol::handled::Handled;
use crate::protocol::reply;

/// Answers `{}`.
pub fn answer(id: &RequestId) -> Handled {
    Handled::answered(reply::result(id, |out| out.extend_from_slice(b"{}")))
}
