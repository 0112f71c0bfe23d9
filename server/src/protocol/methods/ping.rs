//! `ping`

use crate::protocol::handled::Handled;
use crate::protocol::message::RequestId;
use crate::protocol::reply;

/// Answers `{}`.
pub fn answer(id: &RequestId) -> Handled {
    Handled::answered(reply::result(id, |out| out.extend_from_slice(b"{}")))
}
