//! Why a session cannot be used.

use ptc_mcp::json::object_text;
use ptc_protocol::tool::ToolReply;

/// Why a session cannot be used. Those from [`OtherBuild`](Refusal::OtherBuild) on are of sessions in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No session has that id, or it belongs to another owner.
    NotFound,
    /// The session is closed.
    Closed,
    /// A program runs on it.
    Busy,
    /// The server has its maximum of sessions.
    Limit,
    /// The owner has its maximum of sessions.
    OwnerLimit,
    /// The owner has as many sessions as the policy permits.
    PolicyLimit,
    /// Another build has written it.
    OtherBuild,
    /// Another run has changed it in the meantime.
    Conflict,
    /// The owner's records have reached their limit in bytes.
    Full,
    /// The store is unavailable.
    Unavailable,
    /// This process has no memory for it.
    NoMemory,
    /// Reading it took too long.
    NoTime,
}

/// The messages after a refused commit, which a program's answer has, too.
pub(super) const CONFLICT: &str =
    "this session was changed by another run; the definitions of this one were not kept";
pub(super) const FULL: &str =
    "the sessions of this owner take as many bytes as they may (--max-state-bytes-per-owner)";

impl Refusal {
    /// The failure for a client: nothing was run, and nothing changed.
    pub(super) fn reply(self, id: &str) -> ToolReply {
        let (reason, message) = match self {
            Refusal::NotFound => ("session_not_found", "session not found"),
            Refusal::Closed => ("session_closed", "session is closed"),
            Refusal::Busy => ("session_busy", "an eval is already running for this session"),
            Refusal::Limit => ("session_limit_exceeded", "maximum number of sessions reached"),
            Refusal::OwnerLimit => {
                ("session_limit_exceeded", "maximum number of sessions for this owner reached")
            }
            Refusal::PolicyLimit => (
                "session_limit_exceeded",
                "the policy of this server permits no more sessions for this owner",
            ),
            Refusal::OtherBuild => {
                ("session_other_build", "this session was saved by another build of ptc; start a new one")
            }
            Refusal::Conflict => ("session_conflict", CONFLICT),
            Refusal::Full => ("session_limit_exceeded", FULL),
            Refusal::Unavailable => {
                ("state_unavailable", "the session store is unavailable; nothing was changed")
            }
            Refusal::NoMemory => ("memory_limit", "the server's memory budget is exhausted"),
            Refusal::NoTime => ("timeout", "reading the session took too long; nothing was changed"),
        };
        let is_there = !matches!(self, Refusal::NotFound | Refusal::Closed);
        let structured = object_text(|object| {
            object.string("status", "error");
            object.string("reason", reason);
            object.string("message", message);
            object.string("feedback", message);
            if is_there && !id.is_empty() {
                object.string("session_id", id);
            }
        });
        ToolReply::mirrored(true, structured)
    }

    /// The failure for a client of `lisp_session_eval`, which names a session only if that is busy.
    pub(super) fn reply_to_eval(self, id: &str) -> ToolReply {
        self.reply(if self == Refusal::Busy { id } else { "" })
    }
}
