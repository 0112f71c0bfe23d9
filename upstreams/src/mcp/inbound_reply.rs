//! Answers to requests of servers.

use futures_util::future::BoxFuture;

/// The answer to a request of a server.
pub(super) enum InboundReply {
    /// It is known.
    Ready(Vec<u8>),
    /// People or a model have to give it; none if the server has withdrawn the request.
    Waiting(BoxFuture<'static, Option<Vec<u8>>>),
}
