//! `ping`

use crate::protocol::message::RequestId;
use crate::protocol::reply;
use crate::protocol::service::{Handled, Reply};

/// Answers `{}`.
pub fn answer(id: &RequestId) -> Handled {
    Handled::Reply(Reply::ok(reply::result(id, |out| out.extend_from_slice(b"{}"))))
}
