//! Sessions that outlive their process, as the engine receives and returns them.

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A stored session.
#[derive(Clone, Debug)]
pub struct SavedSession {
    /// Its version.
    pub version: u64,
    /// The session as bytes; `None` if this engine has its values of that version.
    pub blob: Option<Bytes>,
}

/// A session as bytes, to be put into a store as its next version. The engine's session has no version until the caller
/// confirms that the store took it.
#[derive(Clone, Debug)]
pub struct SessionDraft {
    /// The bytes.
    pub blob: Bytes,
    kept: Arc<AtomicBool>,
}

impl SessionDraft {
    /// A draft, and the flag that says whether the store has taken it.
    #[cfg(feature = "saved-sessions")]
    pub(crate) fn new(blob: Bytes) -> (SessionDraft, Arc<AtomicBool>) {
        let kept = Arc::<AtomicBool>::default();
        (SessionDraft { blob, kept: kept.clone() }, kept)
    }

    /// The store has taken it.
    pub fn keep(&self) {
        self.kept.store(true, Ordering::Release);
    }
}

/// Why a session that was saved is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFault {
    /// The engine does not have its values of that version: it needs the bytes.
    #[error("the values of the session are not here")]
    Missing,
    /// Another build has written it, and this one cannot read it.
    #[error("the session was saved by another build")]
    OtherBuild,
    /// It is no saved session; the word says which part is wrong.
    #[error("invalid session: {0}")]
    Corrupt(&'static str),
}
