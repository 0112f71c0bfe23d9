//! The reply to the call of a program whose caller gets it as the upstream wrote it (server.md 4.8).

use bytes::Bytes;
use ptc_base::memory::ReplyCharge;
use ptc_base::sync::Mutex;

/// What an upstream answered, unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WholeReply {
    /// The `result` object of an MCP server, as JSON: that of a success, or one that says `isError`.
    Result {
        /// Its text.
        json: Bytes,
        /// Whether the tool reports failure.
        is_error: bool,
    },
    /// The body of a REST service, as JSON.
    Body(Bytes),
    /// There is no answer: the world fault.
    Fault {
        /// Its reason.
        reason: &'static str,
        /// Its text, scrubbed of secrets.
        message: String,
        /// Whether a limit of the policy refused the call.
        is_quota: bool,
    },
}

/// Holds the reply to a program's last call, in place of the value that the program would get. Its bytes stay charged to the
/// program's account until the slot is dropped.
#[derive(Default)]
pub struct ReplySlot(Mutex<SlotContent>);

#[derive(Default)]
struct SlotContent {
    reply: Option<WholeReply>,
    charge: Option<ReplyCharge>,
}

impl ReplySlot {
    /// Keeps a reply.
    pub fn put(&self, reply: WholeReply) {
        self.0.lock().reply = Some(reply);
    }

    /// Keeps the charge of its bytes.
    pub fn charge(&self, charge: ReplyCharge) {
        self.0.lock().charge = Some(charge);
    }

    /// Takes the reply, whose bytes stay charged.
    pub fn take(&self) -> Option<WholeReply> {
        self.0.lock().reply.take()
    }
}
