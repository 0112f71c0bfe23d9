//! `ping`

use ptc_mcp::message::id::RequestId;

use crate::handled::Handled;
use crate::reply;

/// Answers `{}`.
pub fn answer(id: &RequestId) -> Handled {
    Handled::answered(reply::result(id, |out| out.extend_from_slice(b"{}")))
}
