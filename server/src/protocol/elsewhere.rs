//! The other replicas at which a conversation may go on (state.md 5.2).

use std::fmt::Debug;

use ptc_mcp::LogLevel;
use ptc_mcp::message::id::RequestId;

/// What of a conversation is handed on to the other replicas that serve it.
pub(crate) trait Elsewhere: Debug + Send + Sync {
    /// What the id of a request of ours ends with, 24 characters of base64url: every replica knows by it that the request is one of this
    /// conversation. `None` if the system has no random numbers.
    fn request_name(&self) -> Option<String>;

    /// Hands on the reply to a request that is not known here. `message` is the text of the whole message.
    fn reply_came(&self, id: &str, message: String);

    /// Hands on that the client gives up a call of that id, which does not run here.
    fn cancelled(&self, id: &RequestId);

    /// Tells which log messages the client wants.
    fn level_set(&self, level: LogLevel);
}
