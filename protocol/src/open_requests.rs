//! The requests to a client that it has not answered.

use ptc_host::sync::Mutex;
use std::sync::{Arc, MutexGuard};

use ahash::AHashMap;
use ptc_mcp::RpcError;
use ptc_mcp::message::id::IdMember;
use ptc_mcp::message::strict::StrictMessage;
use tokio::sync::oneshot;
use tracing::debug;

/// Most requests of one conversation that wait for their replies, including those kept for a late reply.
pub(super) const MAX_OPEN: usize = 256;
/// Longest reply that is read, in bytes.
pub(super) const MAX_REPLY: usize = 256 << 10;

/// The reply of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientReply {
    /// `result` as written.
    Result(String),
    /// `error`.
    Error(RpcError),
}

/// The open requests of one conversation.
#[derive(Debug, Default)]
pub(super) struct ClientRequests(Mutex<AHashMap<Arc<str>, oneshot::Sender<ClientReply>>>);

impl ClientRequests {
    /// Takes a message that is a reply to one of our requests. Returns whether it was.
    pub(super) fn take(&self, message: &StrictMessage<'_>) -> bool {
        let IdMember::Valid(id) = &message.id else { return false };
        let id = id.json().trim_matches('"');
        let Some(waiting) = self.open().remove(id) else { return false };
        let reply = match (message.result, message.error) {
            (Some(result), None) if result.len() <= MAX_REPLY => ClientReply::Result(result.to_owned()),
            (_, Some(error)) => ClientReply::Error(RpcError::read(error)),
            _ => ClientReply::Error(RpcError::invalid_request()),
        };
        debug!(event = "client_replied", is_error = matches!(reply, ClientReply::Error(_)));
        // The task that asked may have ended.
        let _ = waiting.send(reply);
        true
    }

    /// The ids of all open requests.
    pub(super) fn ids(&self) -> Vec<Arc<str>> {
        self.open().keys().cloned().collect()
    }

    /// Drops all open requests: the conversation has ended.
    pub(super) fn forget(&self) {
        self.open().clear();
    }

    pub(super) fn open(&self) -> MutexGuard<'_, AHashMap<Arc<str>, oneshot::Sender<ClientReply>>> {
        self.0.lock()
    }
}
