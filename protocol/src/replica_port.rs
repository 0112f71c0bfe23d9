//! The port to the other replicas that serve a conversation (state.md 5.2).

use std::fmt::Debug;

use ptc_mcp::LogLevel;
use ptc_mcp::message::id::RequestId;

/// Forwards messages of a conversation to the other replicas that serve it.
pub trait Elsewhere: Debug + Send + Sync {
    /// The end of the id of our next request, 24 characters of base64url. Every replica recognises by it that the
    /// request belongs to this conversation. `None` if the system has no entropy.
    fn request_name(&self) -> Option<String>;

    /// Forwards the reply to a request that is unknown here. `message` is the text of the whole message.
    fn reply_came(&self, id: &str, message: String);

    /// Forwards the client's cancellation of a call that does not run here.
    fn cancelled(&self, id: &RequestId);

    /// Announces the level of log messages that the client wants.
    fn level_set(&self, level: LogLevel);
}
