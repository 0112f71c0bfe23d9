//! Sessions in a store: any process that shares the store serves any of them (state.md 4).
//!
//! The store is the authority. A program takes its session with a lease ([`Taken`]), runs on values in this process,
//! and commits before its answer is sent. A process caches the values of the sessions that it used last, by version
//! ([`Here`]), so that no values are transferred while no other process changes them.

mod eval;
mod here;
mod saved_record;
mod taken;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::Arc;

use ptc_host::state::{Owner as StoreOwner, StateStore};
use ptc_mcp::json::object_text;

use self::here::Here;
use super::directory::Refusal;
use ptc_protocol::principal::Owner;
use ptc_protocol::tool::ToolReply;

pub(super) use self::eval::run;

/// Where sessions are stored.
#[derive(Clone)]
pub struct Keeping {
    /// The store.
    pub store: Arc<dyn StateStore>,
    /// The name of this process among those that share it.
    pub replica: Arc<str>,
}

/// Sessions in a store, with this process's cache.
pub(super) struct Stored {
    keeping: Keeping,
    here: Here,
}

impl Stored {
    pub(super) fn new(keeping: Keeping, most_here: usize) -> Stored {
        Stored { keeping, here: Here::new(most_here) }
    }

    fn store(&self) -> &dyn StateStore {
        &*self.keeping.store
    }
}

/// The owner in the form of stores.
fn owner_in_store(owner: &Owner) -> StoreOwner {
    let name = owner.principal.known_name().clone();
    match &owner.http_session {
        Some(id) => StoreOwner::conversation(name, id.clone()),
        None => StoreOwner::principal(name),
    }
}

/// Why a session in a store cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotUsed {
    /// For the same reasons as a session in the process.
    Refused(Refusal),
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

impl From<Refusal> for NotUsed {
    fn from(refusal: Refusal) -> NotUsed {
        NotUsed::Refused(refusal)
    }
}

/// The message after a refused commit.
const CONFLICT: &str = "this session was changed by another run; the definitions of this one were not kept";
const PERHAPS: &str = "the program ran, and its definitions may not have been kept";
const FULL: &str = "the sessions of this owner take as many bytes as they may (--max-state-bytes-per-owner)";

impl NotUsed {
    /// The failure for a client: nothing was run, and nothing changed.
    pub(super) fn reply(self, id: &str) -> ToolReply {
        let (reason, message) = match self {
            NotUsed::Refused(refusal) => return refusal.reply(id),
            NotUsed::OtherBuild => {
                ("session_other_build", "this session was saved by another build of ptc; start a new one")
            }
            NotUsed::Conflict => ("session_conflict", CONFLICT),
            NotUsed::Full => ("session_limit_exceeded", FULL),
            NotUsed::Unavailable => {
                ("state_unavailable", "the session store is unavailable; nothing was changed")
            }
            NotUsed::NoMemory => ("memory_limit", "the server's memory budget is exhausted"),
            NotUsed::NoTime => ("timeout", "reading the session took too long; nothing was changed"),
        };
        let structured = object_text(|object| {
            object.string("status", "error");
            object.string("reason", reason);
            object.string("message", message);
            object.string("feedback", message);
            if !id.is_empty() {
                object.string("session_id", id);
            }
        });
        ToolReply::mirrored(true, structured)
    }
}
